//! Rows of the page cache: counts of the programs, and the look-ups that read calls stand for.

use std::collections::HashMap;

use iowhy_store::rows;
use iowhy_store::Result;

use crate::event::{CacheCounts, CacheKey, Call};

/// What the tracepoints of this kernel emit.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Look-ups, not only read calls that stand for them.
    pub lookups: bool,
    /// Page faults on files.
    pub faults: bool,
}

impl Default for Known {
    fn default() -> Known {
        Known {
            lookups: true,
            faults: true,
        }
    }
}

type Key = (u32, u32, u64);

/// Counts of the interval under way, by process, device and inode.
#[derive(Debug)]
pub struct Cache {
    page_bytes: u64,
    /// Which of the counts are known here.
    pub known: Known,
    counts: HashMap<Key, CacheCounts>,
    latest: Option<(Key, u64)>,
    /// Major faults of an interval that were counted as faults in the one before.
    owed: HashMap<Key, u64>,
}

impl Cache {
    /// Of a kernel with pages of that size.
    pub fn new(page_bytes: u64) -> Cache {
        Cache {
            page_bytes,
            known: Known::default(),
            counts: HashMap::new(),
            latest: None,
            owed: HashMap::new(),
        }
    }

    /// Bytes that mapped memory and calls read and dirtied of a file, by its pages; what mapped memory moves is in no call.
    pub fn moved_bytes(&self, counts: &CacheCounts) -> u64 {
        (counts.demand + counts.readahead + counts.dirtied + counts.faults) * self.page_bytes
    }

    /// Adds what the programs counted.
    pub fn add(&mut self, key: CacheKey, more: &CacheCounts) {
        let counts = self
            .counts
            .entry((key.tgid, key.file.dev, key.file.ino))
            .or_default();
        counts.lookups += more.lookups;
        counts.demand += more.demand;
        counts.readahead += more.readahead;
        counts.prefetched += more.prefetched;
        counts.dirtied += more.dirtied;
        counts.evicted += more.evicted;
        counts.reclaimed += more.reclaimed;
        counts.refault += more.refault;
        counts.major += more.major;
        counts.faults += more.faults;
    }

    /// Adds the pages of a read call that went through the page cache.
    pub fn looked_up(&mut self, e: &Call) {
        let Ok(read @ 1..) = u64::try_from(e.ret) else {
            return;
        };
        let Some(end) = e.offset.checked_add(read) else {
            return;
        };
        let last = (end - 1) / self.page_bytes;
        let pages = last - e.offset / self.page_bytes + 1;
        let key = (e.tgid, e.dev, e.ino);
        match &mut self.latest {
            Some((latest, sum)) if *latest == key => *sum += pages,
            _ => {
                self.settle();
                self.latest = Some((key, pages));
            }
        }
    }

    /// Reads come in rows on the same file: only the last of such a row is looked up among the counts.
    fn settle(&mut self) {
        if let Some((key, pages)) = self.latest.take() {
            self.counts.entry(key).or_default().lookups += pages;
        }
    }

    /// The rows of the interval, which ends with them.
    pub fn rows(
        &mut self,
        (start, end): (u64, u64),
        out: &mut impl FnMut(rows::PageCache) -> Result<()>,
    ) -> Result<()> {
        self.settle();
        let Known { lookups, faults } = self.known;
        for (key, counts) in self.counts.drain() {
            // A fault is counted where it begins and may turn major in the next interval.
            let turned = counts.major + self.owed.remove(&key).unwrap_or(0);
            if turned > counts.faults {
                self.owed.insert(key, turned - counts.faults);
            }
            let (tgid, dev, ino) = key;
            out(rows::PageCache {
                ts_ns: start as i64,
                interval_ns: (end - start) as i64,
                tgid: Some(tgid.into()),
                dev: Some(dev.into()),
                ino: Some(ino as i64),
                lookup_pages: Some(counts.lookups as i64),
                demand_miss_pages: Some(counts.demand as i64),
                readahead_pages: Some(counts.readahead as i64),
                prefetched_hit_pages: Some(counts.prefetched as i64),
                dirtied_pages: Some(counts.dirtied as i64),
                evicted_pages: Some(counts.evicted as i64),
                reclaimed_pages: Some(counts.reclaimed as i64),
                refault_pages: Some(counts.refault as i64),
                major_faults: faults.then_some(counts.major as i64),
                minor_faults: faults.then_some(counts.faults.saturating_sub(turned) as i64),
                estimated: !lookups,
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(cache: &mut Cache) -> Vec<rows::PageCache> {
        let mut rows = Vec::new();
        cache
            .rows((0, 10), &mut |row| {
                rows.push(row);
                Ok(())
            })
            .unwrap();
        rows
    }

    #[test]
    fn a_read_looks_up_every_page_that_it_touches() {
        const SMALL: u64 = 4096;
        const LARGE: u64 = 65_536;
        for (page_bytes, offset, ret, pages) in [
            (SMALL, 0, 4096, 1),
            (SMALL, 0, 4097, 2),
            (SMALL, 4095, 2, 2),
            (SMALL, 8192, 1, 1),
            (SMALL, 100, 1 << 20, 257),
            (LARGE, 0, 4097, 1),
            (LARGE, 4095, 2, 1),
            (LARGE, 65_535, 2, 2),
            (LARGE, 100, 1 << 20, 17),
        ] {
            let mut cache = Cache::new(page_bytes);
            cache.looked_up(&Call {
                offset,
                ret,
                ..Call::default()
            });
            assert_eq!(
                rows_of(&mut cache)[0].lookup_pages,
                Some(pages),
                "{page_bytes} {offset} {ret}"
            );
        }
        let mut cache = Cache::new(SMALL);
        cache.looked_up(&Call {
            ret: 0,
            ..Call::default()
        });
        cache.looked_up(&Call {
            ret: -5,
            ..Call::default()
        });
        assert!(rows_of(&mut cache).is_empty());
    }

    #[test]
    fn bytes_of_a_file_are_those_of_its_pages() {
        let counts = CacheCounts {
            demand: 1,
            readahead: 2,
            dirtied: 4,
            faults: 8,
            ..CacheCounts::default()
        };
        assert_eq!(Cache::new(4096).moved_bytes(&counts), 15 * 4096);
        assert_eq!(Cache::new(65_536).moved_bytes(&counts), 15 * 65_536);
    }

    #[test]
    fn faults_that_turn_major_are_not_minor() {
        let mut cache = Cache::new(4096);
        let key = CacheKey::default();
        cache.add(
            key,
            &CacheCounts {
                faults: 5,
                major: 2,
                ..CacheCounts::default()
            },
        );
        let row = &rows_of(&mut cache)[0];
        assert_eq!((row.major_faults, row.minor_faults), (Some(2), Some(3)));
    }
}
