//! Why a recording cannot be made, written or read.

use std::io;
use std::path::PathBuf;

/// An error of a recording; it names the path.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The place cannot be taken: another one has to be chosen.
    #[error("{path} {problem}: choose another name with -o")]
    Place { path: PathBuf, problem: Place },
    /// The directory cannot be made.
    #[error("-o {path}: cannot be made: {error}; choose another place")]
    Make { path: PathBuf, error: io::Error },
    /// A file of it, or the directory, cannot be read.
    #[error("cannot read {path}: {error}")]
    Read { path: PathBuf, error: io::Error },
    /// A file of it, or the directory, cannot be written.
    #[error("cannot write {path}: {error}; -o chooses another place")]
    Write { path: PathBuf, error: io::Error },
    /// Its manifest is damaged.
    #[error("{path}: {error}")]
    Manifest {
        path: PathBuf,
        error: serde_json::Error,
    },
    /// Writing has failed meanwhile (a full disk, say). The recording is readable up to what was closed.
    #[error("{0}")]
    Stopped(String),
}

/// Why a directory cannot be taken for a recording.
#[derive(Debug, thiserror::Error)]
pub enum Place {
    #[error("exists and is not a directory")]
    NotADirectory,
    #[error("is below a file")]
    BelowAFile,
    #[error("cannot be read, or is a link ({0})")]
    NotOpened(io::Error),
    #[error("exists and is not empty")]
    NotEmpty,
    #[error("belongs to another user")]
    AnotherUsers,
    /// A recording is private.
    #[error("cannot be made private, which a recording is ({0})")]
    NotPrivate(io::Error),
}

pub type Result<T> = std::result::Result<T, Error>;
