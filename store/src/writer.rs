//! The thread that turns batches into Parquet files. It is a thread of its own so that a slow disk never
//! holds up the one that takes events from the kernel.

use std::fs::File;
use std::io;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::batch::{Batch, Column, Values};
use crate::encoding::Encodings;
use crate::folder::{private_file, Folder};
use crate::manifest::Manifest;
use crate::rows::{ColumnType, Kind, Name, Table, TABLES};

/// What the writer is asked to do, in order.
pub(crate) enum Order {
    /// Write these rows of `TABLES[.0]` as one file.
    Rows(usize, Batch),
    /// All rows up to this instant were sent: write the manifest.
    Manifest(i64, Box<Manifest>),
}

/// What the writer and the recording both see.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Set with `failure`; looked at before each row.
    pub failed: AtomicBool,
    /// Why nothing more is written.
    pub failure: Mutex<Option<String>>,
    /// Bytes of rows that wait.
    pub queued_bytes: AtomicUsize,
    /// Bytes of closed files.
    pub written_bytes: AtomicU64,
}

/// What the thread hands back when it ends.
pub(crate) struct Written {
    /// Rows in closed files, and rows dropped after a failure, per table.
    pub kept: Vec<u64>,
    pub dropped: Vec<u64>,
}

pub(crate) struct Writer {
    folder: Arc<Folder>,
    shared: Arc<Shared>,
    spares: Sender<(usize, Batch)>,
    tables: Vec<TableFiles>,
    small_file_rows: usize,
    written: Written,
    start_ns: Option<i64>,
    closed_ns: Option<i64>,
    /// Blocks held back so that a manifest can still be written on a full disk.
    reserve: PathBuf,
}

struct TableFiles {
    schema: TypePtr,
    encodings: Encodings,
    files: u32,
    /// The rows of the last file while it is small, and the bytes of that file: the next rows are added to it.
    last: Batch,
    last_bytes: u64,
}

/// Enough for the manifest of any recording.
const RESERVE_BYTES: usize = 64 * 1024;

impl Writer {
    pub fn new(
        folder: Arc<Folder>,
        start_ns: Option<i64>,
        small_file_rows: usize,
        shared: Arc<Shared>,
        spares: Sender<(usize, Batch)>,
    ) -> io::Result<Writer> {
        let reserve = folder.inside().join("reserve.tmp");
        private_file(&reserve)?.write_all(&vec![0; RESERVE_BYTES])?;
        let tables = TABLES
            .iter()
            .map(|table| TableFiles {
                schema: parquet_schema(table),
                encodings: Encodings::new(table),
                files: 0,
                last: Batch::new(table),
                last_bytes: 0,
            })
            .collect();
        Ok(Writer {
            folder,
            shared,
            spares,
            tables,
            small_file_rows,
            written: Written {
                kept: vec![0; TABLES.len()],
                dropped: vec![0; TABLES.len()],
            },
            start_ns,
            closed_ns: None,
            reserve,
        })
    }

    /// Works until the recording hangs up.
    pub fn run(mut self, orders: Receiver<Order>) -> Written {
        for order in orders {
            match order {
                Order::Rows(index, mut batch) => {
                    let bytes = queued_bytes(&batch);
                    self.rows(index, &mut batch);
                    self.shared.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
                    batch.clear();
                    let _ = self.spares.send((index, batch));
                }
                Order::Manifest(now_ns, mut manifest) => {
                    self.fill(&mut manifest);
                    if self.shared.failed.load(Ordering::Relaxed) {
                        continue; // the failure wrote the last one
                    }
                    match manifest.write(self.folder.inside()) {
                        Ok(()) => self.closed_ns = Some(now_ns),
                        Err(error) => self.fail("manifest.json", &error),
                    }
                }
            }
        }
        let _ = std::fs::remove_file(&self.reserve);
        self.written
    }

