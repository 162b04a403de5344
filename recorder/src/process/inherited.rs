//! What a command inherits of the caller's signals, as if nobody stood between: which are ignored, which blocked.

use nix::sys::signal::{SigSet, SigmaskHow};

/// Signals that the caller ignored, as numbers separated by commas. The program `iowhy` says so before it becomes
/// Python, which ignores them whatever it was started with.
pub const VARIABLE: &str = "IOWHY_IGNORED";

/// Those that Python ignores by itself (signal(7); Python's `signal`, "Note on SIGPIPE"). All others pass through it.
const HIDDEN: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// The caller's.
#[derive(Clone, Debug)]
pub struct Inherited {
    ignored: Vec<libc::c_int>,
    blocked: SigSet,
}

impl Inherited {
    /// As the environment says of what is hidden, and this thread of the rest: to be called before it blocks signals.
    /// Who ignores SIGCHLD is not told how a child ended (wait(2)), so from here on this process does not.
    pub fn from_caller() -> nix::Result<Inherited> {
        let listed = std::env::var(VARIABLE).unwrap_or_default();
        let mut ignored = hidden_in(&listed);
        if ignores(libc::SIGXFSZ) && !ignored.contains(&libc::SIGXFSZ) {
            ignored.push(libc::SIGXFSZ);
        }
        // A limit on the size of files (setrlimit(2)) is an error of the write that meets it, and no reason to die.
        // SAFETY: no handler is set.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        if ignores(libc::SIGCHLD) {
            ignored.push(libc::SIGCHLD);
            // SAFETY: no handler is set.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        }
        Ok(Inherited {
            ignored,
            blocked: SigSet::thread_get_mask()?,
        })
    }

    /// Gives them to this process; safe after fork. The runtime of Rust has set the default action of SIGPIPE.
    pub fn restore(&self) -> nix::Result<()> {
        // SAFETY: no handler is set.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
        for &signal in &self.ignored {
            // SAFETY: no handler is set.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.blocked), None)
    }
}

fn hidden_in(listed: &str) -> Vec<libc::c_int> {
    let numbers = listed.split(',').filter_map(|number| number.parse().ok());
    numbers.filter(|number| HIDDEN.contains(number)).collect()
}

/// The variable's value for those that this process ignores. Only true before the runtime of Rust ignores SIGPIPE.
pub fn listed() -> String {
    let ignored = HIDDEN.into_iter().filter(|&signal| ignores(signal));
    let numbers: Vec<String> = ignored.map(|signal| signal.to_string()).collect();
    numbers.join(",")
}

/// Whether this process ignores a signal.
pub fn ignores(signal: libc::c_int) -> bool {
    // SAFETY: a sigaction may be all zeroes; without a new action only the present one is written to it.
    unsafe {
        let mut present: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut present) == 0
            && present.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_python_hides_is_taken_from_the_variable() {
        assert_eq!(hidden_in("13,25"), [libc::SIGPIPE, libc::SIGXFSZ]);
        assert_eq!(hidden_in("25"), [libc::SIGXFSZ]);
        assert!(hidden_in("").is_empty());
        assert!(hidden_in("2,9,-1,x,99999999999").is_empty());
    }

    #[test]
    fn what_is_ignored_now_is_listed() {
        // The runtime of Rust, which runs this test, ignores SIGPIPE.
        assert!(listed().split(',').any(|number| number == "13"));
    }
}
