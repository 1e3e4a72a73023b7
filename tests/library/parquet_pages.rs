//! Byte arrays of Parquet files, which are copied as they are in their pages.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use differential::choices::Choices;
use differential::targets::parquet::read;
use outset::{ErrorKind, Field, Interrupt, RowCopy};
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::reader::get_typed_column_reader;
use parquet::column::writer::{ColumnCloseResult, ColumnWriter};
use parquet::data_type::{ByteArray, Int64Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};

use crate::parquet::rows_of;
use crate::util::{Sandbox, alone, resident_bytes};

/// Columns of byte arrays, the last of which `parquet` decodes: their order is that of numbers.
const MESSAGE: &str = "message m {
    required binary long (UTF8); optional binary few (UTF8); optional group outer { optional binary inner (UTF8); }
    optional binary nothing; required binary same; required binary growing; optional binary number (DECIMAL(9,2));
}";

/// Writes a file of row groups of these numbers of rows.
fn write(path: &Path, properties: WriterProperties, groups: &[usize], choices: &mut Choices<'_>) {
    let schema = parquet::schema::parser::parse_message_type(MESSAGE).unwrap();
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema.into(), properties.into()).unwrap();
    let descriptor = writer.schema_descr().clone();
    for &rows in groups {
        let mut group = writer.next_row_group().unwrap();
        for column in descriptor.columns() {
            let most = column.max_def_level();
            let name = column.name();
            let levels: Vec<i16> = (0..rows)
                .map(|_| match name {
                    "nothing" => 0,
                    "few" if choices.one_in(100) => 0,
                    "inner" => choices.between(0, 2) as i16,
                    _ => most,
                })
                .collect();
            let value = |row| match name {
                "long" => letters(choices),
                "few" => format!("word {}", choices.below(9)).into_bytes(),
                "inner" => "é".repeat(choices.below(70) as usize).into_bytes(),
                "growing" => format!("{row:09}").into_bytes(),
                "number" => (choices.any() as i32).to_be_bytes().to_vec(),
                _ => b"same".to_vec(),
            };
            let count = levels.iter().filter(|&&level| level == most).count();
            let values: Vec<ByteArray> = (0..count).map(value).map(ByteArray::from).collect();
            let mut to = group.next_column().unwrap().unwrap();
            let ColumnWriter::ByteArrayColumnWriter(column) = to.untyped() else {
                panic!("a column of {name}")
            };
            column.write_batch(&values, Some(&levels), None).unwrap();
            to.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// Makes a text of up to 600 letters that hardly compress.
fn letters(choices: &mut Choices<'_>) -> Vec<u8> {
    let words = (0..choices.between(0, 60)).map(|_| choices.any());
    let letters = words.flat_map(|word| (0..10).map(move |at| (word >> (6 * at)) & 63));
    letters.map(|letter| b'0' + letter as u8).collect()
}

/// Copies these rows of a file to another one with so much memory besides that of the process.
fn copy(from: &Path, to: &Path, rows: &[u64], threads: usize, memory: u64) -> ParquetMetaData {
    let limit = resident_bytes() + memory;
    let copy = RowCopy::open(from, limit).unwrap().on_threads(threads);
    let mut target = fs::File::create(to).unwrap();
    let mut output = copy
        .begin((&mut target, "to"), [copy.rows()], limit)
        .unwrap();
    let mut rows = rows.iter().map(|&row| Ok(row));
    let watch = (&Interrupt::new(), &|_, _| {});
    copy.append_to(&mut output, &mut rows, limit, (watch.0, watch.1))
        .unwrap();
    output.finish().unwrap();
    let reader = SerializedFileReader::new(fs::File::open(to).unwrap()).unwrap();
    reader.metadata().clone()
}

/// Compares what the footer says of a column that was copied as bytes with what it says of one that was decoded.
fn compare(own: &ColumnChunkMetaData, decoded: &ColumnChunkMetaData) {
    let name = own.column_path().string();
    assert_eq!(own.statistics(), decoded.statistics(), "{name}");
    assert_eq!(own.num_values(), decoded.num_values(), "{name}");
    assert_eq!(own.compression(), decoded.compression(), "{name}");
    let bytes = ColumnChunkMetaData::unencoded_byte_array_data_bytes;
    assert_eq!(bytes(own), bytes(decoded), "{name}");
    let levels = ColumnChunkMetaData::definition_level_histogram;
    assert_eq!(levels(own), levels(decoded), "{name}");
    let Some(Statistics::ByteArray(statistics)) = own.statistics() else {
        panic!("{name} has no statistics")
    };
    assert!(statistics.null_count_opt().is_some(), "{name}");
}

#[test]
fn b23_byte_arrays_of_every_form_are_copied_as_they_are() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let (from, to, decoded) = (
        sandbox.path("from"),
        sandbox.path("to"),
        sandbox.path("decoded"),
    );
    let (mut choices, mut kept_dictionaries) = (Choices::seeded(11), 0);
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
        Compression::LZ4,
    ] {
        let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_writer_version(choices.pick(&versions))
            .set_encoding(Encoding::PLAIN)
            .set_data_page_size_limit(choices.pick(&[1000, 1 << 20]))
            .set_dictionary_enabled(!choices.one_in(3))
            // With a small one, columns begin with a dictionary and go on without.
            .set_dictionary_page_size_limit(choices.pick(&[200, 1 << 20]));
        write(
            &from,
            properties.build(),
            &[3000, 0, 4000, 900],
            &mut choices,
        );
        let all = rows_of(&from);
        let one_in = choices.pick(&[1, 2, 20]);
        let rows: Vec<u64> = (0..all.len() as u64)
            .filter(|_| choices.one_in(one_in))
            .collect();
        let own = copy(&from, &to, &rows, 2, 4 << 30);
        let expected: Vec<&String> = rows.iter().map(|&row| &all[row as usize]).collect();
        let is_expected = |path| rows_of(path).iter().eq(expected.iter().copied());
        assert!(is_expected(&to), "{compression}, one in {one_in}");
        // Memory for a lane is not there.
        let decoded_one = copy(&from, &decoded, &rows, 1, 50 << 20);
        assert!(is_expected(&decoded), "{compression}, one in {one_in}");
        for (own, decoded) in columns(&own).zip(columns(&decoded_one)) {
            compare(own, decoded);
            // A column that goes on without a dictionary is decoded to one without.
            let has_dictionary = |it: &ColumnChunkMetaData| it.dictionary_page_offset().is_some();
            kept_dictionaries += usize::from(has_dictionary(own) && !has_dictionary(decoded));
        }
    }
    assert!(kept_dictionaries > 0, "no column was copied as bytes");
}