    fn rows(&mut self, index: usize, batch: &mut Batch) {
        if self.shared.failed.load(Ordering::Relaxed) {
            self.written.dropped[index] += batch.rows as u64;
            return;
        }
        let rows = batch.rows as u64;
        let table = &mut self.tables[index];
        // Of batches that are large themselves, what merging saves is not worth writing them twice.
        let merges = batch.rows * 2 <= self.small_file_rows;
        if !merges || table.last.rows + batch.rows > self.small_file_rows {
            // Its file stays as it is.
            table.last.clear();
            table.last_bytes = 0;
        }
        let written = if merges {
            self.add_to_last(index, batch)
        } else {
            table.files += 1;
            self.write(index, batch).map(|_| ())
        };
        match written {
            Ok(()) => self.written.kept[index] += rows,
            Err(error) => {
                self.written.dropped[index] += rows;
                self.fail(&file_name(index, self.tables[index].files), &error);
            }
        }
    }

    /// Writes the last file of a table anew, with more rows, which go to it. The file is whole at any time: what was
    /// in it stays there until the new one has its name.
    fn add_to_last(&mut self, index: usize, batch: &mut Batch) -> io::Result<()> {
        let table = &mut self.tables[index];
        if table.last.rows == 0 {
            table.files += 1;
        }
        let mut last = std::mem::replace(&mut table.last, Batch::new(&TABLES[index]));
        last.append(batch);
        let before = table.last_bytes;
        let bytes = self.write(index, &last)?;
        self.shared
            .written_bytes
            .fetch_sub(before, Ordering::Relaxed);
        let table = &mut self.tables[index];
        (table.last, table.last_bytes) = (last, bytes);
        Ok(())
    }

    /// Writes a batch as the last file of its table, in the place of the one that has the name; its bytes.
    fn write(&mut self, index: usize, batch: &Batch) -> io::Result<u64> {
        let table = &mut self.tables[index];
        let (_held, folder) = self.folder.below(TABLES[index].name)?;
        let path = folder.join(numbered(table.files));
        let temporary = path.with_extension("parquet.tmp");
        let mut write = || {
            let properties = table
                .encodings
                .properties(&TABLES[index], batch)
                .map_err(io_error)?;
            let file = private_file(&temporary)?;
            let schema = table.schema.clone();
            write_file(file, &TABLES[index], schema, properties, batch).map_err(io_error)?;
            let bytes = std::fs::metadata(&temporary)?.len();
            std::fs::rename(&temporary, &path)?;
            Ok(bytes)
        };
        let written = write();
        match &written {
            Ok(bytes) => {
                let closed = &self.shared.written_bytes;
                closed.fetch_add(*bytes, Ordering::Relaxed);
            }
            Err(_) => {
                let _ = std::fs::remove_file(&temporary);
            }
        }
        written
    }

    /// Puts the counts of this thread into a manifest.
    fn fill(&self, manifest: &mut Manifest) {
        for (index, table) in TABLES.iter().enumerate() {
            let kept = manifest.tables.entry(table.name.to_owned()).or_default();
            kept.kept = self.written.kept[index];
            kept.lost += self.written.dropped[index];
        }
    }

    /// Remembers the first failure; what was closed stays, and the manifest says what happened.
    fn fail(&self, within: &str, error: &io::Error) {
        let _ = std::fs::remove_file(&self.reserve);
        let readable = match (self.start_ns, self.closed_ns) {
            (Some(start), Some(closed)) => (closed - start).max(0) as f64 / 1e9,
            _ => 0.0,
        };
        let full = matches!(
            error.raw_os_error(),
            Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)
        );
        let what = if full {
            format!(
                "no space left in {}: {error}",
                self.folder.shown().display()
            )
        } else {
            format!(
                "cannot write {}: {error}",
                self.folder.shown().join(within).display()
            )
        };
        let text = match Manifest::read(self.folder.inside()) {
            Ok(mut manifest) => {
                let text = format!("{what}; the recording up to {readable:.1} s is readable");
                manifest.notes.push(text.clone());
                self.fill(&mut manifest);
                // A manifest that cannot be written either leaves the one of the last tick.
                let _ = manifest.write(self.folder.inside());
                text
            }
            // Somebody has taken it away.
            Err(_) => format!("{what}; nothing of the recording is left"),
        };
        if let Ok(mut failure) = self.shared.failure.lock() {
            *failure = Some(text);
        }
        self.shared.failed.store(true, Ordering::Release);
    }
}

