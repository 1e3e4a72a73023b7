//! The whole engine against the oracle, for small cases.

use super::sandbox;
use crate::choices::Choices;
use crate::generate;
use crate::judge::{Tally, first_difference};
use crate::lines::Scale;
use crate::run::Runner;
use crate::script::script;

/// Runs the case that the bytes describe.
///
/// # Panics
/// Where an answer is not right.
pub fn engine(data: &[u8]) {
    let sandbox = sandbox();
    // What a fuzzer's own runtime takes is no part of a run.
    let runner = Runner {
        sandbox: &sandbox,
        measures_memory: false,
    };
    let case = generate::case(&mut Choices::from_bytes(data), Scale::FUZZED);
    let found = first_difference(&runner, &case, &mut Tally::default());
    match found {
        Ok(None) => {}
        Ok(Some(found)) => {
            let case = case.with_setting(found.setting);
            panic!("{}\n{:?}\n{}", found.wrong, found.setting, script(&case));
        }
        Err(error) => panic!("the files of a case cannot be made: {error}"),
    }
}
