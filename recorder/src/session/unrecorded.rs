//! A command whose recording has ended before it: it is waited for.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use iowhy_readings::threads::with_descendants;
use iowhy_readings::{messages, Roots};

use super::{Failure, BROKEN};
use crate::process::lifeline::Lifeline;
use crate::process::signals::Signals;
use crate::process::spawn::{self, Fate};

/// How often it is looked whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The command, by its process.
pub struct RunsOn {
    fate: Receiver<Fate>,
    pid: u32,
    signals: Signals,
}

impl RunsOn {
    pub fn new(fate: Receiver<Fate>, pid: u32, signals: &Signals) -> RunsOn {
        RunsOn {
            fate,
            pid,
            signals: signals.clone(),
        }
    }

    fn alive(&self) -> Vec<i64> {
        with_descendants(&Roots::default(), &[self.pid.into()])
    }

    /// Its exit status; 130 when it would not end though it was asked to, or nobody holds the lifeline any more.
    pub fn wait(&self, lifeline: &Lifeline) -> i32 {
        loop {
            match self.fate.recv_timeout(LOOK_EVERY) {
                Ok(Fate::Ended { status, .. }) => return spawn::shell_status(status),
                Err(RecvTimeoutError::Timeout) => {}
                _ => return BROKEN,
            }
            let left = self.signals.end_it(|| self.alive())
                || lifeline.is_cut() && lifeline.outlived_by(&self.alive());
            if left {
                messages::say(&format!("the command (PID {}) runs on", self.pid));
                return 130;
            }
        }
    }
}

/// The recording broke off (a full disk): the command is not ours to end, so it is waited for.
pub fn outlived(error: anyhow::Error, command: RunsOn, lifeline: &Lifeline) -> Failure {
    messages::say(&format!("{error:#}; the command runs on unrecorded"));
    Failure {
        message: String::new(),
        status: command.wait(lifeline),
        ran_nothing: false,
    }
}
