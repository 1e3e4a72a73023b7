//! The inputs: their kinds, names and pieces.

mod closed;
mod compressed;
mod damaged;
mod headers;
mod identity;
mod keyed;
mod labels;
mod long_keys;
mod odd;
mod parquet;
mod parquet_types;
mod passed_over;
mod pieces;
mod ranked;
mod short;
mod sides;
mod sources;
mod via;
