//! A thread's state from scheduler events, and where its time goes.

use super::event::Arguments;
use crate::output::rows::{Text, ThreadTime, Wait};

/// Where a moment of a thread goes.
pub const USER: usize = 0;
pub const KERNEL: usize = 1;
pub const RUNNABLE: usize = 2;
pub const BLOCKED: usize = 3;
pub const SLEEPING: usize = 4;
const CLASSES: usize = 5;
/// The kernel's names of threads are shorter.
const COMM_BYTES: usize = 64;

#[derive(Clone, Copy, Default, PartialEq)]
pub enum Run {
    #[default]
    /// Neither a switch to it nor one away was seen.
    Unknown,
    On,
    Off,
}

/// A call that has not returned yet.
pub struct OpenCall {
    pub ts_ns: i64,
    pub name: Text,
    pub arguments: Arguments,
    /// On a CPU, runnable, blocked, sleeping.
    pub parts_ns: [i64; 4],
}

/// A thread as its events so far have it.
#[derive(Default)]
pub struct State {
    /// 0: unknown.
    pub tgid: i32,
    pub ppid: Option<i32>,
    pub comm: String,
    pub start_ns: i64,
    pub end_ns: Option<i64>,
    pub calls: i64,
    /// All time but that asleep.
    pub active_ns: i64,
    pub run: Run,
    pub woken: bool,
    /// prev_state when it left the CPU.
    pub left: u8,
    /// When the state last changed.
    pub since: Option<i64>,
    pub call: Option<OpenCall>,
    /// A call's enter or exit was seen.
    pub called: bool,
    /// A wait that goes on.
    pub waiting: Option<Wait>,
    /// The last wait, whose reason may come behind it.
    pub waited: Option<Wait>,
    /// The second that is being summed up, its first time, and the sums.
    pub second: i64,
    pub from: i64,
    pub sums_ns: [i64; CLASSES],
}

impl State {
    pub fn new(ts_ns: i64) -> Self {
        Self {
            start_ns: ts_ns,
            second: i64::MIN,
            ..Self::default()
        }
    }

    /// Where its time goes now; None: not known.
    pub fn class(&self) -> Option<usize> {
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

    /// Whether it left the CPU for good.
    pub fn has_ended(&self) -> bool {
        self.run == Run::Off && matches!(self.left, b'X' | b'Z' | b'x')
    }

    pub fn rename(&mut self, comm: &[u8]) {
        if comm != self.comm.as_bytes() && !comm.is_empty() && comm != b"<...>" {
            let comm = &comm[..comm.len().min(COMM_BYTES)];
            self.comm = String::from_utf8_lossy(comm).into_owned();
        }
    }

    /// It leaves the CPU in `state`.
    pub fn leave(&mut self, tid: i32, ts_ns: i64, state: u8) {
        (self.run, self.left, self.woken) = (Run::Off, state, false);
        if state == b'D' {
            self.waiting = Some(Wait {
                ts_ns,
                dur_ns: 0,
                tid,
                call: self.call.as_ref().map(|call| call.name),
                stack: None,
                caller: None,
                io: None,
            });
        }
    }

    /// Its wait is over. The wait before it, whose reason can come no more.
    pub fn end_wait(&mut self, ts_ns: i64) -> Option<Wait> {
        let mut wait = self.waiting.take()?;
        wait.dur_ns = ts_ns - wait.ts_ns;
        self.waited.replace(wait)
    }

    /// Why it waits or waited, said at `ts_ns`.
    pub fn explain_wait(&mut self, ts_ns: i64, io: bool, caller: Option<Text>) {
        let wait = self.waiting.as_mut().or(self.waited.as_mut());
        if let Some(wait) =
            wait.filter(|wait| wait.io.is_none() && wait.ts_ns + wait.dur_ns <= ts_ns)
        {
            (wait.io, wait.caller) = (Some(io), caller);
        }
    }

    /// The sums of the second so far, if there is anything in them; they begin anew.
    pub fn take_time(&mut self, tid: i32) -> Option<ThreadTime> {
        let [cpu_user_ns, cpu_kernel_ns, runnable_ns, blocked_ns, sleeping_ns] =
            std::mem::take(&mut self.sums_ns);
        let row = ThreadTime {
            ts_ns: self.from,
            cpu_user_ns,
            cpu_kernel_ns,
            runnable_ns,
            blocked_ns,
            sleeping_ns,
            tid,
        };
        let any = [
            cpu_user_ns,
            cpu_kernel_ns,
            runnable_ns,
            blocked_ns,
            sleeping_ns,
        ] != [0; CLASSES];
        any.then_some(row)
    }
}
