//! The options that each workload stands for.
//!
//! *Owns:* these values. *Invariants:* a workload differs from the plain one only by what its name says. *Cost:* none.

use crate::amount::{Amount, Share};
use crate::bucket::OneBucket;
use crate::options::{Crlf, Form, Length, Options, Order, Terminator};
use crate::workload::Workload;

impl Options {
    /// Returns the options that `workload` stands for.
    pub fn of(workload: Workload) -> Self {
        let mut options = Self::plain(workload);
        match workload {
            Workload::Urls => {}
            Workload::Disjoint => options.common = Amount::Count(0),
            Workload::Identical => options.common = Amount::Share(Share::percent(100)),
            Workload::Duplicates => options.duplicates = Share::percent(30),
            Workload::Hot => options.hot = Share::percent(99),
            Workload::Zipf => {
                options.duplicates = Share::percent(80);
                options.zipf = Some(1.0);
            }
            Workload::Long => options.long = Share::percent(1),
            Workload::Prefix => options.prefix = 2000,
            Workload::Short => options.form = Form::Token,
            Workload::Bytes => options.form = Form::Bytes,
            Workload::Crlf => options.crlf = Crlf::Only(0),
            Workload::CrlfAll => options.crlf = Crlf::All,
            Workload::NoFinalNewline => options.final_newline = false,
            Workload::Empty => options.empty_lines = Share::percent(5),
            Workload::Nul => options.terminator = Terminator::Nul,
            Workload::Many => options.lines = vec![1_000_000; 5],
            Workload::Lopsided => options.lines = vec![100_000, 10_000_000],
            Workload::Bucket => {
                options.bucket = Some(OneBucket::default());
                options.lines = vec![20_000; 2];
            }
            Workload::Mixed => {
                options.lines = vec![1_000_000; 3];
                options.duplicates = Share::percent(20);
                options.zipf = Some(1.2);
                options.hot = Share::percent(30);
                options.long = Share::percent(1);
                options.longest = 64 << 10;
                options.empty_lines = Share::percent(2);
                options.final_newline = false;
            }
        }
        options
    }

    /// Two files of a million distinct URLs each.
    fn plain(workload: Workload) -> Self {
        Self {
            workload,
            seed: 1,
            lines: vec![1_000_000; 2],
            common: Amount::Share(Share::percent(10)),
            partial: Share::percent(10),
            duplicates: Share::ZERO,
            zipf: None,
            hot: Share::ZERO,
            hot_private: false,
            empty_lines: Share::ZERO,
            form: Form::Url,
            length: Length::Drawn,
            long: Share::ZERO,
            longest: 1 << 20,
            prefix: 0,
            crlf: Crlf::None,
            final_newline: true,
            terminator: Terminator::Lf,
            order: Order::Shuffled,
            bucket: None,
        }
    }
}
