//! System calls in numbers that are known beforehand.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use anyhow::{bail, Context, Result};
use serde_json::{json, Value};

/// Make exactly these system calls on a file: openat, pwrite64, pread64, fsync, fdatasync, close.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// The file; made anew and left behind.
    #[arg(long)]
    file: PathBuf,
    /// pwrite64 calls.
    #[arg(long, default_value_t = 4099)]
    writes: u64,
    /// pread64 calls.
    #[arg(long, default_value_t = 1009)]
    reads: u64,
    /// fsync calls, spread over the writes.
    #[arg(long, default_value_t = 23)]
    fsyncs: u64,
    /// fdatasync calls, after the rest.
    #[arg(long, default_value_t = 0)]
    fdatasyncs: u64,
    /// openat and close calls on the file beyond the first.
    #[arg(long, default_value_t = 0)]
    opens: u64,
    /// Bytes of one read or write.
    #[arg(long, default_value = "512", value_parser = crate::size::bytes)]
    block: u64,
}

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    if options.block == 0 || options.writes == 0 {
        bail!("--block and --writes must be above 0");
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&options.file)
        .with_context(|| options.file.display().to_string())?;
    let mut block = vec![b'x'; options.block as usize];
    let mut synced = 0;
    for number in 0..options.writes {
        file.write_all_at(&block, number * options.block)?;
        // The fsyncs due after this many writes, so that they come out exactly.
        while synced < (number + 1) * options.fsyncs / options.writes {
            file.sync_all()?;
            synced += 1;
        }
    }
    for number in 0..options.reads {
        file.read_exact_at(&mut block, number % options.writes * options.block)?;
    }
    for _ in 0..options.fdatasyncs {
        file.sync_data()?;
    }
    for _ in 0..options.opens {
        drop(File::open(&options.file)?);
    }
    Ok(json!({
        "pwrite64": options.writes,
        "pread64": options.reads,
        "fsync": options.fsyncs,
        "fdatasync": options.fdatasyncs,
        "opens": options.opens + 1,
        "written_bytes": options.writes * options.block,
        "read_bytes": options.reads * options.block,
    }))
}
