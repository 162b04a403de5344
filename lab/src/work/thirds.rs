//! One third of the time computing, one asleep, one waiting for the disk.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{bail, Result};
use serde_json::{json, Value};

use super::random::Numbers;
use super::randread::{length, open_direct, AlignedBuffer};
use super::spin::burn;

/// Compute, then sleep, then read with O_DIRECT, each for the same time.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// The file to read.
    #[arg(long)]
    file: PathBuf,
    /// Length of each third, in seconds.
    #[arg(long, default_value_t = 1.0)]
    third: f64,
}

const BLOCK_BYTES: u64 = 64 << 10;

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    let file = open_direct(&options.file)?;
    let blocks = length(&file)? / BLOCK_BYTES;
    if blocks == 0 {
        bail!(
            "{} is shorter than {BLOCK_BYTES} bytes",
            options.file.display()
        );
    }
    let third = Duration::from_secs_f64(options.third);
    let start = Instant::now();
    burn(options.third)?;
    let computed = start.elapsed();
    std::thread::sleep(third);
    let mut buffer = AlignedBuffer::new(BLOCK_BYTES as usize);
    let mut numbers = Numbers::new(1);
    let reading = Instant::now();
    let mut reads = 0u64;
    while reading.elapsed() < third {
        file.read_exact_at(buffer.bytes(), numbers.below(blocks) * BLOCK_BYTES)?;
        reads += 1;
    }
    Ok(json!({
        "cpu_seconds": options.third,
        "compute_seconds": computed.as_secs_f64(),
        "sleep_seconds": options.third,
        "read_seconds": reading.elapsed().as_secs_f64(),
        "reads": reads,
        "bytes": reads * BLOCK_BYTES,
    }))
}
