//! Threads' states from scheduler events, exactly: running, runnable, blocked, sleeping; and calls, split into them.
//!
//! A thread runs from the switch to it until the switch away, which says why it left (prev_state of
//! include/trace/events/sched.h: R or R+ runnable, D blocked, else asleep); from its wake-up on it is runnable.

use std::collections::hash_map::Entry;

use ahash::HashMap;

use super::event::{Arguments, Switch};
use super::thread::{OpenCall, Run, State, KERNEL, SLEEPING};
use crate::error::Result;
use crate::output::rows::{Text, Thread, ThreadTime, TracedCall, Wait};
use crate::output::{Output, Table};
use crate::text::NS;
use crate::totals::Totals;

/// Live recordings' totals and thread times are of one second too.
const INTERVAL_NS: i64 = NS;
/// Threads that are kept apart.
const THREADS: usize = 1_000_000;
/// Rows of thread times, and how many more for each change of a state; beyond it a state is not divided among
/// the seconds that it lasts (a damaged time may be years away).
const TIME_ROWS: u64 = 200_000;
const TIME_ROWS_PER_CHANGE: u64 = 8;
/// Errors are returned as -4095 to -1.
const ERRORS: std::ops::Range<i64> = -4095..0;

/// Which events there were: what only those that are missing would show is unknown.
#[derive(Clone, Copy, Default, serde::Serialize)]
pub struct Seen {
    pub calls: u64,
    pub switches_in: bool,
    pub switches_out: bool,
    pub wakes: bool,
    pub reasons: bool,
    pub stacks: bool,
}

pub struct Threads {
    states: HashMap<i32, State>,
    calls: Table<TracedCall>,
    totals: Totals,
    times: Table<ThreadTime>,
    waits: Table<Wait>,
    time_rows: u64,
    changes: u64,
    pub seen: Seen,
}

impl Threads {
    pub fn new(output: &Output) -> Self {
        Self {
            states: HashMap::default(),
            calls: output.table(),
            totals: Totals::new(output),
            times: output.table(),
            waits: output.table(),
            time_rows: 0,
            changes: 0,
            seen: Seen::default(),
        }
    }

    /// An event that names the thread.
    pub fn note(&mut self, tid: i32, tgid: Option<i32>, comm: &[u8], ts_ns: i64) {
        if let Some(thread) = self.entry(tid, ts_ns) {
            thread.start_ns = thread.start_ns.min(ts_ns);
            thread.tgid = thread.tgid.max(tgid.unwrap_or(0));
            thread.rename(comm);
        }
    }

    /// A thread, which is new or not; none when it is the idle one or there are too many.
    fn entry(&mut self, tid: i32, ts_ns: i64) -> Option<&mut State> {
        let full = self.states.len() >= THREADS;
        match self.states.entry(tid) {
            Entry::Occupied(found) => Some(found.into_mut()),
            Entry::Vacant(_) if full || tid <= 0 => None,
            Entry::Vacant(place) => Some(place.insert(State::new(ts_ns))),
        }
    }

    pub fn fork(&mut self, child: i32, parent: i32) {
        // The child's own events, which come later, tell when it began.
        if let Some(thread) = self.entry(child, i64::MAX) {
            thread.ppid = thread.ppid.max(Some(parent));
        }
    }

    pub fn exit(&mut self, tid: i32, ts_ns: i64) {
        if let Some(thread) = self.states.get_mut(&tid) {
            thread.end_ns = Some(ts_ns);
        }
    }

    /// A CPU changes from one thread to another. Thread 0 is the idle one.
    pub fn switch(&mut self, ts_ns: i64, switch: &Switch) -> Result<()> {
        if switch.prev != 0 {
            self.note(switch.prev, None, switch.prev_comm, ts_ns);
            self.seen.switches_out = true;
            self.advance(switch.prev, ts_ns)?;
            if let Some(thread) = self.states.get_mut(&switch.prev) {
                thread.leave(switch.prev, ts_ns, switch.prev_state);
            }
        }
        if switch.next != 0 {
            self.note(switch.next, None, switch.next_comm, ts_ns);
            self.seen.switches_in = true;
            self.advance(switch.next, ts_ns)?;
            if let Some(thread) = self.states.get_mut(&switch.next) {
                thread.run = Run::On;
            }
            self.end_wait(switch.next, ts_ns)?;
        }
        Ok(())
    }

    pub fn wake(&mut self, tid: i32, ts_ns: i64) -> Result<()> {
        self.seen.wakes = true;
        if self.entry(tid, i64::MAX).is_none() {
            return Ok(());
        }
        self.advance(tid, ts_ns)?;
        if let Some(thread) = self.states.get_mut(&tid) {
            thread.woken = true;
        }
        self.end_wait(tid, ts_ns)
    }

    fn end_wait(&mut self, tid: i32, ts_ns: i64) -> Result<()> {
        let thread = self.states.get_mut(&tid);
        if let Some(before) = thread.and_then(|thread| thread.end_wait(ts_ns)) {
            self.waits.push(&before)?;
        }
        Ok(())
    }

    /// Why the thread waited, which is known when the wait is over.
    pub fn explain_wait(&mut self, tid: i32, ts_ns: i64, io: bool, caller: Option<Text>) {
        self.seen.reasons = true;
        if let Some(thread) = self.states.get_mut(&tid) {
            thread.explain_wait(ts_ns, io, caller);
        }
    }

