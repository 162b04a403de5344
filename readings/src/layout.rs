//! How files lie on their device: rows of `extents`, before and after the command.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iowhy_store::{rows, Name};

use crate::fiemap::{self, Extent};
use crate::mounts::Mounts;

/// When the extents are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Before,
    After,
}

/// How much is read at most: a recording must not wait minutes for the map of a shredded file.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub extents_per_file: usize,
    /// For all files of one [`Layout`].
    pub total_time: Duration,
    /// Allocate what is delayed first, which writes it out.
    pub sync: bool,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            extents_per_file: 200_000,
            total_time: Duration::from_secs(2),
            sync: false,
        }
    }
}

/// Reads the extents of files within bounds.
#[derive(Debug)]
pub struct Layout<'a> {
    mounts: &'a Mounts,
    bounds: Bounds,
    until: Instant,
}

/// Why there is no map of a file.
#[derive(Debug, thiserror::Error)]
pub enum NoLayout {
    #[error("{path}: {error}")]
    NotOpened { path: PathBuf, error: io::Error },
    #[error("{path}: not a regular file")]
    NotRegular { path: PathBuf },
    /// Its filesystem has none (tmpfs, network).
    #[error("{path}: no map of its extents (FIEMAP): {error}")]
    NoMap { path: PathBuf, error: io::Error },
    /// Its filesystem did not answer.
    #[error("{path}: its filesystem does not answer")]
    NoAnswer { path: PathBuf },
    /// The bounds are used up.
    #[error("{path}: no time left: {seconds} s for all files")]
    NoTime { path: PathBuf, seconds: f32 },
}

/// What became of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub dev: i64,
    pub ino: i64,
    pub extents: usize,
    /// There were more than the bounds allow.
    pub cut: bool,
}

impl<'a> Layout<'a> {
    pub fn new(mounts: &'a Mounts, bounds: Bounds) -> Layout<'a> {
        Layout {
            mounts,
            bounds,
            until: Instant::now() + bounds.total_time,
        }
    }

    /// The extents of a regular file by its path. Nothing of the file changes, its times included, and no
    /// symbolic link at the end of the path is followed.
    pub fn of_path(&self, path: &Path, out: &mut impl FnMut(Extent)) -> Result<Taken, NoLayout> {
        let not_opened = |error| NoLayout::NotOpened {
            path: path.to_owned(),
            error,
        };
        // Before it is opened, since opening a device or a pipe may act on it.
        let metadata = std::fs::symlink_metadata(path).map_err(not_opened)?;
        if !metadata.is_file() {
            return Err(NoLayout::NotRegular {
                path: path.to_owned(),
            });
        }
        let file = open(path).map_err(not_opened)?;
        let metadata = file.metadata().map_err(not_opened)?;
        if !metadata.is_file() {
            return Err(NoLayout::NotRegular {
                path: path.to_owned(),
            });
        }
        if Instant::now() >= self.until {
            return Err(NoLayout::NoTime {
                path: path.to_owned(),
                seconds: self.bounds.total_time.as_secs_f32(),
            });
        }
        self.extents(&file, &metadata, out)
            .map_err(|error| NoLayout::NoMap {
                path: path.to_owned(),
                error,
            })
    }

    fn extents(
        &self,
        file: &File,
        metadata: &Metadata,
        out: &mut impl FnMut(Extent),
    ) -> io::Result<Taken> {
        // The filesystem's own number: what stat(2) says of a btrfs file is its subvolume's.
        let dev = match self.mounts.of_file(file) {
            Some(mount) => mount.dev,
            None => crate::dev_of_stat(metadata.dev()),
        };
        let ino = metadata.ino() as i64;
        let mut taken = Taken {
            dev,
            ino,
            extents: 0,
            cut: false,
        };
        fiemap::extents(file, self.bounds.sync, |extent| {
            // The clock is read for every 512th extent only.
            let late = taken.extents % 512 == 511 && Instant::now() >= self.until;
            if taken.extents == self.bounds.extents_per_file || late {
                taken.cut = true;
                return false;
            }
            taken.extents += 1;
            out(extent);
            true
        })?;
        Ok(taken)
    }
}

/// The row of an extent.
pub fn row(phase: Phase, taken: &Taken, extent: &Extent) -> rows::Extents {
    rows::Extents {
        phase: Name::Borrowed(match phase {
            Phase::Before => "before",
            Phase::After => "after",
        }),
        dev: taken.dev,
        ino: taken.ino,
        logical_bytes: extent.logical_bytes as i64,
        physical_bytes: (extent.flags & fiemap::NO_PLACE == 0)
            .then_some(extent.physical_bytes as i64),
        bytes: extent.bytes as i64,
        flags: fiemap::flag_names(extent.flags),
    }
}

/// Read-only, without touching the access time where we may ask for that (as its owner or root).
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let quiet = OpenOptions::new()
        .read(true)
        .custom_flags(flags | libc::O_NOATIME)
        .open(path);
    match quiet {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            OpenOptions::new().read(true).custom_flags(flags).open(path)
        }
        other => other,
    }
}
