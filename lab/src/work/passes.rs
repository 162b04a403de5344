//! A program that goes over its file several times, as one that checks, encrypts and uploads does.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{bail, Context, Result};
use serde_json::{json, Value};

/// Read a file several times from end to end, or all times per part.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// The file.
    #[arg(long)]
    file: PathBuf,
    /// How often each byte is read.
    #[arg(long, default_value_t = 4)]
    passes: u64,
    /// Finish all passes over a part of this size before the next part.
    #[arg(long, value_parser = crate::size::bytes)]
    per_chunk: Option<u64>,
    /// Bytes of one read.
    #[arg(long, default_value = "128K", value_parser = crate::size::bytes)]
    block: u64,
    /// Rounds of a checksum over each block, to spend processor time.
    #[arg(long, default_value_t = 1)]
    work: u32,
}

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    let file = File::open(&options.file).with_context(|| options.file.display().to_string())?;
    let size = file.metadata()?.len();
    let chunk = options.per_chunk.unwrap_or(size).min(size);
    if chunk == 0 || options.block == 0 {
        bail!("the file, --per-chunk and --block must not be empty");
    }
    let mut buffer = vec![0; options.block as usize];
    let mut pass_seconds = vec![0.0; options.passes as usize];
    let (mut reads, mut bytes, mut sum) = (0u64, 0u64, 0u64);
    for start in (0..size).step_by(chunk as usize) {
        let end = size.min(start + chunk);
        for seconds in &mut pass_seconds {
            let began = Instant::now();
            let mut at = start;
            while at < end {
                let want = options.block.min(end - at) as usize;
                let got = file.read_at(&mut buffer[..want], at)?;
                if got == 0 {
                    bail!("{} became shorter", options.file.display());
                }
                for _ in 0..options.work {
                    sum = checksum(sum, &buffer[..got]);
                }
                reads += 1;
                bytes += got as u64;
                at += got as u64;
            }
            *seconds += began.elapsed().as_secs_f64();
        }
    }
    Ok(json!({
        "file_bytes": size,
        "passes": options.passes,
        "reads": reads,
        "bytes": bytes,
        "pass_seconds": pass_seconds,
        "checksum": format!("{sum:016x}"),
    }))
}

/// FNV-1a by words.
fn checksum(start: u64, data: &[u8]) -> u64 {
    data.chunks_exact(8)
        .fold(start ^ 0xcbf2_9ce4_8422_2325, |sum, word| {
            let word = u64::from_le_bytes(word.try_into().expect("chunks of 8"));
            (sum ^ word).wrapping_mul(0x0100_0000_01b3)
        })
}
