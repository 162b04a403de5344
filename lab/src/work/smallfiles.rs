//! The same bytes as many small files or as few large ones, each synchronised or all at the end.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{bail, Context, Result};
use clap::ValueEnum;
use serde_json::{json, Value};

use super::random::Numbers;

/// When files are synchronised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sync {
    /// Each as soon as it is written.
    Each,
    /// All at once when a thread's last is written (syncfs).
    Batch,
    /// Never.
    None,
}

/// Write a number of bytes as files of one size.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Directory for the files; made when it does not exist.
    #[arg(long)]
    dir: PathBuf,
    /// Bytes of all files together.
    #[arg(long, default_value = "32M", value_parser = crate::size::bytes)]
    bytes: u64,
    /// Bytes of each file.
    #[arg(long, default_value = "64K", value_parser = crate::size::bytes)]
    file_bytes: u64,
    /// When to fsync.
    #[arg(long, value_enum, default_value = "each")]
    sync: Sync,
    /// Threads, which share the files evenly.
    #[arg(long, default_value_t = 1)]
    threads: u64,
    /// Seed of the bytes written.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const BLOCK_BYTES: u64 = 64 << 10;

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    if options.file_bytes == 0 || options.threads == 0 {
        bail!("--file-bytes and --threads must be above 0");
    }
    std::fs::create_dir_all(&options.dir).with_context(|| options.dir.display().to_string())?;
    let files = options.bytes / options.file_bytes;
    let sync_seconds = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.threads)
            .map(|thread| scope.spawn(move || write_share(options, files, thread)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .sum::<Result<f64>>()
    })?;
    Ok(json!({
        "files": files,
        "file_bytes": options.file_bytes,
        "bytes": files * options.file_bytes,
        "fsyncs": if options.sync == Sync::Each { files } else { 0 },
        "syncfs": if options.sync == Sync::Batch { options.threads } else { 0 },
        "fsync_seconds": sync_seconds,
    }))
}

/// Writes every file whose number falls to this thread; returns the seconds spent in fsync.
fn write_share(options: &Options, files: u64, thread: u64) -> Result<f64> {
    let mut block = vec![0; BLOCK_BYTES.min(options.file_bytes) as usize];
    Numbers::new(options.seed + thread).fill(&mut block);
    let mut seconds = 0.0;
    let share = (0..files).filter(|number| number % options.threads == thread);
    for number in share {
        let mut file = File::create(path(&options.dir, number))?;
        let mut left = options.file_bytes;
        while left > 0 {
            let length = left.min(block.len() as u64);
            file.write_all(&block[..length as usize])?;
            left -= length;
        }
        if options.sync == Sync::Each {
            seconds += fsync(&file)?;
        }
    }
    if options.sync == Sync::Batch {
        let start = Instant::now();
        nix::unistd::syncfs(File::open(&options.dir)?)?;
        seconds += start.elapsed().as_secs_f64();
    }
    Ok(seconds)
}

fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("file{number:06}"))
}

fn fsync(file: &File) -> Result<f64> {
    let start = Instant::now();
    file.sync_all()?;
    Ok(start.elapsed().as_secs_f64())
}
