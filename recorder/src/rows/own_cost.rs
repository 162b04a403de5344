//! What the recorder itself takes of a thread's time on a CPU, by its calls.
//!
//! A call pays the way to the tracepoints at its entry and its end, which is measured once (calibration.rs), and what the
//! programs do there, of which some calls in each thread are timed (bpf/cost.h): that differs from program to program.

use crate::event::{Clock, OwnCost};

/// What a call pays here, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCosts {
    /// The way to the programs, and what they do before they read the clock.
    passing: u64,
    /// Of it, within the call's length.
    passing_inside: u64,
    /// Asking the page cache, all of it within the call's length.
    lookup: u64,
    /// What the programs did in a call that does nothing: of a thread none of whose calls was timed.
    entry: u64,
    end: u64,
}

/// Calls of one kind that were made to measure what they pay, in picoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    pub without: u64,
    pub with: u64,
    /// With the programs: on a CPU between their readings of the clock, and what the timed ones told.
    pub inside: u64,
    pub entry: u64,
    pub end: u64,
}

impl Measured {
    fn cost(&self) -> u64 {
        self.with.saturating_sub(self.without)
    }

    fn passing(&self) -> u64 {
        self.cost().saturating_sub(self.entry + self.end)
    }
}

impl CallCosts {
    /// From calls that do nothing, and from reads of a page that is in the cache.
    pub fn of(nothing: &Measured, read: &Measured) -> CallCosts {
        let passing = nothing.passing();
        CallCosts {
            passing,
            passing_inside: nothing.inside.saturating_sub(nothing.entry).min(passing),
            lookup: read.passing().saturating_sub(passing),
            entry: nothing.entry,
            end: nothing.end,
        }
    }

    /// Nanoseconds of a call that does nothing.
    pub fn call_ns(&self) -> i64 {
        ((self.passing + self.entry + self.end) / 1000) as i64
    }

    /// Of it, the way to the programs.
    pub fn passing_ns(&self) -> i64 {
        (self.passing / 1000) as i64
    }

    /// What asking the page cache adds.
    pub fn lookup_ns(&self) -> i64 {
        (self.lookup / 1000) as i64
    }

    /// What the calls of a thread paid since it came into scope.
    pub fn of_thread(&self, clock: &Clock) -> Cost {
        let OwnCost {
            calls,
            lookups,
            timed,
            entry_ns,
            end_ns,
            stacks_ns,
        } = clock.own;
        let of_all = |timed_ns: u64, usual_ps: u64| match timed {
            0 => product_ns(calls, usual_ps),
            _ => (u128::from(timed_ns) * u128::from(calls) / u128::from(timed)) as u64,
        };
        let inside = product_ns(calls, self.passing_inside)
            + product_ns(lookups, self.lookup)
            + of_all(entry_ns, self.entry);
        let outside = product_ns(calls, self.passing - self.passing_inside)
            + of_all(end_ns, self.end)
            + stacks_ns;
        Cost { inside, outside }
    }
}

fn product_ns(calls: u64, ps: u64) -> u64 {
    (u128::from(calls) * u128::from(ps) / 1000) as u64
}

/// Nanoseconds that the recorder took of a thread since it came into scope, all of them in the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Within the lengths of its calls.
    pub inside: u64,
    /// Before and after them.
    pub outside: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(calls: u64, lookups: u64, timed: u64, entry_ns: u64, end_ns: u64) -> Clock {
        Clock {
            own: OwnCost {
                calls,
                lookups,
                timed,
                entry_ns,
                end_ns,
                stacks_ns: 0,
            },
            ..Clock::default()
        }
    }

    /// A call that does nothing takes 60 ns, and 360 with the programs: 50 and 100 in them, 150 on the way there,
    /// 70 of which lie within its length.
    const NOTHING: Measured = Measured {
        without: 60_000,
        with: 360_000,
        inside: 120_000,
        entry: 50_000,
        end: 100_000,
    };

    #[test]
    fn a_thread_pays_the_way_of_each_call_and_what_its_timed_calls_tell() {
        let read = Measured {
            without: 260_000,
            with: 700_000,
            inside: 400_000,
            entry: 120_000,
            end: 110_000,
        };
        let costs = CallCosts::of(&NOTHING, &read);
        assert_eq!(
            (costs.call_ns(), costs.passing_ns(), costs.lookup_ns()),
            (300, 150, 60)
        );
        // 300 and 200 ns on average in 10 of 1,000 calls.
        let cost = costs.of_thread(&thread(1000, 400, 10, 3000, 2000));
        assert_eq!(cost.inside, 1000 * 70 + 400 * 60 + 1000 * 300);
        assert_eq!(cost.outside, 1000 * 80 + 1000 * 200);
        // None was timed: as in a call that does nothing.
        let cost = costs.of_thread(&thread(3, 0, 0, 0, 0));
        assert_eq!((cost.inside, cost.outside), (3 * (70 + 50), 3 * (80 + 100)));
        assert_eq!(costs.of_thread(&Clock::default()).inside, 0);
    }

    #[test]
    fn no_cost_is_below_nothing_or_more_within_a_call_than_in_all() {
        let faster = Measured {
            without: 100_000,
            with: 90_000,
            inside: 500_000,
            ..Measured::default()
        };
        assert_eq!(CallCosts::of(&faster, &faster), CallCosts::default());
        let long = Measured {
            inside: 900_000,
            ..NOTHING
        };
        let cost = CallCosts::of(&long, &NOTHING).of_thread(&thread(10, 10, 0, 0, 0));
        assert_eq!((cost.inside, cost.outside), (10 * 200, 10 * 100));
    }
}
