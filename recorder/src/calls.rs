//! The table of system calls: their names by number, and of the I/O calls which arguments are the file, the
//! length and the offset. Data, not code: the programs read it from their constants.

use std::sync::OnceLock;

use iowhy_store::Name;

/// Numbers and names as the kernel's headers give them (asm/unistd.h), one call a line.
#[cfg(target_arch = "x86_64")]
const NUMBERS: &str = include_str!("../../python/iowhy/tables/numbers/x86_64.txt");
#[cfg(target_arch = "aarch64")]
const NUMBERS: &str = include_str!("../../python/iowhy/tables/numbers/aarch64.txt");

/// Most numbers that the programs' table holds (bpf/state.h, CALLS).
pub const MOST: usize = 512;

/// What an I/O call does (bpf/state.h, enum call_kind).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Read = 1,
    Write,
    Sync,
    Open,
    Name,
    Remove,
    Ahead,
    Memory,
    Other,
}

/// The length is that of an array of iovec; the argument after it counts them.
const IOVEC: u8 = 1;
/// The offset argument points to the offset; NULL means the file position.
const POINTER: u8 = 2;
/// The offset is the file position.
const POSITION: u8 = 4;

/// An I/O call: name, kind, and the numbers of its arguments (-1: it has none).
pub struct Shape {
    pub name: &'static str,
    pub kind: Kind,
    pub fd: i8,
    pub bytes: i8,
    pub offset: i8,
    pub how: u8,
}

const fn call(name: &'static str, kind: Kind, fd: i8, bytes: i8, offset: i8, how: u8) -> Shape {
    Shape {
        name,
        kind,
        fd,
        bytes,
        offset,
        how,
    }
}

/// Every call that gets a row in `syscalls`. All the others are only counted, in `syscall_totals`.
#[rustfmt::skip]
pub const SHAPES: &[Shape] = &[
    // name             kind         fd  bytes offset how
    call("read",            Kind::Read,   0,  2, -1, POSITION),
    call("pread64",         Kind::Read,   0,  2,  3, 0),
    call("readv",           Kind::Read,   0,  1, -1, POSITION | IOVEC),
    call("preadv",          Kind::Read,   0,  1,  3, IOVEC),
    call("preadv2",         Kind::Read,   0,  1,  3, IOVEC),
    call("sendfile",        Kind::Read,   1,  3,  2, POINTER),
    call("write",           Kind::Write,  0,  2, -1, POSITION),
    call("pwrite64",        Kind::Write,  0,  2,  3, 0),
    call("writev",          Kind::Write,  0,  1, -1, POSITION | IOVEC),
    call("pwritev",         Kind::Write,  0,  1,  3, IOVEC),
    call("pwritev2",        Kind::Write,  0,  1,  3, IOVEC),
    call("fsync",           Kind::Sync,   0, -1, -1, 0),
    call("fdatasync",       Kind::Sync,   0, -1, -1, 0),
    call("syncfs",          Kind::Sync,   0, -1, -1, 0),
    call("sync",            Kind::Sync,  -1, -1, -1, 0),
    call("sync_file_range", Kind::Sync,   0,  2,  1, 0),
    call("msync",           Kind::Memory,-1,  1, -1, 0),
    call("madvise",         Kind::Memory,-1,  1, -1, 0),
    call("open",            Kind::Open,  -1, -1, -1, 0),
    call("openat",          Kind::Open,  -1, -1, -1, 0),
    call("openat2",         Kind::Open,  -1, -1, -1, 0),
    call("creat",           Kind::Open,  -1, -1, -1, 0),
    call("truncate",        Kind::Remove,-1,  1, -1, 0),
    call("ftruncate",       Kind::Remove, 0,  1, -1, 0),
    call("unlink",          Kind::Remove,-1, -1, -1, 0),
    call("unlinkat",        Kind::Remove,-1, -1, -1, 0),
    call("rename",          Kind::Remove,-1, -1, -1, 0),
    call("renameat",        Kind::Remove,-1, -1, -1, 0),
    call("renameat2",       Kind::Remove,-1, -1, -1, 0),
    call("fallocate",       Kind::Other,  0,  3,  2, 0),
    call("fadvise64",       Kind::Ahead,  0,  2,  1, 0),
    call("readahead",       Kind::Ahead,  0,  2,  1, 0),
    call("copy_file_range", Kind::Other,  0,  4,  1, POINTER),
    call("splice",          Kind::Other,  0,  4,  1, POINTER),
    call("vmsplice",        Kind::Other,  0,  1, -1, IOVEC),
    call("tee",             Kind::Other,  0,  2, -1, 0),
    call("getdents",        Kind::Other,  0,  2, -1, 0),
    call("getdents64",      Kind::Other,  0,  2, -1, 0),
    call("io_submit",       Kind::Other, -1, -1, -1, 0),
    call("io_getevents",    Kind::Other, -1, -1, -1, 0),
    call("io_pgetevents",   Kind::Other, -1, -1, -1, 0),
    call("io_uring_enter",  Kind::Other, -1, -1, -1, 0),
    call("mkdir",           Kind::Name,  -1, -1, -1, 0),
    call("mkdirat",         Kind::Name,  -1, -1, -1, 0),
    call("rmdir",           Kind::Name,  -1, -1, -1, 0),
    call("link",            Kind::Name,  -1, -1, -1, 0),
    call("linkat",          Kind::Name,  -1, -1, -1, 0),
    call("symlink",         Kind::Name,  -1, -1, -1, 0),
    call("symlinkat",       Kind::Name,  -1, -1, -1, 0),
    call("fsetxattr",       Kind::Other,  0, -1, -1, 0),
    call("fgetxattr",       Kind::Other,  0, -1, -1, 0),
];

