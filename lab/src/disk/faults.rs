//! What a sick disk does: it falls silent, answers some requests late, and fails some.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use super::model::{Device, Done, Id, Kind, Mechanics, Request};

/// The faults of a disk; none by default. Its seconds begin with the first request after "pace on".
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Faults {
    /// From AT on silent for FOR seconds, e.g. 1.5+4; may be given more than once. "stall FOR" in `control` does it at once.
    #[arg(long = "stall", value_name = "AT+FOR", value_parser = stall)]
    stalls: Vec<Range<u64>>,
    /// Share (0 to 1) of reads and writes that are answered --late-ms later.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    late_share: f64,
    /// From AT on for FOR seconds all reads and writes are that late; may be given more than once.
    #[arg(long = "late", value_name = "AT+FOR", value_parser = stall)]
    late: Vec<Range<u64>>,
    /// How much later.
    #[arg(long, value_name = "MS", default_value_t = 200.0)]
    late_ms: f64,
    /// Share (0 to 1) of reads and writes that fail with EIO.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    error_share: f64,
    /// Bytes of the disk that cannot be read or written, e.g. 64M+4K; may be given more than once.
    #[arg(long = "error-range", value_name = "FROM+BYTES", value_parser = places)]
    error_ranges: Vec<Range<u64>>,
    /// Which requests are late or fail.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    fault_seed: u64,
}

fn two(text: &str) -> Result<(&str, &str), String> {
    text.split_once('+')
        .ok_or_else(|| "give two values with a + between them".to_owned())
}

fn stall(text: &str) -> Result<Range<u64>, String> {
    let (at, length) = two(text)?;
    let at = seconds(at)?;
    Ok(at..at + seconds(length)?)
}

fn places(text: &str) -> Result<Range<u64>, String> {
    let (from, length) = two(text)?;
    let from = crate::size::bytes(from)?;
    Ok(from..from + crate::size::bytes(length)?)
}

/// Seconds as nanoseconds; at most a day.
pub fn seconds(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=86_400.0).contains(&value) => Ok((value * 1e9) as u64),
        _ => Err(format!("{text}: not a number of seconds")),
    }
}

impl Faults {
    /// The disk with these faults.
    pub fn of(&self, device: Box<dyn Device>) -> Box<dyn Device> {
        Box::new(Sick {
            device,
            faults: self.clone(),
            began_ns: None,
            silent: Vec::new(),
            late: HashMap::new(),
            held: BinaryHeap::new(),
        })
    }

    /// Whether a thing with this share happens to this request; `salt` keeps two things apart.
    fn falls_on(&self, id: Id, share: f64, salt: u64) -> bool {
        (mixed(id ^ (self.fault_seed << 40) ^ (salt << 56)) as f64) < share * u64::MAX as f64
    }
}

