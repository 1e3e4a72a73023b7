//! The words that the command line takes and says.

mod arguments;
mod help;
mod manual;
mod readme;
mod requests;
