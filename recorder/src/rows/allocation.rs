//! Rows of allocations of blocks.

use iowhy_store::rows;

use crate::event::layout::Allocation;

/// The row of one allocation.
pub fn row(e: &Allocation) -> rows::Allocations {
    rows::Allocations {
        ts_ns: e.ts as i64,
        tgid: Some(e.tgid.into()),
        tid: Some(e.header.tid.into()),
        dev: e.dev.into(),
        ino: e.ino as i64,
        logical_block: Some(e.logical as i64),
        physical_block: Some(e.physical as i64),
        blocks: e.blocks as i64,
    }
}
