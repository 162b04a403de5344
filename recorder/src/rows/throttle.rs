//! Rows of writers that the dirty limits hold back.

use iowhy_store::rows;

use super::ticks_ns;
use crate::event::layout::Throttle;

/// The row of one pause.
pub fn row(e: &Throttle) -> rows::DirtyThrottle {
    rows::DirtyThrottle {
        ts_ns: e.ts as i64,
        tgid: e.tgid.into(),
        tid: e.header.tid.into(),
        pause_ns: ticks_ns(e.pause_ticks),
        dirty_pages: Some(e.dirty as i64),
        limit_pages: Some(e.limit as i64),
    }
}
