//! Records as a Parquet file.
//!
//! *Owns:* writing them with the crate that reads them, in as many ways as it has: what another hand wrote is tried
//! with files of other programs. *Invariants:* a record without a key becomes a row of NULLs. *Cost:* one file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, GzipLevel, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::record::{NAMES, Record};
use crate::choices::Choices;

/// Writes `records` to `path` with the columns in this order.
pub(super) fn write(choices: &mut Choices<'_>, path: &Path, order: &[usize], records: &[Record]) {
    let has_nulls = records.iter().any(|record| record.key.is_none()) || choices.one_in(2);
    let column = |&name: &usize| {
        let repetition = match has_nulls {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        let builder = Type::primitive_type_builder(NAMES[name], Physical::BYTE_ARRAY);
        Arc::new(builder.with_repetition(repetition).build().unwrap())
    };
    let columns = order.iter().map(column).collect();
    let schema = Type::group_type_builder("schema")
        .with_fields(columns)
        .build()
        .unwrap();
    let properties = Arc::new(properties(choices));
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), properties).unwrap();
    let group_rows = choices.pick(&[7, 500, 100_000]);
    for rows in records.chunks(group_rows) {
        let mut group = writer.next_row_group().unwrap();
        for &name in order {
            let rows_with_key = rows.iter().filter(|row| row.key.is_some());
            let value = |row: &Record| ByteArray::from(row.values[name].as_bytes().to_vec());
            let values: Vec<ByteArray> = rows_with_key.map(value).collect();
            let levels: Vec<i16> = rows.iter().map(|row| row.key.is_some().into()).collect();
            let mut column = group.next_column().unwrap().unwrap();
            let levels = has_nulls.then_some(&levels[..]);
            let written = column
                .typed::<ByteArrayType>()
                .write_batch(&values, levels, None);
            written.unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn properties(choices: &mut Choices<'_>) -> WriterProperties {
    let builder = WriterProperties::builder()
        .set_compression(choices.pick(&[
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::ZSTD(ZstdLevel::default()),
            Compression::LZ4_RAW,
        ]))
        .set_writer_version(choices.pick(&[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]))
        .set_data_page_size_limit(choices.pick(&[100, 4096, 1 << 20]))
        .set_write_batch_size(choices.pick(&[3, 64, 1024]))
        .set_dictionary_page_size_limit(choices.pick(&[200, 1 << 20]));
    match choices.pick(&[
        None,
        Some(Encoding::PLAIN),
        Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
        Some(Encoding::DELTA_BYTE_ARRAY),
    ]) {
        None => builder.build(),
        Some(encoding) => builder
            .set_dictionary_enabled(false)
            .set_encoding(encoding)
            .build(),
    }
}
