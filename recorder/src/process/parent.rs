//! The program that started the recorder for its own ends: when it is killed, nobody is left to end the command.

use std::cell::Cell;

use nix::unistd::{getppid, getsid, Pid};

use iowhy_readings::host;

/// Names the process that the recorder shall not outlive; without it a recorder is on its own.
pub const VARIABLE: &str = "IOWHY_PARENT";

/// Until a request to end is repeated in stronger words, and until the recording ends without the command.
const PATIENCE_NS: i64 = 2_000_000_000;

/// What the recorder was asked to look after.
#[derive(Debug)]
pub struct Parent {
    asked: bool,
    found: Pid,
    /// When the command was asked to end, and how often.
    asked_to_end: Cell<(i64, u32)>,
}

impl Parent {
    /// As the environment says.
    pub fn named() -> Parent {
        let asked = std::env::var_os(VARIABLE).is_some();
        let named = std::env::var(VARIABLE).ok().and_then(|v| v.parse().ok());
        Parent {
            asked,
            // A parent that died before this line has another number than the one named.
            found: named.map_or_else(getppid, Pid::from_raw),
            asked_to_end: Cell::new((0, 0)),
        }
    }

    pub fn died(&self) -> bool {
        self.asked && getppid() != self.found
    }

    /// Once it died: ends the command as Ctrl-C would, a while later as kill would. True when neither helped.
    pub fn outlived_by(&self, alive: &[i64]) -> bool {
        if !self.died() {
            return false;
        }
        let (at_ns, times) = self.asked_to_end.get();
        let now = host::now_ns();
        if times > 0 && now < at_ns + PATIENCE_NS {
            return false;
        }
        let signal = match times {
            0 => libc::SIGINT,
            1 => libc::SIGTERM,
            _ => return true,
        };
        self.asked_to_end.set((now, times + 1));
        for pid in alive.iter().filter_map(|&pid| i32::try_from(pid).ok()) {
            // What made itself a session of its own, no key press reaches.
            if pid > 1 && getsid(Some(Pid::from_raw(pid))) == getsid(None) {
                // SAFETY: kill takes no memory.
                unsafe { libc::kill(pid, signal) };
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_on_its_own_has_no_parent_to_lose() {
        let own = Parent {
            asked: false,
            found: Pid::from_raw(0),
            asked_to_end: Cell::new((0, 0)),
        };
        assert!(!own.died() && !own.outlived_by(&[]));
    }

    #[test]
    fn who_ignores_all_requests_is_left() {
        let lost = Parent {
            asked: true,
            found: Pid::from_raw(0),
            asked_to_end: Cell::new((0, 0)),
        };
        assert!(lost.died() && !lost.outlived_by(&[]));
        assert_eq!(lost.asked_to_end.get().1, 1);
        assert!(!lost.outlived_by(&[]), "not before its time");
        lost.asked_to_end.set((0, 2));
        assert!(lost.outlived_by(&[]));
    }
}
