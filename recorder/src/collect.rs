//! From the programs' records to the rows of a recording.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs;

use anyhow::Result;
use iowhy_readings::names::escaped;
use iowhy_readings::symbols::Symbols;
use iowhy_readings::{host, Reading};
use iowhy_store::manifest::Sensor;
use iowhy_store::{rows, Name, Recording};

use crate::cache::{Cache, Known};
use crate::calls;
use crate::event::{self, kind, Call, Clock, Sample, Total, TotalKey};
use crate::files::Files;
use crate::filesystem;
use crate::probe::{Drained, Lost};
use crate::reasons::{self, Reasons};
use crate::request;

/// A thread that only sleeps gets a row this often, not at every sample.
const SLEEPER_EVERY_NS: u64 = 1_000_000_000;

/// Processes outside the command that are named.
const NEIGHBOURS_MOST: usize = 10_000;

/// What is known of a thread while it is in scope.
struct Thread {
    tgid: u32,
    ppid: u32,
    comm: [u8; 16],
    start: u64,
    /// Its clock when its time was last written.
    told: Clock,
    exiting: bool,
    /// Readings of all clocks that have begun since it was last met.
    unmet: u32,
}

/// Takes records and makes rows of them.
pub struct Collector {
    recording: Recording,
    symbols: Symbols,
    reasons: Reasons,
    threads: HashMap<u32, Thread>,
    /// Processes outside the command whose requests were seen.
    neighbours: HashSet<u32>,
    /// Threads that ended in this interval and in the one before, with their start: a reading of the clocks
    /// still meets the zombie, whose time has been told.
    gone: [HashMap<u32, u64>; 2],
    /// I/O calls that returned in this interval, by thread and number.
    totals: HashMap<(u32, u16), Total>,
    latest_total: ((u32, u16), Total),
    interval_start: u64,
    /// When the command began: it slept at its gate before.
    begun: u64,
    cache: Cache,
    files: Files,
    /// Reason of each stack that was met, and its id in the recording.
    stacks: HashMap<i32, Name>,
    /// What had been lost when it was last told.
    lost: Lost,
    failure: Option<anyhow::Error>,
    /// The command's process: the time of its last word.
    main: Option<u32>,
    main_ended: bool,
}

impl Collector {
    pub fn new(recording: Recording, symbols: Symbols, start_ns: u64) -> Result<Collector> {
        Ok(Collector {
            recording,
            symbols,
            reasons: Reasons::kept()?,
            threads: HashMap::new(),
            neighbours: HashSet::new(),
            gone: Default::default(),
            totals: HashMap::new(),
            latest_total: Default::default(),
            interval_start: start_ns,
            begun: start_ns,
            cache: Cache::default(),
            files: Files::new(),
            stacks: HashMap::new(),
            lost: Lost::default(),
            failure: None,
            main: None,
            main_ended: false,
        })
    }

    pub fn recording(&mut self) -> &mut Recording {
        &mut self.recording
    }

    /// Writes what is told of files at the end; gives the recording and the sensor of extents.
    pub fn into_recording(mut self) -> Result<(Recording, Sensor)> {
        let sensor = self.files.finish(&mut self.recording)?;
        Ok((self.recording, sensor))
    }

    /// The first interval begins here.
    pub fn begin(&mut self, now_ns: u64) {
        self.interval_start = now_ns;
        self.begun = now_ns;
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
        clock.states[event::SLEEPING] = now - start;
        clock
    }

    fn began(&self, tid: u32, start: u64) -> u64 {
        if self.main == Some(tid) {
            start.max(self.begun)
        } else {
            start
        }
    }

    /// What is known of the page cache here.
    pub fn set_known(&mut self, known: Known) {
        self.cache.known = known;
    }

    /// The process whose end [`Collector::main_ended`] tells.
    pub fn set_main(&mut self, tgid: u32) {
        self.main = Some(tgid);
    }

    pub fn main_ended(&self) -> bool {
        self.main_ended
    }

    /// Processes in scope that have not ended.
    pub fn alive(&self) -> Vec<i64> {
        let mut alive: Vec<i64> = self
            .threads
            .values()
            .filter(|t| !t.exiting)
            .map(|t| t.tgid.into())
            .collect();
        alive.sort_unstable();
        alive.dedup();
        alive
    }

