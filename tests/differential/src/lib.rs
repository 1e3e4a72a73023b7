//! Random cases, run by every strategy and judged by a naive oracle.
//!
//! ```text
//!  seed or bytes ─▶ Choices ─▶ Case ─▶ Place (files, FIFOs) ─▶ engine, per setting ─▶ Answer
//!                                └───▶ oracle ──────────────────────────────▶ judge ◀┘
//!                                                            shrink, script ◀── what differs
//! ```
//!
//! *Owns:* the making of cases ([`generate`]), their running ([`run`]), the judgement ([`judge`]),
//! the smallest case that still fails ([`shrink`]) and its text ([`script`]); and the bodies of the
//! fuzz targets ([`targets`]), which the tests replay.
//!
//! *Invariants:* a case is a function of its seed alone. The oracle shares no code with the engine:
//! what a line is, it finds out by itself. *Cost:* the inputs in memory, some times over.

pub mod case;
pub mod choices;
pub mod counts;
pub mod filed;
pub mod generate;
pub mod judge;
pub mod keyed;
pub mod lines;
pub mod oracle;
pub mod resident;
pub mod run;
pub mod sandbox;
pub mod script;
pub mod settings;
pub mod shrink;
pub mod stored;
pub mod sweep;
pub mod targets;
pub mod wrong;
