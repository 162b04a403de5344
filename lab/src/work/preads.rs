//! Reads that the page cache answers.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{bail, Context, Result};
use serde_json::{json, Value};

/// Write a small file, then read it from the page cache again and again.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// The file; made anew.
    #[arg(long)]
    file: PathBuf,
    /// pread64 calls.
    #[arg(long, default_value_t = 100_000)]
    reads: u64,
    /// Bytes of one read.
    #[arg(long, default_value = "4K", value_parser = crate::size::bytes)]
    block: u64,
    /// Blocks of the file.
    #[arg(long, default_value_t = 256)]
    blocks: u64,
}

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    if options.block == 0 || options.blocks == 0 {
        bail!("--block and --blocks must be above 0");
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&options.file)
        .with_context(|| options.file.display().to_string())?;
    let mut block = vec![1; options.block as usize];
    for number in 0..options.blocks {
        file.write_all_at(&block, number * options.block)?;
    }
    let start = Instant::now();
    for number in 0..options.reads {
        file.read_exact_at(&mut block, number % options.blocks * options.block)?;
    }
    Ok(json!({
        "pread64": options.reads,
        "bytes": options.reads * options.block,
        "pread64_mean_ns": start.elapsed().as_nanos() as f64 / options.reads.max(1) as f64,
    }))
}
