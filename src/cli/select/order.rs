//! The order of a result, and the occurrence of each line that it keeps.
//!
//! *Owns:* [`OrderArguments`]: `--order` and its short forms, `--top`, and `--keep`. *Invariants:* what cannot be
//! combined is refused by the library, not here. *Cost:* none.

use clap::{Args, ValueEnum};
use outset::{Field, Options, Order, Ranking, Selection, Syntax};

use crate::cli::help::RESULT;

/// In which order the lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum OrderName {
    /// In the order in which they are found: fastest, and may differ from run to run
    #[default]
    Any,
    /// By their first occurrence, as if the FILEs were read one after another
    Input,
    /// By their bytes, as `LC_ALL=C sort` writes them
    Sorted,
    /// By their number of occurrences in all FILEs, most frequent first; lines with the same number by their bytes
    Count,
}

/// The occurrence of a line that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Keep {
    First,
    Last,
    None,
    Ranked(Ranking),
}

/// Reads `first`, `last`, `none`, `min:FIELD` or `max:FIELD`.
fn parse_keep(text: &str) -> Result<Keep, String> {
    let ranked = |field: &str, ranking: fn(Field) -> Ranking| {
        let field: Field = field.parse()?;
        Ok(Keep::Ranked(ranking(field)))
    };
    match (text, text.split_once(':')) {
        ("first", _) => Ok(Keep::First),
        ("last", _) => Ok(Keep::Last),
        ("none", _) => Ok(Keep::None),
        (_, Some(("min", field))) => ranked(field, Ranking::Least),
        (_, Some(("max", field))) => ranked(field, Ranking::Greatest),
        _ => Err("give first, last, none, min:FIELD or max:FIELD".into()),
    }
}

/// In which order the lines are written.
#[derive(Debug, Args)]
#[command(next_help_heading = RESULT)]
pub(crate) struct OrderArguments {
    /// Write the lines in this order
    ///
    /// Ordering takes extra time and an eighth of the memory limit (at most 1 GiB). A result larger than that is sorted
    /// on temporary disk. With `sorted`, plain files may be spilled in ranges of lines instead, each of which is sorted
    /// in memory. With `input`, each line on temporary disk takes 8 bytes more.
    /// Instead of sorting a large result, outset then reads files once more if that moves fewer bytes and a third of
    /// the memory limit has room for one bit for each of their lines, or for 16 bytes where files are compressed or
    /// have quoted fields.
    #[arg(long, value_name = "ORDER", default_value = "any")]
    order: OrderName,

    /// Write only the N most frequent lines, most frequent first
    ///
    /// This option implies --order count. With --count, each line comes after its number: `outset union --count --top
    /// 100 log` writes what `sort log | uniq -c | sort -rn | head -100` writes, but orders lines with the same number
    /// by their bytes. Memory holds N lines for each thread. If these do not fit, they are sorted on temporary disk.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    top: Option<u64>,

    /// Of the occurrences of a line, or of the records with the same key, keep this one
    ///
    /// WHICH is `first`, `last`, `none`, `min:FIELD` or `max:FIELD`. It matters where one record is written for each
    /// key (union, and --distinct), and for the place of a line with --order input or --out-dir. The lines of earlier
    /// FILEs come first: with `first`, name the FILE whose records are to win before the others. With `none`, lines
    /// that occur again are left out, as with --max-count 1.
    ///
    /// min:FIELD keeps the record with the smallest number in FIELD, which is named as with --key; max:FIELD the one
    /// with the largest. If several have it, the first of them stays. A record without a number there (the field is
    /// empty, missing in a JSON object, or null) stays only if no other with its key has one; any other text is an
    /// error (see --bad-records).
    #[arg(long, value_name = "WHICH", default_value = "first", conflicts_with_all = ["all", "max_count"], value_parser = parse_keep)]
    keep: Keep,

    /// The same as --order input
    #[arg(long, visible_alias = "maintain-order", conflicts_with = "order")]
    keep_order: bool,
}

impl OrderArguments {
    /// Tells whether lines must be put in an order other than that of the inputs.
    #[cfg(feature = "parquet")]
    pub(super) fn sorts_lines(&self) -> bool {
        self.top.is_some() || matches!(self.order, OrderName::Sorted | OrderName::Count)
    }

    /// Returns true if no occurrence is kept of what comes again.
    pub(super) fn keeps_none(&self) -> bool {
        self.keep == Keep::None
    }

    /// Returns the selection with the occurrences that these arguments keep.
    pub(crate) fn keep(&self, selection: Selection) -> Selection {
        match self.keep {
            Keep::First => selection,
            Keep::Last => selection.keeping_last(),
            Keep::None => selection.max_count(1),
            Keep::Ranked(_) => selection.keeping_ranked(),
        }
    }

    /// Returns the options with the number by which a record is kept. A file has a header if that is called by a name.
    pub(crate) fn add_to_options(&self, mut options: Options) -> Options {
        if let (Some(keys), Keep::Ranked(ranking)) = (&mut options.keys, &self.keep) {
            let has_columns = matches!(keys.syntax, Syntax::Csv(_) | Syntax::Delimited(_));
            keys.has_header |= has_columns && matches!(ranking.field(), Field::Name(_));
            keys.ranking = Some(ranking.clone());
        }
        options
    }

    /// Returns the selection with its lines in the order that these arguments ask for.
    pub(crate) fn add_to(&self, selection: Selection) -> Selection {
        let selection = match self.top {
            Some(lines) => selection.top(lines),
            None => selection,
        };
        selection.ordered(match self.order {
            _ if self.keep_order => Order::Input,
            OrderName::Any if self.top.is_some() => Order::Count,
            OrderName::Any => Order::Any,
            OrderName::Input => Order::Input,
            OrderName::Sorted => Order::Sorted,
            OrderName::Count => Order::Count,
        })
    }
}
