//! Names of files, from descriptors and paths.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iowhy_store::{rows, Name};

use crate::Roots;

/// What a descriptor of another process refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The path as that process's mount namespace sees it, without the kernel's " (deleted)"; for pipes,
    /// sockets and the like the kernel's own name (`pipe:[123]`).
    pub path: String,
    /// file, directory, device, pipe, socket, anonymous or unknown.
    pub kind: &'static str,
    /// Device number by stat(2) (for btrfs not the filesystem's own: see [`crate::mounts`]) and inode.
    pub dev: i64,
    pub ino: i64,
    pub size_bytes: Option<i64>,
    pub deleted: bool,
}

/// Names a descriptor of a process through /proc/PID/fd; an error when either is gone.
pub fn of_fd(roots: &Roots, pid: i64, fd: i64) -> io::Result<Named> {
    let link = roots
        .proc
        .join(pid.to_string())
        .join("fd")
        .join(fd.to_string());
    let target = std::fs::read_link(&link)?;
    let metadata = std::fs::metadata(&link)?;
    let deleted = metadata.nlink() == 0;
    let bytes = target.as_os_str().as_bytes();
    let bytes = match bytes.strip_suffix(b" (deleted)") {
        Some(name) if deleted => name,
        _ => bytes,
    };
    Ok(Named {
        path: escaped(bytes),
        kind: kind_of(&metadata, bytes),
        dev: crate::dev_of_stat(metadata.dev()),
        ino: metadata.ino() as i64,
        size_bytes: metadata.is_file().then_some(metadata.len() as i64),
        deleted: deleted && bytes.starts_with(b"/"),
    })
}

/// What kind of file it is, in the schema's words. Anonymous inodes (epoll, eventfd, …) have no type of
/// their own and are known by the kernel's name for them.
pub fn kind_of(metadata: &Metadata, name: &[u8]) -> &'static str {
    let kind = metadata.file_type();
    if name.starts_with(b"anon_inode:") || name.starts_with(b"/memfd:") {
        "anonymous"
    } else if kind.is_file() {
        "file"
    } else if kind.is_dir() {
        "directory"
    } else if kind.is_block_device() || kind.is_char_device() {
        "device"
    } else if kind.is_fifo() {
        "pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "unknown"
    }
}

/// A row of `files` for an inode that was seen at `path`, as it is at the end: its size, and whether it is
/// still there. Another file at the path means that ours is gone (or renamed, which this cannot tell).
pub fn file_row(dev: i64, ino: i64, path: &Path, kind: impl Into<Name>) -> rows::Files {
    let now = std::fs::symlink_metadata(path)
        .ok()
        .filter(|m| m.ino() as i64 == ino);
    rows::Files {
        dev,
        ino,
        path: Some(Name::Owned(escaped(path.as_os_str().as_bytes()))),
        kind: kind.into(),
        size_bytes: now.as_ref().filter(|m| m.is_file()).map(|m| m.len() as i64),
        deleted: Some(now.is_none()),
    }
}

/// UTF-8 as it is, every other byte as \xNN.
pub fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// The path that [`escaped`] was made from, to open the file again. A name that itself holds `\xNN` is
/// taken for an escape.
pub fn unescaped(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes[at..]
            .strip_prefix(b"\\x")
            .and_then(|rest| rest.get(..2));
        let byte = hex.and_then(|h| std::str::from_utf8(h).ok());
        match byte.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) if byte >= 0x80 => {
                out.push(byte);
                at += 4;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    PathBuf::from(OsStr::from_bytes(&out))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use proptest::prelude::*;

    use super::*;

    fn own(fd: &impl AsRawFd) -> Named {
        of_fd(
            &Roots::default(),
            std::process::id().into(),
            fd.as_raw_fd().into(),
        )
        .unwrap()
    }

    #[test]
    fn a_name_with_spaces_and_bad_bytes_and_its_deletion() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary
            .path()
            .join(OsStr::from_bytes(b"a b\xff\xc3\xa9\n (deleted)"));
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(b"12345").unwrap();
        let named = own(&file);
        let expected = format!("{}/a b\\xff\u{e9}\n (deleted)", temporary.path().display());
        assert_eq!(
            (named.path.as_str(), named.kind),
            (expected.as_str(), "file")
        );
        assert_eq!((named.size_bytes, named.deleted), (Some(5), false));
        assert_eq!(unescaped(&named.path), path);
        let row = file_row(named.dev, named.ino, &path, named.kind);
        assert_eq!((row.size_bytes, row.deleted), (Some(5), Some(false)));

        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            own(&file),
            Named {
                deleted: true,
                ..named.clone()
            }
        );
        std::fs::write(&path, "another").unwrap();
        let row = file_row(named.dev, named.ino, &path, named.kind);
        assert_eq!((row.size_bytes, row.deleted), (None, Some(true)));
    }

    #[test]
    fn kinds() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(own(&reader).kind, "pipe");
        assert!(own(&reader).path.starts_with("pipe:["));
        assert!(!own(&reader).deleted);
        assert_eq!(own(&std::fs::File::open("/").unwrap()).kind, "directory");
        assert_eq!(
            own(&std::fs::File::open("/dev/null").unwrap()).kind,
            "device"
        );
        let socket = std::os::unix::net::UnixDatagram::unbound().unwrap();
        assert_eq!(own(&socket).kind, "socket");
        let event = nix::sys::eventfd::EventFd::new().unwrap();
        assert_eq!(own(&event).kind, "anonymous");
        assert!(of_fd(&Roots::default(), std::process::id().into(), 999_999).is_err());
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes: Vec<u8>) {
            let text = escaped(&bytes);
            if !bytes.windows(2).any(|pair| pair == b"\\x") {
                prop_assert_eq!(unescaped(&text), PathBuf::from(OsStr::from_bytes(&bytes)));
            }
        }

        #[test]
        fn any_text(text: String) {
            unescaped(&text);
        }
    }
}
