//! The records that the programs write (bpf/event.h), field by field, and how they are taken from bytes.

use iowhy_readings::names::escaped;

/// Kinds of records (enum event_kind).
pub mod kind {
    pub const CALL: u8 = 1;
    pub const WAIT: u8 = 2;
    pub const REQUEST: u8 = 3;
    pub const FILE: u8 = 4;
    pub const THREAD: u8 = 5;
    pub const EXIT: u8 = 6;
    pub const WRITEBACK: u8 = 7;
    pub const THROTTLE: u8 = 8;
    pub const COMMIT: u8 = 9;
    pub const ALLOCATION: u8 = 10;
    /// How many kinds there are, 0 included.
    pub const KINDS: usize = 11;
}

pub const CALL_HAS_FILE: u8 = 1;
pub const CALL_HAS_OFFSET: u8 = 2;
pub const CALL_HAS_BYTES: u8 = 4;
pub const CALL_LOOKED_UP: u8 = 8;
pub const CALL_UNRETURNED: u8 = 16;

/// Plain data: every pattern of bytes is a value.
///
/// # Safety
/// Only for `repr(C)` structs of integers without padding that matters.
pub unsafe trait Plain: Copy {}

/// The record at the start of `bytes`; None when there are too few.
pub fn read<T: Plain>(bytes: &[u8]) -> Option<T> {
    if bytes.len() < size_of::<T>() {
        return None;
    }
    // SAFETY: there are enough bytes, T is plain data, and the read does not ask for alignment.
    Some(unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })
}

macro_rules! plain {
    ($(#[$meta:meta] $name:ident { $($field:ident: $type:ty,)* })*) => { $(
        #[$meta]
        #[derive(Clone, Copy, Debug, Default)]
        #[repr(C)]
        pub struct $name { $(pub $field: $type,)* }
        // SAFETY: integers and arrays of integers only.
        unsafe impl Plain for $name {}
    )* };
}

plain! {
    /// struct event_header
    Header { kind: u8, flags: u8, nr: u16, tid: u32, }
    /// struct event_call
    Call {
        header: Header, ts: u64, dur: u64, runnable: u64, blocked: u64, sleeping: u64,
        tgid: u32, fd: i32, ino: u64, offset: u64, bytes: u64, ret: i64, dev: u32, pad: u32,
    }
    /// struct event_wait
    Wait { header: Header, ts: u64, dur: u64, tgid: u32, stack: i32, ino: u64, dev: u32, pad: u32, }
    /// struct event_request
    Request {
        header: Header, queued: u64, issued: u64, completed: u64, sector: u64,
        owner_ino: u64, owner_page: u64, bytes: u32, dev: u32, owner_dev: u32, tgid: u32,
        op: u8, owner: u8, scope: u8, flags: u8, error: i32,
    }
    /// struct event_file; the names follow
    File {
        header: Header, ino: u64, size: u64, dev: u32, mode: u32, generation: u32, length: u32,
        cut: u32, nlink: u32,
    }
    /// struct event_thread
    Thread { header: Header, ts: u64, tgid: u32, ppid: u32, comm: [u8; 16], }
    /// struct thread_clock
    Clock {
        start: u64, now: u64, states: [u64; 5], tgid: u32, tid: u32, ppid: u32, exit_code: u32,
        comm: [u8; 16],
    }
    /// struct event_exit
    Exit { header: Header, clock: Clock, }
    /// struct thread_sample
    Sample { clock: Clock, call: Call, }
    /// struct event_writeback
    Writeback {
        header: Header, ts: u64, dur: u64, ino: u64, pages: u64, age_ticks: u64, dev: u32, tgid: u32,
    }
    /// struct event_throttle
    Throttle { header: Header, ts: u64, pause_ticks: u64, dirty: u64, limit: u64, tgid: u32, pad: u32, }
    /// struct event_commit
    Commit {
        header: Header, ts: u64, locking: u64, flushing: u64, logging: u64, end: u64,
        wait_ticks: u64, dev: u32, transaction: u32, handles: u32, blocks: u32,
    }
    /// struct event_allocation
    Allocation {
        header: Header, ts: u64, ino: u64, logical: u64, physical: u64, blocks: u64, dev: u32, tgid: u32,
    }
    /// struct cache_key
    CacheKey { ino: u64, dev: u32, tgid: u32, }
    /// struct cache_counts
    CacheCounts {
        lookups: u64, demand: u64, readahead: u64, prefetched: u64, dirtied: u64, evicted: u64,
        refault: u64, major: u64, faults: u64,
    }
    /// struct total_key
    TotalKey { tid: u32, nr: u32, }
    /// struct total
    Total { calls: u64, errors: u64, total: u64, max: u64, cpu: u64, tgid: u32, pad: u32, }
}

/// States of a thread's clock (enum thread_state).
pub const USER: usize = 0;
pub const KERNEL: usize = 1;
pub const RUNNABLE: usize = 2;
pub const BLOCKED: usize = 3;
pub const SLEEPING: usize = 4;

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
    fn sizes_are_those_of_the_c_structs() {
        assert_eq!(size_of::<Call>(), 96);
        assert_eq!(size_of::<Wait>(), 48);
        assert_eq!(size_of::<Request>(), 80);
        assert_eq!(size_of::<File>(), 48);
        assert_eq!(size_of::<Thread>(), 40);
        assert_eq!(size_of::<Clock>(), 88);
        assert_eq!(size_of::<Exit>(), 96);
        assert_eq!(size_of::<Sample>(), 184);
        assert_eq!(size_of::<CacheCounts>(), 72);
        assert_eq!(size_of::<Total>(), 48);
    }

    #[test]
    fn a_record_that_is_cut_off_is_none() {
        assert!(read::<Call>(&[1; 95]).is_none());
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
    }
}