/// The path of a table's file in the recording.
fn file_name(index: usize, number: u32) -> String {
    format!("{}/{}", TABLES[index].name, numbered(number))
}

fn numbered(number: u32) -> String {
    format!("{number:06}.parquet")
}

/// About the memory of a batch: eight bytes a value, and levels.
pub(crate) fn queued_bytes(batch: &Batch) -> usize {
    batch.rows * batch.columns.len() * 10
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

/// The Parquet schema of a table.
fn parquet_schema(table: &Table) -> TypePtr {
    let fields = table
        .columns
        .iter()
        .map(|column| Arc::new(parquet_column(column)))
        .collect();
    let group = Type::group_type_builder(table.name)
        .with_fields(fields)
        .build();
    Arc::new(group.expect("schema.toml makes valid Parquet schemas"))
}

fn parquet_column(column: &ColumnType) -> Type {
    let leaf = |name, repetition| {
        let (physical, logical) = match column.kind {
            Kind::Int | Kind::Ints => (Physical::INT64, None),
            Kind::Float => (Physical::DOUBLE, None),
            Kind::Bool => (Physical::BOOLEAN, None),
            Kind::Text | Kind::Texts => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
    };
    let list = || {
        let item = leaf("element", Repetition::REQUIRED)?;
        let repeated = Type::group_type_builder("list")
            .with_repetition(Repetition::REPEATED)
            .with_fields(vec![Arc::new(item)])
            .build()?;
        Type::group_type_builder(column.name)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::List))
            .with_fields(vec![Arc::new(repeated)])
            .build()
    };
    let made = match (column.kind, column.nullable) {
        (Kind::Ints | Kind::Texts, _) => list(),
        (_, true) => leaf(column.name, Repetition::OPTIONAL),
        (_, false) => leaf(column.name, Repetition::REQUIRED),
    };
    made.expect("schema.toml makes valid Parquet schemas")
}

/// Writes a batch as a file of one row group. Not fsynced: a recording must outlive its recorder, not the
/// machine, and the fsync would disturb what is measured.
fn write_file(
    file: File,
    table: &Table,
    schema: TypePtr,
    properties: WriterProperties,
    batch: &Batch,
) -> Result<(), ParquetError> {
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (column_type, column) in table.columns.iter().zip(&batch.columns) {
        let mut out = group
            .next_column()?
            .ok_or_else(|| ParquetError::General(format!("no column {}", column_type.name)))?;
        write_column(&mut out, column_type, column)?;
        out.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

fn write_column(
    out: &mut SerializedColumnWriter<'_>,
    column_type: &ColumnType,
    column: &Column,
) -> Result<usize, ParquetError> {
    let is_list = matches!(column_type.kind, Kind::Ints | Kind::Texts);
    let levels = (column_type.nullable || is_list).then_some(column.levels.as_slice());
    let repeats = is_list.then_some(column.repeats.as_slice());
    match &column.values {
        Values::Ints(values) => out
            .typed::<Int64Type>()
            .write_batch(values, levels, repeats),
        Values::Floats(values) => out
            .typed::<DoubleType>()
            .write_batch(values, levels, repeats),
        Values::Bools(values) => out.typed::<BoolType>().write_batch(values, levels, repeats),
        Values::Texts(values) => {
            let texts: Vec<ByteArray> = values.iter().map(byte_array).collect();
            out.typed::<ByteArrayType>()
                .write_batch(&texts, levels, repeats)
        }
    }
}

fn byte_array(name: &Name) -> ByteArray {
    ByteArray::from(match name {
        Name::Borrowed(text) => Bytes::from_static(text.as_bytes()),
        Name::Owned(text) => Bytes::copy_from_slice(text.as_bytes()),
    })
}
