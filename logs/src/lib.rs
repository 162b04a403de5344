//! Reads logs of tracing tools and writes their rows to a pipe, in bounded memory.
//!
//! `iowhy-logs strace FILE` (`-`: standard input) writes frames to standard output; the reader is
//! python/iowhy/sources/tracing/splitter.py. A frame is its kind (one byte), its length (u32) and its bytes; all
//! numbers are little-endian.

mod errno;
mod frames;
mod lines;
mod strace;

use std::fs::File;
use std::io::{self, BufWriter, Read};

use anyhow::{bail, Context, Result};

/// The program: `iowhy-logs strace FILE`.
pub fn run(arguments: &[String]) -> Result<()> {
    let [format, path] = arguments else {
        bail!("usage: iowhy-logs strace FILE");
    };
    let input: Box<dyn Read> = if path == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).with_context(|| path.clone())?)
    };
    let mut out = frames::Frames::new(BufWriter::with_capacity(1 << 20, io::stdout().lock()));
    match format.as_str() {
        "strace" => strace::read(input, &mut out)?,
        other => bail!("{other}: no such format; strace is one"),
    }
    Ok(())
}
