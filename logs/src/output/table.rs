//! Rows of one kind in columns, written as an Arrow file some ten thousand at a time.

use std::fs;
use std::io::BufWriter;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use arrow_array::builder::{ArrayBuilder, BooleanBuilder, PrimitiveBuilder};
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};

use super::rows::Text;
use crate::error::{Error, Result};

/// Rows that are written at once.
pub(super) const BATCH_ROWS: usize = 1 << 16;

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
            path: directory.join(format!("{}.arrow", R::TABLE)),
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

/// An Arrow file that is being written.
pub(super) struct File {
    path: PathBuf,
    writer: FileWriter<BufWriter<fs::File>>,
}

impl File {
    pub fn create(path: PathBuf, schema: &Schema) -> Result<Self> {
        match fs::File::create(&path)
            .map_err(ArrowError::from)
            .and_then(|file| FileWriter::try_new_buffered(file, schema))
        {
            Ok(writer) => Ok(Self { path, writer }),
            Err(source) => Err(Error::Rows { path, source }),
        }
    }

    pub fn write(&mut self, batch: std::result::Result<RecordBatch, ArrowError>) -> Result<()> {
        batch
            .and_then(|batch| self.writer.write(&batch))
            .map_err(|source| Error::Rows {
                path: self.path.clone(),
                source,
            })
    }

    pub fn finish(mut self) -> Result<()> {
        self.writer.finish().map_err(|source| Error::Rows {
            path: self.path,
            source,
        })
    }
}
