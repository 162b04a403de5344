//! One thread under the watch: when it began, what it did in each interval, how it ended.

use iowhy_store::{rows, Name};

use super::account::{Account, Times};
use super::files::Files;
use crate::threads::{Schedstat, ThreadStat};
use crate::titles::Titles;
use crate::Reading;

/// What turns /proc's start times into CLOCK_MONOTONIC.
#[derive(Clone, Copy)]
pub(super) struct StartClock {
    pub tick_ns: i64,
    pub suspended_ns: i64,
}

/// A thread and where the watch of it is.
pub(super) struct Thread {
    /// None: they are being read, or are opened for each reading.
    pub files: Option<Files>,
    pub keep: bool,
    stat: ThreadStat,
    account: Account,
    tick_ns: i64,
    start_ns: i64,
    interval_start_ns: i64,
    last_ns: i64,
    ended_ns: Option<i64>,
}

impl Thread {
    pub fn start(
        (stat, schedstat): (ThreadStat, Option<Schedstat>),
        watch_start_ns: i64,
        now_ns: i64,
        clock: StartClock,
    ) -> Thread {
        let tick_ns = clock.tick_ns;
        let times = Times::of(&stat, schedstat, tick_ns);
        let began_ns = stat
            .start_ticks
            .saturating_mul(tick_ns)
            .saturating_sub(clock.suspended_ns);
        // A start time is cut to whole ticks, so one at the edge is taken for a start under the watch.
        let is_new = began_ns.saturating_add(tick_ns) > watch_start_ns;
        let start_ns = if is_new {
            began_ns.max(watch_start_ns).min(now_ns)
        } else {
            watch_start_ns
        };
        // A thread that was there before is watched from here on, up to a poll later than the watch's
        // start; a new one from its beginning.
        let mut thread = Thread {
            account: Account::from((!is_new).then_some(times), times),
            files: None,
            keep: false,
            stat,
            tick_ns,
            start_ns,
            interval_start_ns: if is_new { start_ns } else { now_ns },
            last_ns: now_ns,
            ended_ns: None,
        };
        thread.note_state(now_ns);
        thread
    }

    /// Since when the interval is open that the next report is of.
    pub fn interval_start_ns(&self) -> i64 {
        self.interval_start_ns
    }

    /// Whether it has ended, a zombie too.
    pub fn has_ended(&self) -> bool {
        self.ended_ns.is_some()
    }

    /// False when it is gone, and another one has its number.
    pub fn poll(
        &mut self,
        (stat, schedstat): (ThreadStat, Option<Schedstat>),
        now_ns: i64,
    ) -> bool {
        if stat.start_ticks != self.stat.start_ticks {
            return false;
        }
        self.account
            .update(Times::of(&stat, schedstat, self.tick_ns));
        self.stat = stat;
        self.last_ns = now_ns;
        self.note_state(now_ns);
        true
    }

    /// It runs exec, and waits there for so long that nothing else is known of it.
    pub fn wait(&mut self, now_ns: i64) {
        self.account.see(b'D');
        self.last_ns = now_ns;
    }

    fn note_state(&mut self, now_ns: i64) {
        self.account.see(self.stat.state);
        if matches!(self.stat.state, b'Z' | b'X') {
            self.ended_ns = Some(now_ns);
        }
    }

    /// Reports the interval up to the last poll.
    pub fn report(&mut self, tgid: i64, out: &mut impl FnMut(Reading)) {
        let interval_ns = self.last_ns - self.interval_start_ns;
        if interval_ns <= 0 {
            return;
        }
        let parts = self.account.close(interval_ns);
        out(Reading::ThreadTime(rows::ThreadTime {
            ts_ns: self.interval_start_ns,
            interval_ns,
            tgid,
            tid: self.stat.tid,
            cpu_user_ns: Some(parts.cpu_user_ns),
            cpu_kernel_ns: Some(parts.cpu_kernel_ns),
            runnable_ns: parts.runnable_ns,
            blocked_ns: Some(parts.blocked_ns),
            sleeping_ns: Some(parts.sleeping_ns),
            // /proc tells none of these.
            ..rows::ThreadTime::default()
        }));
        self.interval_start_ns = self.last_ns;
    }

    /// It was there at the last poll and now is not.
    pub fn end(
        mut self,
        tgid: i64,
        now_ns: i64,
        titles: &mut Titles,
        out: &mut impl FnMut(Reading),
    ) {
        self.ended_ns.get_or_insert(now_ns);
        self.leave(tgid, titles, out);
    }

    /// The last of it.
    pub fn leave(mut self, tgid: i64, titles: &mut Titles, out: &mut impl FnMut(Reading)) {
        self.report(tgid, out);
        let is_first = self.stat.tid == tgid;
        let title = if is_first { titles.take(tgid) } else { None };
        let is_zombie = self.stat.state == b'Z';
        out(Reading::Thread(rows::Threads {
            tid: self.stat.tid,
            tgid,
            ppid: Some(self.stat.ppid),
            comm: Name::Owned(self.stat.comm),
            start_ns: self.start_ns,
            end_ns: self.ended_ns,
            exit_code: self.stat.exit_code.filter(|_| is_zombie),
            title: title.map(Name::Owned),
            ..rows::Threads::default()
        }));
    }
}
