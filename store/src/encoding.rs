//! Which Parquet encoding each integer column gets. No encoding wins everywhere: times and sectors grow
//! in small steps (DELTA_BINARY_PACKED), ids jump between a few values (dictionary), offsets of random
//! reads are neither (plain, which leaves whole bytes for ZSTD to find). Rather than guess by name we
//! write a sample each way and keep the smallest. BYTE_STREAM_SPLIT is no candidate: DuckDB cannot read
//! it on integers.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::Int64Type;
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use crate::batch::{Batch, Values};
use crate::rows::{Kind, Table};

/// Values of a column that are tried: enough for a dictionary to show what it is worth.
const SAMPLE: usize = 32 * 1024;
/// Below this all encodings cost about the same, and a trial costs more than it saves.
const WORTH_A_TRIAL: usize = 256;
/// Files of fewer rows are not compressed: each column's contexts of ZSTD take longer to make and to drop than all else that is
/// done for it, and what is there is small. While it grows a file is written anew, and compressed then.
const WORTH_COMPRESSING: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntEncoding {
    Delta,
    Dictionary,
    Plain,
}

/// The encodings of a table's integer columns, chosen anew as the table grows: the first seconds of a
/// command are not like the rest.
#[derive(Debug)]
pub(crate) struct Encodings {
    chosen: Vec<IntEncoding>,
    files: u32,
}

impl Encodings {
    pub fn new(table: &Table) -> Encodings {
        Encodings {
            chosen: vec![IntEncoding::Delta; table.columns.len()],
            files: 0,
        }
    }

    /// The properties for the next file, which will hold `batch`.
    pub fn properties(&mut self, table: &Table, batch: &Batch) -> Result<WriterProperties> {
        self.files += 1;
        if self.files.is_power_of_two() {
            self.choose(batch)?;
        }
        let mut builder = match batch.rows < WORTH_COMPRESSING {
            true => common().set_compression(Compression::UNCOMPRESSED),
            false => common(),
        };
        for (column, chosen) in table.columns.iter().zip(&self.chosen) {
            if matches!(column.kind, Kind::Int) {
                builder = with(builder, ColumnPath::from(column.name), *chosen);
            }
        }
        Ok(builder.build())
    }

    fn choose(&mut self, batch: &Batch) -> Result<()> {
        for (column, chosen) in batch.columns.iter().zip(&mut self.chosen) {
            let Values::Ints(values) = &column.values else {
                continue;
            };
            if values.len() < WORTH_A_TRIAL {
                continue;
            }
            let sample = &values[..values.len().min(SAMPLE)];
            // Delta first: on a tie it stays, as it needs no memory for a dictionary.
            let mut best = (IntEncoding::Delta, written(sample, IntEncoding::Delta)?);
            for other in [IntEncoding::Dictionary, IntEncoding::Plain] {
                let bytes = written(sample, other)?;
                if bytes < best.1 {
                    best = (other, bytes);
                }
            }
            *chosen = best.0;
        }
        Ok(())
    }
}

/// What every file has. Statistics per row group let DuckDB skip files outside a time range; those per
/// page would cost more than they save in files this small.
fn common() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(format!("iowhy {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).unwrap_or_default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_data_page_row_count_limit(usize::MAX)
        .set_write_batch_size(8 * 1024)
}

fn with(
    builder: WriterPropertiesBuilder,
    column: ColumnPath,
    encoding: IntEncoding,
) -> WriterPropertiesBuilder {
    let fallback = match encoding {
        IntEncoding::Plain => Encoding::PLAIN,
        IntEncoding::Delta | IntEncoding::Dictionary => Encoding::DELTA_BINARY_PACKED,
    };
    builder
        .set_column_dictionary_enabled(column.clone(), encoding == IntEncoding::Dictionary)
        .set_column_encoding(column, fallback)
}

/// Bytes of a file that holds only these values.
fn written(values: &[i64], encoding: IntEncoding) -> Result<usize> {
    let column = Type::primitive_type_builder("v", Physical::INT64)
        .with_repetition(Repetition::REQUIRED)
        .build()?;
    let schema = Type::group_type_builder("s")
        .with_fields(vec![Arc::new(column)])
        .build()?;
    let properties = with(common(), ColumnPath::from("v"), encoding).build();
    let mut bytes = Vec::with_capacity(values.len() * 9);
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    if let Some(mut column) = group.next_column()? {
        column
            .typed::<Int64Type>()
            .write_batch(values, None, None)?;
        column.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(values: &[i64]) -> IntEncoding {
        let mut batch = Batch::new(&crate::rows::TABLES[0]);
        let mut encodings = Encodings::new(&crate::rows::TABLES[0]);
        for value in values {
            batch.columns[0].int(*value);
        }
        encodings.choose(&batch).unwrap();
        encodings.chosen[0]
    }

    #[test]
    fn each_shape_gets_its_encoding() {
        let noise = |i: i64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64) >> 33) & 0x3f;
        let times: Vec<i64> = (0..20_000)
            .map(|i| 1_000_000 + i * 700 + noise(i))
            .collect();
        assert_eq!(best(&times), IntEncoding::Delta);
        let ids: Vec<i64> = (0..20_000)
            .map(|i| [7, 1 << 40, 99_999, 12][noise(i) as usize & 3])
            .collect();
        assert_eq!(best(&ids), IntEncoding::Dictionary);
    }

    #[test]
    fn few_rows_are_not_compressed() {
        let compression = |rows| {
            let table = &crate::rows::TABLES[0];
            let mut batch = Batch::new(table);
            batch.rows = rows;
            let properties = Encodings::new(table).properties(table, &batch).unwrap();
            properties.compression(&ColumnPath::from(table.columns[0].name))
        };
        assert_eq!(
            compression(WORTH_COMPRESSING - 1),
            Compression::UNCOMPRESSED
        );
        assert!(matches!(
            compression(WORTH_COMPRESSING),
            Compression::ZSTD(_)
        ));
    }
}
