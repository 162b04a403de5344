//! Why something could not be read.

use std::io;
use std::path::PathBuf;

/// An error that ends a reading; it names the file, and the line where there is one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there (or no more), or may not be read.
    #[error("{path}: {error}")]
    Read { path: PathBuf, error: io::Error },
    /// It is not what the kernel prints.
    #[error("{path}:{line}: {problem}")]
    Text {
        path: PathBuf,
        line: usize,
        problem: String,
    },
    /// No group has anything to read.
    #[error("no cpu, memory or io controller is mounted")]
    NoController,
    /// CONFIG_PSI is not set, or the kernel was started with psi=0.
    #[error("the kernel reports no pressure (CONFIG_PSI, psi=1): {0}")]
    NoPressure(Box<Error>),
}

pub type Result<T> = std::result::Result<T, Error>;
