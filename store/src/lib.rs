//! A recording being written: rows made from the schema, one folder of Parquet files per table, and the
//! manifest. See `docs/recording.md` for what the tables mean.
//!
//! ```no_run
//! use iowhy_store::{manifest::{Manifest, Source}, rows, Recording};
//! # fn main() -> iowhy_store::Result<()> {
//! let mut recording = Recording::create("x.iowhy".as_ref(), Manifest::new(Source::Live))?;
//! recording.push(rows::Stacks { stack_id: 1, frames: vec!["io_schedule".into()] })?;
//! recording.tick(1_000_000_000)?; // every 100 ms or so, with CLOCK_MONOTONIC
//! recording.finish()?;
//! # Ok(())
//! # }
//! ```

mod batch;
mod encoding;
mod error;
mod folder;
pub mod manifest;
mod recording;
pub mod rows;
pub mod sums;
mod writer;

pub use error::{Error, Place, Result};
pub use folder::Owner;
pub use recording::{Limits, Recording};
pub use rows::{Name, Row};
