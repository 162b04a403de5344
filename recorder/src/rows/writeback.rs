//! Rows of writeback.

use std::borrow::Cow;

use iowhy_store::{rows, Name};

use super::ticks_ns;
use crate::event::layout::{self, Writeback};

/// The row of one pass.
pub fn row(e: &Writeback) -> rows::Writeback {
    rows::Writeback {
        ts_ns: e.ts as i64,
        dur_ns: (e.dur != u64::MAX).then_some(e.dur as i64),
        tgid: Some(e.tgid.into()),
        tid: Some(e.header.tid.into()),
        dev: e.dev.into(),
        ino: e.ino as i64,
        reason: reason(e.header.flags),
        pages_written: e.pages as i64,
        dirtied_age_ns: (e.age_ticks != u64::MAX).then(|| ticks_ns(e.age_ticks)),
    }
}

fn reason(number: u8) -> Name {
    Cow::Borrowed(match number {
        layout::REASON_VMSCAN => "vmscan",
        layout::REASON_SYNC => "sync",
        layout::REASON_PERIODIC => "periodic",
        layout::REASON_LAPTOP => "laptop",
        layout::REASON_FREE_SPACE => "fs_free_space",
        layout::REASON_FORKER => "forker",
        layout::REASON_FOREIGN_FLUSH => "foreign_flush",
        layout::REASON_FSYNC => "fsync",
        _ => "background",
    })
}
