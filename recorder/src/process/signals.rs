//! Ctrl-C and requests to end: passed on to the command, which then ends the recording.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use anyhow::Result;
use nix::sys::signal::{SigSet, Signal};

const CAUGHT: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Signals that came so far.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    count: Arc<AtomicU32>,
    /// The process that they are passed on to, 0 for none.
    command: Arc<AtomicU32>,
}

impl Signals {
    /// Catches them from here on. To be called before any other thread is started.
    pub fn catch() -> Result<Signals> {
        let mut set = SigSet::empty();
        CAUGHT.iter().for_each(|&signal| set.add(signal));
        set.thread_block()?;
        let signals = Signals::default();
        let caught = signals.clone();
        std::thread::Builder::new()
            .name("iowhy-signals".into())
            .spawn(move || loop {
                // SAFETY: a siginfo_t may be all zeroes.
                let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
                // SAFETY: both point to values of their types.
                let number = unsafe { libc::sigwaitinfo(set.as_ref(), &mut info) };
                if number > 0 {
                    caught.came(number, info.si_code);
                }
            })?;
        Ok(signals)
    }

    /// Signals are passed on to this process.
    pub fn pass_to(&self, pid: u32) {
        self.command.store(pid, Ordering::SeqCst);
    }

    /// No more: its number may be another's.
    pub fn pass_no_more(&self) {
        self.command.store(0, Ordering::SeqCst);
    }

    pub fn count(&self) -> u32 {
        self.count.load(Ordering::SeqCst)
    }

    fn came(&self, number: i32, code: i32) {
        self.count.fetch_add(1, Ordering::SeqCst);
        let pid = self.command.load(Ordering::SeqCst);
        // A key press reaches the whole process group, the command included.
        let from_terminal = code == libc::SI_KERNEL;
        if pid != 0 && !from_terminal {
            // SAFETY: kill takes no memory.
            unsafe { libc::kill(pid as i32, number) };
        }
    }
}
