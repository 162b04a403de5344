//! Where the bytes of the emulated disk are.

use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use nix::libc::c_void;
use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags};

/// Bytes of a disk; unwritten ones read as zeros.
pub enum Backing {
    /// In this process's memory; pages come into being when written.
    Memory(Memory),
    /// In a sparse file.
    File(File),
}

impl Backing {
    /// Memory for `size_bytes`.
    ///
    /// # Errors
    /// The address space is refused.
    pub fn memory(size_bytes: u64) -> io::Result<Self> {
        Memory::new(size_bytes).map(Self::Memory)
    }

    /// A sparse file, made when it does not exist, grown to `size_bytes`.
    ///
    /// # Errors
    /// The file cannot be opened or grown.
    pub fn file(path: &Path, size_bytes: u64) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        file.set_len(size_bytes)?;
        Ok(Self::File(file))
    }

    /// Stores bytes that lie within the disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match self {
            Self::Memory(memory) => {
                memory.write(offset as usize, data);
                Ok(())
            }
            Self::File(file) => file.write_all_at(data, offset),
        }
    }

    /// Hands `bytes` at `offset` to `take`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read<T>(
        &self,
        offset: u64,
        bytes: usize,
        take: impl FnOnce(&[u8]) -> T,
    ) -> io::Result<T> {
        match self {
            Self::Memory(memory) => Ok(take(memory.slice(offset as usize, bytes))),
            Self::File(file) => {
                let mut buffer = vec![0; bytes];
                file.read_exact_at(&mut buffer, offset)?;
                Ok(take(&buffer))
            }
        }
    }

    /// Makes a range read as zeros and gives its space back where that is possible.
    ///
    /// # Errors
    /// The file refuses the hole.
    pub fn zero(&self, offset: u64, bytes: u64) -> io::Result<()> {
        match self {
            Self::Memory(memory) => {
                memory.zero(offset as usize, bytes as usize);
                Ok(())
            }
            Self::File(file) => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                use std::os::fd::AsRawFd;
                // SAFETY: plain integers and a descriptor that is open.
                let failed =
                    unsafe { libc::fallocate(file.as_raw_fd(), mode, offset as i64, bytes as i64) };
                if failed == 0 {
                    Ok(())
                } else {
                    Err(io::Error::last_os_error())
                }
            }
        }
    }
}

/// Where to put the bytes, as an option says it.
#[derive(Clone, Debug)]
pub enum Place {
    /// In memory.
    Memory,
    /// In this file.
    File(PathBuf),
}

impl std::str::FromStr for Place {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "memory" {
            Self::Memory
        } else {
            Self::File(text.into())
        })
    }
}

/// An anonymous mapping.
pub struct Memory {
    start: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: the mapping is plain memory. Readers and writers of the same bytes may race exactly as two requests
// to the same sectors of a disk may: the answer is then either content, and no Rust value but u8 lives in it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(size_bytes: u64) -> io::Result<Self> {
        let bytes = usize::try_from(size_bytes)
            .ok()
            .and_then(NonZeroUsize::new)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
        let start = unsafe { nix::sys::mman::mmap_anonymous(None, bytes, protection, flags)? };
        Ok(Self {
            start,
            bytes: bytes.get(),
        })
    }

    fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset
            .checked_add(bytes)
            .is_some_and(|end| end <= self.bytes));
        // SAFETY: the range was just checked to lie in the mapping.
        unsafe { self.start.as_ptr().cast::<u8>().add(offset) }
    }

    fn slice(&self, offset: usize, bytes: usize) -> &[u8] {
        // SAFETY: `at` checks the range; the mapping lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.at(offset, bytes), bytes) }
    }

    fn write(&self, offset: usize, data: &[u8]) {
        // SAFETY: `at` checks the range; `data` comes from elsewhere and cannot overlap it.
        unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr(), self.at(offset, data.len()), data.len())
        }
    }

    fn zero(&self, offset: usize, bytes: usize) {
        let page = 4096;
        let first = offset.next_multiple_of(page).min(offset + bytes);
        let last = ((offset + bytes) / page * page).max(first);
        for (start, end) in [(offset, first), (last, offset + bytes)] {
            // SAFETY: both ends lie in the range that `at` checks.
            unsafe { std::ptr::write_bytes(self.at(start, end - start), 0, end - start) }
        }
        if last > first {
            let start =
                NonNull::new(self.at(first, last - first).cast()).expect("a mapping is not at 0");
            // SAFETY: whole pages of our own private anonymous mapping; they read as zeros afterwards.
            let dropped =
                unsafe { nix::sys::mman::madvise(start, last - first, MmapAdvise::MADV_DONTNEED) };
            if dropped.is_err() {
                // SAFETY: as above.
                unsafe { std::ptr::write_bytes(self.at(first, last - first), 0, last - first) }
            }
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody borrows from a value that is dropped.
        let _ = unsafe { nix::sys::mman::munmap(self.start, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::Backing;

    fn holds_what_was_written(backing: &Backing) {
        let data: Vec<u8> = (0..20_000u32).map(|at| at as u8 | 1).collect();
        backing.write(1000, &data).unwrap();
        backing
            .read(1000, data.len(), |read| assert_eq!(read, data))
            .unwrap();
        backing.zero(3000, 10_000).unwrap();
        backing
            .read(0, 32_768, |read| {
                for (at, byte) in read.iter().enumerate() {
                    let zero = !(1000..21_000).contains(&at) || (3000..13_000).contains(&at);
                    assert_eq!(*byte == 0, zero, "byte {at}");
                }
            })
            .unwrap();
    }

    #[test]
    fn memory() {
        holds_what_was_written(&Backing::memory(1 << 20).unwrap());
    }

    #[test]
    fn sparse_file() {
        let folder = tempfile::tempdir().unwrap();
        holds_what_was_written(&Backing::file(&folder.path().join("disk"), 1 << 20).unwrap());
    }
}
