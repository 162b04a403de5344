//! Takes large logs of tracing tools apart, in bounded memory: their rows become Arrow files.
//!
//! `iowhy-logs FORMAT FILE DIRECTORY` (`-`: standard input) writes tables to the directory and messages to standard
//! output ([`output`]); the reader is python/iowhy/sources/tracing/splitter.py. With `--sort` the events of a trace
//! are put in the order of their times first.

mod blkparse;
mod error;
mod lines;
mod mapped;
mod output;
mod perfetto;
mod strace;
mod text;
mod totals;
mod trace;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

pub use error::Error;
use error::Result;
use mapped::Mapped;
use output::Output;
use trace::Dialect;

const USAGE: &str =
    "usage: iowhy-logs strace|perf|ftrace|perfetto|blkparse FILE DIRECTORY [--sort]";

/// The program: `iowhy-logs FORMAT FILE DIRECTORY`. Messages go to `messages`, which need no buffer.
pub fn run(arguments: &[String], messages: impl Write + 'static) -> Result<()> {
    let (format, path, directory, sort) = match arguments {
        [format, path, directory] => (format, path, directory, false),
        [format, path, directory, option] if option == "--sort" => (format, path, directory, true),
        _ => return Err(Error::Usage(USAGE.to_owned())),
    };
    let messages = BufWriter::new(messages);
    let mut output = Output::new(Path::new(directory), Box::new(messages));
    let result = read(format, path, sort, &mut output);
    if let Err(Error::Damaged(what)) = &result {
        output.messages.damaged(what)?;
    }
    result
}

fn read(format: &str, path: &str, sort: bool, output: &mut Output) -> Result<()> {
    match (format, sort) {
        ("strace", false) => strace::read(input(path)?, output),
        ("blkparse", false) => blkparse::read(input(path)?, output),
        ("perf", false) => trace::read(input(path)?, Dialect::Perf, output),
        ("ftrace", false) => trace::read(input(path)?, Dialect::Ftrace, output),
        ("perfetto", false) => perfetto::read(&Mapped::open(path)?, output),
        ("perf", true) => trace::read_sorted(&Mapped::open(path)?, Dialect::Perf, output),
        ("ftrace", true) => trace::read_sorted(&Mapped::open(path)?, Dialect::Ftrace, output),
        (other, _) => Err(Error::Usage(format!("{other}: no such format; {USAGE}"))),
    }
}

fn input(path: &str) -> Result<Box<dyn Read>> {
    if path == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(source) => Err(Error::Open {
            path: path.to_owned(),
            source,
        }),
    }
}
