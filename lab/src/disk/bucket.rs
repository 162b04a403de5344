//! Ceilings in front of a disk, as a cloud puts them before a volume: token buckets, for requests and for bytes.
//!
//! A request that finds no token waits, in the order of arrival; then the disk behind has it. Flushes are free.

use std::collections::VecDeque;
use std::str::FromStr;

use super::model::{Device, Done, Kind, Mechanics, Request};

/// One bucket as an option gives it: `RATE`, `RATE:BURST` or `RATE:BURST:REFILL_MS`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Tokens that come in a second.
    pub per_s: f64,
    /// Tokens that it holds; it begins full. Without it, those of a tenth of a second, as QEMU has it.
    pub burst: f64,
    /// Tokens come all this time, those of the time since then at once; 0: continuously.
    pub refill_ns: u64,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers: Vec<f64> = text
            .split(':')
            .map(|word| word.parse().map_err(|_| format!("not a number: {word}")))
            .collect::<Result<_, _>>()?;
        match numbers[..] {
            [per_s, ref more @ ..]
                if more.len() <= 2 && per_s > 0.0 && more.iter().all(|n| *n >= 0.0) =>
            {
                let refill_ns = more.get(1).map_or(0, |ms| (ms * 1e6) as u64);
                // What comes at once must fit, else the rate is never reached.
                let least = per_s * refill_ns as f64 / 1e9;
                Ok(Self {
                    per_s,
                    burst: more.first().map_or(per_s / 10.0, |n| *n).max(least),
                    refill_ns,
                })
            }
            _ => Err("give RATE[:BURST[:REFILL_MS]], e.g. 3000:30".into()),
        }
    }
}

#[derive(Clone, Debug)]
struct Bucket {
    limit: Limit,
    bytes: bool,
    tokens: f64,
    filled_ns: Option<u64>,
}

impl Bucket {
    fn new(limit: Limit, bytes: bool) -> Self {
        Self {
            limit,
            bytes,
            tokens: limit.burst,
            filled_ns: None,
        }
    }

    fn fill(&mut self, now_ns: u64) {
        let filled = *self.filled_ns.get_or_insert(now_ns);
        let step = self.limit.refill_ns.max(1);
        let passed = now_ns.saturating_sub(filled) / step * step;
        self.filled_ns = Some(filled + passed);
        self.tokens = (self.tokens + passed as f64 * self.limit.per_s / 1e9).min(self.limit.burst);
    }

    fn cost(&self, request: &Request) -> f64 {
        if self.bytes {
            request.bytes as f64
        } else {
            1.0
        }
    }

    /// How long until it lets the request through. A debt is allowed, or one larger than the bucket would wait for ever.
    fn wait_ns(&self, request: &Request) -> u64 {
        let lacks = self.cost(request).min(self.limit.burst) - self.tokens;
        if lacks <= 1e-9 {
            return 0;
        }
        let step = self.limit.refill_ns.max(1);
        ((lacks * 1e9 / self.limit.per_s).ceil() as u64).next_multiple_of(step)
    }
}

/// A disk behind buckets.
pub struct Capped {
    disk: Box<dyn Device>,
    buckets: Vec<Bucket>,
    waiting: VecDeque<Request>,
    /// When the first that waits may go on.
    next_pass_ns: Option<u64>,
}

impl Capped {
    /// The disk behind full buckets.
    pub fn new(disk: Box<dyn Device>, requests: &[Limit], bytes: &[Limit]) -> Self {
        let of = |limits: &[Limit], bytes| -> Vec<Bucket> {
            let made = limits.iter().map(|limit| Bucket::new(*limit, bytes));
            made.collect()
        };
        Self {
            disk,
            buckets: [of(requests, false), of(bytes, true)].concat(),
            waiting: VecDeque::new(),
            next_pass_ns: None,
        }
    }

