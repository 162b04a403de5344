//! What can go wrong, for the person who reads the log.

use std::io;
use std::path::PathBuf;

/// An error that ends the reading of a log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("{path}: {source}")]
    Open { path: String, source: io::Error },
    #[error("{path}: --sort reads in any order, so it needs a regular file, no pipe")]
    NotRegular { path: String },
    #[error("the log cannot be read: {0}")]
    Read(io::Error),
    #[error(
        "{path}: the rows of the log cannot be written: {source}; point TMPDIR at a larger disk"
    )]
    Rows {
        path: PathBuf,
        source: parquet::errors::ParquetError,
    },
    #[error("nobody reads the messages: {0}")]
    Messages(io::Error),
    /// The log itself is no log of its kind, as a whole: what and where.
    #[error("{0}")]
    Damaged(String),
    /// An event is earlier than the one before it: the rows so far are of no use.
    #[error("events are not in the order of their times")]
    Disordered,
}

pub type Result<T> = std::result::Result<T, Error>;
