//! Memory that grows with the input: who may have how much ([`budget`]), and the memory itself
//! ([`buffer`]).
//!
//! *Invariants:* a buffer reserves before it maps and unmaps before it returns its reservation. So the
//! buffers of a run never take more than its budget, at any moment.

pub mod budget;
pub mod buffer;