    /// The first failure to write, which ends the recording.
    pub fn failed(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// One record of the ring. `stack` reads a kernel stack by its id.
    pub fn event(&mut self, bytes: &[u8], stack: &dyn Fn(i32) -> Vec<u64>) {
        let Some(header) = event::read::<event::Header>(bytes) else {
            return;
        };
        let done =
            match header.kind {
                kind::CALL => event::read(bytes).map_or(Ok(()), |e| self.call(&e)),
                kind::WAIT => event::read(bytes).map_or(Ok(()), |e| self.wait(&e, stack)),
                kind::REQUEST => event::read(bytes).map_or(Ok(()), |e| self.request(&e)),
                kind::FILE => self.file(bytes),
                kind::THREAD => event::read(bytes).map_or(Ok(()), |e| self.thread(&e)),
                kind::EXIT => event::read(bytes).map_or(Ok(()), |e| self.exit(&e)),
                kind::WRITEBACK => event::read(bytes)
                    .map_or(Ok(()), |e| self.recording.push(filesystem::writeback(&e))),
                kind::THROTTLE => event::read(bytes)
                    .map_or(Ok(()), |e| self.recording.push(filesystem::throttle(&e))),
                kind::COMMIT => event::read(bytes)
                    .map_or(Ok(()), |e| self.recording.push(filesystem::commit(&e))),
                kind::ALLOCATION => event::read(bytes)
                    .map_or(Ok(()), |e| self.recording.push(filesystem::allocation(&e))),
                _ => Ok(()),
            };
        self.note(done);
    }

    fn request(&mut self, e: &event::Request) -> Result<()> {
        let unknown = e.scope == request::SCOPE_OTHER
            && self.neighbours.len() < NEIGHBOURS_MOST
            && self.neighbours.insert(e.tgid);
        if unknown {
            // One that has ended meanwhile stays a number.
            if let Ok(comm) = fs::read(format!("/proc/{}/comm", e.tgid)) {
                self.recording.push(rows::Neighbours {
                    tgid: e.tgid.into(),
                    comm: Cow::Owned(escaped(comm.trim_ascii_end())),
                })?;
            }
        }
        self.recording.push(request::row(e))
    }

    /// One row of a sampler or of the watcher of /proc.
    pub fn reading(&mut self, reading: Reading) {
        let done = reading.push(&mut self.recording);
        self.note(done);
    }

    fn note(&mut self, done: Result<()>) {
        if let Err(error) = done {
            self.failure.get_or_insert(error);
        }
    }

    fn call(&mut self, e: &Call) -> Result<()> {
        if e.header.flags & event::CALL_UNRETURNED != 0 {
            return self.recording.push(call_row(e, false));
        }
        if e.header.flags & event::CALL_LOOKED_UP != 0 {
            self.cache.looked_up(e);
        }
        if e.ret > 0
            && e.header.flags & event::CALL_HAS_FILE != 0
            && calls::moves_bytes(e.header.nr)
        {
            self.files.weigh((e.dev, e.ino), e.ret as u64);
        }
        let key = (e.header.tid, e.header.nr);
        if self.latest_total.0 != key {
            self.settle_total();
            self.latest_total.0 = key;
        }
        let total = &mut self.latest_total.1;
        total.calls += 1;
        total.errors += u64::from(is_error(e.ret));
        total.total += e.dur;
        total.max = total.max.max(e.dur);
        total.cpu += cpu_of(e);
        total.tgid = e.tgid;
        self.recording.push(call_row(e, !is_interrupted(e.ret)))
    }

    /// Calls come in rows of the same: only the last of such a row is looked up among the totals.
    fn settle_total(&mut self) {
        let (key, latest) = std::mem::take(&mut self.latest_total);
        if latest.calls == 0 {
            return;
        }
        let total = self.totals.entry(key).or_default();
        total.calls += latest.calls;
        total.errors += latest.errors;
        total.total += latest.total;
        total.max = total.max.max(latest.max);
        total.cpu += latest.cpu;
        total.tgid = latest.tgid;
    }

    fn wait(&mut self, e: &event::Wait, stack: &dyn Fn(i32) -> Vec<u64>) -> Result<()> {
        let reason = if e.stack < 0 {
            Cow::Borrowed(reasons::OTHER)
        } else if let Some(reason) = self.stacks.get(&e.stack) {
            reason.clone()
        } else {
            self.stack(e.stack, &stack(e.stack))?
        };
        let has_file = e.header.flags & 2 != 0;
        self.recording.push(rows::Waits {
            ts_ns: e.ts as i64,
            dur_ns: e.dur as i64,
            tgid: e.tgid.into(),
            tid: e.header.tid.into(),
            reason,
            io: e.header.flags & 1 != 0,
            stack_id: (e.stack >= 0).then_some(e.stack.into()),
            syscall: calls::name(e.header.nr).map(Cow::Borrowed),
            dev: has_file.then_some(e.dev.into()),
            ino: has_file.then_some(e.ino as i64),
        })
    }

    /// Names a stack's functions, writes its row, and gives the reason that it stands for.
    fn stack(&mut self, id: i32, addresses: &[u64]) -> Result<Name> {
        let mut frames: Vec<String> = addresses
            .iter()
            .map(|&a| {
                self.symbols
                    .name(a)
                    .map_or_else(|| format!("{a:#x}"), str::to_owned)
            })
            .collect();
        reasons::without_scheduler(&mut frames);
        let reason: Name = Cow::Owned(self.reasons.of(&frames).to_owned());
        self.stacks.insert(id, reason.clone());
        let frames = frames.into_iter().map(Cow::Owned).collect();
        self.recording.push(rows::Stacks {
            stack_id: id.into(),
            frames,
        })?;
        Ok(reason)
    }

    fn file(&mut self, bytes: &[u8]) -> Result<()> {
        if self.files.seen(bytes, host::now_ns() as u64) {
            self.recording.lost("files", 1);
        }
        Ok(())
    }

    fn thread(&mut self, e: &event::Thread) -> Result<()> {
        let tid = e.header.tid;
        if let Some(thread) = self.threads.get_mut(&tid) {
            if e.header.flags & 1 != 0 || thread.start == e.ts {
                thread.comm = e.comm;
                return Ok(());
            }
            // The number is in use again: the end of the one before was not seen.
            self.end_thread(tid, None)?;
        }
        let told = self.first_clock(tid, e.ts);
        self.threads.insert(
            tid,
            Thread {
                tgid: e.tgid,
                ppid: e.ppid,
                comm: e.comm,
                start: e.ts,
                told,
                exiting: false,
                unmet: 1,
            },
        );
        Ok(())
    }

    fn exit(&mut self, e: &event::Exit) -> Result<()> {
        self.clock(&e.clock, true)?;
        let tid = e.clock.tid;
        if e.header.flags & 1 == 0 {
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.exiting = true;
            }
            return Ok(());
        }
        if self.main == Some(tid) {
            self.main_ended = true;
        }
        self.end_thread(tid, Some((e.clock.now, e.clock.exit_code)))
    }

