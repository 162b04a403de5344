//! /proc/vmstat and the counters of /proc/stat (proc_vmstat(5), proc_stat(5)).

use crate::error::Result;
use iowhy_store::rows::VmSamples;

use crate::proc_file::Text;

/// Without vmstat (a kernel built without VM event counters) its columns are NULL.
pub(crate) fn row(stat: Text<'_>, vmstat: Option<Text<'_>>, ts_ns: i64) -> Result<VmSamples> {
    let mut row = VmSamples {
        ts_ns,
        ..Default::default()
    };
    for line in stat.lines() {
        let mut words = line.words();
        let field = match words.next() {
            Some(b"ctxt") => &mut row.context_switches,
            Some(b"processes") => &mut row.forks,
            Some(b"procs_running") => &mut row.procs_running,
            Some(b"procs_blocked") => &mut row.procs_blocked,
            _ => continue,
        };
        *field = Some(words.number("a count")?);
    }
    for line in vmstat.into_iter().flat_map(Text::lines) {
        let mut words = line.words();
        let (field, unit) = match words.next() {
            // In KiB, whatever the page size (mm/vmstat.c halves the sectors).
            Some(b"pgpgin") => (&mut row.page_in_bytes, 1024),
            Some(b"pgpgout") => (&mut row.page_out_bytes, 1024),
            Some(b"pswpin") => (&mut row.swap_in_pages, 1),
            Some(b"pswpout") => (&mut row.swap_out_pages, 1),
            Some(b"zswpin") => (&mut row.zswap_in_pages, 1),
            Some(b"zswpout") => (&mut row.zswap_out_pages, 1),
            Some(b"pgmajfault") => (&mut row.major_faults, 1),
            Some(b"pgscan_direct") => (&mut row.direct_scan_pages, 1),
            Some(b"pgscan_kswapd") => (&mut row.kswapd_scan_pages, 1),
            Some(b"workingset_refault_file") => (&mut row.refault_file_pages, 1),
            Some(b"workingset_refault_anon") => (&mut row.refault_anon_pages, 1),
            _ => continue,
        };
        *field = Some(words.number("a count")?.saturating_mul(unit));
    }
    Ok(row)
}
