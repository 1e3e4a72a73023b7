//! Keys of single records.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;

/// Returns the key of a record, or why it has none.
fn key(keys: &Keys, numbers: &[u32], record: &str) -> Result<String, Bad> {
    key_in(&Columns::new(keys, 1, numbers), record)
}

fn key_in(columns: &Columns, record: &str) -> Result<String, Bad> {
    let mut built = b"kept".to_vec();
    let key = match columns.key(record.as_bytes(), &mut built)? {
        Key::Piece(piece) => piece.to_vec(),
        Key::Built(range) => built[range].to_vec(),
    };
    Ok(String::from_utf8(key).unwrap())
}

fn fields(fields: &[&str]) -> Vec<Field> {
    fields.iter().map(|field| field.parse().unwrap()).collect()
}

fn keys(syntax: Syntax, names: &[&str]) -> Keys {
    Keys {
        syntax,
        fields: fields(names),
        ..Keys::default()
    }
}

fn csv(record: &str, number: u32) -> Result<String, Bad> {
    key(
        &keys(Syntax::Csv(Dialect::new(b',')), &["1"]),
        &[number],
        record,
    )
}

#[test]
fn fields_between_tabs() {
    let of = |numbers: &[u32], record| {
        let names: Vec<String> = numbers
            .iter()
            .map(|number| (number + 1).to_string())
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        key(&keys(Syntax::Delimited(b'\t'), &names), numbers, record)
    };
    assert_eq!(of(&[0], "a\tb\tc").unwrap(), "a");
    assert_eq!(of(&[1], "a\tb\tc").unwrap(), "b");
    assert_eq!(of(&[2], "a\tb\tc").unwrap(), "c");
    assert_eq!(of(&[0], "").unwrap(), "");
    assert_eq!(of(&[1], "\"a\t\"").unwrap(), "\"");
    assert_eq!(of(&[3], "a\tb\tc"), Err(Bad::TooFewFields(4)));
    assert_eq!(of(&[2, 0], "a\tb\tc").unwrap(), "c\ta");
    assert_eq!(of(&[0, 1], "a\tb\tc").unwrap(), "a\tb");
    assert_eq!(of(&[1, 3], "a\tb\tc"), Err(Bad::TooFewFields(4)));
    assert_eq!(of(&[0, 1], "a"), Err(Bad::TooFewFields(2)));
}

