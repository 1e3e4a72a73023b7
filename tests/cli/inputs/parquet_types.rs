//! Columns of all types as keys of Parquet files, and parts of a side that are none.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::sandbox::{Outcome, Sandbox};

/// Writes a file with one column, `id`, of this type, whose values may be NULL.
fn write<T: DataType>(path: &Path, (physical, logical): (&str, &str), values: &[Option<T::T>]) {
    let schema = format!("message m {{ optional {physical} id {logical}; }}");
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let levels: Vec<i16> = values.iter().map(|value| value.is_some().into()).collect();
    let values: Vec<T::T> = values.iter().flatten().cloned().collect();
    let written = column.typed::<T>();
    written.write_batch(&values, Some(&levels), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

fn lines(outcome: &Outcome) -> String {
    String::from_utf8(outcome.succeeds().stdout.clone()).unwrap()
}

#[test]
fn b23_numbers_decimals_dates_and_times_are_keys() {
    let sandbox = Sandbox::new();
    let path = |name: &str| sandbox.input(name);
    let (doubles, floats) = ([2.0, 2.5, -0.0, f64::NAN], [2.0, 2.5, -0.0, f32::NAN]);
    write::<DoubleType>(&path("double"), ("double", ""), &doubles.map(Some));
    write::<FloatType>(&path("float"), ("float", ""), &floats.map(Some));
    let days = [0, 19_782].map(Some);
    write::<Int32Type>(&path("date"), ("int32", "(DATE)"), &days);
    let millis = [1500, 1_709_210_096_000].map(Some);
    let micros = [1_500_000, 1_709_210_096_000_000].map(Some);
    let utc = |unit: &str| format!("(TIMESTAMP({unit},true))");
    write::<Int64Type>(&path("millis"), ("int64", &utc("MILLIS")), &millis);
    write::<Int64Type>(&path("micros"), ("int64", &utc("MICROS")), &micros);
    write::<Int64Type>(&path("old"), ("int64", "(TIMESTAMP_MILLIS)"), &millis);
    let local = "(TIMESTAMP(MILLIS,false))";
    write::<Int64Type>(&path("local"), ("int64", local), &millis);
    let mut int96 = [Int96::new(), Int96::new()];
    int96[0].set_data(1_500_000_000, 0, 2_440_588);
    let nanos = 45_296_000_000_000_u64;
    int96[1].set_data(nanos as u32, (nanos >> 32) as u32, 2_440_588 + 19_782);
    write::<Int96Type>(&path("int96"), ("int96", ""), &int96.map(Some));
    let time = ("int32", "(TIME(MILLIS,true))");
    write::<Int32Type>(&path("time"), time, &[Some(45_296_100)]);
    let decimals = [150, -5].map(Some);
    write::<Int32Type>(&path("decimal32"), ("int32", "(DECIMAL(9,2))"), &decimals);
    let decimals = [150, -5].map(Some);
    write::<Int64Type>(&path("decimal64"), ("int64", "(DECIMAL(18,2))"), &decimals);
    let bytes = [&[0, 150][..], &[0xff, 0xfb]].map(|bytes| ByteArray::from(bytes.to_vec()));
    let fixed = bytes
        .clone()
        .map(|bytes| Some(FixedLenByteArray::from(bytes)));
    let kind = ("fixed_len_byte_array(2)", "(DECIMAL(4,2))");
    write::<FixedLenByteArrayType>(&path("fixed"), kind, &fixed);
    let kind = ("binary", "(DECIMAL(30,2))");
    write::<ByteArrayType>(&path("bytes"), kind, &bytes.map(Some));
    let times = "1970-01-01T00:00:01.5Z\n2024-02-29T12:34:56Z\n";
    let decimals = "1.50\n-0.05\n";
    for (name, expected) in [
        ("double", "2\n2.5\n0\nNaN\n"),
        ("float", "2\n2.5\n0\nNaN\n"),
        ("date", "1970-01-01\n2024-02-29\n"),
        ("millis", times),
        ("micros", times),
        ("old", times),
        ("int96", times),
        ("local", &times.replace('Z', "")),
        ("time", "12:34:56.1\n"),
        ("decimal32", decimals),
        ("decimal64", decimals),
        ("fixed", decimals),
        ("bytes", decimals),
    ] {
        let outcome = sandbox.run(&format!("union -k id --order input {name}"));
        assert_eq!(lines(&outcome), expected, "{name}");
    }
    let outcome = sandbox.run("union --jsonl -k id --order input double time");
    assert_eq!(
        lines(&outcome),
        "{\"id\":2}\n{\"id\":2.5}\n{\"id\":0}\n{\"id\":\"NaN\"}\n{\"id\":\"12:34:56.1\"}\n"
    );
}

#[test]
fn b23_integers_match_floating_point_numbers_of_the_same_value() {
    let sandbox = Sandbox::new();
    let integers = [Some(1), Some(2), Some(3)];
    write::<Int64Type>(&sandbox.input("a"), ("int64", ""), &integers);
    // As pandas writes integers of which some are missing.
    let doubles = [Some(2.0), None, Some(3.0), Some(3.5)];
    write::<DoubleType>(&sandbox.input("b"), ("double", ""), &doubles);
    let outcome = sandbox.run("intersect -k id --order input a b");
    assert_eq!(lines(&outcome), "2\n3\n");
    assert!(
        outcome.stderr.contains("b: left out 1 row with NULL"),
        "{outcome}"
    );
}

#[test]
fn b23_a_type_that_cannot_be_a_key_is_named() {
    let sandbox = Sandbox::new();
    let path = |name: &str| sandbox.input(name);
    write::<BoolType>(&path("boolean"), ("boolean", ""), &[Some(true)]);
    let bytes = |count: usize| Some(FixedLenByteArray::from(vec![0; count]));
    let interval = ("fixed_len_byte_array(12)", "(INTERVAL)");
    write::<FixedLenByteArrayType>(&path("interval"), interval, &[bytes(12)]);
    let half = ("fixed_len_byte_array(2)", "(FLOAT16)");
    write::<FixedLenByteArrayType>(&path("float16"), half, &[bytes(2)]);
    let wide = ("fixed_len_byte_array(20)", "(DECIMAL(40,2))");
    write::<FixedLenByteArrayType>(&path("decimal"), wide, &[bytes(20)]);
    for name in ["boolean", "interval", "float16", "decimal"] {
        let says = format!("{name}: column id is of type {name}, which cannot be a key");
        sandbox
            .run(&format!("union -k id {name}"))
            .fails(2, &[&says]);
    }
}

#[test]
fn b23_parts_without_rows_or_values_are_read_and_others_are_refused_by_name() {
    let sandbox = Sandbox::new();
    let path = |name: &str| sandbox.input(name);
    let texts = ["a", "b"].map(|text| Some(ByteArray::from(text)));
    write::<ByteArrayType>(&path("0"), ("binary", "(UTF8)"), &texts);
    write::<Int32Type>(&path("null"), ("int32", "(UNKNOWN)"), &[None, None]);
    sandbox.write("empty", b"");
    sandbox.write("list", b"b\n");
    let run = |side: &str| {
        sandbox.run(&format!(
            "diff -k id --order input --side {side} --side list"
        ))
    };
    assert_eq!(lines(&run("0 empty")), "a\n");
    assert_eq!(lines(&run("empty 0")), "a\n");
    let outcome = run("0 null empty");
    assert_eq!(lines(&outcome), "a\n");
    assert!(
        outcome.stderr.contains("left out 2 rows with NULL"),
        "{outcome}"
    );
    let page = b"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>\n";
    sandbox.write("page", page);
    let gzip = data_gen::Compression::Gzip.compress(b"c\n").unwrap();
    sandbox.write("list.gz", gzip);
    for side in ["0 page", "page 0", "0 empty page null"] {
        run(side).fails(
            3,
            &["page: is not a Parquet file, as others of this side are"],
        );
    }
    run("0 list.gz").fails(3, &["list.gz: is not a Parquet file"]);
    // Records have fields, whatever they are in.
    sandbox.write("records", b"{\"id\":\"c\"}\n");
    let outcome = sandbox.run("union --jsonl -k id --order input --side 0 records");
    assert_eq!(
        lines(&outcome),
        "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n"
    );
}

#[test]
fn b23_pages_in_a_compression_that_is_not_read_are_refused_with_those_that_are() {
    let sandbox = Sandbox::new();
    let texts = ["a", "b"].map(|text| Some(ByteArray::from(text)));
    write::<ByteArrayType>(&sandbox.input("a"), ("binary", "(UTF8)"), &texts);
    let mut bytes = fs::read(sandbox.input("a")).unwrap();
    // The codec is the fourth field of the column's metadata, behind its path: a list of one text, `id`.
    let codec = [0x19, 0x18, 2, b'i', b'd', 0x15, 0];
    let mut offsets = bytes.windows(codec.len()).enumerate();
    let offset = offsets
        .find(|(_, window)| *window == codec)
        .map(|(offset, _)| offset);
    bytes[offset.unwrap() + codec.len() - 1] = 4 << 1;
    sandbox.write("a", bytes);
    let outcome = sandbox.run("union -k id a");
    outcome.fails(3, &["brotli", "zstd, snappy, gzip, lz4 or no compression"]);
    assert!(!outcome.stderr.contains("fetch it again"), "{outcome}");
}