/// SplitMix64: neighbours in, unrelated numbers out.
pub fn mixed(id: u64) -> u64 {
    let mut mixed = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A disk with faults. While it is silent the time of the disk below stands still.
struct Sick {
    device: Box<dyn Device>,
    faults: Faults,
    began_ns: Option<u64>,
    /// When it is silent, in order, none of them touching another.
    silent: Vec<Range<u64>>,
    /// How much later the answers of some requests in flight come.
    late: HashMap<Id, u64>,
    /// Answers that are late, by the time of the disk below.
    held: BinaryHeap<Reverse<(u64, Id)>>,
}

impl Sick {
    fn below(&self, now_ns: u64) -> u64 {
        let stood: u64 = self
            .silent
            .iter()
            .map(|one| now_ns.clamp(one.start, one.end) - one.start)
            .sum();
        now_ns - stood
    }

    fn above(&self, below_ns: u64) -> u64 {
        self.silent.iter().fold(below_ns, |now_ns, one| {
            if now_ns > one.start {
                now_ns + (one.end - one.start)
            } else {
                now_ns
            }
        })
    }
}

impl Device for Sick {
    fn submit(&mut self, now_ns: u64, request: Request) {
        if self.began_ns.is_none() {
            for one in self.faults.stalls.clone() {
                self.stall(now_ns + one.start, one.end - one.start);
            }
        }
        let since_ns = now_ns - *self.began_ns.get_or_insert(now_ns);
        let late = self.faults.late.iter().any(|one| one.contains(&since_ns))
            || self.faults.falls_on(request.id, self.faults.late_share, 1);
        if late && request.kind != Kind::Flush {
            let late_ns = (self.faults.late_ms.max(0.0) * 1e6) as u64;
            self.late.insert(request.id, late_ns);
        }
        self.device.submit(self.below(now_ns), request);
    }

    fn next_ns(&self) -> Option<u64> {
        let held = self.held.peek().map(|Reverse((at_ns, _))| *at_ns);
        let next = match (self.device.next_ns(), held) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        next.map(|at_ns| self.above(at_ns))
    }

    fn advance(&mut self, now_ns: u64, done: &mut Vec<Done>) {
        let below_ns = self.below(now_ns);
        let mut answered = Vec::new();
        self.device.advance(below_ns, &mut answered);
        for Done { id, at_ns } in answered {
            match self.late.remove(&id) {
                Some(late_ns) => self.held.push(Reverse((at_ns + late_ns, id))),
                None => done.push(Done {
                    id,
                    at_ns: self.above(at_ns),
                }),
            }
        }
        while let Some(&Reverse((at_ns, id))) = self.held.peek() {
            if at_ns > below_ns {
                break;
            }
            self.held.pop();
            done.push(Done {
                id,
                at_ns: self.above(at_ns),
            });
        }
    }

    fn mechanics(&self) -> Mechanics {
        self.device.mechanics()
    }

    fn fails(&self, request: &Request) -> bool {
        let end = request.offset + request.bytes;
        request.kind != Kind::Flush
            && (self.faults.falls_on(request.id, self.faults.error_share, 2)
                || (self.faults.error_ranges.iter())
                    .any(|bad| request.offset < bad.end && bad.start < end))
    }

    fn stall(&mut self, from_ns: u64, length_ns: u64) {
        let mut from_ns = from_ns;
        // Silent already: that much longer.
        for one in &self.silent {
            if one.contains(&from_ns) {
                from_ns = one.end;
            }
        }
        self.silent.push(from_ns..from_ns + length_ns);
        self.silent.sort_by_key(|one| one.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::profile::{Changes, Profile};

    fn sick(faults: Faults) -> Box<dyn Device> {
        faults.of(Profile::Ssd.device(1 << 30, &Changes::default()))
    }

    fn read(id: Id) -> Request {
        Request {
            id,
            kind: Kind::Read,
            offset: id * 4096,
            bytes: 4096,
        }
    }

    /// When each of some reads is done that are sent one after the other.
    fn one_by_one(device: &mut dyn Device, reads: u64) -> Vec<u64> {
        let mut now_ns = 1_000_000;
        (0..reads)
            .map(|id| {
                device.submit(now_ns, read(id));
                let mut done = Vec::new();
                while done.is_empty() {
                    now_ns = device.next_ns().expect("a request is under way");
                    device.advance(now_ns, &mut done);
                }
                assert_eq!((done[0].id, done[0].at_ns), (id, now_ns));
                now_ns
            })
            .collect()
    }

    #[test]
    fn a_silent_disk_answers_nobody_and_goes_on_where_it_was() {
        let quick = one_by_one(&mut *sick(Faults::default()), 100);
        let stalls = vec![stall("0.002+4").unwrap()];
        let stalled = one_by_one(
            &mut *sick(Faults {
                stalls,
                ..Faults::default()
            }),
            100,
        );
        assert!(quick
            .iter()
            .zip(&stalled)
            .all(|(a, b)| { b - a == if *b <= 3_000_000 { 0 } else { 4_000_000_000 } }));
        assert_eq!(
            stalled.last().unwrap() - quick.last().unwrap(),
            4_000_000_000
        );
    }

    #[test]
    fn it_falls_silent_at_once_when_asked() {
        let mut device = sick(Faults::default());
        device.submit(0, read(1));
        device.stall(10_000, 2_000_000_000);
        device.stall(20_000, 1_000_000_000);
        let mut done = Vec::new();
        device.advance(2_999_999_999, &mut done);
        assert!(done.is_empty());
        device.advance(device.next_ns().unwrap(), &mut done);
        assert!(done[0].at_ns > 3_000_000_000 && done[0].at_ns < 3_001_000_000);
    }

    #[test]
    fn some_are_late_and_others_go_on() {
        let faults = Faults {
            late_share: 0.1,
            late_ms: 200.0,
            ..Faults::default()
        };
        let mut device = sick(faults);
        for id in 0..1000 {
            device.submit(0, read(id));
        }
        let mut done = Vec::new();
        device.advance(150_000_000, &mut done);
        let late = 1000 - done.len();
        assert!((60..140).contains(&late), "{late}");
        device.advance(400_000_000, &mut done);
        assert_eq!(done.len(), 1000);
    }

    #[test]
    fn all_are_late_for_a_while() {
        let faults = Faults {
            late: vec![stall("0.002+0.003").unwrap()],
            late_ms: 1.0,
            ..Faults::default()
        };
        let quick = one_by_one(&mut *sick(Faults::default()), 100);
        let late = one_by_one(&mut *sick(faults), 100);
        let lost_ns = late.last().unwrap() - quick.last().unwrap();
        assert_eq!(lost_ns, 3_000_000);
    }

    #[test]
    fn a_share_or_a_range_fails() {
        let share = sick(Faults {
            error_share: 0.05,
            ..Faults::default()
        });
        let failed = (0..1000).filter(|id| share.fails(&read(*id))).count();
        assert!((25..80).contains(&failed), "{failed}");
        let range = sick(Faults {
            error_ranges: vec![places("16K+4K").unwrap()],
            ..Faults::default()
        });
        assert_eq!(
            (0..1000)
                .filter(|id| range.fails(&read(*id)))
                .collect::<Vec<_>>(),
            [4]
        );
        assert!(stall("4").is_err() && stall("1+x").is_err() && places("1K").is_err());
    }
}
