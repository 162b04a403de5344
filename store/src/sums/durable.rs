//! Writes that waited until their data were durable, as the relation durable_writes has them.

use std::collections::HashMap;

use super::kinds;
use crate::rows::{Syscalls, Waits};

/// Threads that are remembered at once.
const MOST_THREADS: usize = 65_536;

/// What is known of a thread since its last call.
#[derive(Clone, Copy, Debug)]
struct Thread {
    /// When its last call ended; nothing comes from before that.
    ended_ns: i64,
    /// The last wait that makes a write of its own durable, and that which makes any call durable.
    own_ns: i64,
    any_ns: i64,
}

const NEVER: i64 = i64::MIN;
const NEW: Thread = Thread {
    ended_ns: NEVER,
    own_ns: NEVER,
    any_ns: NEVER,
};

/// Finds the call of each wait. A thread's waits come before the call that they were in, and its calls in their order;
/// where that is once not so, nothing is known.
#[derive(Debug, Default)]
pub struct DurableWrites {
    threads: HashMap<i64, Thread>,
    unknown: bool,
}

impl DurableWrites {
    pub fn wait(&mut self, row: &Waits, wait: kinds::Wait, call: Option<kinds::Call>) {
        let may_write = matches!(call, None | Some(kinds::Call::Writes | kinds::Call::Copies));
        if self.unknown || !may_write || !(wait.commits || wait.writes_back) {
            return;
        }
        self.make_room();
        let thread = self.threads.entry(row.tid).or_insert(NEW);
        self.unknown |= row.ts_ns < thread.ended_ns;
        thread.own_ns = thread.own_ns.max(row.ts_ns);
        if wait.commits {
            thread.any_ns = thread.any_ns.max(row.ts_ns);
        }
    }

    /// Whether it is one; None: not known, nor of any that comes.
    #[inline]
    pub fn call(&mut self, row: &Syscalls, call: kinds::Call) -> Option<bool> {
        if self.unknown {
            return None;
        }
        let Some(thread) = self.threads.get_mut(&row.tid) else {
            return Some(false);
        };
        let end_ns = row.ts_ns.saturating_add(row.dur_ns);
        if row.ts_ns < thread.ended_ns || thread.own_ns >= end_ns && end_ns > row.ts_ns {
            self.unknown = true;
            return None;
        }
        thread.ended_ns = end_ns;
        let waited_ns = match call {
            kinds::Call::Writes => thread.own_ns,
            kinds::Call::Copies => thread.any_ns,
            _ => NEVER,
        };
        let within = row.ts_ns <= waited_ns && waited_ns < end_ns;
        Some(within && row.blocked_ns > Some(0))
    }

    pub fn give_up(&mut self) {
        self.unknown = true;
        self.threads = HashMap::new();
    }

    /// Forgets the threads of which nothing waits for its call; what would come late of one of these is not noticed.
    fn make_room(&mut self) {
        if self.threads.len() >= MOST_THREADS {
            self.threads
                .retain(|_, thread| thread.own_ns > thread.ended_ns);
            self.unknown |= self.threads.len() >= MOST_THREADS;
        }
    }
}
