//! Rows of asynchronous operations.

use std::borrow::Cow;

use iowhy_store::{rows, Name};

use super::names_of;
use crate::event::layout;
use crate::event::Operation;

/// Bits of a record's flags, by name.
const FLAGS: [(u8, &str); 8] = [
    (layout::OPERATION_FIXED_FILE, "fixed_file"),
    (layout::OPERATION_FIXED_BUFFER, "fixed_buffer"),
    (layout::OPERATION_LINKED, "linked"),
    (layout::OPERATION_DRAIN, "drain"),
    (layout::OPERATION_ASYNC, "async"),
    (layout::OPERATION_SELECTS, "buffer_select"),
    (layout::OPERATION_MULTISHOT, "multishot"),
    (layout::OPERATION_DIRECT, "direct"),
];

/// Operations of io_uring by number (enum io_uring_op of include/uapi/linux/io_uring.h).
const URING: [&str; 63] = [
    "nop",
    "readv",
    "writev",
    "fsync",
    "read_fixed",
    "write_fixed",
    "poll_add",
    "poll_remove",
    "sync_file_range",
    "sendmsg",
    "recvmsg",
    "timeout",
    "timeout_remove",
    "accept",
    "async_cancel",
    "link_timeout",
    "connect",
    "fallocate",
    "openat",
    "close",
    "files_update",
    "statx",
    "read",
    "write",
    "fadvise",
    "madvise",
    "send",
    "recv",
    "openat2",
    "epoll_ctl",
    "splice",
    "provide_buffers",
    "remove_buffers",
    "tee",
    "shutdown",
    "renameat",
    "unlinkat",
    "mkdirat",
    "symlinkat",
    "linkat",
    "msg_ring",
    "fsetxattr",
    "setxattr",
    "fgetxattr",
    "getxattr",
    "socket",
    "uring_cmd",
    "send_zc",
    "sendmsg_zc",
    "read_multishot",
    "waitid",
    "futex_wait",
    "futex_wake",
    "futex_waitv",
    "fixed_fd_install",
    "ftruncate",
    "bind",
    "listen",
    "recv_zc",
    "epoll_wait",
    "readv_fixed",
    "writev_fixed",
    "pipe",
];

/// Operations of libaio by number (include/uapi/linux/aio_abi.h).
const LIBAIO: [&str; 9] = [
    "pread", "pwrite", "fsync", "fdsync", "preadx", "poll", "noop", "preadv", "pwritev",
];

/// The row of one operation, also of one that is not done; `ring`: the number of what it was submitted through.
pub fn row(e: &Operation, ring: Option<i64>) -> rows::AsyncOperations {
    let known = |bit: u8| e.known & bit != 0;
    let done = e.completions > 0;
    let op = name(e.api, e.header.nr);
    let kind = kind(&op);
    let moves = matches!(kind, "read" | "write") || e.moved > 0;
    rows::AsyncOperations {
        submit_ns: e.submitted as i64,
        complete_ns: (e.completed != 0).then_some(e.completed as i64),
        tgid: e.tgid.into(),
        tid: e.header.tid.into(),
        ring,
        api: Cow::Borrowed(match e.api {
            layout::API_LIBAIO => "libaio",
            _ => "io_uring",
        }),
        op,
        kind: Cow::Borrowed(kind),
        ran: Cow::Borrowed(match e.ran {
            layout::RAN_WORKER => "worker",
            layout::RAN_POLL_THREAD => "poll thread",
            _ => "inline",
        }),
        flags: names_of(e.header.flags, &FLAGS),
        dev: known(layout::OPERATION_HAS_FILE).then_some(e.dev.into()),
        ino: known(layout::OPERATION_HAS_FILE).then_some(e.ino as i64),
        offset: known(layout::OPERATION_HAS_OFFSET).then_some(e.offset as i64),
        durable: (kind == "write").then_some(known(layout::OPERATION_DURABLE)),
        bytes: known(layout::OPERATION_HAS_BYTES).then_some(e.asked as i64),
        moved_bytes: (done && moves).then_some(e.moved as i64),
        results: e.completions.into(),
        ret: done.then_some(e.result),
    }
}

fn name(api: u8, number: u16) -> Name {
    let names: &[&'static str] = match api {
        layout::API_LIBAIO => &LIBAIO,
        _ => &URING,
    };
    names.get(usize::from(number)).map_or_else(
        || Cow::Owned(format!("operation_{number}")),
        |n| Cow::Borrowed(*n),
    )
}

/// What it does to a file, as calls of this kind do (calls.toml).
fn kind(op: &str) -> &'static str {
    match op {
        "read" | "readv" | "read_fixed" | "readv_fixed" | "read_multishot" | "pread" | "preadv" => {
            "read"
        }
        "write" | "writev" | "write_fixed" | "writev_fixed" | "pwrite" | "pwritev" => "write",
        "fsync" | "sync_file_range" | "fdsync" => "sync",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_numbers_of_the_kernels_header() {
        for (number, expected) in [
            (0, "nop"),
            (1, "readv"),
            (5, "write_fixed"),
            (22, "read"),
            (46, "uring_cmd"),
            (49, "read_multishot"),
            (61, "writev_fixed"),
            (62, "pipe"),
            (99, "operation_99"),
        ] {
            assert_eq!(name(layout::API_URING, number), expected);
        }
        assert_eq!(name(layout::API_LIBAIO, 3), "fdsync");
        assert_eq!(name(layout::API_LIBAIO, 8), "pwritev");
    }

    #[test]
    fn what_is_not_known_is_null() {
        let e = Operation {
            submitted: 5,
            ..Operation::default()
        };
        let row = row(&e, None);
        assert_eq!(
            (row.complete_ns, row.ret, row.moved_bytes),
            (None, None, None)
        );
        assert_eq!(
            (row.dev, row.ino, row.offset, row.bytes),
            (None, None, None, None)
        );
    }

    #[test]
    fn a_write_that_failed_moved_nothing() {
        let mut e = Operation {
            submitted: 5,
            completed: 9,
            completions: 1,
            result: -5,
            ..Operation::default()
        };
        e.header.nr = 23;
        e.header.flags = layout::OPERATION_DIRECT | layout::OPERATION_LINKED;
        let row = row(&e, Some(1));
        assert_eq!(
            (row.kind.as_ref(), row.moved_bytes, row.ret),
            ("write", Some(0), Some(-5))
        );
        assert_eq!(row.flags, ["linked", "direct"]);
    }
}
