//! A server without customers: it waits for connections and looks after itself now and then.

use std::net::TcpListener;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use serde_json::{json, Value};

/// Wait for connections that do not come.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// How long.
    #[arg(long, default_value_t = 5.0)]
    for_seconds: f64,
}

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let end = Instant::now() + Duration::from_secs_f64(options.for_seconds);
    let mut polls = 0;
    while Instant::now() < end {
        let mut waited_for = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        if poll(&mut waited_for, PollTimeout::from(100_u16))? > 0 {
            drop(listener.accept()?);
        }
        polls += 1;
    }
    Ok(json!({ "polls": polls }))
}
