//! A process tree watched from /proc alone: each thread's time by state, for machines without BPF.
//!
//! Times on a CPU and in the run queue are the scheduler's own (schedstat) and exact but for the tick that is
//! under way. What is left of an interval was sleep; how much of that was uninterruptible is *estimated*
//! from the states seen at the polls of the interval, so a wait shorter than the time between polls may be
//! missed or counted double. A process that starts and ends between two polls is not seen at all.

use std::collections::{BTreeMap, VecDeque};

use anyhow::Result;
use iowhy_store::{rows, Name};

use crate::proc_file::ProcFile;
use crate::threads::{self, Schedstat, ThreadStat};
use crate::{host, Reading, Roots};

/// Watches processes and all that they fork. To be polled 10 to 50 times a second.
pub struct ProcWatcher {
    roots: Roots,
    processes: BTreeMap<i64, BTreeMap<i64, Thread>>,
    /// A process that is not watched, whose children are: a recorder that is their subreaper
    /// (prctl(PR_SET_CHILD_SUBREAPER)) is handed those whose own parent has ended.
    reaper: Option<i64>,
    start_ns: i64,
    report_every_ns: i64,
    clock: StartClock,
}

/// What turns /proc's start times into CLOCK_MONOTONIC.
#[derive(Clone, Copy)]
struct StartClock {
    tick_ns: i64,
    suspended_ns: i64,
}

/// Length of the intervals that are reported.
const REPORT_EVERY_NS: i64 = 100_000_000;
/// Threads whose files stay open; the files of others are opened for each poll.
const KEPT_OPEN: usize = 200;

impl ProcWatcher {
    /// Watches `pids` from `now_ns` on; what they did before does not count.
    pub fn new(
        roots: &Roots,
        pids: impl IntoIterator<Item = i64>,
        reaper: Option<i64>,
        now_ns: i64,
    ) -> ProcWatcher {
        ProcWatcher {
            roots: roots.clone(),
            processes: pids.into_iter().map(|pid| (pid, BTreeMap::new())).collect(),
            reaper,
            start_ns: now_ns,
            report_every_ns: REPORT_EVERY_NS,
            clock: StartClock {
                tick_ns: host::tick_ns(),
                suspended_ns: host::suspended_ns(),
            },
        }
    }

    /// Looks at every thread once, and reports the intervals that are over and the threads that have ended.
    pub fn sample(&mut self, now_ns: i64, out: &mut impl FnMut(Reading)) -> Result<()> {
        let mut queue: VecDeque<i64> = self.processes.keys().copied().collect();
        let mut parents = None;
        if let Some(reaper) = self.reaper {
            self.adopt(reaper, &[reaper], &mut parents, &mut queue);
        }
        while let Some(tgid) = queue.pop_front() {
            let Ok(tids) = threads::tids(&self.roots, tgid) else {
                for (_, thread) in self.processes.remove(&tgid).unwrap_or_default() {
                    thread.end(tgid, now_ns, out);
                }
                continue;
            };
            self.poll(tgid, &tids, now_ns, out)?;
            self.adopt(tgid, &tids, &mut parents, &mut queue);
        }
        for (tgid, all) in &mut self.processes {
            for thread in all.values_mut() {
                if now_ns - thread.interval_start_ns >= self.report_every_ns {
                    thread.report(*tgid, out);
                }
            }
        }
        Ok(())
    }

    /// The processes that are watched and have not ended.
    pub fn tgids(&self) -> Vec<i64> {
        let alive = |all: &BTreeMap<i64, Thread>| all.values().any(|t| t.ended_ns.is_none());
        self.processes
            .iter()
            .filter(|(_, all)| alive(all))
            .map(|(tgid, _)| *tgid)
            .collect()
    }

    /// Reports what is left; every thread gets its row.
    pub fn finish(mut self, now_ns: i64, out: &mut impl FnMut(Reading)) -> Result<()> {
        self.sample(now_ns, out)?;
        for (tgid, all) in std::mem::take(&mut self.processes) {
            for thread in all.into_values() {
                thread.leave(tgid, out);
            }
        }
        Ok(())
    }

