//! The volatile write cache of a disk: which bytes are waiting for the medium.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Dirty {
    end: u64,
    /// Flush generation of the oldest bytes in the extent.
    generation: u64,
}

/// Dirty extents, never overlapping, touching ones merged.
#[derive(Debug, Default)]
pub struct WriteCache {
    extents: BTreeMap<u64, Dirty>,
    used_bytes: u64,
}

impl WriteCache {
    /// Bytes that wait for the medium.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// Whether bytes of this generation or an older one wait.
    pub fn holds_generation(&self, generation: u64) -> bool {
        self.extents
            .values()
            .any(|dirty| dirty.generation <= generation)
    }

    /// Whether all of `[start, end)` is held, so that a read needs no medium.
    pub fn covers(&self, start: u64, end: u64) -> bool {
        // Touching extents are merged, so one extent has to hold it all.
        self.extents
            .range(..=start)
            .next_back()
            .is_some_and(|(_, dirty)| dirty.end >= end)
    }

    /// Adds `[start, end)`. What it touches is merged with it and keeps the older generation, since a
    /// flush that waits for the old bytes waits for the extent that now holds them.
    pub fn insert(&mut self, start: u64, end: u64, generation: u64) {
        let (mut low, mut high, mut oldest) = (start, end, generation);
        while let Some((&at, &dirty)) = self.extents.range(..=high).next_back() {
            if dirty.end < low {
                break;
            }
            low = low.min(at);
            high = high.max(dirty.end);
            oldest = oldest.min(dirty.generation);
            self.extents.remove(&at);
            self.used_bytes -= dirty.end - at;
        }
        self.extents.insert(
            low,
            Dirty {
                end: high,
                generation: oldest,
            },
        );
        self.used_bytes += high - low;
    }

    /// Takes at most `limit` bytes of the first extent that starts at or after `position`, or of the
    /// first of all when none does (C-LOOK: one direction, then back to the lowest).
    pub fn take_next(&mut self, position: u64, limit: u64) -> Option<(u64, u64)> {
        let (&start, &dirty) = self
            .extents
            .range(position..)
            .next()
            .or_else(|| self.extents.iter().next())?;
        self.extents.remove(&start);
        let end = dirty.end.min(start + limit);
        if end < dirty.end {
            self.extents.insert(end, dirty);
        }
        self.used_bytes -= end - start;
        Some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::WriteCache;

    #[test]
    fn touching_and_overlapping_extents_become_one() {
        let mut cache = WriteCache::default();
        cache.insert(0, 10, 5);
        cache.insert(20, 30, 3);
        assert_eq!(cache.used_bytes(), 20);
        cache.insert(10, 20, 9);
        assert_eq!(cache.used_bytes(), 30);
        assert!(cache.covers(0, 30) && !cache.covers(0, 31));
        assert!(cache.holds_generation(3) && !cache.holds_generation(2));
        cache.insert(5, 25, 1);
        assert_eq!(cache.used_bytes(), 30);
        assert_eq!(cache.take_next(0, 100), Some((0, 30)));
        assert!(cache.is_empty());
    }

    #[test]
    fn an_overwrite_inside_counts_once() {
        let mut cache = WriteCache::default();
        cache.insert(100, 200, 1);
        cache.insert(120, 130, 2);
        assert_eq!(cache.used_bytes(), 100);
    }

    #[test]
    fn it_is_drained_in_one_direction_and_wraps() {
        let mut cache = WriteCache::default();
        for start in [50, 10, 90] {
            cache.insert(start, start + 5, 0);
        }
        assert_eq!(cache.take_next(40, 100), Some((50, 55)));
        assert_eq!(cache.take_next(55, 3), Some((90, 93)));
        assert_eq!(cache.take_next(93, 3), Some((93, 95)));
        assert_eq!(cache.take_next(95, 3), Some((10, 13)));
        assert_eq!(cache.used_bytes(), 2);
    }
}
