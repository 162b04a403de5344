//! /proc/meminfo (proc_meminfo(5)).

use crate::error::Result;
use iowhy_store::rows::MemorySamples;

use crate::proc_file::Text;

pub(crate) fn row(meminfo: Text<'_>, ts_ns: i64) -> Result<MemorySamples> {
    let mut row = MemorySamples {
        ts_ns,
        ..Default::default()
    };
    for line in meminfo.lines() {
        let mut words = line.words();
        let field = match words.next() {
            Some(b"MemTotal:") => &mut row.total_bytes,
            Some(b"MemFree:") => &mut row.free_bytes,
            Some(b"MemAvailable:") => &mut row.available_bytes,
            Some(b"Cached:") => &mut row.cached_bytes,
            Some(b"Buffers:") => &mut row.buffers_bytes,
            Some(b"Dirty:") => &mut row.dirty_bytes,
            Some(b"Writeback:") => &mut row.writeback_bytes,
            Some(b"AnonPages:") => &mut row.anonymous_bytes,
            Some(b"Slab:") => &mut row.slab_bytes,
            Some(b"SwapTotal:") => &mut row.swap_total_bytes,
            Some(b"SwapFree:") => &mut row.swap_free_bytes,
            _ => continue,
        };
        *field = Some(words.number("a size in kB")?.saturating_mul(1024));
    }
    Ok(row)
}
