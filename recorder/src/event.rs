//! The records that the programs emit, and how they are taken from bytes.

use iowhy_readings::names::escaped;

/// The records, tables and constants of the programs, as the compiler laid them out (build/layout.rs).
pub mod layout {
    use super::Plain;
    use crate::identity::{Identified, Identities};

    include!(concat!(env!("OUT_DIR"), "/layout.rs"));
}

pub use layout::{
    CacheCounts, CacheKey, Call, CallFile, CallReturn, CallWaits, CallWide, Calls, Clock, Code,
    Exit, File, FileId, Header, Operation, OperationKey, OwnCost, Request, Sample, Thread, Total,
    TotalKey, UserStack, UserWait, Wait,
};

/// How many kinds of records there are, and one more for none.
pub const KINDS: usize = layout::EVENT_KINDS as usize;

/// Plain data: every pattern of bytes is a value.
///
/// # Safety
/// Only for `repr(C)` structs of integers without padding.
pub unsafe trait Plain: Copy {}

/// The record at the start of `bytes`; None when there are too few.
pub fn read<T: Plain>(bytes: &[u8]) -> Option<T> {
    if bytes.len() < size_of::<T>() {
        return None;
    }
    // SAFETY: there are enough bytes, T is plain data, and the read does not ask for alignment.
    Some(unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })
}

// SAFETY: an integer.
unsafe impl Plain for u64 {}

/// A thread's name as text; bytes that are not UTF-8 as \xNN.
pub fn comm(bytes: &[u8; 16]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    escaped(&bytes[..end])
}

/// The path of a file record's names, which come innermost first, each ended by a zero byte.
///
/// `cut` names lack their beginning. A single name is that of a pseudo file (`pipe:`, `[eventpoll]`, `/`).
pub fn path(names: &[u8], cut: bool, mode: u32, ino: u64) -> Option<Vec<u8>> {
    let mut parts: Vec<&[u8]> = names.split(|&b| b == 0).collect();
    parts.pop();
    parts.reverse();
    match mode & libc::S_IFMT {
        libc::S_IFSOCK if parts.len() <= 1 => return Some(format!("socket:[{ino}]").into()),
        libc::S_IFIFO if parts.len() <= 1 => return Some(format!("pipe:[{ino}]").into()),
        _ => {}
    }
    match parts.as_slice() {
        [] => None,
        // A file that was opened by a handle (open_by_handle_at(2)) may be in memory without a name: its own stands for a root's.
        [b"/"] if mode & libc::S_IFMT == libc::S_IFREG => None,
        [b"/"] => Some(b"/".to_vec()),
        [one] if one.first() == Some(&b'[') => Some([b"anon_inode:", *one].concat()),
        _ => {
            let mut path = if cut {
                "…".as_bytes().to_vec()
            } else {
                Vec::new()
            };
            for part in parts {
                path.push(b'/');
                path.extend_from_slice(part);
            }
            Some(path)
        }
    }
}

/// What kind of file it is, in the schema's words.
pub fn file_kind(mode: u32, path: Option<&[u8]>) -> &'static str {
    if path.is_some_and(|p| p.starts_with(b"anon_inode:") || p.starts_with(b"/memfd:")) {
        return "anonymous";
    }
    match mode & libc::S_IFMT {
        libc::S_IFREG => "file",
        libc::S_IFDIR => "directory",
        libc::S_IFBLK | libc::S_IFCHR => "device",
        libc::S_IFIFO => "pipe",
        libc::S_IFSOCK => "socket",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_cut_off_is_none() {
        assert!(read::<Call>(&[1; size_of::<Call>() - 1]).is_none());
        assert_eq!(
            read::<Header>(&[3, 1, 2, 0, 9, 0, 0, 0]).map(|h| (h.kind, h.nr, h.tid)),
            Some((3, 2, 9))
        );
    }

    #[test]
    fn paths_are_put_together_from_the_root() {
        let file = libc::S_IFREG;
        for (names, cut, mode, expected) in [
            (&b"f\0dir\0"[..], false, file, "/dir/f"),
            (b"caf\xe9\0a b\0", false, file, "/a b/caf\\xe9"),
            (b"f\0dir\0", true, file, "…/dir/f"),
            (b"/\0", false, libc::S_IFDIR, "/"),
            (b"\0", false, libc::S_IFIFO, "pipe:[77]"),
            (b"[eventpoll]\0", false, 0, "anon_inode:[eventpoll]"),
        ] {
            let found = path(names, cut, mode, 77).map(|p| escaped(&p));
            assert_eq!(found.as_deref(), Some(expected));
        }
        assert_eq!(path(b"", false, file, 1), None);
        assert_eq!(path(b"/\0", false, file, 1), None);
    }
}
