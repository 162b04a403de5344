//! Where an I/O call has its descriptor, its length and its offset, as strace prints its arguments.

use ahash::HashMap;

/// Positions of the length and the offset are counted from the last argument (1), as strings come before them;
/// 0: it has none.
pub struct Shape {
    name: &'static str,
    /// Argument with the descriptor, from 0.
    pub fd: Option<u8>,
    pub length: u8,
    pub offset: u8,
    /// The length is that of an array of iovec.
    pub vector: bool,
}
const fn shape(name: &'static str, fd: Option<u8>, length: u8, offset: u8) -> Shape {
    Shape {
        name,
        fd,
        length,
        offset,
        vector: false,
    }
}

const fn vector(name: &'static str, offset: u8) -> Shape {
    Shape {
        name,
        fd: Some(0),
        length: 0,
        offset,
        vector: true,
    }
}

/// The calls that a live recording keeps one by one (recorder/src/calls.rs), as strace prints them.
const SHAPES: &[Shape] = &[
    shape("read", Some(0), 1, 0),
    shape("write", Some(0), 1, 0),
    shape("pread64", Some(0), 2, 1),
    shape("pwrite64", Some(0), 2, 1),
    shape("pread", Some(0), 2, 1),
    shape("pwrite", Some(0), 2, 1),
    vector("readv", 0),
    vector("writev", 0),
    vector("preadv", 1),
    vector("pwritev", 1),
    vector("preadv2", 2),
    vector("pwritev2", 2),
    vector("vmsplice", 0),
    shape("sendfile", Some(1), 1, 0),
    shape("sendfile64", Some(1), 1, 0),
    shape("fsync", Some(0), 0, 0),
    shape("fdatasync", Some(0), 0, 0),
    shape("syncfs", Some(0), 0, 0),
    shape("sync", None, 0, 0),
    shape("sync_file_range", Some(0), 2, 3),
    shape("msync", None, 2, 0),
    shape("madvise", None, 2, 0),
    shape("open", None, 0, 0),
    shape("openat", None, 0, 0),
    shape("openat2", None, 0, 0),
    shape("creat", None, 0, 0),
    shape("truncate", None, 1, 0),
    shape("ftruncate", Some(0), 1, 0),
    shape("unlink", None, 0, 0),
    shape("unlinkat", None, 0, 0),
    shape("rename", None, 0, 0),
    shape("renameat", None, 0, 0),
    shape("renameat2", None, 0, 0),
    shape("fallocate", Some(0), 1, 2),
    shape("fadvise64", Some(0), 2, 3),
    shape("readahead", Some(0), 1, 2),
    shape("copy_file_range", Some(0), 2, 0),
    shape("splice", Some(0), 2, 0),
    shape("tee", Some(0), 2, 0),
    shape("getdents", Some(0), 1, 0),
    shape("getdents64", Some(0), 1, 0),
    shape("io_submit", None, 0, 0),
    shape("io_getevents", None, 0, 0),
    shape("io_pgetevents", None, 0, 0),
    shape("io_uring_enter", None, 0, 0),
    shape("mkdir", None, 0, 0),
    shape("mkdirat", None, 0, 0),
    shape("rmdir", None, 0, 0),
    shape("link", None, 0, 0),
    shape("linkat", None, 0, 0),
    shape("symlink", None, 0, 0),
    shape("symlinkat", None, 0, 0),
    shape("fsetxattr", Some(0), 0, 0),
    shape("fgetxattr", Some(0), 0, 0),
];

/// The shape of the call of a name.
pub fn shapes() -> HashMap<&'static [u8], &'static Shape> {
    SHAPES
        .iter()
        .map(|shape| (shape.name.as_bytes(), shape))
        .collect()
}
