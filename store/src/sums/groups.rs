//! Groups of rows by their key, as many as fit a bound.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Groups of one table, at most: some 25 MiB of them.
const MOST: usize = 65_536;

/// Values by key. Rows come in runs of one key: the last one is looked at first.
#[derive(Debug)]
pub struct Groups<K, V> {
    places: HashMap<K, usize, BuildHasherDefault<Mixer>>,
    groups: Vec<(K, V)>,
    last: usize,
    given_up: bool,
}

impl<K, V> Default for Groups<K, V> {
    fn default() -> Groups<K, V> {
        Groups {
            places: HashMap::default(),
            groups: Vec::new(),
            last: 0,
            given_up: false,
        }
    }
}

impl<K: Clone + Eq + Hash, V: Default> Groups<K, V> {
    /// The value of a key, None once there were too many.
    #[inline]
    pub fn of(&mut self, key: K) -> Option<&mut V> {
        self.place(key).map(|place| self.at(place))
    }

    /// Where the value of a key is, None once there were too many.
    #[inline]
    pub fn place(&mut self, key: K) -> Option<usize> {
        if self.groups.get(self.last).is_none_or(|(k, _)| *k != key) {
            self.last = self.find(key)?;
        }
        Some(self.last)
    }

    /// The value at a place that `place` gave.
    #[inline]
    pub fn at(&mut self, place: usize) -> &mut V {
        &mut self.groups[place].1
    }

    fn find(&mut self, key: K) -> Option<usize> {
        if let Some(&place) = self.places.get(&key) {
            return Some(place);
        }
        if self.groups.len() >= MOST {
            self.give_up();
        }
        if self.given_up {
            return None;
        }
        self.places.insert(key.clone(), self.groups.len());
        self.groups.push((key, V::default()));
        Some(self.groups.len() - 1)
    }

    /// Lets go of all groups, and takes no more.
    pub fn give_up(&mut self) {
        *self = Groups {
            given_up: true,
            ..Groups::default()
        };
    }

    /// All groups, in the order in which they came.
    pub fn into_groups(self) -> Vec<(K, V)> {
        self.groups
    }
}

/// The row of a table of sums: of the rows of one key, of which it says which one that is when it ends.
pub trait Summed: Default {
    type Key: Clone + Eq + Hash;
    /// The row that is added, and what else is known of it.
    type Of<'a>: Copy;

    fn key(of: Self::Of<'_>) -> Self::Key;
    fn add(&mut self, of: Self::Of<'_>);
    fn with_key(self, key: Self::Key) -> Self;
}

impl<S: Summed> Groups<S::Key, S> {
    /// Adds a row to the sum of its key.
    #[inline]
    pub fn add(&mut self, of: S::Of<'_>) {
        if let Some(sum) = self.of(S::key(of)) {
            sum.add(of);
        }
    }

    /// One of each group; none where there were too many.
    pub fn rows(self) -> Vec<S> {
        let groups = self.into_groups().into_iter();
        groups.map(|(key, sum)| sum.with_key(key)).collect()
    }
}

/// A hash of few instructions: nobody gains from keys that collide in their own recording.
#[derive(Debug, Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        // An odd number near 2^64 over the golden ratio spreads neighbours (Knuth, The Art of Computer Programming 3, 6.4).
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_i64(&mut self, value: i64) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// The rows of a table of sums that saves reading `of` others; none where these are not many more.
pub fn pays<R>(rows: Vec<R>, of: usize) -> Vec<R> {
    match 8 * rows.len() < of {
        true => rows,
        false => Vec::new(),
    }
}

/// Adds what is known; a sum of nothing known stays unknown.
#[inline]
pub fn add(sum: &mut Option<i64>, more: Option<i64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_bound_there_are_no_groups_at_all() {
        let mut groups: Groups<i64, i64> = Groups::default();
        for key in 0..MOST as i64 {
            *groups.of(key).expect("room") += 1;
        }
        assert_eq!(groups.of(5).copied(), Some(1));
        assert!(groups.of(-1).is_none() && groups.of(5).is_none());
        assert!(groups.into_groups().is_empty());
    }
}
