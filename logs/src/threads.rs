//! Threads' states from scheduler events, exactly: running, runnable, blocked, sleeping; and calls, split into them.
//!
//! A thread runs from the switch to it until the switch away, which tells why it left (prev_state of
//! include/trace/events/sched.h: R or R+ runnable, D blocked, else asleep); from its wake-up on it is runnable.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::frames::{Frames, UNKNOWN};

/// Live recordings' totals and thread times are of one second too.
const INTERVAL_NS: i64 = 1_000_000_000;
/// Threads that are told apart.
const THREADS: usize = 1_000_000;
/// Rows of thread times, and how many more for each change of a state; beyond it a state is not divided among
/// the seconds that it lasts (a damaged time may be years away).
const ROWS: u64 = 200_000;
const ROWS_PER_CHANGE: u64 = 8;

/// A call's arguments as they stand; what is not there is UNKNOWN.
pub type Arguments = [i64; 6];

const USER: usize = 0;
const KERNEL: usize = 1;
const RUNNABLE: usize = 2;
const BLOCKED: usize = 3;
const SLEEPING: usize = 4;

#[derive(Clone, Copy, PartialEq)]
enum Run {
    /// Neither a switch to it nor one away was seen.
    Unknown,
    On,
    Off,
}

struct Call {
    ts_ns: i64,
    name: u32,
    arguments: Arguments,
    /// On a CPU, runnable, blocked, sleeping.
    parts: [i64; 4],
}

#[derive(Clone, Copy)]
struct Wait {
    ts_ns: i64,
    end_ns: i64,
    call: u32,
    stack: u32,
    caller: u32,
    io: Option<bool>,
}

/// A thread, as the summary tells it, and its state.
#[derive(Serialize)]
pub struct Thread {
    /// 0: not told.
    tgid: i32,
    ppid: Option<i32>,
    comm: String,
    start_ns: i64,
    end_ns: Option<i64>,
    calls: u64,
    /// All time but that asleep.
    active_ns: i64,
    #[serde(skip)]
    run: Run,
    #[serde(skip)]
    woken: bool,
    #[serde(skip)]
    left: u8,
    /// When the state last changed.
    #[serde(skip)]
    since: Option<i64>,
    #[serde(skip)]
    call: Option<Call>,
    /// A call's enter or exit was seen.
    #[serde(skip)]
    called: bool,
    #[serde(skip)]
    waiting: Option<Wait>,
    /// The last wait, whose reason may come behind it.
    #[serde(skip)]
    waited: Option<Wait>,
    /// The second that is being summed up, its first time, and the sums.
    #[serde(skip)]
    second: i64,
    #[serde(skip)]
    from: i64,
    #[serde(skip)]
    sums: [i64; 5],
}

impl Thread {
    fn new(ts_ns: i64) -> Self {
        Self {
            tgid: 0,
            ppid: None,
            comm: String::new(),
            start_ns: ts_ns,
            end_ns: None,
            calls: 0,
            active_ns: 0,
            run: Run::Unknown,
            woken: false,
            left: 0,
            since: None,
            call: None,
            called: false,
            waiting: None,
            waited: None,
            second: i64::MIN,
            from: 0,
            sums: [0; 5],
        }
    }

    fn class(&self) -> Option<usize> {
        let on_cpu = if self.call.is_some() { KERNEL } else { USER };
        match self.run {
            Run::On => Some(on_cpu),
            Run::Unknown if self.woken => Some(RUNNABLE),
            Run::Unknown if self.called => Some(on_cpu),
            Run::Unknown => None,
            Run::Off if self.woken || self.left == b'R' => Some(RUNNABLE),
            Run::Off if self.left == b'D' => Some(BLOCKED),
            Run::Off => Some(SLEEPING),
        }
    }
}

#[derive(Default)]
pub struct Threads {
    threads: HashMap<i32, Thread>,
    rows: u64,
    changes: u64,
    pub calls: u64,
    pub switches_in: bool,
    pub switches_out: bool,
    pub wakes: bool,
    pub reasons: bool,
}

impl Threads {
    pub fn all(&self) -> &HashMap<i32, Thread> {
        &self.threads
    }

    /// An event that names the thread.
    pub fn seen(&mut self, tid: i32, tgid: Option<i32>, comm: &[u8], ts_ns: i64) {
        if tid <= 0 {
            return;
        }
        let Some(thread) = self.of(tid, ts_ns) else {
            return;
        };
        thread.start_ns = thread.start_ns.min(ts_ns);
        thread.tgid = thread.tgid.max(tgid.unwrap_or(0));
        if comm != thread.comm.as_bytes() && !comm.is_empty() && comm != b"<...>" {
            thread.comm = String::from_utf8_lossy(&comm[..comm.len().min(64)]).into_owned();
        }
    }

