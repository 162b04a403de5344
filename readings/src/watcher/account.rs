//! What a thread did in an interval, from the scheduler's books and the states seen at the polls.

use crate::threads::{Schedstat, ThreadStat};

/// CPU time of a thread, all since it started.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    run_ns: i64,
    runnable_ns: Option<i64>,
    user_ticks: i64,
    kernel_ticks: i64,
}

impl Times {
    pub fn of(stat: &ThreadStat, schedstat: Option<Schedstat>, tick_ns: i64) -> Times {
        let (user_ticks, kernel_ticks) = (stat.user_ticks, stat.kernel_ticks);
        let ticks_ns = user_ticks
            .saturating_add(kernel_ticks)
            .saturating_mul(tick_ns);
        Times {
            run_ns: schedstat.map_or(ticks_ns, |times| times.run_ns),
            runnable_ns: schedstat.map(|times| times.runnable_ns),
            user_ticks,
            kernel_ticks,
        }
    }
}

/// States seen at the polls of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    blocked: i64,
    sleeping: i64,
}

/// The time of one interval by what the thread did; the parts add up to the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub cpu_user_ns: i64,
    pub cpu_kernel_ns: i64,
    /// None: this kernel does not count it.
    pub runnable_ns: Option<i64>,
    pub blocked_ns: i64,
    pub sleeping_ns: i64,
}

/// A thread's times under the watch, and what of them was reported.
pub(super) struct Account {
    /// Where the watch began, and where it is.
    base: Times,
    now: Times,
    seen: Seen,
    /// Of the time since `base`, what was reported.
    reported_run_ns: i64,
    reported_runnable_ns: i64,
    reported_user_ns: i64,
}

impl Account {
    /// Of a thread that had used `times` before the watch; None: it began under the watch.
    pub fn from(before: Option<Times>, now: Times) -> Account {
        Account {
            base: before.unwrap_or(Times {
                runnable_ns: Some(0),
                ..Times::default()
            }),
            now,
            seen: Seen::default(),
            reported_run_ns: 0,
            reported_runnable_ns: 0,
            reported_user_ns: 0,
        }
    }

    /// What the scheduler has booked by now.
    pub fn update(&mut self, now: Times) {
        self.now = now;
    }

    /// The state at a poll, as /proc names it.
    pub fn see(&mut self, state: u8) {
        match state {
            b'R' | b'Z' | b'X' => {}
            b'D' => self.seen.blocked += 1,
            _ => self.seen.sleeping += 1,
        }
    }

    /// Divides the interval that is over now, and begins the next one.
    pub fn close(&mut self, interval_ns: i64) -> Parts {
        // What the scheduler has booked since the last report. A wait is booked when it ends, and a run at
        // each tick, so it may be more than the interval holds: the rest goes to the next one.
        let run_due = (self.now.run_ns - self.base.run_ns - self.reported_run_ns).max(0);
        let runnable_due = match (self.now.runnable_ns, self.base.runnable_ns) {
            (Some(now), Some(base)) => (now - base - self.reported_runnable_ns).max(0),
            _ => 0,
        };
        let mut run_ns = run_due.min(interval_ns);
        let mut runnable_ns = runnable_due.min(interval_ns - run_ns);
        let left_ns = interval_ns - run_ns - runnable_ns;
        let (mut blocked_ns, mut sleeping_ns) = (0, 0);
        let asleep = self.seen.blocked + self.seen.sleeping;
        if asleep > 0 {
            blocked_ns = share(left_ns, self.seen.blocked, asleep);
            sleeping_ns = left_ns - blocked_ns;
        } else if self.now.runnable_ns.is_some() {
            // Running or runnable at every poll: the rest is not booked yet, and is reported ahead.
            let more_ns = share(left_ns, run_ns, run_ns + runnable_ns);
            run_ns += more_ns;
            runnable_ns += left_ns - more_ns;
        } else {
            run_ns += left_ns;
        }
        self.reported_run_ns += run_ns;
        self.reported_runnable_ns += runnable_ns;
        let user_ns = (self.user_ns() - self.reported_user_ns).clamp(0, run_ns);
        self.reported_user_ns += user_ns;
        self.seen = Seen::default();
        Parts {
            cpu_user_ns: user_ns,
            cpu_kernel_ns: run_ns - user_ns,
            runnable_ns: self.now.runnable_ns.map(|_| runnable_ns),
            blocked_ns,
            sleeping_ns,
        }
    }

    /// Of the time on a CPU that was reported so far, what was outside the kernel: the ticks of both kinds
    /// are coarse, so their ratio over the whole watch is applied to the scheduler's time. Half a tick each
    /// stands for what came before the first.
    fn user_ns(&self) -> i64 {
        let user = 2 * (self.now.user_ticks - self.base.user_ticks).max(0) + 1;
        let kernel = 2 * (self.now.kernel_ticks - self.base.kernel_ticks).max(0) + 1;
        share(self.reported_run_ns, user, user + kernel)
    }
}

/// whole × part / of, without overflow.
fn share(whole: i64, part: i64, of: i64) -> i64 {
    if of == 0 {
        return 0;
    }
    (i128::from(whole) * i128::from(part) / i128::from(of)) as i64
}
