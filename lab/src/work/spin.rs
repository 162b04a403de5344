//! Burns processor time and does no I/O.

use anyhow::Result;
use nix::time::{clock_gettime, ClockId};
use serde_json::{json, Value};

/// Compute for a given processor time per thread.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Processor time of each thread, in seconds.
    #[arg(long, default_value_t = 1.0)]
    cpu_seconds: f64,
    /// Threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

/// Computes on the calling thread until it has used `cpu_seconds` more; counts by the thread's own clock, so that the
/// work is the same however often it is preempted or throttled.
pub fn burn(cpu_seconds: f64) -> Result<u64> {
    let clock = || -> Result<f64> {
        let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
        Ok(used.tv_sec() as f64 + used.tv_nsec() as f64 / 1e9)
    };
    let end = clock()? + cpu_seconds;
    let mut value = 1u64;
    let mut rounds = 0;
    while clock()? < end {
        for _ in 0..20_000 {
            value = std::hint::black_box(
                value
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
        }
        rounds += 1;
    }
    Ok(rounds)
}

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    let rounds = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.threads)
            .map(|_| scope.spawn(|| burn(options.cpu_seconds)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .sum::<Result<u64>>()
    })?;
    Ok(json!({
        "threads": options.threads,
        "cpu_seconds": options.cpu_seconds * options.threads as f64,
        "rounds": rounds,
    }))
}
