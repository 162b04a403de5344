//! Strings that stand once however often a log says them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahash::HashMap;
use arrow_array::builder::LargeStringBuilder;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};

use super::rows::Text;
use super::table::File;
use crate::error::Result;

/// Distinct strings that are kept: more are files of a log that wants to fill the memory.
const STRINGS: usize = 4_000_000;
/// And their bytes in all.
const BYTES: usize = 1 << 30;
const BATCH_STRINGS: usize = 1 << 16;
const BATCH_BYTES: usize = 4 << 20;

/// The strings of a log: number n is row n of strings.parquet (text: its column text), 0 the empty one.
pub struct Strings {
    path: PathBuf,
    file: Option<File>,
    numbers: HashMap<Box<[u8]>, Text>,
    bytes: usize,
    batch: LargeStringBuilder,
    batch_bytes: usize,
    full: bool,
}

impl Strings {
    pub(super) fn new(directory: &Path) -> Self {
        let mut batch = LargeStringBuilder::new();
        batch.append_value("");
        Self {
            path: directory.join("strings.parquet"),
            file: None,
            numbers: HashMap::from_iter([(Box::default(), Text::EMPTY)]),
            bytes: 0,
            batch,
            batch_bytes: 0,
            full: false,
        }
    }

    /// Whether there were more strings than are kept.
    pub fn full(&self) -> bool {
        self.full
    }

    /// The number of a string; none when there are too many.
    pub fn number(&mut self, text: &[u8]) -> Result<Option<Text>> {
        if let Some(&number) = self.numbers.get(text) {
            return Ok(Some(number));
        }
        if self.numbers.len() >= STRINGS || self.bytes + text.len() > BYTES {
            self.full = true;
            return Ok(None);
        }
        let number = Text::nth(self.numbers.len() as u32);
        self.numbers.insert(text.into(), number);
        self.bytes += text.len();
        self.batch.append_value(String::from_utf8_lossy(text));
        self.batch_bytes += text.len();
        if self.batch_bytes >= BATCH_BYTES || self.numbers.len() % BATCH_STRINGS == 0 {
            self.write()?;
        }
        Ok(Some(number))
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        self.write()?;
        self.file.take().map_or(Ok(()), File::finish)
    }

    fn write(&mut self) -> Result<()> {
        let schema = Arc::new(Schema::new(vec![Field::new(
            "text",
            DataType::LargeUtf8,
            false,
        )]));
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(File::create(self.path.clone(), &schema)?),
        };
        self.batch_bytes = 0;
        file.write(RecordBatch::try_new(
            schema,
            vec![Arc::new(self.batch.finish())],
        ))
    }
}