    /// Writes a thread's time since it was last told.
    fn clock(&mut self, clock: &Clock, last: bool) -> Result<()> {
        let ended = |gone: &HashMap<u32, u64>| gone.get(&clock.tid) == Some(&clock.start);
        if !self.threads.contains_key(&clock.tid) && self.gone.iter().any(ended) {
            return Ok(());
        }
        let thread = self.threads.entry(clock.tid).or_insert_with(|| Thread {
            tgid: clock.tgid,
            ppid: clock.ppid,
            comm: clock.comm,
            start: clock.start,
            told: Clock {
                start: clock.start,
                now: clock.start,
                ..Clock::default()
            },
            exiting: false,
            unmet: 1,
        });
        if thread.start != clock.start {
            // It has run exec from another thread and begins again, or its number is in use again.
            thread.start = clock.start;
            thread.told = Clock {
                start: clock.start,
                now: clock.start,
                ..Clock::default()
            };
        }
        thread.comm = clock.comm;
        thread.unmet = 0;
        let Some(row) = time_row(&thread.told, clock, last) else {
            return Ok(());
        };
        thread.told = *clock;
        self.recording.push(row)
    }

    fn end_thread(&mut self, tid: u32, end: Option<(u64, u32)>) -> Result<()> {
        let Some(thread) = self.threads.remove(&tid) else {
            return Ok(());
        };
        self.gone[0].insert(tid, thread.start);
        let start = self.began(tid, thread.start);
        self.recording.push(rows::Threads {
            tid: tid.into(),
            tgid: thread.tgid.into(),
            ppid: Some(thread.ppid.into()),
            comm: Cow::Owned(event::comm(&thread.comm)),
            start_ns: start as i64,
            end_ns: end.map(|(at, _)| at as i64),
            exit_code: end.map(|(_, code)| code.into()),
        })
    }

