//! Threads that all overwrite one file: each write holds the inode's lock while it copies, so they queue for it.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use anyhow::{bail, Context, Result};
use serde_json::{json, Value};

/// Overwrite parts of one file, or of one file per thread, from several threads through the page cache.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// The file; with --own-files the beginning of each file's name.
    #[arg(long)]
    file: PathBuf,
    /// Threads.
    #[arg(long, default_value_t = 8)]
    threads: u64,
    /// Writes of each thread.
    #[arg(long, default_value_t = 200)]
    writes: u64,
    /// Bytes of one write.
    #[arg(long, default_value = "4M", value_parser = crate::size::bytes)]
    block: u64,
    /// A file for each thread.
    #[arg(long)]
    own_files: bool,
}

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    if options.block == 0 {
        bail!("--block must be above 0");
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.threads)
            .map(|thread| scope.spawn(move || overwrite(options, thread)))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    let writes = options.threads * options.writes;
    Ok(json!({
        "threads": options.threads,
        "writes": writes,
        "bytes": writes * options.block,
        "own_files": options.own_files,
    }))
}

fn overwrite(options: &Options, thread: u64) -> Result<()> {
    let (path, offset) = if options.own_files {
        let mut name = options.file.clone().into_os_string();
        name.push(format!(".{thread}"));
        (PathBuf::from(name), 0)
    } else {
        (options.file.clone(), thread * options.block)
    };
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .with_context(|| path.display().to_string())?;
    let block = vec![thread as u8; options.block as usize];
    for _ in 0..options.writes {
        file.write_all_at(&block, offset)?;
    }
    Ok(())
}
