//! /proc/diskstats, whole disks only (Documentation/admin-guide/iostats.rst).

use std::collections::HashSet;
use std::path::PathBuf;

use crate::error::Result;
use iowhy_store::rows::DiskSamples;

use crate::devices::Disks;
use crate::proc_file::{ProcFile, Text};
use crate::{dev, Roots};

/// Samples every whole disk, loop and dm devices included. A disk that was never used since boot appears
/// in the first sample only: its counters do not move.
pub(crate) struct Disk {
    diskstats: ProcFile,
    sys: PathBuf,
    whole: HashSet<i64>,
    known: HashSet<i64>,
    first: bool,
}

impl Disk {
    pub fn new(roots: &Roots) -> Result<Disk> {
        Ok(Disk {
            diskstats: ProcFile::open(roots.proc.join("diskstats"))?,
            sys: roots.sys.clone(),
            whole: HashSet::new(),
            known: HashSet::new(),
            first: true,
        })
    }

    pub fn sample(&mut self, ts_ns: i64, mut out: impl FnMut(DiskSamples)) -> Result<()> {
        let text = self.diskstats.read()?;
        let mut rows = Vec::with_capacity(self.whole.len());
        parse(text, ts_ns, |row| rows.push(row))?;
        if rows.iter().any(|row| !self.known.contains(&row.dev)) {
            self.whole = Disks::read(&self.sys)?
                .disks()
                .map(|disk| disk.dev)
                .collect();
            self.known = rows.iter().map(|row| row.dev).collect();
        }
        for row in rows {
            let used = row.reads + row.writes > 0
                || [row.discards, row.flushes, row.in_flight]
                    .iter()
                    .any(|n| n.unwrap_or(0) > 0);
            if self.whole.contains(&row.dev) && (used || self.first) {
                out(row);
            }
        }
        self.first = false;
        Ok(())
    }
}

const SECTOR: i64 = 512; // of /proc/diskstats, whatever the device's
const MILLISECOND: i64 = 1_000_000;

/// One row per line, partitions included. The last fields came with kernels 4.18 and 5.5.
pub(crate) fn parse(text: Text<'_>, ts_ns: i64, mut out: impl FnMut(DiskSamples)) -> Result<()> {
    for line in text.lines() {
        let mut words = line.words();
        if words.clone().next().is_none() {
            continue;
        }
        let major = words.number("a major number")?;
        let minor = words.number("a minor number")?;
        words
            .next()
            .ok_or_else(|| line.error("expected a device name"))?;
        let dev = dev(major as u64 & 0xfff, minor as u64 & 0xf_ffff);
        let mut number = |what, unit| words.number(what).map(|n: i64| n.saturating_mul(unit));
        let mut row = DiskSamples {
            ts_ns,
            dev,
            reads: number("reads", 1)?,
            reads_merged: Some(number("merged reads", 1)?),
            read_bytes: number("sectors read", SECTOR)?,
            read_ns: Some(number("time reading", MILLISECOND)?),
            writes: number("writes", 1)?,
            writes_merged: Some(number("merged writes", 1)?),
            written_bytes: number("sectors written", SECTOR)?,
            write_ns: Some(number("time writing", MILLISECOND)?),
            in_flight: Some(number("requests in flight", 1)?),
            busy_ns: Some(number("time busy", MILLISECOND)?),
            queue_ns: Some(number("time in queue", MILLISECOND)?),
            ..Default::default()
        };
        let mut later = |unit| -> Result<Option<i64>> {
            Ok(words.optional("a count")?.map(|n| n.saturating_mul(unit)))
        };
        row.discards = later(1)?;
        later(1)?; // merged discards
        row.discarded_bytes = later(SECTOR)?;
        later(1)?; // time discarding
        row.flushes = later(1)?;
        row.flush_ns = later(MILLISECOND)?;
        out(row);
    }
    Ok(())
}
