//! How much time spans cover together, added in nearly the order of their ends.

/// Spans apart from each other that are kept (512 KiB); of older ones only the sum of their lengths is. At 100,000
/// requests a second, one after the other, that is what lies within 0.3 s.
const MOST: usize = 32_768;

#[derive(Debug, Default)]
pub struct Spans {
    /// Apart and in order, each as begin and end.
    spans: Vec<(i64, i64)>,
    folded_ns: i64,
    folded_until: Option<i64>,
    /// One began where spans were folded: what it added there is not known.
    late: bool,
}

impl Spans {
    /// Takes a span in; `begin` is not after `until`.
    pub fn add(&mut self, begin: i64, until: i64) {
        self.late |= self.folded_until.is_some_and(|folded| begin < folded);
        let behind = self.last_where(self.spans.len(), |span| span.0 <= until);
        let before = self.last_where(behind, |span| span.1 < begin);
        match &mut self.spans[before..behind] {
            [] => self.spans.insert(before, (begin, until)),
            [one] => *one = (one.0.min(begin), one.1.max(until)),
            [first, .., last] => {
                let joined = (first.0.min(begin), last.1.max(until));
                self.spans.splice(before..behind, [joined]);
            }
        }
        if self.spans.len() > MOST {
            let oldest = self.spans.drain(..MOST / 2);
            for (begin, until) in oldest {
                self.folded_ns += until - begin;
                self.folded_until = Some(until);
            }
        }
    }

    /// The place behind the last span of the first `upto` for which it holds; it is one of the last, nearly always.
    fn last_where(&self, upto: usize, holds: impl Fn(&(i64, i64)) -> bool) -> usize {
        let found = self.spans[..upto].iter().rposition(holds);
        found.map_or(0, |place| place + 1)
    }

    /// Whether one of them is under way at a moment, or ends there; None where that is not known any more.
    pub fn contains(&self, at: i64) -> Option<bool> {
        let behind = self.last_where(self.spans.len(), |span| span.0 <= at);
        if self.spans[..behind].last().is_some_and(|span| at <= span.1) {
            return Some(true);
        }
        self.folded_until
            .is_none_or(|folded| folded < at)
            .then_some(false)
    }

    /// What all cover together; None where that is not known to the nanosecond.
    pub fn covered_ns(&self) -> Option<i64> {
        let kept: i64 = self.spans.iter().map(|(begin, until)| until - begin).sum();
        (!self.late).then_some(self.folded_ns + kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(spans: &[(i64, i64)]) -> Option<i64> {
        let mut all = Spans::default();
        spans.iter().for_each(|span| all.add(span.0, span.1));
        all.covered_ns()
    }

    #[test]
    fn every_order_of_a_few_spans_covers_the_same_moments() {
        // All pairs and triples of spans within eight moments, in the order in which they are drawn.
        let spans: Vec<(i64, i64)> = (0..8).flat_map(|b| (b..8).map(move |e| (b, e))).collect();
        for a in &spans {
            for b in &spans {
                for c in &spans {
                    let given = [*a, *b, *c];
                    let within = |t: &i64| given.iter().any(|(b, e)| b <= t && t < e);
                    let moments = (0..8).filter(within).count() as i64;
                    assert_eq!(covered(&given), Some(moments), "{given:?}");
                }
            }
        }
    }

    #[test]
    fn a_moment_is_within_a_span_to_its_end_or_it_is_not_known() {
        let mut all = Spans::default();
        (0..MOST as i64 + 1).for_each(|n| all.add(4 * n, 4 * n + 2));
        let folded = 4 * (MOST as i64 / 2 - 1) + 2;
        for (at, expected) in [(0, None), (folded, None), (folded + 1, Some(false))] {
            assert_eq!(all.contains(at), expected, "{at}");
        }
        let last = 4 * MOST as i64;
        for (at, expected) in [(-1, false), (0, true), (2, true), (3, false)] {
            assert_eq!(all.contains(last + at), Some(expected));
        }
    }

    #[test]
    fn what_is_folded_counts_and_what_comes_too_late_for_it_is_not_known() {
        let mut all = Spans::default();
        let last = 2 * MOST as i64;
        (0..last).for_each(|n| all.add(4 * n, 4 * n + 3));
        assert_eq!(all.covered_ns(), Some(3 * last));
        assert!(all.spans.len() <= MOST);
        all.add(4 * last - 7, 4 * last);
        assert_eq!(all.covered_ns(), Some(3 * last + 2));
        all.add(1, 4 * last + 1);
        assert_eq!(all.covered_ns(), None);
    }
}