#[test]
fn b23_a_dictionary_that_is_full_is_left() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let (from, to) = (sandbox.path("from"), sandbox.path("to"));
    let schema = "message m { required binary a (UTF8); }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(1 << 30);
    let file = fs::File::create(&from).unwrap();
    let properties = properties.build().into();
    let mut writer = SerializedFileWriter::new(file, schema.into(), properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    // Many short values, and then some that repeat the first of them.
    let texts = (0..66_000)
        .chain(0..1000)
        .map(|row| format!("value {row:09}"));
    let texts: Vec<String> = texts.collect();
    let values: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
    let typed = column.typed::<parquet::data_type::ByteArrayType>();
    typed.write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let rows: Vec<u64> = (0..67_000).collect();
    let said = copy(&from, &to, &rows, 2, 4 << 30);
    assert!(rows_of(&to) == rows_of(&from));
    let pages = said.row_group(0).column(0).page_encoding_stats_mask();
    let both = [Encoding::RLE_DICTIONARY, Encoding::PLAIN];
    assert!(pages.unwrap().all_set(both.iter()), "{pages:?}");
}

#[test]
fn b23_row_groups_that_are_written_while_others_are_encoded_come_in_order() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let (from, to) = (sandbox.path("from"), sandbox.path("to"));
    let schema = "message m { required int64 a; }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let file = fs::File::create(&from).unwrap();
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let properties = properties.build().into();
    let mut writer = SerializedFileWriter::new(file, schema.into(), properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values: Vec<i64> = (0..500_000).map(|row| row * 7).collect();
    let typed = column.typed::<Int64Type>();
    typed.write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let rows: Vec<u64> = (0..500_000).filter(|row| row % 10 > 0).collect();
    for threads in [1, 2] {
        let said = copy(&from, &to, &rows, threads, 4 << 30);
        // The most rows of a row group.
        let groups = rows.len().div_ceil(1 << 17);
        assert_eq!(said.num_row_groups(), groups);
        let reader = SerializedFileReader::new(fs::File::open(&to).unwrap()).unwrap();
        let mut copied = Vec::new();
        for group in 0..groups {
            let group = reader.get_row_group(group).unwrap();
            let column = group.get_column_reader(0).unwrap();
            let mut column = get_typed_column_reader::<Int64Type>(column);
            let most = rows.len();
            column.read_records(most, None, None, &mut copied).unwrap();
        }
        assert!(
            rows.iter().map(|&row| row as i64 * 7).eq(copied),
            "{threads} threads"
        );
    }
}