    fn poll(
        &mut self,
        tgid: i64,
        tids: &[i64],
        now_ns: i64,
        out: &mut impl FnMut(Reading),
    ) -> Result<()> {
        let open: usize = self.processes.values().map(BTreeMap::len).sum();
        let known = self.processes.entry(tgid).or_default();
        let gone: Vec<i64> = known
            .keys()
            .filter(|tid| !tids.contains(tid))
            .copied()
            .collect();
        for tid in gone {
            if let Some(thread) = known.remove(&tid) {
                thread.end(tgid, now_ns, out);
            }
        }
        for &tid in tids {
            if let Some(thread) = known.get_mut(&tid) {
                if thread.ended_ns.is_some() {
                    continue; // a zombie that nobody has waited for yet
                }
                if !thread.poll(now_ns)? {
                    // Ended, or its number is already another thread's: the next poll finds that one.
                    if let Some(thread) = known.remove(&tid) {
                        thread.end(tgid, now_ns, out);
                    }
                }
            } else if let Some(files) = Files::open(&self.roots, tgid, tid, open < KEPT_OPEN) {
                let started = Thread::start(files, self.start_ns, now_ns, self.clock)?;
                known.extend(started.map(|thread| (tid, thread)));
            }
        }
        Ok(())
    }

    /// Adds the children of a process that are not known yet. `parents` is (process, parent) of the whole
    /// machine, read at most once a poll, and only where the kernel has no `children` files.
    fn adopt(
        &mut self,
        tgid: i64,
        tids: &[i64],
        parents: &mut Option<Vec<(i64, i64)>>,
        queue: &mut VecDeque<i64>,
    ) {
        let mut children = Vec::new();
        let mut told = false;
        for &tid in tids {
            if let Ok(found) = threads::children_of_thread(&self.roots, tgid, tid) {
                children.extend(found);
                told = true;
            }
        }
        if !told {
            let all = parents.get_or_insert_with(|| threads::parents(&self.roots));
            let of_it = all.iter().filter(|(_, parent)| *parent == tgid);
            children.extend(of_it.map(|(child, _)| child));
        }
        for child in children {
            if let std::collections::btree_map::Entry::Vacant(free) = self.processes.entry(child) {
                free.insert(BTreeMap::new());
                queue.push_back(child);
            }
        }
    }
}

/// The two files of a thread. They stay those of this thread even when its number is used again.
struct Files {
    roots: Roots,
    tgid: i64,
    tid: i64,
    open: Option<(ProcFile, Option<ProcFile>)>,
}

impl Files {
    fn open(roots: &Roots, tgid: i64, tid: i64, keep: bool) -> Option<Files> {
        let mut files = Files {
            roots: roots.clone(),
            tgid,
            tid,
            open: None,
        };
        let opened = files.now()?;
        files.open = keep.then_some(opened);
        Some(files)
    }

    fn now(&self) -> Option<(ProcFile, Option<ProcFile>)> {
        let at = threads::directory(&self.roots, self.tgid, self.tid);
        Some((
            ProcFile::open(at.join("stat")).ok()?,
            ProcFile::open(at.join("schedstat")).ok(),
        ))
    }

    /// None when the thread is gone.
    fn read(&mut self) -> Result<Option<(ThreadStat, Option<Schedstat>)>> {
        let mut opened;
        let (stat, schedstat) = match &mut self.open {
            Some(files) => files,
            None => match self.now() {
                Some(files) => {
                    opened = files;
                    &mut opened
                }
                None => return Ok(None),
            },
        };
        let Ok(text) = stat.read() else {
            return Ok(None);
        };
        let stat = threads::parse_stat(text)?;
        let times = match schedstat {
            Some(file) => file.read().ok().map(threads::parse_schedstat).transpose()?,
            None => None,
        };
        Ok(Some((stat, times)))
    }
}

/// CPU time of a thread, all since it started.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    run_ns: i64,
    runnable_ns: Option<i64>,
    user_ticks: i64,
    kernel_ticks: i64,
}

