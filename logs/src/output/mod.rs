//! What is written: tables of rows and of strings as Parquet files in a directory, and messages on standard output.
//!
//! The reader is python/iowhy/sources/tracing/splitter.py. Each table is a file NAME.parquet of its own,
//! which says itself what its columns are; [`rows`] declares them. Strings stand once, in strings.parquet, and
//! columns of texts hold their numbers.

mod messages;
pub mod rows;
mod strings;
mod table;

use std::io::Write;
use std::path::{Path, PathBuf};

pub use messages::Messages;
use rows::Text;
pub use strings::Strings;
pub use table::{Row, Table};

use crate::error::Result;

/// Where a reader's results go, but for its rows, which it writes to tables that it makes here.
pub struct Output {
    directory: PathBuf,
    pub strings: Strings,
    pub messages: Messages,
}

impl Output {
    /// Tables go to files of `directory`, which must be there; messages to `messages`.
    pub fn new(directory: &Path, messages: Box<dyn Write>) -> Self {
        Self {
            directory: directory.to_owned(),
            strings: Strings::new(directory),
            messages: Messages::new(messages),
        }
    }

    /// A table for rows of a kind.
    pub fn table<R: Row>(&self) -> Table<R> {
        Table::new(&self.directory)
    }

    /// The number of a string; none when there are too many.
    pub fn text(&mut self, text: &[u8]) -> Result<Option<Text>> {
        self.strings.number(text)
    }

    /// As `text`; none either when the string is empty.
    pub fn optional(&mut self, text: &[u8]) -> Result<Option<Text>> {
        if text.is_empty() {
            return Ok(None);
        }
        self.text(text)
    }

    /// As `text`, of a name that must be there: the empty one when there are too many.
    pub fn name(&mut self, text: &[u8]) -> Result<Text> {
        Ok(self.text(text)?.unwrap_or(Text::EMPTY))
    }

    /// The last thing that is written: the strings and the summary.
    pub fn finish(&mut self, summary: &impl serde::Serialize) -> Result<()> {
        self.strings.finish()?;
        self.messages.summary(summary)
    }
}
