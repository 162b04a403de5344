//! Random reads past the page cache, as many at once as there are threads.

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use serde_json::{json, Value};

use super::random::Numbers;

/// Read random blocks of a file with O_DIRECT.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// The file or block device.
    #[arg(long)]
    file: PathBuf,
    /// Threads, which is the queue depth.
    #[arg(long, default_value_t = 1)]
    threads: u64,
    /// Bytes of one read, a multiple of 4096.
    #[arg(long, default_value = "4K", value_parser = crate::size::bytes)]
    block: u64,
    /// Reads of each thread; without it the time decides.
    #[arg(long)]
    reads: Option<u64>,
    /// How long to read.
    #[arg(long, default_value_t = 5.0)]
    for_seconds: f64,
    /// Go through the page cache.
    #[arg(long)]
    buffered: bool,
    /// Seed of the places.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Memory that direct I/O accepts: at a multiple of 4096.
pub struct AlignedBuffer {
    start: *mut u8,
    layout: Layout,
}

impl AlignedBuffer {
    /// Zeros; `bytes` must not be 0.
    pub fn new(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(1), 4096).expect("a power of two");
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Self { start, layout }
    }

    /// The bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: allocated with this layout, and borrowed like the buffer.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, freed once.
        unsafe { dealloc(self.start, self.layout) }
    }
}

/// Opens a file for reading past the page cache.
pub fn open_direct(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECT)
        .open(path)
        .with_context(|| path.display().to_string())
}

/// Length of a file or block device.
pub fn length(mut file: &File) -> Result<u64> {
    Ok(std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0))?)
}

/// Runs the program.
pub fn run(options: &Options) -> Result<Value> {
    let blocks =
        length(&File::open(&options.file).with_context(|| options.file.display().to_string())?)?
            .checked_div(options.block)
            .unwrap_or(0);
    if options.block % 4096 != 0 || blocks == 0 {
        bail!("--block must be a multiple of 4096 above 0, and the file must hold one");
    }
    let reads = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.threads)
            .map(|thread| scope.spawn(move || read_blocks(options, thread, blocks)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .sum::<Result<u64>>()
    })?;
    Ok(json!({
        "threads": options.threads,
        "reads": reads,
        "bytes": reads * options.block,
    }))
}

fn read_blocks(options: &Options, thread: u64, blocks: u64) -> Result<u64> {
    let file = if options.buffered {
        File::open(&options.file)?
    } else {
        open_direct(&options.file)?
    };
    let mut buffer = AlignedBuffer::new(options.block as usize);
    let mut numbers = Numbers::new(options.seed.wrapping_mul(1_000_003) + thread);
    let end = Instant::now() + Duration::from_secs_f64(options.for_seconds);
    let mut reads = 0;
    while options
        .reads
        .map_or_else(|| Instant::now() < end, |wanted| reads < wanted)
    {
        file.read_exact_at(buffer.bytes(), numbers.below(blocks) * options.block)?;
        reads += 1;
    }
    Ok(reads)
}
