//! The log's time line: what the times of its lines are put on.

use super::line::{Clock, Stamp};
use crate::text::NS;

const DAY: i64 = 86_400 * NS;

#[derive(Default)]
pub struct TimeLine {
    clock: Clock,
    now: i64,
    begun: bool,
    /// Of days that have passed since the log's first line, by the clock of -tt.
    days: i64,
    last: i64,
}

impl TimeLine {
    /// What the log's times are.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The time of the current line.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// The latest time that the log knows of.
    pub fn last(&self) -> i64 {
        self.last.max(self.now)
    }

    /// Put a line's time on the line: it is `now` from here on.
    pub fn advance(&mut self, stamp: Stamp) {
        if self.clock == Clock::None {
            self.clock = stamp.clock;
        }
        if stamp.clock != self.clock {
            return;
        }
        match stamp.clock {
            Clock::Epoch => self.now = stamp.ns,
            Clock::Relative => self.now = self.now.saturating_add(stamp.ns),
            Clock::Day => {
                let ns = stamp.ns.saturating_add(self.days);
                if self.begun && ns < self.now.saturating_sub(DAY / 2) {
                    self.days = self.days.saturating_add(DAY);
                }
                self.now = stamp.ns.saturating_add(self.days);
            }
            Clock::None => {}
        }
        self.begun = true;
        self.last = self.last.max(self.now);
    }

    /// A call took this long. Without times, calls are laid one after the other.
    pub fn spend(&mut self, ts_ns: i64, dur_ns: i64) {
        self.last = self.last.max(ts_ns.saturating_add(dur_ns));
        if self.clock == Clock::None {
            self.now = self.now.saturating_add(dur_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn midnight() {
        let mut line = TimeLine::default();
        for (seconds, expected) in [(86_399, 86_399), (1, 86_401), (0, 86_400)] {
            line.advance(Stamp {
                clock: Clock::Day,
                ns: seconds * NS,
                fraction: false,
            });
            assert_eq!(line.now(), expected * NS);
        }
        assert_eq!(line.last(), 86_401 * NS);
    }
}