    fn of(&mut self, tid: i32, ts_ns: i64) -> Option<&mut Thread> {
        let full = self.threads.len() >= THREADS;
        match self.threads.entry(tid) {
            std::collections::hash_map::Entry::Occupied(found) => Some(found.into_mut()),
            std::collections::hash_map::Entry::Vacant(_) if full || tid <= 0 => None,
            std::collections::hash_map::Entry::Vacant(place) => {
                Some(place.insert(Thread::new(ts_ns)))
            }
        }
    }

    pub fn born(&mut self, child: i32, mother: i32) {
        // The child's own events, which come later, tell when it began.
        if let Some(thread) = self.of(child, i64::MAX) {
            thread.ppid = thread.ppid.max(Some(mother));
        }
    }

    pub fn gone(&mut self, tid: i32, ts_ns: i64) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.end_ns = Some(ts_ns);
        }
    }

    /// The thread leaves the CPU in `state`.
    pub fn leave<W: Write>(
        &mut self,
        tid: i32,
        ts_ns: i64,
        state: u8,
        out: &mut Frames<W>,
    ) -> Result<()> {
        self.switches_out = true;
        self.advance(tid, ts_ns, out)?;
        if let Some(thread) = self.threads.get_mut(&tid) {
            (thread.run, thread.left, thread.woken) = (Run::Off, state, false);
            if state == b'D' {
                thread.waiting = Some(Wait {
                    ts_ns,
                    end_ns: ts_ns,
                    call: thread.call.as_ref().map_or(0, |call| call.name),
                    stack: 0,
                    caller: 0,
                    io: None,
                });
            }
        }
        Ok(())
    }

    /// The thread is put on a CPU.
    pub fn arrive<W: Write>(&mut self, tid: i32, ts_ns: i64, out: &mut Frames<W>) -> Result<()> {
        self.switches_in = true;
        self.advance(tid, ts_ns, out)?;
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.run = Run::On;
        }
        self.end_wait(tid, ts_ns, out)
    }

    pub fn wake<W: Write>(&mut self, tid: i32, ts_ns: i64, out: &mut Frames<W>) -> Result<()> {
        self.wakes = true;
        if self.of(tid, i64::MAX).is_none() {
            return Ok(());
        }
        self.advance(tid, ts_ns, out)?;
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.woken = true;
        }
        self.end_wait(tid, ts_ns, out)
    }

    fn end_wait<W: Write>(&mut self, tid: i32, ts_ns: i64, out: &mut Frames<W>) -> Result<()> {
        if let Some(thread) = self.threads.get_mut(&tid) {
            if let Some(mut wait) = thread.waiting.take() {
                wait.end_ns = ts_ns;
                if let Some(before) = thread.waited.replace(wait) {
                    write_wait(tid, &before, out)?;
                }
            }
        }
        Ok(())
    }

    /// Why the thread waited, told when the wait is over.
    pub fn reason(&mut self, tid: i32, ts_ns: i64, io: bool, caller: u32) {
        self.reasons = true;
        if let Some(thread) = self.threads.get_mut(&tid) {
            let wait = thread.waiting.as_mut().or(thread.waited.as_mut());
            if let Some(wait) = wait.filter(|wait| wait.io.is_none() && wait.end_ns <= ts_ns) {
                (wait.io, wait.caller) = (Some(io), caller);
            }
        }
    }

    /// The kernel stack of the thread's last switch away.
    pub fn stack(&mut self, tid: i32, id: u32) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            if let Some(wait) = thread.waiting.as_mut() {
                wait.stack = id;
            }
        }
    }

    pub fn enter<W: Write>(
        &mut self,
        tid: i32,
        ts_ns: i64,
        name: u32,
        arguments: Arguments,
        out: &mut Frames<W>,
    ) -> Result<()> {
        self.advance(tid, ts_ns, out)?;
        if let Some(thread) = self.threads.get_mut(&tid) {
            // One that is open has lost its end.
            thread.call = Some(Call {
                ts_ns,
                name,
                arguments,
                parts: [0; 4],
            });
            thread.called = true;
        }
        Ok(())
    }

    pub fn exit<W: Write>(
        &mut self,
        tid: i32,
        ts_ns: i64,
        name: u32,
        ret: i64,
        out: &mut Frames<W>,
    ) -> Result<()> {
        if self
            .threads
            .get(&tid)
            .is_none_or(|thread| thread.call.is_none())
        {
            return Ok(());
        }
        self.advance(tid, ts_ns, out)?;
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let Some(call) = thread.call.take().filter(|call| call.name == name) else {
            return Ok(());
        };
        thread.calls += 1;
        self.calls += 1;
        let dur_ns = ts_ns - call.ts_ns;
        write_call(tid, &call, dur_ns, ret, out)?;
        let failed = (-4095..0).contains(&ret);
        out.total(call.ts_ns, tid, name, dur_ns, failed, Some(call.parts[0]))?;
        Ok(())
    }

    /// Add the time since the thread's state last changed to its sums.
    fn advance<W: Write>(&mut self, tid: i32, ts_ns: i64, out: &mut Frames<W>) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let Some(mut since) = thread.since.replace(ts_ns) else {
            return Ok(());
        };
        let Some(class) = thread.class() else {
            return Ok(());
        };
        if ts_ns <= since {
            return Ok(());
        }
        if class != SLEEPING {
            thread.active_ns += ts_ns - since;
        }
        if let Some(call) = thread.call.as_mut() {
            call.parts[class.max(KERNEL) - KERNEL] += ts_ns - since;
        }
        while since < ts_ns {
            let second = since.div_euclid(INTERVAL_NS);
            if second != thread.second {
                self.rows += u64::from(write_time(tid, thread, out)?);
                (thread.second, thread.from) = (second, since);
            }
            let end = if self.rows > ROWS + ROWS_PER_CHANGE * self.changes {
                ts_ns
            } else {
                ts_ns.min((second + 1) * INTERVAL_NS)
            };
            thread.sums[class] += end - since;
            since = end;
        }
        Ok(())
    }

    /// The trace ends: states go on to its last event, but those of threads that have ended.
    pub fn finish<W: Write>(&mut self, last: i64, out: &mut Frames<W>) -> Result<()> {
        let tids: Vec<i32> = self.threads.keys().copied().collect();
        for tid in tids {
            let ended = |t: &Thread| t.run == Run::Off && matches!(t.left, b'X' | b'Z' | b'x');
            if !ended(&self.threads[&tid]) {
                self.advance(tid, last, out)?;
                self.end_wait(tid, last, out)?;
            }
            let Some(thread) = self.threads.get_mut(&tid) else {
                continue;
            };
            if let Some(call) = thread.call.take() {
                thread.calls += 1;
                self.calls += 1;
                write_call(tid, &call, UNKNOWN, UNKNOWN, out)?;
            }
            if let Some(wait) = thread.waited.take() {
                write_wait(tid, &wait, out)?;
            }
            write_time(tid, thread, out)?;
        }
        // Named by others' events only.
        self.threads.retain(|_, thread| thread.start_ns != i64::MAX);
        Ok(())
    }
}

