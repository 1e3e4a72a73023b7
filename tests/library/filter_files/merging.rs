//! Filters that do not belong together (row I14 of the fault table): refused with the difference, and nothing is
//! changed.

use outset::filter::{Filter, Kind, Rules, Shape};
use outset::hash::LineHasher;
use outset::stored::merge;
use outset::{Error, ErrorKind, Interrupt, KeyForm, LineFormat};

use super::{budget, filled, line, open, rules, saved, small_shapes};
use crate::util::{MIB, Sandbox, beside_others, from_here};

/// Shapes and rules that differ from these in one thing each, and what that thing is called.
fn others(shape: Shape, rules: Rules) -> Vec<(Shape, Rules, &'static str)> {
    let format = |terminator, strip_cr| Rules {
        format: LineFormat {
            terminator,
            strip_cr,
            ..LineFormat::default()
        },
        ..rules
    };
    let key_form = |key_form| Rules { key_form, ..rules };
    let lines = KeyForm::default();
    let other_key = LineHasher::with_key([11, 22, 33, 45]);
    let mut others = vec![
        (shape, format(0, false), "the line format"),
        (shape, format(b'\n', true), "the line format"),
        (
            shape,
            key_form(KeyForm {
                ignores_case: true,
                ..lines
            }),
            "whether case is ignored",
        ),
        (
            shape,
            key_form(KeyForm {
                trims: true,
                ..lines
            }),
            "whether blanks are left out",
        ),
        (
            shape,
            key_form(KeyForm {
                squeezes: true,
                ..lines
            }),
            "whether runs of blanks count as one",
        ),
        (
            shape,
            Rules {
                hasher: other_key,
                ..rules
            },
            "the hash key",
        ),
    ];
    let kinds = small_shapes().into_iter();
    others.extend(
        kinds
            .filter(|other| other.kind != shape.kind)
            .map(|other| (other, rules, "kind")),
    );
    if shape.kind != Kind::Fingerprint {
        let cells = 2 * shape.cells;
        let hashes = shape.hashes + 1;
        others.push((Shape { cells, ..shape }, rules, "size"));
        others.push((
            Shape { hashes, ..shape },
            rules,
            "the number of hash functions",
        ));
    }
    others
}

fn assert_names(error: &Error, difference: &str) {
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    let message = error.to_string();
    let part = format!("differs from the first filter in {difference}");
    assert!(message.contains(&part), "{message}, not {difference}");
}

#[test]
fn i14_filters_that_differ_are_not_merged_and_stay_as_they_are() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let options = outset::Options {
        memory_bytes: Some(16 * MIB),
        ..sandbox.options()
    };
    for shape in small_shapes() {
        let mut filter = filled(shape, rules(), 40);
        let before = saved(&sandbox, &filter);
        let paths = [sandbox.path("one"), sandbox.path("other")];
        filter.save(&paths[0], &Interrupt::new()).unwrap();
        for (other_shape, other_rules, difference) in others(shape, rules()) {
            let other = filled(other_shape, other_rules, 10);
            assert_names(&filter.merge(&other).unwrap_err(), difference);
            assert!(
                saved(&sandbox, &filter) == before,
                "{shape:?}: {difference}"
            );

            other.save(&paths[1], &Interrupt::new()).unwrap();
            let stored = paths.each_ref().map(|path| open(path));
            let error = merge(&stored, &from_here(&options)).unwrap_err();
            assert_names(&error, difference);
            let name = paths[1].display().to_string();
            assert!(error.to_string().starts_with(&name), "{error}");
        }
    }
}

#[test]
fn a_table_of_digests_takes_another_of_any_size() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let shape = small_shapes()[4];
    let larger = Shape {
        cells: 5000,
        ..shape
    };
    for (to, from) in [(shape, larger), (larger, shape)] {
        let mut filter = filled(to, rules(), 40);
        let mut other = Filter::new(&budget(), from, rules()).unwrap();
        for number in 20..60 {
            other.insert(&line(number)).unwrap();
        }
        filter.merge(&other).unwrap();
        let found = |number: &u32| filter.contains(&line(*number));
        assert!((0..60).all(|number| found(&number)));
        assert_eq!(filter.keys(), 60);
        assert_eq!(saved(&sandbox, &filter)[32], 60);
    }
}
