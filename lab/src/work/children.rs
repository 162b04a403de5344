//! Processes that come and go.

use anyhow::{bail, Result};
use nix::sys::wait::{waitpid, WaitStatus};
use nix::unistd::{fork, ForkResult};
use serde_json::{json, Value};

/// Fork processes that write one byte each to /dev/null and end.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Processes.
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// How many are alive at once.
    #[arg(long, default_value_t = 1)]
    at_once: u64,
}

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    let mut alive = 0;
    for _ in 0..options.count {
        if alive == options.at_once.max(1) {
            wait_for_one()?;
            alive -= 1;
        }
        // SAFETY: this program has one thread; the child makes two system calls and ends.
        match unsafe { fork() }? {
            ForkResult::Parent { .. } => alive += 1,
            ForkResult::Child => {
                let written = std::fs::write("/dev/null", b"x");
                // SAFETY: ends the child without running the parent's clean-up.
                unsafe { libc::_exit(i32::from(written.is_err())) }
            }
        }
    }
    for _ in 0..alive {
        wait_for_one()?;
    }
    Ok(json!({ "children": options.count, "written_bytes": options.count }))
}

fn wait_for_one() -> Result<()> {
    match waitpid(None, None)? {
        WaitStatus::Exited(_, 0) => Ok(()),
        other => bail!("a child ended with {other:?}"),
    }
}