#[test]
fn quotes_that_are_not_needed_make_no_difference() {
    for (record, expected) in [
        ("x,abc,y", "abc"),
        ("x,\"abc\",y", "abc"),
        // An empty line would be no record.
        ("x,\"\",y", "\"\""),
        ("x,,y", "\"\""),
        ("x,\"a\r\",y", "\"a\r\""),
        ("x,a\rb,y", "\"a\rb\""),
        ("x,\"a,b\",y", "\"a,b\""),
        ("x,\"a\nb\",y", "\"a\nb\""),
        ("x,\"a\"\"b\",y", "\"a\"\"b\""),
        ("\"p,\"\"q\"\"\",\"abc\"", "abc"),
        ("x,abc\r", "abc"),
        ("x,\"abc\"\r", "abc"),
    ] {
        assert_eq!(csv(record, 1).unwrap(), expected, "{record:?}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn b23_the_key_of_a_row_is_that_of_a_text_with_the_same_fields() {
    let escape = Dialect {
        escape: Some(b'\\'),
        ..Dialect::new(b',')
    };
    let texts = [
        "", "a", "a,b", "a;b", "a\"b", "\"", "a\rb", "a\r", "a\nb", " A ", "\\", "\0", "1.5",
    ];
    let syntaxes = [
        Syntax::Delimited(b'\t'),
        Syntax::Csv(Dialect::new(b',')),
        Syntax::Csv(Dialect::new(b';')),
        Syntax::Csv(escape),
    ];
    let pairs = texts
        .iter()
        .flat_map(|&one| texts.map(|other| vec![one, other]));
    let rows: Vec<Vec<&str>> = pairs.chain(texts.map(|text| vec![text])).collect();
    let mut compared = 0;
    for (syntax, ignores_case) in syntaxes
        .into_iter()
        .flat_map(|it| [(it, false), (it, true)])
    {
        for row in &rows {
            let keys = Keys {
                ignores_case,
                ..keys(syntax, &["1", "2"][..row.len()])
            };
            let (writing, mut record) = (Writing::new(syntax, b'\n', &keys.fields), Vec::new());
            let is_written = row.iter().enumerate().all(|(index, text)| {
                let written = writing.field(index, false, text.as_bytes(), &mut record);
                written.is_ok()
            });
            if !is_written {
                continue;
            }
            let record = String::from_utf8(record).unwrap();
            let of_text = key(&keys, &[0, 1][..row.len()], &record);
            let numbered = Keys {
                row_numbers: true,
                ..keys.clone()
            };
            let end = char::from(numbered.row_number_end().unwrap());
            let numbered_record = format!("7{end}{record}");
            for is_alone in [false, true] {
                for (keys, record) in [(&keys, &record), (&numbered, &numbered_record)] {
                    let columns = Columns::of_table(keys, 1, row.len(), is_alone);
                    assert_eq!(key_in(&columns, record), of_text, "{syntax:?}: {row:?}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 2000, "{compared}");
}

#[test]
fn a21_fields_that_are_damaged_are_noticed_wherever_they_are() {
    for (record, bad) in [
        ("a,\"b\"c", Bad::BehindQuote),
        ("a,\"b", Bad::OpenQuote),
        ("a,\"b\"\"", Bad::OpenQuote),
        ("\"a\"x,b", Bad::BehindQuote),
        ("a,b,\"c\",d,\"e", Bad::OpenQuote),
    ] {
        assert_eq!(csv(record, 0), Err(bad), "{record:?}");
    }
    assert_eq!(csv("a", 1), Err(Bad::TooFewFields(2)));
}

#[test]
fn a21_quotes_are_text_in_a_field_that_does_not_begin_with_one() {
    for (record, expected) in [
        ("x,3.5\" disk,y", "\"3.5\"\" disk\""),
        ("x,\"3.5\"\" disk\",y", "\"3.5\"\" disk\""),
        ("x, \"a\",y", "\" \"\"a\"\"\""),
        ("x,a\"\"b", "\"a\"\"\"\"b\""),
        ("5\" x,b", "b"),
        ("x,b,c\"d\"", "b"),
        // Where records end in NUL.
        ("x,b\nc,d", "\"b\nc\""),
    ] {
        assert_eq!(csv(record, 1).unwrap(), expected, "{record:?}");
    }
}

#[test]
fn a21_an_escape_makes_the_next_byte_text() {
    let escaped = |record| {
        let dialect = Dialect {
            delimiter: b',',
            escape: Some(b'\\'),
        };
        key(&keys(Syntax::Csv(dialect), &["2"]), &[1], record)
    };
    for (record, expected) in [
        (r#"x,"a\"b",y"#, r#""a""b""#),
        (r#"x,"a""b",y"#, r#""a""b""#),
        (r"x,a\,b,y", r#""a,b""#),
        (r"x,a\b,y", "ab"),
        (r"x,a\\b,y", r"a\b"),
        (r#"x,"a\\",y"#, r"a\"),
        (r#"x\",b,y"#, "b"),
        (r"x,b\", "b"),
        (r"x,plain", "plain"),
    ] {
        assert_eq!(escaped(record).unwrap(), expected, "{record:?}");
    }
    assert_eq!(escaped(r#"x,"a\""#), Err(Bad::OpenQuote));
    assert_eq!(escaped(r#"x,"a\\"b"#), Err(Bad::BehindQuote));
}

#[test]
fn a21_fields_are_told_apart_whatever_letter_is_between_them() {
    for delimiter in (0..=u8::MAX).filter(|byte| !b"\"\r\n\0".contains(byte)) {
        for syntax in [
            Syntax::Delimited(delimiter),
            Syntax::Csv(Dialect::new(delimiter)),
        ] {
            let folded = Keys {
                ignores_case: true,
                ..keys(syntax, &["1", "2"])
            };
            let columns = Columns::new(&folded, 1, &[0, 1]);
            let other = if delimiter.is_ascii_alphabetic() {
                delimiter ^ 0x20
            } else {
                b'z'
            };
            let key = |first: &[u8], second: &[u8]| {
                let record = [first, &[delimiter], second].concat();
                let mut built = Vec::new();
                columns.key(&record, &mut built).unwrap();
                built
            };
            assert_ne!(key(&[other, b'1'], b"2"), key(b"", &[b'1', other, b'2']));
            assert_ne!(key(&[b'1', other], b"2"), key(b"1", &[other, b'2']));
            assert_eq!(key(&[b'1', other], b"2"), key(&[b'1', other], b"2"));
        }
    }
}

#[test]
fn several_fields_are_told_apart() {
    let two = |record| {
        key(
            &keys(Syntax::Csv(Dialect::new(b',')), &["1", "2"]),
            &[0, 1],
            record,
        )
        .unwrap()
    };
    assert_eq!(two("ab,cd"), "ab,cd");
    assert_eq!(two("\"ab\",cd,x"), "ab,cd");
    assert_eq!(two("a,bcd"), "a,bcd");
    assert_ne!(two("\"a,b\",c"), two("a,\"b,c\""));
    let list = |record| key(&keys(Syntax::JsonLines, &["a", "b"]), &[], record).unwrap();
    assert_eq!(list(r#"{"b":2,"a":"x\"y"}"#), r#"["x\"y","2"]"#);
}

#[test]
fn case_and_blanks_are_left_out_on_request() {
    let folded = |syntax, record| {
        let keys = Keys {
            ignores_case: true,
            trims: true,
            ..keys(syntax, &["2"])
        };
        key(&keys, &[1], record).unwrap()
    };
    assert_eq!(
        folded(Syntax::Delimited(b'\t'), "A\t Bc\u{c4} \tD"),
        "bc\u{c4}"
    );
    assert_eq!(
        folded(Syntax::Csv(Dialect::new(b',')), "A,\" B \"\"C \",D"),
        "\"b \"\"c\""
    );
    assert_eq!(folded(Syntax::Csv(Dialect::new(b',')), "A,\" B \",D"), "b");
    let whole = Keys {
        ignores_case: true,
        ..Keys::default()
    };
    assert_eq!(key(&whole, &[], " A,b").unwrap(), " a,b");
}

#[test]
fn a21_runs_of_blanks_are_one_blank_on_request() {
    let of = |(ignores_case, trims): (bool, bool), syntax, names: &[&str], record: &str| {
        let keys = Keys {
            ignores_case,
            trims,
            squeezes: true,
            ..keys(syntax, names)
        };
        let numbers: Vec<u32> = (0..names.len() as u32).collect();
        key(&keys, &numbers, record).unwrap()
    };
    let (plain, trimmed, all) = ((false, false), (false, true), (true, true));
    let csv = Syntax::Csv(Dialect::new(b','));
    for (rules, syntax, names, record, expected) in [
        (plain, Syntax::Whole, &[][..], "  a \t b\tc\t ", " a b c "),
        (trimmed, Syntax::Whole, &[], "  a \t b\tc\t ", "a b c"),
        (
            plain,
            Syntax::Whole,
            &[],
            "\u{a0}é\u{3000}\r",
            "\u{a0}é\u{3000}\r",
        ),
        (trimmed, Syntax::Whole, &[], " \t ", ""),
        (plain, Syntax::Delimited(b'\t'), &["1"], "A  B\t", "A B"),
        (all, csv, &["1"], "\" A  \n\t \"\"b\",", "\"a \n \"\"b\""),
        (plain, csv, &["1", "2"], "a  b,\"c \t d\"", "a b,c d"),
        (
            all,
            Syntax::JsonLines,
            &["a"],
            r#"{"a": " \u00e9\t\u0020 X "}"#,
            "é x",
        ),
        (
            plain,
            Syntax::JsonLines,
            &["a"],
            r#"{"a":"x  \n\t y"}"#,
            r#""x \n y""#,
        ),
        (
            plain,
            Syntax::JsonLines,
            &["a", "b"],
            r#"{"a":"x\t\ty","b":1}"#,
            r#"["x y","1"]"#,
        ),
    ] {
        assert_eq!(of(rules, syntax, names, record), expected, "{record:?}");
    }
    // In names, too.
    let named = Keys {
        has_header: true,
        squeezes: true,
        ..keys(csv, &["last name"])
    };
    let header = HeaderRecord {
        record: b"id,last \t name".to_vec(),
    };
    let columns = named.columns(1, Some(&header), std::path::Path::new("f.csv"));
    let mut built = Vec::new();
    assert_eq!(
        columns.unwrap().key(b"7,x  y", &mut built),
        Ok(Key::Built(0..3))
    );
    // No field gets a delimiter that it has not.
    let blank = Syntax::Delimited(b' ');
    let two = |record| of(plain, blank, &["1", "2"], record);
    assert_ne!(two("a\tb c"), two("a b\tc"));
    assert_eq!(two("a\t\tb c"), two("a\tb c"));
    assert_eq!(of(plain, blank, &["1"], "a\t\tb c"), "a b");
}

#[test]
fn values_of_objects() {
    let of = |path: &str, record: &str| key(&keys(Syntax::JsonLines, &[path]), &[], record);
    let record = r#" {"a": {"b": "x\ty", "c": [1, {"b": 2}]}, "n": -1.50e3, "t": true, "z": null, "s": "A\"B", "l": "1\n2", "a.d": 1} "#;
    assert_eq!(of("a.b", record).unwrap(), "x\ty");
    assert_eq!(of("n", record).unwrap(), "-1.50e3");
    assert_eq!(of("t", record).unwrap(), "true");
    assert_eq!(of("s", record).unwrap(), "A\"B");
    // Written as it is, it would be two lines.
    assert_eq!(of("l", record).unwrap(), r#""1\n2""#);
    assert_eq!(of("z", record), Err(Bad::NoField(0)));
    assert_eq!(of("a.x", record), Err(Bad::NoField(0)));
    assert_eq!(of("n.x", record), Err(Bad::NoField(0)));
    assert_eq!(of("a", record), Err(Bad::NoValue(0)));
    assert_eq!(of("a.c", record), Err(Bad::NoValue(0)));
    for bad in [
        "",
        "[1]",
        "{",
        r#"{"a":1} x"#,
        r#"{"a":}"#,
        "7",
        "{\"a\":\"\u{0}\"}",
    ] {
        assert_eq!(of("a", bad), Err(Bad::NoObject), "{bad:?}");
    }
    for (bad, expected) in [
        (r#"{"a":NaN}"#, Bad::NoNumber(5)),
        (r#"{"a":-Infinity}"#, Bad::NoNumber(5)),
        (r#"{"b":[1, Infinity],"a":1}"#, Bad::NoNumber(9)),
        (r#"{"b":{"c":NaN},"a":1}"#, Bad::NoNumber(10)),
        (r#"{"a": Nan}"#, Bad::NoObject),
        (r#"{"a":"\ud800"}"#, Bad::NoCharacter(0)),
        (r#"{"a":"x\udc00y"}"#, Bad::NoCharacter(0)),
        (r#"{"a":"\ud800\u0041"}"#, Bad::NoCharacter(0)),
        (r#"{"a":"\ud8"}"#, Bad::NoObject),
    ] {
        assert_eq!(of("a", bad), Err(expected), "{bad:?}");
    }
    // In text that is not read they do not matter.
    let record = r#"{"b":"\ud800 NaN","a":1}"#;
    assert_eq!(of("a", record).as_deref(), Ok("1"));
}

#[test]
fn a21_a_text_in_quotes_is_the_key_as_it_stands_only_if_nothing_of_it_changes() {
    let record = r#"{"a":"A\nB ","b":"C\nD"}"#;
    let of = |keys: Keys| key(&keys, &[], record).unwrap();
    let plain = keys(Syntax::JsonLines, &["a"]);
    assert_eq!(of(plain.clone()), r#""A\nB ""#);
    let folded = Keys {
        ignores_case: true,
        ..plain.clone()
    };
    assert_eq!(of(folded), r#""a\nb ""#);
    let trimmed = Keys {
        trims: true,
        ..plain.clone()
    };
    assert_eq!(of(trimmed), r#""A\nB""#);
    assert_eq!(
        of(keys(Syntax::JsonLines, &["b", "a"])),
        r#"["C\nD","A\nB "]"#
    );
    // A copy has a limit.
    let long = format!(r#"{{"a":"x\n{}"}}"#, "y".repeat(300 << 10));
    assert_eq!(
        key(&plain, &[], &long).map(|key| key.len()),
        Ok((300 << 10) + 5)
    );
    let copied = long.replace("x\\n", "\\u0078\\n");
    assert_eq!(key(&plain, &[], &copied), Err(Bad::LongKey));
}

#[test]
fn names_are_looked_up_in_the_header() {
    let path = std::path::Path::new("f.csv");
    let header = |record: &str| HeaderRecord {
        record: record.as_bytes().to_vec(),
    };
    let keys = Keys {
        has_header: true,
        ..keys(Syntax::Csv(Dialect::new(b',')), &["url", "3"])
    };
    let columns = keys
        .columns(1, Some(&header("\u{feff}\"url\",x,y\r")), path)
        .unwrap();
    let mut built = Vec::new();
    assert_eq!(columns.key(b"a,b,c", &mut built), Ok(Key::Built(0..3)));
    assert_eq!(built, b"a,c");
    for (names, expected) in [
        ("a,b", "f.csv: no field is called url: name one of: a, b"),
        (
            "url,url",
            "f.csv: two fields are called url: give the number of the field",
        ),
    ] {
        let error = keys.columns(1, Some(&header(names)), path).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    // An empty file has no header, and no record either.
    assert!(keys.columns(1, None, path).is_ok());
    let headless = Keys {
        has_header: false,
        ..keys
    };
    let error = headless.columns(1, None, path).unwrap_err();
    assert!(
        error.to_string().contains("the files have no header"),
        "{error}"
    );
}

#[test]
fn fields_are_numbers_or_names() {
    assert_eq!("7".parse(), Ok(Field::Number(7)));
    assert_eq!("a7".parse(), Ok(Field::Name("a7".into())));
    for wrong in ["", "0", "4294967296"] {
        assert!(wrong.parse::<Field>().is_err(), "{wrong}");
    }
}
