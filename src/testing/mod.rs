//! Doors for tests and benchmarks: to private types ([`internals`]), and the engine's threads under a model
//! checker (`schedules`). Nothing of it is in a build without the features.

#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
#[cfg(all(test, feature = "schedules"))]
mod schedules;
