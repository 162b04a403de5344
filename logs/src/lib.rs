//! Reads logs of tracing tools and writes their rows to a pipe, in bounded memory.
//!
//! `iowhy-logs FORMAT FILE` (`-`: standard input) writes frames to standard output; the reader is
//! python/iowhy/sources/tracing/splitter.py. A frame is its kind (one byte), its length (u32) and its bytes; all
//! numbers are little-endian. With `--sort` the events of a trace are put in the order of their times first.

mod blkparse;
mod errno;
mod events;
mod frames;
mod lines;
mod strace;
mod threads;

use std::fs::File;
use std::io::{self, BufWriter, Read, StdoutLock};

use anyhow::{bail, Context, Result};

use events::Dialect;
use frames::Frames;

const USAGE: &str = "usage: iowhy-logs strace|perf|ftrace|blkparse FILE [--sort]";

/// The program: `iowhy-logs FORMAT FILE`.
pub fn run(arguments: &[String]) -> Result<()> {
    let (format, path, sort) = match arguments {
        [format, path] => (format, path, false),
        [format, path, option] if option == "--sort" => (format, path, true),
        _ => bail!(USAGE),
    };
    let mut out = Frames::new(BufWriter::with_capacity(1 << 20, io::stdout().lock()));
    match format.as_str() {
        "strace" => strace::read(input(path)?, &mut out),
        "blkparse" => blkparse::read(input(path)?, &mut out),
        "perf" => trace(path, Dialect::Perf, sort, &mut out),
        "ftrace" => trace(path, Dialect::Ftrace, sort, &mut out),
        other => bail!("{other}: no such format; {USAGE}"),
    }
}

fn input(path: &str) -> Result<Box<dyn Read>> {
    Ok(if path == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).with_context(|| path.to_owned())?)
    })
}

fn trace(
    path: &str,
    dialect: Dialect,
    sort: bool,
    out: &mut Frames<BufWriter<StdoutLock<'static>>>,
) -> Result<()> {
    if !sort {
        return events::read(input(path)?, dialect, out);
    }
    events::read_sorted(&mapped::Mapped::open(path)?, dialect, out)
}

mod mapped {
    //! A file that is mapped: read in any order without having it in memory.

    use std::fs::File;
    use std::ops::Deref;
    use std::os::fd::AsRawFd;

    use anyhow::{bail, Context, Result};

    pub struct Mapped {
        start: *mut libc::c_void,
        length: usize,
    }

    impl Mapped {
        pub fn open(path: &str) -> Result<Self> {
            // Standard input is a file here too: that of a paste.
            let path = if path == "-" { "/proc/self/fd/0" } else { path };
            let file = File::open(path).with_context(|| path.to_owned())?;
            let told = file.metadata()?;
            if !told.is_file() {
                // A pipe has no length: it would be taken for an empty file.
                bail!("{path}: --sort reads in any order, so it needs a regular file, no pipe");
            }
            let length = told.len() as usize;
            if length == 0 {
                return Ok(Self {
                    start: std::ptr::null_mut(),
                    length,
                });
            }
            // SAFETY: a new private mapping for reading; the kernel checks descriptor and length.
            let start = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    length,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE,
                    file.as_raw_fd(),
                    0,
                )
            };
            if start == libc::MAP_FAILED {
                return Err(std::io::Error::last_os_error()).with_context(|| path.to_owned());
            }
            Ok(Self { start, length })
        }
    }

    impl Deref for Mapped {
        type Target = [u8];

        fn deref(&self) -> &[u8] {
            if self.length == 0 {
                return &[];
            }
            // SAFETY: the mapping lives as long as self and is `length` bytes long.
            unsafe { std::slice::from_raw_parts(self.start.cast(), self.length) }
        }
    }

    impl Drop for Mapped {
        fn drop(&mut self) {
            if self.length > 0 {
                // SAFETY: what open() mapped, once.
                unsafe { libc::munmap(self.start, self.length) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::mapped::Mapped;

    #[test]
    fn only_a_regular_file_is_sorted() {
        let error = Mapped::open("/dev/null").err().unwrap().to_string();
        assert!(error.contains("regular file"), "{error}");
    }
}
