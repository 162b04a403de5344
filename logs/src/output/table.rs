//! Rows of one kind in columns, written as a Parquet file some ten thousand at a time.

use std::fs;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use arrow_array::builder::{ArrayBuilder, BooleanBuilder, PrimitiveBuilder};
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::rows::Text;
use crate::error::{Error, Result};

/// Rows that are written at once.
pub(super) const BATCH_ROWS: usize = 1 << 16;
/// Rows of a row group, of which one is in memory.
const GROUP_ROWS: usize = 1 << 17;

/// A kind of row; `rows!` makes these.
pub trait Row {
    /// The table's name.
    const TABLE: &'static str;
    /// The columns of rows that wait to be written.
    type Columns: Default;

    fn schema() -> Schema;
    fn append(&self, columns: &mut Self::Columns);
    /// The columns as arrays; none are left.
    fn arrays(columns: &mut Self::Columns) -> Vec<ArrayRef>;
}

/// What may stand in a row.
pub(super) trait Value: Copy {
    const TYPE: DataType;
    const NULLABLE: bool;
    type Builder: ArrayBuilder;

    /// A builder for BATCH_ROWS values.
    fn builder() -> Self::Builder;
    fn append(self, builder: &mut Self::Builder);
}

macro_rules! numbers {
    ($($rust:ty, $arrow:ty, $type:ident, |$value:ident| $native:expr;)*) => { $(
        impl Value for $rust {
            const TYPE: DataType = DataType::$type;
            const NULLABLE: bool = false;
            type Builder = PrimitiveBuilder<$arrow>;

            fn builder() -> Self::Builder {
                PrimitiveBuilder::with_capacity(BATCH_ROWS)
            }

            fn append(self, builder: &mut Self::Builder) {
                let $value = self;
                builder.append_value($native);
            }
        }

        impl Value for Option<$rust> {
            const TYPE: DataType = DataType::$type;
            const NULLABLE: bool = true;
            type Builder = PrimitiveBuilder<$arrow>;

            fn builder() -> Self::Builder {
                PrimitiveBuilder::with_capacity(BATCH_ROWS)
            }

            fn append(self, builder: &mut Self::Builder) {
                builder.append_option(self.map(|$value| $native));
            }
        }
    )* };
}

numbers! {
    i64, Int64Type, Int64, |number| number;
    i32, Int32Type, Int32, |number| number;
    Text, UInt32Type, UInt32, |text| text.number();
}

impl Value for Option<bool> {
    const TYPE: DataType = DataType::Boolean;
    const NULLABLE: bool = true;
    type Builder = BooleanBuilder;

    fn builder() -> Self::Builder {
        BooleanBuilder::with_capacity(BATCH_ROWS)
    }

    fn append(self, builder: &mut Self::Builder) {
        builder.append_option(self);
    }
}

/// A table that is being written. Its file is there from the first batch on, and after `finish` in any case.
pub struct Table<R: Row> {
    path: PathBuf,
    file: Option<File>,
    columns: R::Columns,
    rows: usize,
    kind: PhantomData<R>,
}

impl<R: Row> Table<R> {
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            path: directory.join(format!("{}.parquet", R::TABLE)),
            file: None,
            columns: R::Columns::default(),
            rows: 0,
            kind: PhantomData,
        }
    }

    pub fn push(&mut self, row: &R) -> Result<()> {
        row.append(&mut self.columns);
        self.rows += 1;
        if self.rows >= BATCH_ROWS {
            self.write()?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<()> {
        self.write()?;
        self.file.take().map_or(Ok(()), File::finish)
    }

    fn write(&mut self) -> Result<()> {
        let schema = SchemaRef::new(R::schema());
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(File::create(self.path.clone(), &schema)?),
        };
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        file.write(RecordBatch::try_new(schema, R::arrays(&mut self.columns)))
    }
}

/// A Parquet file that is being written. It is read once and soon: plain values, which are quick to write.
pub(super) struct File {
    path: PathBuf,
    writer: ArrowWriter<fs::File>,
}

impl File {
    pub fn create(path: PathBuf, schema: &SchemaRef) -> Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        match fs::File::create(&path)
            .map_err(ParquetError::from)
            .and_then(|file| ArrowWriter::try_new(file, schema.clone(), Some(properties)))
        {
            Ok(writer) => Ok(Self { path, writer }),
            Err(source) => Err(Error::Rows { path, source }),
        }
    }

    pub fn write(&mut self, batch: std::result::Result<RecordBatch, ArrowError>) -> Result<()> {
        batch
            .map_err(ParquetError::from)
            .and_then(|batch| self.writer.write(&batch))
            .map_err(|source| Error::Rows {
                path: self.path.clone(),
                source,
            })
    }

    pub fn finish(self) -> Result<()> {
        self.writer.close().map(drop).map_err(|source| Error::Rows {
            path: self.path,
            source,
        })
    }
}