impl Times {
    fn of(stat: &ThreadStat, schedstat: Option<Schedstat>, tick_ns: i64) -> Times {
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

struct Thread {
    files: Files,
    stat: ThreadStat,
    tick_ns: i64,
    start_ns: i64,
    interval_start_ns: i64,
    last_ns: i64,
    ended_ns: Option<i64>,
    /// Where the watch began, and where it is.
    base: Times,
    now: Times,
    seen: Seen,
    /// Of the time since `base`, what was reported.
    told_run_ns: i64,
    told_runnable_ns: i64,
    told_user_ns: i64,
}

impl Thread {
    fn start(
        mut files: Files,
        watch_start_ns: i64,
        now_ns: i64,
        clock: StartClock,
    ) -> Result<Option<Thread>> {
        let Some((stat, schedstat)) = files.read()? else {
            return Ok(None);
        };
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
        let nothing = Times {
            runnable_ns: Some(0),
            ..Times::default()
        };
        let base = if is_new { nothing } else { times };
        let interval_start_ns = if is_new { start_ns } else { now_ns };
        let mut thread = Thread {
            files,
            stat,
            tick_ns,
            start_ns,
            interval_start_ns,
            last_ns: now_ns,
            ended_ns: None,
            base,
            now: times,
            seen: Seen::default(),
            told_run_ns: 0,
            told_runnable_ns: 0,
            told_user_ns: 0,
        };
        thread.note_state(now_ns);
        Ok(Some(thread))
    }

    /// False when it is gone.
    fn poll(&mut self, now_ns: i64) -> Result<bool> {
        let Some((stat, schedstat)) = self.files.read()? else {
            return Ok(false);
        };
        if stat.start_ticks != self.stat.start_ticks {
            return Ok(false);
        }
        self.now = Times::of(&stat, schedstat, self.tick_ns);
        self.stat = stat;
        self.last_ns = now_ns;
        self.note_state(now_ns);
        Ok(true)
    }

    fn note_state(&mut self, now_ns: i64) {
        match self.stat.state {
            b'R' => {}
            b'D' => self.seen.blocked += 1,
            b'Z' | b'X' => self.ended_ns = Some(now_ns),
            _ => self.seen.sleeping += 1,
        }
    }

    /// Reports the interval up to the last poll.
    fn report(&mut self, tgid: i64, out: &mut impl FnMut(Reading)) {
        let interval_ns = self.last_ns - self.interval_start_ns;
        if interval_ns <= 0 {
            return;
        }
        // What the scheduler has booked since the last report. A wait is booked when it ends, and a run at
        // each tick, so it may be more than the interval holds: the rest goes to the next one.
        let run_due = (self.now.run_ns - self.base.run_ns - self.told_run_ns).max(0);
        let runnable_due = match (self.now.runnable_ns, self.base.runnable_ns) {
            (Some(now), Some(base)) => (now - base - self.told_runnable_ns).max(0),
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
            // Running or runnable at every poll: the rest is not booked yet, and is told ahead.
            let more_ns = share(left_ns, run_ns, run_ns + runnable_ns);
            run_ns += more_ns;
            runnable_ns += left_ns - more_ns;
        } else {
            run_ns += left_ns;
        }
        self.told_run_ns += run_ns;
        self.told_runnable_ns += runnable_ns;
        let user_ns = (self.user_ns() - self.told_user_ns).clamp(0, run_ns);
        self.told_user_ns += user_ns;
        out(Reading::ThreadTime(rows::ThreadTime {
            ts_ns: self.interval_start_ns,
            interval_ns,
            tgid,
            tid: self.stat.tid,
            cpu_user_ns: Some(user_ns),
            cpu_kernel_ns: Some(run_ns - user_ns),
            runnable_ns: self.now.runnable_ns.map(|_| runnable_ns),
            blocked_ns: Some(blocked_ns),
            sleeping_ns: Some(sleeping_ns),
        }));
        self.interval_start_ns = self.last_ns;
        self.seen = Seen::default();
    }

    /// Of the time on a CPU that was told so far, what was outside the kernel: the ticks of both kinds are
    /// coarse, so their ratio over the whole watch is applied to the scheduler's time. Half a tick each
    /// stands for what came before the first.
    fn user_ns(&self) -> i64 {
        let user = 2 * (self.now.user_ticks - self.base.user_ticks).max(0) + 1;
        let kernel = 2 * (self.now.kernel_ticks - self.base.kernel_ticks).max(0) + 1;
        share(self.told_run_ns, user, user + kernel)
    }

    /// It was there at the last poll and now is not.
    fn end(mut self, tgid: i64, now_ns: i64, out: &mut impl FnMut(Reading)) {
        self.ended_ns.get_or_insert(now_ns);
        self.leave(tgid, out);
    }

    /// The last of it.
    fn leave(mut self, tgid: i64, out: &mut impl FnMut(Reading)) {
        self.report(tgid, out);
        let is_zombie = self.stat.state == b'Z';
        out(Reading::Thread(rows::Threads {
            tid: self.stat.tid,
            tgid,
            ppid: Some(self.stat.ppid),
            comm: Name::Owned(self.stat.comm),
            start_ns: self.start_ns,
            end_ns: self.ended_ns,
            exit_code: self.stat.exit_code.filter(|_| is_zombie),
        }));
    }
}

/// whole × part / of, without overflow.
fn share(whole: i64, part: i64, of: i64) -> i64 {
    if of == 0 {
        return 0;
    }
    (i128::from(whole) * i128::from(part) / i128::from(of)) as i64
}
