//! Ctrl-C and requests to end: passed on to the command, which then ends the recording.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use iowhy_readings::host;
use nix::sys::signal::{SigSet, Signal};

use super::inherited::ignores;
use super::spawn::Fate;

const REQUESTS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// What comes within this time of the one before is the same request: `timeout` sends it to its child and to the
/// whole group, and who started the recorder passes it on.
const SAME_NS: i64 = 300_000_000;

/// How long a process that does not take a request is waited for.
const PATIENCE_NS: i64 = 2_000_000_000;

/// Signals that came so far.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    count: Arc<AtomicU32>,
    /// When the last request came.
    last_ns: Arc<AtomicI64>,
    /// The process that they are passed on to, 0 for none.
    command: Arc<AtomicU32>,
    /// When the first request came, and who waits for it.
    first_ns: Arc<AtomicI64>,
    waits: Arc<Mutex<Option<Sender<Fate>>>>,
}

impl Signals {
    /// Catches them from here on, but those that are ignored already (nohup(1)): they stay so, also in the command.
    /// To be called before any other thread is started.
    pub fn catch() -> Result<Signals> {
        let mut set = SigSet::empty();
        let heard = REQUESTS
            .into_iter()
            .filter(|&signal| !ignores(signal as i32));
        heard.for_each(|signal| set.add(signal));
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

    /// Gets a message with the first request that comes from here on.
    pub fn wakes(&self) -> Receiver<Fate> {
        let (wake, woken) = channel();
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = Some(wake);
        woken
    }

    /// When the first request came.
    pub fn first_ns(&self) -> Option<i64> {
        Some(self.first_ns.load(Ordering::SeqCst)).filter(|&ns| ns > 0)
    }

    pub fn count(&self) -> u32 {
        self.count.load(Ordering::SeqCst)
    }

    /// The recording ends without the command: at a second request, and where it cannot take the first. `alive`: its processes.
    pub fn end_it(&self, alive: impl FnOnce() -> Vec<i64>) -> bool {
        self.count() >= 2 || self.count() > 0 && self.reach_nobody(&alive())
    }

    /// A request came a while ago, and one of these processes has not taken it though it would: it is frozen (SIGSTOP, a
    /// control group's freezer), or waits beyond the reach of signals.
    fn reach_nobody(&self, alive: &[i64]) -> bool {
        let last_ns = self.last_ns.load(Ordering::SeqCst);
        last_ns > 0
            && host::now_ns() >= last_ns + PATIENCE_NS
            && alive.iter().any(|&pid| is_pending(pid))
    }

    fn came(&self, number: i32, code: i32) {
        let now_ns = host::now_ns();
        let last_ns = self.last_ns.swap(now_ns, Ordering::SeqCst);
        if last_ns > 0 && now_ns < last_ns + SAME_NS {
            return;
        }
        if self.count.fetch_add(1, Ordering::SeqCst) == 0 {
            self.first_ns.store(now_ns, Ordering::SeqCst);
        }
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = waits.take();
        if let Some(waits) = waits {
            // Who waits no longer has ended.
            let _ = waits.send(Fate::Asked);
        }
        let pid = self.command.load(Ordering::SeqCst);
        // A key press reaches the whole process group, the command included.
        let from_terminal = code == libc::SI_KERNEL;
        if pid != 0 && !from_terminal {
            // SAFETY: kill takes no memory.
            unsafe { libc::kill(pid as i32, number) };
        }
    }
}

/// Whether a request waits for a process to take it, which does not block it (proc_pid_status(5)).
fn is_pending(pid: i64) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or(0)
    };
    let requests = REQUESTS
        .iter()
        .fold(0, |all, one| all | 1 << (*one as u32 - 1));
    (mask("SigPnd:") | mask("ShdPnd:")) & !mask("SigBlk:") & requests != 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    fn who_is_stopped_takes_no_request_and_who_sleeps_does() {
        let mut sleep = std::process::Command::new("sleep");
        // Whoever starts the tests may ignore it.
        // SAFETY: signal takes no memory.
        unsafe {
            sleep.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        let mut child = sleep.arg("60").spawn().unwrap();
        let pid = i64::from(child.id());
        let signals = Signals::default();
        assert!(!signals.reach_nobody(&[pid]));
        // SAFETY: kill takes no memory.
        let send = |signal| unsafe { libc::kill(pid as i32, signal) };
        send(libc::SIGSTOP);
        // SAFETY: waits for the child of this test to be stopped.
        unsafe { libc::waitpid(pid as i32, std::ptr::null_mut(), libc::WUNTRACED) };
        send(libc::SIGINT);
        signals.last_ns.store(host::now_ns(), Ordering::SeqCst);
        assert!(!signals.reach_nobody(&[pid]), "not at once");
        signals
            .last_ns
            .store(host::now_ns() - PATIENCE_NS, Ordering::SeqCst);
        assert!(signals.reach_nobody(&[pid]));
        assert!(!signals.reach_nobody(&[i64::from(std::process::id())]));
        send(libc::SIGKILL);
        child.wait().unwrap();
        assert!(!signals.reach_nobody(&[pid]));
    }

    #[test]
    fn what_comes_at_once_is_one_request() {
        let signals = Signals::default();
        signals.came(libc::SIGTERM, libc::SI_USER);
        signals.came(libc::SIGTERM, libc::SI_USER);
        assert_eq!(signals.count(), 1);
        signals
            .last_ns
            .store(host::now_ns() - SAME_NS, Ordering::SeqCst);
        signals.came(libc::SIGTERM, libc::SI_USER);
        assert_eq!(signals.count(), 2);
    }
}
