//! The writer of an in-memory database: threads that map one region of a file after the other, fill it,
//! synchronise it and unmap it.

use std::fs::{File, OpenOptions};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use nix::sys::mman::{mmap, msync, munmap, MapFlags, MsFlags, ProtFlags};
use serde_json::{json, Value};

use super::random::Numbers;

/// Threads each map a region of one file, fill it, msync it, unmap it and go on to the next.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// The file; made when it does not exist, and grown to --size.
    #[arg(long)]
    file: PathBuf,
    /// Bytes of the file.
    #[arg(long, default_value = "128M", value_parser = crate::size::bytes)]
    size: u64,
    /// Bytes of a region.
    #[arg(long, default_value = "4M", value_parser = crate::size::bytes)]
    region: u64,
    /// Bytes of one msync; less than a region synchronises it piece by piece as it is filled, which makes the
    /// threads allocate in turns.
    #[arg(long, value_parser = crate::size::bytes)]
    sync_bytes: Option<u64>,
    /// Threads.
    #[arg(long, default_value_t = 8)]
    threads: usize,
    /// How often to go over the whole file.
    #[arg(long, default_value_t = 1)]
    rounds: u64,
    /// Begin with an empty file, grown without allocating.
    #[arg(long)]
    truncate: bool,
    /// Seed of the bytes written.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Default)]
struct Syncs {
    count: u64,
    total: Duration,
    longest: Duration,
}

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    let sync_bytes = options.sync_bytes.unwrap_or(options.region);
    if sync_bytes == 0 || sync_bytes % 4096 != 0 || options.region % sync_bytes != 0 {
        bail!("--sync-bytes must be a multiple of 4096 that divides --region");
    }
    let regions = options.size / options.region;
    if regions == 0 {
        bail!("--size must hold at least one --region");
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(options.truncate)
        .open(&options.file)
        .with_context(|| options.file.display().to_string())?;
    if file.metadata()?.len() < options.size {
        file.set_len(options.size)?;
    }
    let total = regions * options.rounds;
    let start = Instant::now();
    let syncs = write_all(options, &file, sync_bytes, total)?;
    Ok(summary(
        &syncs,
        total,
        options.region,
        sync_bytes,
        start.elapsed(),
    ))
}

/// All threads take one region after the other, `total` of them; what each waited for.
fn write_all(options: &Options, file: &File, sync_bytes: u64, total: u64) -> Result<Vec<Syncs>> {
    let regions = options.size / options.region;
    let next = AtomicU64::new(0);
    let write_some = |seed: u64| -> Result<Syncs> {
        let mut numbers = Numbers::new(seed);
        let mut syncs = Syncs::default();
        loop {
            let region = next.fetch_add(1, Ordering::Relaxed);
            if region >= total {
                return Ok(syncs);
            }
            let offset = region % regions * options.region;
            write_region(
                file,
                offset,
                options.region,
                sync_bytes,
                &mut numbers,
                &mut syncs,
            )?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.threads)
            .map(|thread| {
                let write_some = &write_some;
                scope.spawn(move || write_some(options.seed + thread as u64))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    })
}

fn summary(
    syncs: &[Syncs],
    regions: u64,
    region_bytes: u64,
    sync_bytes: u64,
    took: Duration,
) -> Value {
    let count: u64 = syncs.iter().map(|one| one.count).sum();
    let waited: f64 = syncs.iter().map(|one| one.total.as_secs_f64()).sum();
    let longest = syncs
        .iter()
        .map(|one| one.longest)
        .max()
        .unwrap_or_default();
    let bytes = regions * region_bytes;
    json!({
        "regions": regions,
        "bytes": bytes,
        "bytes_per_s": bytes as f64 / took.as_secs_f64(),
        "msyncs": count,
        "msync_bytes": sync_bytes,
        "msync_mean_ms": waited / count as f64 * 1e3,
        "msync_longest_ms": longest.as_secs_f64() * 1e3,
    })
}

fn write_region(
    file: &File,
    offset: u64,
    bytes: u64,
    sync_bytes: u64,
    numbers: &mut Numbers,
    syncs: &mut Syncs,
) -> Result<()> {
    let length = NonZeroUsize::new(bytes as usize).context("an empty region")?;
    let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a fresh shared mapping of a part of the file that exists; nobody truncates it meanwhile, and
    // the slice below ends before the mapping does.
    unsafe {
        let start = mmap(
            None,
            length,
            protection,
            MapFlags::MAP_SHARED,
            file,
            offset as i64,
        )?;
        let region = std::slice::from_raw_parts_mut(start.as_ptr().cast::<u8>(), length.get());
        for piece in region.chunks_mut(sync_bytes as usize) {
            numbers.fill(piece);
            let before = Instant::now();
            let at = std::ptr::NonNull::from(&mut piece[0]).cast();
            msync(at, piece.len(), MsFlags::MS_SYNC)?;
            let took = before.elapsed();
            syncs.count += 1;
            syncs.total += took;
            syncs.longest = syncs.longest.max(took);
        }
        munmap(start, length.get())?;
    }
    Ok(())
}
