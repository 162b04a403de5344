//! Rows of block requests.

use std::borrow::Cow;

use iowhy_store::{rows, Name};

use super::names_of;
use crate::event::layout;
use crate::event::Request;

/// Bits of a record's flags, by name.
const FLAGS: [(u8, &str); 8] = [
    (layout::REQUEST_SYNC, "sync"),
    (layout::REQUEST_METADATA, "metadata"),
    (layout::REQUEST_FUA, "fua"),
    (layout::REQUEST_PREFLUSH, "preflush"),
    (layout::REQUEST_READAHEAD, "readahead"),
    (layout::REQUEST_BACKGROUND, "background"),
    (layout::REQUEST_SWAP, "swap"),
    (layout::REQUEST_PRIORITY, "priority"),
];

/// The errno of a status that the block layer gives (blk_status_t, block/blk-core.c).
fn errno(status: i32) -> i32 {
    match status {
        0 => 0,
        1 => libc::EOPNOTSUPP,
        2 => libc::ETIMEDOUT,
        3 => libc::ENOSPC,
        4 => libc::ENOLINK,
        5 => libc::EREMOTEIO,
        6 => libc::EBADE,
        7 => libc::ENODATA,
        8 => libc::EILSEQ,
        9 => libc::ENOMEM,
        12 => libc::EAGAIN,
        _ => libc::EIO,
    }
}

/// The row of one request, also of one that has not completed; `ring`: the number of what it was submitted through,
/// `sees_requeues`: this kernel tells what drivers give back.
pub fn row(e: &Request, ring: Option<i64>, sees_requeues: bool) -> rows::BlockRequests {
    let seen = |ns: u64| (ns != 0).then_some(ns as i64);
    let end_seen = e.end_unseen == 0;
    let owned = e.owner == layout::OWNER_DATA;
    rows::BlockRequests {
        queue_ns: e.queued as i64,
        issue_ns: seen(e.issued),
        complete_ns: seen(e.completed).filter(|_| end_seen),
        over_by_ns: seen(e.completed).filter(|_| !end_seen),
        dev: e.dev.into(),
        sector: (e.op != layout::OP_FLUSH).then_some(e.sector as i64),
        bytes: e.bytes.into(),
        op: operation(e.op),
        flags: names_of(e.flags, &FLAGS),
        tgid: Some(e.tgid.into()),
        tid: Some(e.header.tid.into()),
        owner_dev: owned.then_some(e.owner_dev.into()),
        owner_ino: owned.then_some(e.owner_ino as i64),
        owner_page: (owned && e.owner_page != u64::MAX).then_some(e.owner_page as i64),
        owner_kind: owner(e.owner),
        ring,
        in_scope: match e.scope {
            layout::SCOPE_OTHER => Some(false),
            layout::SCOPE_COMMAND => Some(true),
            _ => None,
        },
        error: (e.completed != 0 && end_seen).then(|| errno(e.error).into()),
        requeues: sees_requeues.then_some(e.requeues.into()),
    }
}

pub fn operation(op: u8) -> Name {
    Cow::Borrowed(match op {
        layout::OP_READ => "read",
        layout::OP_WRITE => "write",
        layout::OP_FLUSH => "flush",
        layout::OP_DISCARD => "discard",
        layout::OP_ZONE => "zone",
        layout::OP_OTHER => "other",
        _ => "unknown",
    })
}

fn owner(kind: u8) -> Name {
    Cow::Borrowed(match kind {
        layout::OWNER_DATA => "data",
        layout::OWNER_JOURNAL => "journal",
        layout::OWNER_METADATA => "metadata",
        layout::OWNER_FLUSH => "flush",
        layout::OWNER_SWAP => "swap",
        layout::OWNER_DEVICE => "device",
        _ => "unknown",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_null() {
        let row = row(
            &Request {
                queued: 5,
                op: layout::OP_FLUSH,
                scope: 2,
                owner: 4,
                ..Request::default()
            },
            None,
            false,
        );
        assert_eq!(
            (row.issue_ns, row.complete_ns, row.error),
            (None, None, None)
        );
        assert_eq!(
            (row.sector, row.owner_ino, row.in_scope),
            (None, None, None)
        );
        assert_eq!(row.requeues, None);
        assert_eq!(
            (row.op.as_ref(), row.owner_kind.as_ref()),
            ("flush", "flush")
        );
    }

    #[test]
    fn when_a_request_was_over_at_the_latest_is_not_when_it_was_done() {
        let row = row(
            &Request {
                queued: 5,
                issued: 6,
                completed: 9,
                end_unseen: 1,
                ..Request::default()
            },
            None,
            false,
        );
        assert_eq!(
            (row.complete_ns, row.over_by_ns, row.error),
            (None, Some(9), None)
        );
    }

    #[test]
    fn a_write_of_a_files_page_names_it() {
        let e = Request {
            completed: 9,
            op: 1,
            owner: 1,
            owner_ino: 12,
            owner_page: 3,
            owner_dev: 8 << 20,
            scope: 1,
            flags: 1 | 8,
            error: 10,
            requeues: 2,
            ..Request::default()
        };
        let row = row(&e, None, true);
        assert_eq!(
            (row.owner_ino, row.owner_page, row.in_scope),
            (Some(12), Some(3), Some(true))
        );
        assert_eq!(row.flags, ["sync", "preflush"]);
        assert_eq!((row.error, row.requeues), (Some(libc::EIO.into()), Some(2)));
    }
}
