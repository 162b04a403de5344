//! A process tree watched from /proc alone: each thread's time by state, for machines without BPF.
//!
//! Times on a CPU and in the run queue are the scheduler's own (schedstat) and exact but for the tick that is
//! under way. What is left of an interval was sleep; how much of that was uninterruptible is *estimated*
//! from the states seen at the polls of the interval, so a wait shorter than the time between polls may be
//! missed or counted double. A process that starts and ends between two polls is not seen at all.

mod account;
mod files;
mod thread;

use std::collections::BTreeMap;

use crate::aside::Aside;
use crate::error::Result;

use crate::titles::Titles;
use crate::{host, threads, Reading, Roots};

use files::One;
use thread::{StartClock, Thread};

/// Watches processes and all that they fork. To be polled 10 to 50 times a second.
pub struct ProcWatcher {
    roots: Roots,
    aside: Aside<One, One>,
    titles: Titles,
    processes: BTreeMap<i64, BTreeMap<i64, Thread>>,
    /// A process that is not watched, whose children are: a recorder that is their subreaper
    /// (prctl(PR_SET_CHILD_SUBREAPER)) is handed those whose own parent has ended.
    reaper: Option<i64>,
    start_ns: i64,
    report_every_ns: i64,
    clock: StartClock,
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
            aside: Aside::new(files::read),
            titles: Titles::new(roots),
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
        let mut queue: Vec<i64> = self.processes.keys().copied().collect();
        let mut parents = None;
        if let Some(reaper) = self.reaper {
            self.adopt(reaper, &[reaper], &mut parents, &mut queue);
        }
        while !queue.is_empty() {
            let (mut listed, mut asked) = (Vec::new(), Vec::new());
            for tgid in std::mem::take(&mut queue) {
                if let Ok(tids) = threads::tids(&self.roots, tgid) {
                    self.questions(tgid, &tids, now_ns, &mut asked, out);
                    listed.push((tgid, tids));
                } else {
                    self.aside.forget(tgid);
                    for (_, thread) in self.processes.remove(&tgid).unwrap_or_default() {
                        thread.end(tgid, now_ns, &mut self.titles, out);
                    }
                }
            }
            for one in self.aside.ask(asked) {
                self.answer(one, now_ns, out)?;
            }
            for (tgid, tids) in listed {
                self.adopt(tgid, &tids, &mut parents, &mut queue);
            }
        }
        self.wait_for_held(now_ns);
        let alive = self.tgids();
        self.titles.look(now_ns, alive);
        for (tgid, all) in &mut self.processes {
            for thread in all.values_mut() {
                if now_ns - thread.interval_start_ns() >= self.report_every_ns {
                    thread.report(*tgid, out);
                }
            }
        }
        Ok(())
    }

    /// Watches these, too, from the next look on.
    pub fn add(&mut self, pids: impl IntoIterator<Item = i64>) {
        for pid in pids {
            self.processes.entry(pid).or_default();
        }
    }

    /// The processes that are watched and have not ended.
    pub fn tgids(&self) -> Vec<i64> {
        let alive = |all: &BTreeMap<i64, Thread>| all.values().any(|t| !t.has_ended());
        self.processes
            .iter()
            .filter(|(_, all)| alive(all))
            .map(|(tgid, _)| *tgid)
            .collect()
    }

    /// Reports what is left; every thread gets its row.
    pub fn finish(mut self, now_ns: i64, out: &mut impl FnMut(Reading)) -> Result<()> {
        self.sample(now_ns, out)?;
        let alive = self.tgids();
        self.titles.last(alive);
        for (tgid, all) in std::mem::take(&mut self.processes) {
            for thread in all.into_values() {
                thread.leave(tgid, &mut self.titles, out);
            }
        }
        Ok(())
    }

    /// What is to be known of these threads; others that were there have ended.
    fn questions(
        &mut self,
        tgid: i64,
        tids: &[i64],
        now_ns: i64,
        asked: &mut Vec<(i64, One)>,
        out: &mut impl FnMut(Reading),
    ) {
        if self.aside.is_held(tgid) {
            return;
        }
        let open: usize = self.processes.values().map(BTreeMap::len).sum();
        let known = self.processes.entry(tgid).or_default();
        let gone: Vec<i64> = known
            .keys()
            .filter(|tid| !tids.contains(tid))
            .copied()
            .collect();
        for tid in gone {
            if let Some(thread) = known.remove(&tid) {
                thread.end(tgid, now_ns, &mut self.titles, out);
            }
        }
        for &tid in tids {
            let (files, keep) = match known.get_mut(&tid) {
                // A zombie that nobody has waited for yet.
                Some(thread) if thread.has_ended() => continue,
                Some(thread) => (thread.files.take(), thread.keep),
                None => (None, open < KEPT_OPEN),
            };
            let one = One {
                at: threads::directory(&self.roots, tgid, tid),
                tgid,
                tid,
                files,
                keep,
                said: Ok(None),
            };
            asked.push((tgid, one));
        }
    }

    fn answer(&mut self, one: One, now_ns: i64, out: &mut impl FnMut(Reading)) -> Result<()> {
        let said = one.said?;
        let Some(known) = self.processes.get_mut(&one.tgid) else {
            return Ok(());
        };
        if let Some(thread) = known.get_mut(&one.tid) {
            thread.files = one.files;
            // Ended, or its number is already another thread's: the next poll finds that one.
            if !said.is_some_and(|said| thread.poll(said, now_ns)) {
                if let Some(thread) = known.remove(&one.tid) {
                    thread.end(one.tgid, now_ns, &mut self.titles, out);
                }
            }
        } else if let Some(said) = said {
            let mut thread = Thread::start(said, self.start_ns, now_ns, self.clock);
            (thread.files, thread.keep) = (one.files, one.keep);
            known.insert(one.tid, thread);
        }
        Ok(())
    }

    /// Processes of which the kernel shows nothing wait in exec.
    fn wait_for_held(&mut self, now_ns: i64) {
        for (tgid, all) in &mut self.processes {
            if self.aside.is_held(*tgid) {
                all.values_mut().for_each(|thread| thread.wait(now_ns));
            }
        }
    }

    /// Adds the children of a process that are not known yet. `parents` is (process, parent) of the whole
    /// machine, read at most once a poll, and only where the kernel has no `children` files.
    fn adopt(
        &mut self,
        tgid: i64,
        tids: &[i64],
        parents: &mut Option<Vec<(i64, i64)>>,
        queue: &mut Vec<i64>,
    ) {
        let mut children = Vec::new();
        let mut listed = false;
        for &tid in tids {
            if let Ok(found) = threads::children_of_thread(&self.roots, tgid, tid) {
                children.extend(found);
                listed = true;
            }
        }
        if !listed {
            let all = parents.get_or_insert_with(|| threads::parents(&self.roots));
            let of_it = all.iter().filter(|(_, parent)| *parent == tgid);
            children.extend(of_it.map(|(child, _)| child));
        }
        for child in children {
            if let std::collections::btree_map::Entry::Vacant(free) = self.processes.entry(child) {
                free.insert(BTreeMap::new());
                queue.push(child);
            }
        }
    }
}