    /// Hands on what has tokens at this time.
    fn pass(&mut self, now_ns: u64) {
        self.next_pass_ns = None;
        while let Some(&request) = self.waiting.front() {
            if request.kind != Kind::Flush {
                let mut wait_ns = 0;
                for bucket in &mut self.buckets {
                    bucket.fill(now_ns);
                    wait_ns = wait_ns.max(bucket.wait_ns(&request));
                }
                if wait_ns > 0 {
                    self.next_pass_ns = Some(now_ns + wait_ns);
                    return;
                }
                for bucket in &mut self.buckets {
                    bucket.tokens -= bucket.cost(&request);
                }
            }
            self.waiting.pop_front();
            self.disk.submit(now_ns, request);
        }
    }
}

impl Device for Capped {
    fn submit(&mut self, now_ns: u64, request: Request) {
        self.waiting.push_back(request);
        if self.next_pass_ns.is_none() {
            self.pass(now_ns);
        }
    }

    fn next_ns(&self) -> Option<u64> {
        self.next_pass_ns
            .into_iter()
            .chain(self.disk.next_ns())
            .min()
    }

    fn advance(&mut self, now_ns: u64, done: &mut Vec<Done>) {
        while let Some(at_ns) = self.next_pass_ns.filter(|&at| at <= now_ns) {
            self.disk.advance(at_ns, done);
            self.pass(at_ns);
        }
        self.disk.advance(now_ns, done);
    }

    fn mechanics(&self) -> Mechanics {
        self.disk.mechanics()
    }
}

#[cfg(test)]
mod tests {
    use super::super::flash::{Chips, Flash};
    use super::super::model::Id;
    use super::*;

    fn answered(requests: &[Limit], bytes: &[Limit], sizes: &[u64]) -> Vec<u64> {
        let chips = Chips {
            channels: 64,
            access_ns: 100_000,
            spread: 0.0,
            bytes_per_s: 10_000_000_000,
            flush_ns: 1_000_000,
        };
        let mut disk = Capped::new(Box::new(Flash::new(chips)), requests, bytes);
        for (id, &bytes) in sizes.iter().enumerate() {
            let (kind, id) = (Kind::Read, id as Id);
            disk.submit(
                1_000_000_000,
                Request {
                    id,
                    kind,
                    offset: 0,
                    bytes,
                },
            );
        }
        let mut done = Vec::new();
        while let Some(at) = disk.next_ns() {
            disk.advance(at, &mut done);
        }
        assert_eq!(done.len(), sizes.len());
        done.iter().map(|one| one.at_ns - 1_000_000_000).collect()
    }

    fn limit(text: &str) -> Limit {
        text.parse().expect("a limit")
    }

    fn near(got: u64, expected_ns: u64) -> bool {
        got.abs_diff(expected_ns) < 300_000
    }

    #[test]
    fn the_burst_passes_at_once_and_the_rest_at_the_rate() {
        let at = answered(&[limit("1000:10")], &[], &[4096; 60]);
        assert!(near(at[9], 0) && near(at[10], 1_000_000) && near(at[59], 50_000_000));
    }

    #[test]
    fn bytes_count_as_bytes_and_the_tighter_bucket_holds() {
        let at = answered(&[limit("1000:1")], &[limit("1000000:1")], &[10_000; 21]);
        assert!(near(at[20], 200_000_000), "{}", at[20]);
        let at = answered(&[limit("1000:1")], &[limit("1000000:1")], &[100; 21]);
        assert!(near(at[20], 20_000_000), "{}", at[20]);
    }

    #[test]
    fn credits_are_a_second_bucket_of_the_same_kind() {
        let at = answered(&[limit("100:100"), limit("1000:1")], &[], &[4096; 120]);
        assert!(near(at[100], 100_000_000), "{}", at[100]);
        assert!(at[119] - at[118] > 9_000_000);
    }

    #[test]
    fn tokens_may_come_in_steps() {
        let at = answered(&[limit("1000:1:100")], &[], &[4096; 250]);
        assert!(near(at[99], 0) && near(at[100], 100_000_000) && near(at[249], 200_000_000));
    }

    #[test]
    fn a_senseless_limit_is_refused() {
        for text in ["", "x", "0", "-1", "1:2:3:4"] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }
}
