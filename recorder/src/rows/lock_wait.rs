//! Rows of waits for locks on files.

use iowhy_store::rows;

use crate::event::layout::LockWait;

/// The row of one wait, as it begins.
pub fn row(e: &LockWait) -> rows::LockWaits {
    rows::LockWaits {
        ts_ns: e.ts as i64,
        tgid: e.tgid.into(),
        tid: e.header.tid.into(),
        dev: e.dev.into(),
        ino: e.ino as i64,
        holder_tgid: (e.holder != 0).then_some(e.holder.into()),
    }
}