/// Writes a file of one column whose pages are those of `pages`.
fn write_pages(path: &Path, pages: &[Page], rows: i64) {
    let schema = "message m { required binary a (UTF8); }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema.into(), Arc::default()).unwrap();
    let column = writer.schema_descr().column(0);
    let mut bytes = TrackedWrite::new(Vec::new());
    for page in pages {
        let page = CompressedPage::new(page.clone(), page.buffer().len());
        let mut to = SerializedPageWriter::new(&mut bytes);
        to.write_page(page).unwrap();
    }
    let bytes = bytes::Bytes::from(bytes.into_inner().unwrap());
    let metadata = ColumnChunkMetaData::builder(column)
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE_DICTIONARY])
        .set_total_compressed_size(bytes.len() as i64)
        .set_total_uncompressed_size(bytes.len() as i64)
        .set_num_values(rows)
        .set_dictionary_page_offset(Some(0))
        .build()
        .unwrap();
    let closed = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: rows as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    let mut group = writer.next_row_group().unwrap();
    group.append_column(&bytes, closed).unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn b23_a_second_dictionary_is_an_error() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let from = sandbox.path("from");
    let dictionary = |value: &'static [u8], encoding| Page::DictionaryPage {
        buf: value.into(),
        num_values: 1,
        encoding,
        is_sorted: false,
    };
    // Once the first entry.
    let data = Page::DataPage {
        buf: b"\x01\x02\0"[..].into(),
        num_values: 1,
        encoding: Encoding::RLE_DICTIONARY,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    let first = dictionary(b"\x01\0\0\0a", Encoding::PLAIN);
    let second = dictionary(b"\x01\0\0\0b", Encoding::PLAIN);
    let other = dictionary(b"\x01\0\0\0b", Encoding::DELTA_BYTE_ARRAY);
    let keys = || read(&from, Field::Name("a".into()), &sandbox.path(""));
    write_pages(&from, &[first.clone(), data.clone(), data.clone()], 2);
    assert_eq!(keys().unwrap(), [b"a"]);
    for pages in [
        vec![first, data.clone(), second, data.clone()],
        vec![other, data],
    ] {
        let rows = pages.len() as i64 / 2;
        write_pages(&from, &pages, rows);
        let refused = keys().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Input, "{refused}");
    }
}

fn columns(metadata: &ParquetMetaData) -> impl Iterator<Item = &ColumnChunkMetaData> {
    metadata
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns)
}
