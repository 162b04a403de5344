//! One file written from beginning to end.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use anyhow::{bail, Context, Result};
use serde_json::{json, Value};

use super::random::Numbers;
use super::randread::AlignedBuffer;

/// Write a file in order.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// The file; made anew.
    #[arg(long)]
    file: PathBuf,
    /// Bytes to write.
    #[arg(long, default_value = "256M", value_parser = crate::size::bytes)]
    bytes: u64,
    /// Bytes of one write.
    #[arg(long, default_value = "1M", value_parser = crate::size::bytes)]
    block: u64,
    /// Write past the page cache.
    #[arg(long)]
    direct: bool,
    /// fsync after this many writes.
    #[arg(long)]
    fsync_every: Option<u64>,
    /// fsync at the end.
    #[arg(long)]
    fsync: bool,
    /// Seed of the bytes written.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    if options.block == 0 || options.block % 4096 != 0 {
        bail!("--block must be a multiple of 4096 above 0");
    }
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(if options.direct { libc::O_DIRECT } else { 0 })
        .open(&options.file)
        .with_context(|| options.file.display().to_string())?;
    let mut block = AlignedBuffer::new(options.block as usize);
    Numbers::new(options.seed).fill(block.bytes());
    let writes = options.bytes.div_ceil(options.block);
    let mut fsyncs = 0;
    for number in 0..writes {
        file.write_all_at(block.bytes(), number * options.block)?;
        if options
            .fsync_every
            .is_some_and(|every| every > 0 && (number + 1) % every == 0)
        {
            file.sync_all()?;
            fsyncs += 1;
        }
    }
    if options.fsync {
        file.sync_all()?;
        fsyncs += 1;
    }
    Ok(json!({ "writes": writes, "bytes": writes * options.block, "fsyncs": fsyncs }))
}
