//! The buckets of the programs' histograms (bpf/aggregate.h).

use crate::skeleton::types;

/// As in the programs: `LOWEST`, `HIGHEST` and `PARTS`.
const LOWEST: u32 = 10;
const HIGHEST: u32 = 36;
const PARTS: u32 = 4;
pub const BUCKETS: usize = (2 + PARTS * (HIGHEST - LOWEST)) as usize;

/// What one key has come to, of all its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    pub count: u64,
    /// Of count, those whose time is not known.
    pub untimed: u64,
    pub sum_ns: u64,
    pub bytes: u64,
    pub buckets: [u64; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            count: 0,
            untimed: 0,
            sum_ns: 0,
            bytes: 0,
            buckets: [0; BUCKETS],
        }
    }
}

impl Histogram {
    pub fn add(&mut self, entry: &types::aggregate) {
        self.count += entry.count;
        self.untimed += entry.untimed;
        self.sum_ns += entry.sum_ns;
        self.bytes += entry.bytes;
        for (bucket, count) in self.buckets.iter_mut().zip(entry.buckets) {
            *bucket += u64::from(count);
        }
    }

    /// The buckets that hold anything: the first time that is too long for each, in ns, and how many are in it.
    pub fn filled(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let each = self.buckets.iter().enumerate();
        each.filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (up_to_ns(bucket), *count as i64))
    }
}

/// The first time that is too long for a bucket; the last is open.
pub fn up_to_ns(bucket: usize) -> i64 {
    match bucket {
        0 => 1 << LOWEST,
        last if last >= BUCKETS - 1 => i64::MAX,
        inner => {
            let (power, part) = (
                LOWEST + (inner as u32 - 1) / PARTS,
                (inner as u32 - 1) % PARTS,
            );
            i64::from(PARTS + part + 1) << (power - 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_a_quarter_of_a_power_of_two_at_a_time() {
        let ends: Vec<i64> = (0..BUCKETS).map(up_to_ns).collect();
        assert_eq!(ends[..6], [1024, 1280, 1536, 1792, 2048, 2560]);
        assert_eq!(ends[BUCKETS - 2..], [1 << 36, i64::MAX]);
        assert!(ends.windows(2).all(|two| two[0] < two[1]));
        assert_eq!(types::aggregate::default().buckets.len(), BUCKETS);
    }

    #[test]
    fn entries_of_a_key_add_up() {
        let mut entry = types::aggregate {
            count: 3,
            sum_ns: 5000,
            bytes: 7,
            untimed: 1,
            ..types::aggregate::default()
        };
        entry.buckets[0] = 1;
        entry.buckets[BUCKETS - 1] = 1;
        let mut sum = Histogram::default();
        sum.add(&entry);
        sum.add(&entry);
        assert_eq!(
            (sum.count, sum.untimed, sum.sum_ns, sum.bytes),
            (6, 2, 10_000, 14)
        );
        let filled: Vec<_> = sum.filled().collect();
        assert_eq!(filled, [(1024, 2), (i64::MAX, 2)]);
        let timed: i64 = filled.iter().map(|(_, count)| count).sum();
        assert_eq!(timed as u64, sum.count - sum.untimed);
    }
}