    /// The kernel stack of the thread's last switch away.
    pub fn stack(&mut self, tid: i32, stack: Option<Text>) {
        self.seen.stacks = true;
        if let Some(thread) = self.states.get_mut(&tid) {
            if let Some(wait) = thread.waiting.as_mut() {
                wait.stack = stack;
            }
        }
    }

    pub fn enter_call(
        &mut self,
        tid: i32,
        ts_ns: i64,
        name: Text,
        arguments: Arguments,
    ) -> Result<()> {
        self.advance(tid, ts_ns)?;
        if let Some(thread) = self.states.get_mut(&tid) {
            // One that is open has lost its end.
            thread.call = Some(OpenCall {
                ts_ns,
                name,
                arguments,
                parts_ns: [0; 4],
            });
            thread.called = true;
        }
        Ok(())
    }

    pub fn leave_call(&mut self, tid: i32, ts_ns: i64, name: Text, ret: Option<i64>) -> Result<()> {
        if self
            .states
            .get(&tid)
            .is_none_or(|thread| thread.call.is_none())
        {
            return Ok(());
        }
        self.advance(tid, ts_ns)?;
        let Some(thread) = self.states.get_mut(&tid) else {
            return Ok(());
        };
        let Some(call) = thread.call.take().filter(|call| call.name == name) else {
            return Ok(());
        };
        thread.calls += 1;
        self.seen.calls += 1;
        let dur_ns = ts_ns - call.ts_ns;
        self.calls.push(&row(tid, &call, Some(dur_ns), ret))?;
        let failed = ret.is_some_and(|ret| ERRORS.contains(&ret));
        let key = (call.ts_ns, tid, name);
        self.totals.add(key, dur_ns, failed, Some(call.parts_ns[0]))
    }

    /// Add the time since the thread's state last changed to its sums.
    fn advance(&mut self, tid: i32, ts_ns: i64) -> Result<()> {
        let Some(thread) = self.states.get_mut(&tid) else {
            return Ok(());
        };
        let Some(mut since) = thread.since.replace(ts_ns) else {
            return Ok(());
        };
        let Some(class) = thread.class().filter(|_| ts_ns > since) else {
            return Ok(());
        };
        self.changes += 1;
        if class != SLEEPING {
            thread.active_ns += ts_ns - since;
        }
        if let Some(call) = thread.call.as_mut() {
            call.parts_ns[class.max(KERNEL) - KERNEL] += ts_ns - since;
        }
        while since < ts_ns {
            let second = since.div_euclid(INTERVAL_NS);
            if second != thread.second {
                if let Some(time) = thread.take_time(tid) {
                    self.times.push(&time)?;
                    self.time_rows += 1;
                }
                (thread.second, thread.from) = (second, since);
            }
            let end = if self.time_rows > TIME_ROWS + TIME_ROWS_PER_CHANGE * self.changes {
                ts_ns
            } else {
                ts_ns.min((second + 1) * INTERVAL_NS)
            };
            thread.sums_ns[class] += end - since;
            since = end;
        }
        Ok(())
    }

    /// The trace ends: states go on to its last event, but those of threads that have ended.
    pub fn finish(mut self, last_ns: i64, output: &mut Output) -> Result<Seen> {
        let mut tids: Vec<i32> = self.states.keys().copied().collect();
        tids.sort_unstable();
        let mut table = output.table::<Thread>();
        for tid in tids {
            if !self.states[&tid].has_ended() {
                self.advance(tid, last_ns)?;
                self.end_wait(tid, last_ns)?;
            }
            let Some(mut thread) = self.states.remove(&tid) else {
                continue;
            };
            if let Some(call) = thread.call.take() {
                thread.calls += 1;
                self.seen.calls += 1;
                self.calls.push(&row(tid, &call, None, None))?;
            }
            if let Some(wait) = thread.waited.take() {
                self.waits.push(&wait)?;
            }
            if let Some(time) = thread.take_time(tid) {
                self.times.push(&time)?;
            }
            // Else it is named by others' events only.
            if thread.start_ns != i64::MAX {
                table.push(&Thread {
                    tid,
                    tgid: thread.tgid,
                    ppid: thread.ppid,
                    comm: output.name(thread.comm.as_bytes())?,
                    start_ns: thread.start_ns,
                    end_ns: thread.end_ns,
                    calls: thread.calls,
                    active_ns: thread.active_ns,
                })?;
            }
        }
        table.finish()?;
        self.calls.finish()?;
        self.totals.finish()?;
        self.times.finish()?;
        self.waits.finish()?;
        Ok(self.seen)
    }
}

fn row(tid: i32, call: &OpenCall, dur_ns: Option<i64>, ret: Option<i64>) -> TracedCall {
    let [cpu_ns, runnable_ns, blocked_ns, sleeping_ns] = call.parts_ns;
    let [argument_0, argument_1, argument_2, argument_3, argument_4, argument_5] = call.arguments;
    TracedCall {
        ts_ns: call.ts_ns,
        dur_ns,
        ret,
        argument_0,
        argument_1,
        argument_2,
        argument_3,
        argument_4,
        argument_5,
        cpu_ns,
        runnable_ns,
        blocked_ns,
        sleeping_ns,
        tid,
        name: call.name,
    }
}
