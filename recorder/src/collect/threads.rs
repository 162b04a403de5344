//! The threads in scope, and their clocks.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;

use iowhy_readings::reach::Reach;
use iowhy_readings::titles::Titles;
use iowhy_readings::Roots;
use iowhy_store::Result;
use iowhy_store::{rows, Recording};

use crate::event::{self, layout, Clock, Sample};
use crate::rows::kernel_time::Faults;
use crate::rows::thread;

use super::hanging::{self, Hang};
use super::thread::{at_start, Thread};
use super::Seen;

/// Readings of all clocks that miss a thread before its end is taken for lost.
const MISSED_MOST: u32 = 2;

/// What ran in a stretch of time.
#[derive(Debug, Default)]
pub struct Ran {
    /// Processes that were on a CPU; the others have done nothing.
    pub processes: HashSet<i64>,
    /// What all threads together did but sleep.
    pub awake_ns: u64,
}

/// All threads in scope.
pub struct Threads {
    alive: HashMap<u32, Thread>,
    /// Threads that ended in this interval and in the one before, with their start: a reading of the clocks
    /// still meets the zombie, whose time has been written.
    gone: [HashMap<u32, u64>; 2],
    /// When the command began: it slept at its gate before.
    begun: u64,
    /// The command's first thread.
    main: Option<u32>,
    main_ended: bool,
    faults: Faults,
    /// Since it was last asked for.
    ran: Ran,
    /// Which sums their clocks have.
    pub kept: thread::Kept,
    /// What threads wait for that waited in calls when they came into scope.
    held: HashMap<u32, Hang>,
    pub titles: Titles,
    /// The recorder's mount namespace; None: not known.
    mounts: Option<u64>,
    /// A thread was met in another mount namespace: a path may be of a file that is not seen from here.
    pub elsewhere: bool,
}

impl Threads {
    pub fn new(begun: u64) -> Threads {
        Threads {
            alive: HashMap::new(),
            gone: Default::default(),
            begun,
            main: None,
            main_ended: false,
            faults: Faults::default(),
            ran: Ran::default(),
            kept: thread::Kept {
                waits: true,
                reclaim: true,
                costs: None,
            },
            held: HashMap::new(),
            titles: Titles::new(&Roots::default()),
            mounts: std::fs::metadata("/proc/self/ns/mnt")
                .ok()
                .map(|of| of.ino()),
            elsewhere: false,
        }
    }

    /// The command's time begins here.
    pub fn begin(&mut self, now_ns: u64) {
        self.begun = now_ns;
    }

    /// The process whose end [`Threads::main_ended`] is about.
    pub fn set_main(&mut self, tgid: u32) {
        self.main = Some(tgid);
    }

    /// Whether a thread of the command has this number.
    pub fn has(&self, tid: u32) -> bool {
        self.alive.contains_key(&tid)
    }

    pub fn main_ended(&self) -> bool {
        self.main_ended
    }

    /// Processes that have not ended, sorted.
    pub fn processes(&self) -> Vec<i64> {
        let alive = self.alive.values().filter(|t| !t.exiting);
        let mut processes: Vec<i64> = alive.map(|t| t.tgid.into()).collect();
        processes.sort_unstable();
        processes.dedup();
        processes
    }

    /// What ran since this was last asked.
    pub fn take_ran(&mut self) -> Ran {
        std::mem::take(&mut self.ran)
    }

    /// A thread that has come into scope, or has run exec.
    pub fn begins(
        &mut self,
        e: &event::Thread,
        containers: &mut Seen,
        recording: &mut Recording,
    ) -> Result<()> {
        let tid = e.header.tid;
        self.elsewhere |= e.mnt_ns != 0 && Some(e.mnt_ns.into()) != self.mounts;
        // Now: when it has ended, its group may be gone.
        containers.of_number(e.cgroup, e.tgid, recording)?;
        if let Some(thread) = self.alive.get_mut(&tid) {
            if std::mem::take(&mut thread.aside) && e.header.flags == 0 {
                let row = thread::aside(&thread.written, e.ts, self.kept);
                thread.begin_again(e.ts);
                return row.map_or(Ok(()), |row| recording.push(row));
            }
            if e.header.flags != 0 || thread.start == e.ts {
                thread.comm = e.comm;
                thread.group = e.cgroup;
                return Ok(());
            }
            // The number is in use again: the end of the one before was not seen.
            self.end(tid, None, containers, recording)?;
        }
        let clock = Clock {
            start: e.ts,
            tgid: e.tgid,
            ppid: e.ppid,
            comm: e.comm,
            ..Clock::default()
        };
        let mut thread = Thread::new(&clock, self.first_clock(tid, e.ts));
        thread.group = e.cgroup;
        self.alive.insert(tid, thread);
        Ok(())
    }