/// ts, dur, ret, six arguments, cpu, runnable, blocked, sleeping; tid, name.
fn write_call<W: Write>(
    tid: i32,
    call: &Call,
    dur_ns: i64,
    ret: i64,
    out: &mut Frames<W>,
) -> Result<()> {
    let mut row = [call.ts_ns, dur_ns, ret, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    row[3..9].copy_from_slice(&call.arguments);
    row[9..].copy_from_slice(&call.parts);
    Ok(out.row(b'c', &row, &[tid as u32, call.name])?)
}

/// ts, dur; tid, call, stack, caller, io (2: not known).
fn write_wait<W: Write>(tid: i32, wait: &Wait, out: &mut Frames<W>) -> Result<()> {
    let io = wait.io.map_or(2, u32::from);
    Ok(out.row(
        b'w',
        &[wait.ts_ns, wait.end_ns - wait.ts_ns],
        &[tid as u32, wait.call, wait.stack, wait.caller, io, 0],
    )?)
}

/// ts, user, kernel, runnable, blocked, sleeping; tid. Whether there was anything to write.
fn write_time<W: Write>(tid: i32, thread: &mut Thread, out: &mut Frames<W>) -> Result<bool> {
    let sums = std::mem::take(&mut thread.sums);
    if sums == [0; 5] {
        return Ok(false);
    }
    let mut row = [thread.from; 6];
    row[1..].copy_from_slice(&sums);
    out.row(b't', &row, &[tid as u32, 0])?;
    Ok(true)
}
