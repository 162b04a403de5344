//! A file that is mapped: read in any order without having it in memory.

use std::fs::File;
use std::ops::Deref;
use std::os::fd::AsRawFd;

use crate::error::{Error, Result};

/// A regular file's bytes as they were when it was opened.
pub struct Mapped {
    start: *mut libc::c_void,
    length: usize,
}

impl Mapped {
    /// Map a file for reading; "-" is standard input, which is a file too: that of a paste.
    pub fn open(path: &str) -> Result<Self> {
        let failed = |source| Error::Open {
            path: path.to_owned(),
            source,
        };
        let opened = if path == "-" { "/proc/self/fd/0" } else { path };
        let file = File::open(opened).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            // A pipe has no length: it would be taken for an empty file.
            let path = path.to_owned();
            return Err(Error::NotRegular { path });
        }
        let length = metadata.len() as usize;
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
            return Err(failed(std::io::Error::last_os_error()));
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

#[cfg(test)]
mod tests {
    use super::Mapped;

    #[test]
    fn only_a_regular_file_is_sorted() {
        let error = Mapped::open("/dev/null").err().unwrap().to_string();
        assert!(error.contains("regular file"), "{error}");
    }
}