    /// Threads that two readings of all clocks have not met: the record of their end was lost.
    fn end_missing(&mut self) -> Result<()> {
        let mut ended = Vec::new();
        for (&tid, thread) in &mut self.threads {
            thread.unmet += 1;
            if thread.unmet > 2 {
                ended.push(tid);
            }
        }
        for tid in ended {
            self.end_thread(tid, None)?;
        }
        Ok(())
    }

    /// The clocks of all threads, ten times a second, and what was drained; `now_ns` ends the interval.
    pub fn interval(
        &mut self,
        samples: &[Sample],
        drained: Drained,
        lost: Lost,
        now_ns: u64,
    ) -> Result<()> {
        for sample in samples {
            self.clock(&sample.clock, false)?;
        }
        self.end_missing()?;
        self.gone.swap(0, 1);
        self.gone[0].clear();
        let interval = (self.interval_start, now_ns);
        for (key, total) in drained.totals {
            self.total(key, &total, interval)?;
        }
        self.settle_total();
        for ((tid, nr), total) in std::mem::take(&mut self.totals) {
            self.total(TotalKey { tid, nr: nr.into() }, &total, interval)?;
        }
        for (key, counts) in drained.cache {
            // What mapped memory reads and dirties no call tells.
            let pages = counts.demand + counts.readahead + counts.dirtied + counts.faults;
            if pages > 0 {
                self.files.weigh((key.dev, key.ino), pages * 4096);
            }
            self.cache.add(key, &counts);
        }
        let recording = &mut self.recording;
        self.cache.rows(interval, &mut |row| recording.push(row))?;
        self.interval_start = now_ns;
        self.losses(lost);
        self.files.tick(&mut self.recording, now_ns)?;
        self.recording.tick(now_ns as i64)
    }

    fn total(&mut self, key: TotalKey, total: &Total, (start, end): (u64, u64)) -> Result<()> {
        let name = calls::total_name(key.nr);
        self.recording.push(rows::SyscallTotals {
            ts_ns: start as i64,
            interval_ns: (end - start) as i64,
            tgid: total.tgid.into(),
            tid: key.tid.into(),
            name,
            calls: total.calls as i64,
            errors: total.errors as i64,
            total_ns: total.total as i64,
            max_ns: Some(total.max as i64),
            cpu_ns: Some(total.cpu as i64),
        })
    }

    fn losses(&mut self, lost: Lost) {
        let tables = [
            (kind::CALL, "syscalls"),
            (kind::WAIT, "waits"),
            (kind::REQUEST, "block_requests"),
            (kind::FILE, "files"),
            (kind::THREAD, "threads"),
            (kind::EXIT, "threads"),
            (kind::WRITEBACK, "writeback"),
            (kind::THROTTLE, "dirty_throttle"),
            (kind::COMMIT, "journal_commits"),
            (kind::ALLOCATION, "allocations"),
        ];
        for (kind, table) in tables {
            let kind = usize::from(kind);
            self.recording
                .lost(table, lost.events[kind] - self.lost.events[kind]);
        }
        self.recording
            .lost("page_cache", lost.cache - self.lost.cache);
        self.recording
            .lost("syscall_totals", lost.totals - self.lost.totals);
        self.recording
            .lost("threads", lost.threads - self.lost.threads);
        self.lost = lost;
    }

    /// The end: calls that have not returned, requests in flight, threads that live on.
    pub fn finish(&mut self, samples: &[Sample], unfinished: &[event::Request]) -> Result<()> {
        for sample in samples {
            self.clock(&sample.clock, true)?;
            if sample.call.header.kind == kind::CALL {
                self.recording.push(call_row(&sample.call, false))?;
            }
        }
        for request in unfinished {
            self.recording.push(request::row(request))?;
        }
        let alive: Vec<u32> = self.threads.keys().copied().collect();
        for tid in alive {
            self.end_thread(tid, None)?;
        }
        Ok(())
    }
}

/// As in bpf/syscall.h: the kernel's own codes from 512 on are no errors that a program sees.
fn is_error(ret: i64) -> bool {
    (-511..0).contains(&ret)
}

/// The kernel's own codes for a call that a signal broke off (include/linux/errno.h, ERESTARTSYS and the
/// like): the program never sees them, as the call is made again, or the thread ends.
fn is_interrupted(ret: i64) -> bool {
    matches!(ret, -514..=-512 | -516)
}

