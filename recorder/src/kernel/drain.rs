//! Tables that are counted into by halves: one is written while user space empties the other.

use std::os::fd::AsFd;
use std::ptr::{addr_of, addr_of_mut};

use super::{tables, Probe};
use crate::event::{CacheCounts, CacheKey, Total, TotalKey};
use crate::skeleton::types;

/// A sixteenth of what a half of the totals holds (bpf/totals.h, totals_half).
const CROWD: u64 = 8192;

/// Drained tables are walked as a whole twice (each half once) in so many times.
const WHOLE_EVERY: u32 = 40;

/// Entries that the programs have made in one half of each drained table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Made {
    totals: u64,
    counts: u64,
}

/// One half of each drained table.
#[derive(Default)]
pub struct Drained {
    pub totals: Vec<(TotalKey, Total)>,
    pub cache: Vec<(CacheKey, CacheCounts)>,
}

impl Probe {
    /// Switches the tables that are counted into and empties the half that was written until now.
    pub fn drain(&mut self) -> Drained {
        let bss = self.bss();
        // SAFETY: the page of globals is mapped as long as the object lives; the programs only read it.
        let old = unsafe {
            let old = addr_of!((*bss).half).read_volatile();
            addr_of_mut!((*bss).half).write_volatile(old + 1);
            old
        };
        // A program that began before the switch may still be counting into the old half.
        std::thread::sleep(std::time::Duration::from_micros(200));
        let half = (old & 1) as usize;
        let mut drained = self.empty(half, self.links.is_empty());
        if self.links.is_empty() {
            let other = self.empty(1 - half, true);
            drained.totals.extend(other.totals);
            drained.cache.extend(other.cache);
        }
        drained
    }

    /// To walk an almost empty table takes the kernel as long as a full one: it looks at every bucket. So this is done only
    /// where there are many entries, and from time to time for what may have been overlooked (`whole`).
    fn empty(&mut self, half: usize, whole: bool) -> Drained {
        // What is made after this reading is there at the next.
        let made = self.made(half);
        let before = std::mem::replace(&mut self.emptied[half], made);
        self.drains += 1;
        let whole = whole || self.drains % WHOLE_EVERY < 2;
        let maps = &self.skel.maps;
        let (totals, cache) = match half {
            0 => (maps.totals_0.as_fd(), maps.cache_0.as_fd()),
            _ => (maps.totals_1.as_fd(), maps.cache_1.as_fd()),
        };
        let by_key = match whole {
            true => None,
            false => self
                .total_keys(half, before.totals, made.totals)
                .and_then(|keys| tables::take(totals, &keys)),
        };
        let counts = match whole || made.counts != before.counts {
            true => tables::empty(cache),
            false => Vec::new(),
        };
        Drained {
            totals: by_key.unwrap_or_else(|| tables::empty(totals)),
            cache: counts,
        }
    }

    /// The keys of these entries of a half of the totals; None where they are too many, or not noted.
    fn total_keys(&self, half: usize, from: u64, to: u64) -> Option<Vec<TotalKey>> {
        let bss = self.bss();
        // SAFETY: as in `drain`; a key that is being written is none of the table's.
        let keys = unsafe { addr_of!((*bss).total_keys[half]).read_volatile() };
        let noted = to - from <= keys.len() as u64 / 4;
        let key = |number: u64| {
            let types::total_key { tid, nr } = keys[number as usize % keys.len()];
            TotalKey { tid, nr }
        };
        noted.then(|| (from..to).map(key).collect())
    }

    /// Whether a table is so full that it should be emptied before the interval is over: thousands of threads
    /// that begin and end together make as many entries in a moment.
    pub fn is_crowded(&self) -> bool {
        let new = |half| self.made(half).totals - self.emptied[half].totals;
        new(0) + new(1) > CROWD
    }

    /// Entries that were made so far in one half of the drained tables.
    fn made(&self, half: usize) -> Made {
        let bss = self.bss();
        // SAFETY: as in `drain`; aligned 64-bit reads do not tear.
        unsafe {
            Made {
                totals: addr_of!((*bss).new_totals[half]).read_volatile(),
                counts: addr_of!((*bss).new_counts[half]).read_volatile(),
            }
        }
    }
}