/// The name of a call of this machine, without `sys_`.
pub fn name(number: u16) -> Option<&'static str> {
    names().get(usize::from(number)).copied().flatten()
}

/// Set in the number of a call that a 32-bit program makes (bpf/event.h, CALL_COMPAT).
const COMPAT: u32 = 0x4000;

/// What a call is named in the totals: numbers without a name, and those of 32-bit programs, whose table is
/// another, stand for themselves.
pub fn total_name(number: u32) -> Name {
    if number & COMPAT != 0 {
        return format!("syscall32_{}", number & !COMPAT).into();
    }
    match u16::try_from(number).ok().and_then(name) {
        Some(name) => Name::Borrowed(name),
        None => format!("syscall_{number}").into(),
    }
}

/// What is known of an I/O call of this machine.
pub fn shape(number: u16) -> Option<&'static Shape> {
    let name = name(number)?;
    SHAPES.iter().find(|s| s.name == name)
}

/// As in [`shape`], by a look-up.
pub fn kind(number: u16) -> Option<Kind> {
    static KINDS: OnceLock<Vec<Option<Kind>>> = OnceLock::new();
    let kinds = KINDS.get_or_init(|| {
        (0..MOST as u16)
            .map(|number| shape(number).map(|s| s.kind))
            .collect()
    });
    kinds.get(usize::from(number)).copied().flatten()
}

/// Whether the call's result is a number of bytes read or written.
pub fn moves_bytes(number: u16) -> bool {
    matches!(kind(number), Some(Kind::Read | Kind::Write))
}

fn names() -> &'static [Option<&'static str>] {
    static NAMES: OnceLock<Vec<Option<&'static str>>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names = vec![None; MOST];
        for line in NUMBERS.lines() {
            if let Some((number, name)) = line.split_once(' ') {
                if let Some(place) = number.parse::<usize>().ok().and_then(|n| names.get_mut(n)) {
                    *place = Some(name);
                }
            }
        }
        names
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_libc() {
        for (number, expected) in [
            (libc::SYS_read, "read"),
            (libc::SYS_pwritev2, "pwritev2"),
            (libc::SYS_io_uring_enter, "io_uring_enter"),
            (libc::SYS_fsync, "fsync"),
            (libc::SYS_getdents64, "getdents64"),
            (libc::SYS_futex_waitv, "futex_waitv"),
        ] {
            assert_eq!(name(number as u16), Some(expected));
        }
        assert_eq!(name(0xffff), None);
        assert_eq!(total_name(libc::SYS_read as u32), "read");
        assert_eq!(total_name(500), "syscall_500");
        assert_eq!(total_name(3 | COMPAT), "syscall32_3");
    }

    #[test]
    fn every_shape_is_a_call_and_its_arguments_are_arguments() {
        #[cfg(target_arch = "x86_64")]
        for shape in SHAPES {
            assert!(names().contains(&Some(shape.name)), "{}", shape.name);
            for argument in [shape.fd, shape.bytes, shape.offset] {
                assert!((-1..6).contains(&argument), "{}", shape.name);
            }
        }
        assert_eq!(kind(libc::SYS_fdatasync as u16), Some(Kind::Sync));
        assert_eq!(kind(libc::SYS_getpid as u16), None);
    }
}