fn cpu_of(e: &Call) -> u64 {
    e.dur.saturating_sub(e.runnable + e.blocked + e.sleeping)
}

fn call_row(e: &Call, returned: bool) -> rows::Syscalls {
    let flag = |bit: u8| e.header.flags & bit != 0;
    rows::Syscalls {
        ts_ns: e.ts as i64,
        dur_ns: e.dur as i64,
        cpu_ns: Some(cpu_of(e) as i64),
        runnable_ns: Some(e.runnable as i64),
        blocked_ns: Some(e.blocked as i64),
        sleeping_ns: Some(e.sleeping as i64),
        tgid: e.tgid.into(),
        tid: e.header.tid.into(),
        name: calls::name(e.header.nr)
            .map_or_else(|| format!("syscall_{}", e.header.nr).into(), Cow::Borrowed),
        fd: (e.fd >= 0).then_some(e.fd.into()),
        dev: flag(event::CALL_HAS_FILE).then_some(e.dev.into()),
        ino: flag(event::CALL_HAS_FILE).then_some(e.ino as i64),
        offset: flag(event::CALL_HAS_OFFSET).then_some(e.offset as i64),
        bytes: flag(event::CALL_HAS_BYTES).then_some(e.bytes as i64),
        ret: returned.then_some(e.ret),
    }
}

/// The row of a thread's time between two readings of its clock; None when there is nothing to tell yet.
fn time_row(before: &Clock, after: &Clock, last: bool) -> Option<rows::ThreadTime> {
    let interval = after.now.checked_sub(before.now).filter(|&ns| ns > 0)?;
    let states: Vec<u64> = after
        .states
        .iter()
        .zip(before.states)
        .map(|(a, b)| a.saturating_sub(b))
        .collect();
    let asleep = states[event::SLEEPING] == interval;
    if asleep && !last && interval < SLEEPER_EVERY_NS {
        return None;
    }
    Some(rows::ThreadTime {
        ts_ns: before.now as i64,
        interval_ns: interval as i64,
        tgid: after.tgid.into(),
        tid: after.tid.into(),
        cpu_user_ns: Some(states[event::USER] as i64),
        cpu_kernel_ns: Some(states[event::KERNEL] as i64),
        runnable_ns: Some(states[event::RUNNABLE] as i64),
        blocked_ns: Some(states[event::BLOCKED] as i64),
        sleeping_ns: Some(states[event::SLEEPING] as i64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(now: u64, states: [u64; 5]) -> Clock {
        Clock {
            start: 100,
            now,
            states,
            tgid: 1,
            tid: 1,
            ..Clock::default()
        }
    }

    #[test]
    fn the_states_of_a_row_sum_to_its_interval() {
        let row = time_row(
            &clock(100, [0; 5]),
            &clock(1100, [400, 300, 200, 70, 30]),
            false,
        )
        .unwrap();
        assert_eq!((row.ts_ns, row.interval_ns), (100, 1000));
        assert_eq!(row.cpu_user_ns, Some(400));
        let sum = row.cpu_user_ns.unwrap()
            + row.cpu_kernel_ns.unwrap()
            + row.runnable_ns.unwrap()
            + row.blocked_ns.unwrap()
            + row.sleeping_ns.unwrap();
        assert_eq!(sum, row.interval_ns);
    }

    #[test]
    fn a_sleeper_is_told_once_a_second_and_at_its_end() {
        let (before, after) = (clock(100, [0; 5]), clock(200, [0, 0, 0, 0, 100]));
        assert!(time_row(&before, &after, false).is_none());
        assert!(time_row(&before, &after, true).is_some());
        let later = clock(100 + SLEEPER_EVERY_NS, [0, 0, 0, 0, SLEEPER_EVERY_NS]);
        assert!(time_row(&before, &later, false).is_some());
        assert!(time_row(&after, &before, true).is_none());
    }

    #[test]
    fn the_parts_of_a_call_sum_to_its_duration() {
        let e = Call {
            dur: 100,
            runnable: 10,
            blocked: 60,
            sleeping: 5,
            ret: -2,
            fd: -1,
            ..Call::default()
        };
        let row = call_row(&e, true);
        assert_eq!(row.cpu_ns, Some(25));
        assert_eq!((row.fd, row.dev, row.bytes), (None, None, None));
        assert!(is_error(e.ret) && !is_error(0) && !is_error(-5000));
    }
}
