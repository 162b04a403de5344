//! How often each value came, of values that may be nearly as many as they come.

/// Values that wait to be counted: they are put in order together, which takes less of each than to look for it.
const WAITING: usize = 65_536;

/// Counts by value, as long as there are no more than `MOST` values.
#[derive(Debug, Default)]
pub struct Counts<const MOST: usize> {
    waiting: Vec<u64>,
    /// In order.
    counts: Vec<(u64, u64)>,
    given_up: bool,
}

impl<const MOST: usize> Counts<MOST> {
    #[inline]
    pub fn add(&mut self, value: u64) {
        if self.given_up {
            return;
        }
        self.waiting.push(value);
        if self.waiting.len() == WAITING {
            self.count();
        }
    }

    pub fn give_up(&mut self) {
        *self = Counts {
            given_up: true,
            ..Counts::default()
        };
    }

    /// The values in their order, each with its number; none where there were too many.
    pub fn into_counts(mut self) -> Vec<(u64, u64)> {
        self.count();
        self.counts
    }

    fn count(&mut self) {
        self.waiting.sort_unstable();
        let runs = self.waiting.chunk_by(|one, other| one == other);
        let mut new = runs.map(|run| (run[0], run.len() as u64)).peekable();
        let mut old = std::mem::take(&mut self.counts).into_iter().peekable();
        let mut both = Vec::with_capacity(old.len() + 1_024);
        while let (Some(&(one, many)), Some(&(other, more))) = (new.peek(), old.peek()) {
            let same = one == other;
            let many = if one <= other { many } else { 0 };
            let more = if other <= one { more } else { 0 };
            both.push((one.min(other), many + more));
            if same || one < other {
                new.next();
            }
            if same || other < one {
                old.next();
            }
        }
        both.extend(new);
        both.extend(old);
        self.counts = both;
        self.waiting.clear();
        if self.counts.len() > MOST {
            self.give_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_value_is_counted_however_they_come() {
        let mut counts: Counts<1_000> = Counts::default();
        let mut expected = BTreeMap::new();
        for number in 0..3 * WAITING as u64 + 17 {
            let value = number * number % 997 + number / WAITING as u64;
            counts.add(value);
            *expected.entry(value).or_insert(0) += 1;
        }
        assert_eq!(
            counts.into_counts(),
            expected.into_iter().collect::<Vec<_>>()
        );
    }

    #[test]
    fn beyond_the_bound_there_is_nothing() {
        let counted = |values: u64| {
            let mut counts: Counts<1_000> = Counts::default();
            (0..values).for_each(|value| counts.add(value));
            counts.into_counts().len()
        };
        assert_eq!((counted(1_000), counted(1_001)), (1_000, 0));
    }
}
