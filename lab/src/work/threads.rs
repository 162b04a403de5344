//! Threads that come and go.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::RwLock;
use std::thread::Builder;

use anyhow::{Context, Result};
use serde_json::{json, Value};

/// Start threads that write one block each to one file and end.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// The file; made anew.
    #[arg(long)]
    file: PathBuf,
    /// Threads, all alive at once.
    #[arg(long, default_value_t = 64)]
    count: u64,
    /// pwrite64 calls of each.
    #[arg(long, default_value_t = 1)]
    writes: u64,
}

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&options.file)
        .with_context(|| options.file.display().to_string())?;
    // Held until the last one is there; given back also when there can be no more of them.
    let gate = RwLock::new(());
    std::thread::scope(|scope| {
        let closed = gate.write();
        let threads = (0..options.count)
            .map(|thread| {
                let (file, gate) = (&file, &gate);
                Builder::new().spawn_scoped(scope, move || -> Result<()> {
                    drop(gate.read());
                    for number in 0..options.writes {
                        let offset = (thread * options.writes + number) * 4096;
                        file.write_all_at(&[thread as u8; 4096], offset)?;
                    }
                    Ok(())
                })
            })
            .collect::<std::io::Result<Vec<_>>>()
            .with_context(|| format!("--count {}", options.count))?;
        drop(closed);
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    let writes = options.count * options.writes;
    Ok(json!({ "threads": options.count, "pwrite64": writes, "bytes": writes * 4096 }))
}