    /// A thread begins to end, or has ended.
    pub fn exits(
        &mut self,
        e: &event::Exit,
        containers: &mut Seen,
        recording: &mut Recording,
    ) -> Result<()> {
        self.clock(&e.clock, true, recording)?;
        let tid = e.clock.tid;
        if e.header.flags & layout::EXIT_LAST == 0 {
            if let Some(thread) = self.alive.get_mut(&tid) {
                thread.aside = e.header.flags & layout::EXIT_ASIDE != 0;
                thread.exiting = !thread.aside;
            }
            return Ok(());
        }
        if self.main == Some(tid) {
            self.main_ended = true;
        }
        let end = Some((e.clock.now, e.clock.exit_code));
        self.end(tid, end, containers, recording)
    }

    /// Writes a thread's time since it was last written; `last`: also when it only slept.
    pub fn clock(&mut self, clock: &Clock, last: bool, recording: &mut Recording) -> Result<()> {
        let ended = |gone: &HashMap<u32, u64>| gone.get(&clock.tid) == Some(&clock.start);
        let thread = match self.alive.entry(clock.tid) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(_) if self.gone.iter().any(ended) => {
                // A zombie that nobody waits for is met for as long as its parent lives.
                self.gone[0].insert(clock.tid, clock.start);
                return Ok(());
            }
            Entry::Vacant(place) => place.insert(Thread::new(clock, at_start(clock.start))),
        };
        if clock.start < thread.start {
            // Read before iowhy worked in it, which its record of that time knows better.
            return Ok(());
        }
        if thread.start != clock.start {
            // It has run exec from another thread and begins again, or its number is in use again.
            thread.first_start = clock.start;
            thread.begin_again(clock.start);
        }
        thread.comm = clock.comm;
        thread.allowed = (clock.allowed_cpus, clock.allowed_mask);
        thread.unmet = 0;
        let on_cpu = clock.states[usize::from(layout::ON_CPU_USER)]
            + clock.states[usize::from(layout::ON_CPU_KERNEL)];
        if std::mem::replace(&mut thread.on_cpu, on_cpu) != on_cpu {
            thread.ran_at = clock.now;
            self.ran.processes.insert(clock.tgid.into());
        }
        let mut clock = *clock;
        if let Some(held) = &mut thread.held {
            let [asleep, blocked] = [layout::SLEEPING, layout::BLOCKED].map(usize::from);
            if on_cpu == 0 {
                *held = clock.states[asleep];
            } else if let Some(hang) = self.held.remove(&clock.tid) {
                hang.ended(clock.now, clock.states[blocked], recording)?;
            }
            clock.states[asleep] -= *held;
            clock.states[blocked] += *held;
        }
        let clock = &clock;
        let awake = on_cpu
            + clock.states[usize::from(layout::RUNNABLE)]
            + clock.states[usize::from(layout::BLOCKED)];
        // Less where the number is another thread's now.
        self.ran.awake_ns += awake.saturating_sub(std::mem::replace(&mut thread.awake, awake));
        let Some(row) = thread::time(
            &thread.written,
            clock,
            last,
            &mut thread.kernel,
            &mut self.faults,
            self.kept,
        ) else {
            return Ok(());
        };
        thread.written = *clock;
        recording.push(row)
    }

    /// Which threads that have come into scope wait in calls of which no switch tells.
    pub fn look_for_held(&mut self, samples: &[Sample], reach: &mut Reach) {
        let asleep = samples.iter().map(|sample| &sample.clock).filter(|clock| {
            let state = |number: u8| clock.states[usize::from(number)];
            state(layout::ON_CPU_USER) + state(layout::ON_CPU_KERNEL) == 0
        });
        let asked = asleep.map(|clock| (clock.tgid, clock.tid, clock.start.max(self.begun)));
        for hang in hanging::look(asked, reach) {
            if let Some(thread) = self.alive.get_mut(&hang.tid) {
                thread.held = Some(0);
                self.held.insert(hang.tid, hang);
            }
        }
    }

    /// Those that wait so now, for a while: in calls that they were in from the start, and in later ones.
    pub fn hanging(&mut self, now_ns: u64, reach: &mut Reach) -> Vec<Hang> {
        let waits = |thread: &Thread| thread.ran_at + hanging::LONG_NS <= now_ns;
        let asked = self.alive.iter().filter(|(tid, thread)| {
            waits(thread) && !self.held.contains_key(tid) && !thread.exiting
        });
        let asked = asked.map(|(tid, thread)| (thread.tgid, *tid, thread.ran_at.max(self.begun)));
        let mut found = hanging::look(asked, reach);
        found.extend(std::mem::take(&mut self.held).into_values());
        found
    }

    /// All clocks were read: threads that two readings have not met have ended, and the record of it was lost.
    pub fn end_missing(&mut self, containers: &mut Seen, recording: &mut Recording) -> Result<()> {
        let mut ended = Vec::new();
        for (&tid, thread) in &mut self.alive {
            thread.unmet += u32::from(!thread.aside);
            if thread.unmet > MISSED_MOST {
                ended.push(tid);
            }
        }
        for tid in ended {
            self.end(tid, None, containers, recording)?;
        }
        self.gone.swap(0, 1);
        self.gone[0].clear();
        Ok(())
    }

    /// Reads titles of processes that ran in the interval: none else can have written one.
    pub fn look_for_titles(&mut self, now_ns: u64) {
        let alive = |tgid: &i64| self.alive.get(&(*tgid as u32)).is_some_and(|t| !t.exiting);
        let ran = self.ran.processes.iter().copied().filter(alive);
        self.titles.look(now_ns as i64, ran);
    }

    /// The recording ends: threads that live on get their rows, too.
    pub fn finish(&mut self, containers: &mut Seen, recording: &mut Recording) -> Result<()> {
        self.titles.last(self.processes());
        let alive: Vec<u32> = self.alive.keys().copied().collect();
        for tid in alive {
            self.end(tid, None, containers, recording)?;
        }
        Ok(())
    }

    fn end(
        &mut self,
        tid: u32,
        end: Option<(u64, u32)>,
        containers: &mut Seen,
        recording: &mut Recording,
    ) -> Result<()> {
        let Some(thread) = self.alive.remove(&tid) else {
            return Ok(());
        };
        self.gone[0].insert(tid, thread.start);
        // A process moves as a whole, which is traced of its first thread.
        let leader = self
            .alive
            .get(&thread.tgid)
            .map_or(0, |leader| leader.group);
        let group = if leader != 0 { leader } else { thread.group };
        let container = match group {
            0 => None,
            _ => containers.of_number(group, thread.tgid, recording)?,
        };
        let is_first = tid == thread.tgid;
        let title = is_first.then(|| self.titles.take(tid.into())).flatten();
        recording.push(rows::Threads {
            tid: tid.into(),
            tgid: thread.tgid.into(),
            ppid: Some(thread.ppid.into()),
            comm: Cow::Owned(event::comm(&thread.comm)),
            start_ns: self.began(tid, thread.first_start) as i64,
            end_ns: end.map(|(at, _)| at as i64),
            exit_code: end.map(|(_, code)| code.into()),
            allowed_cpus: (thread.allowed.0 > 0).then(|| thread.allowed.0.into()),
            // As the bits are, whatever number they make.
            allowed_mask: (thread.allowed.0 > 0).then_some(thread.allowed.1 as i64),
            container,
            title: title.map(Cow::Owned),
        })
    }

    /// The clock of a thread that came into scope at `start`. The command slept at its gate until it began:
    /// that is not its time.
    fn first_clock(&self, tid: u32, start: u64) -> Clock {
        let now = self.began(tid, start);
        let mut clock = Clock {
            start,
            now,
            ..Clock::default()
        };
        clock.states[usize::from(layout::SLEEPING)] = now - start;
        clock
    }

    fn began(&self, tid: u32, start: u64) -> u64 {
        match self.main == Some(tid) {
            true => start.max(self.begun),
            false => start,
        }
    }
}
