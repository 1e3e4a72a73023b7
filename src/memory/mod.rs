//! Memory that grows with the input: who may have how much ([`budget`]), and the memory itself
//! ([`buffer`]).

pub mod budget;
pub mod buffer;
