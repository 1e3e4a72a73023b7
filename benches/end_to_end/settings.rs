//! What to run.
//!
//! *Owns:* the benchmark's options. *Invariants:* none of the lists is empty.

use std::path::PathBuf;

use data_gen::Workload;

use crate::Failure;

/// The options, as the page of the benchmark describes them.
pub(crate) struct Settings {
    pub(crate) lines: u64,
    pub(crate) directory: PathBuf,
    pub(crate) data: Option<PathBuf>,
    pub(crate) share: u64,
    pub(crate) memory: Option<u64>,
    pub(crate) strategies: Vec<String>,
    pub(crate) runs: usize,
    pub(crate) is_cold: bool,
    pub(crate) json: Option<PathBuf>,
    pub(crate) workloads: Vec<Workload>,
}

impl Settings {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut settings = Self {
            lines: 1_000_000,
            directory: std::env::temp_dir(),
            data: None,
            share: 40,
            memory: None,
            strategies: ["memory", "partition", "sieve", "bloom"]
                .map(String::from)
                .to_vec(),
            runs: 3,
            is_cold: false,
            json: None,
            workloads: Vec::new(),
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--lines" => settings.lines = outset::size::parse_count(value()?)?,
                "--dir" => settings.directory = value()?.into(),
                "--data" => settings.data = Some(value()?.into()),
                "--share" => settings.share = outset::size::parse_count(value()?)?.max(1),
                "--memory" => settings.memory = Some(outset::size::parse_bytes(value()?)?),
                "--strategies" => {
                    settings.strategies = value()?.split(',').map(String::from).collect();
                }
                "--runs" => settings.runs = value()?.parse::<usize>()?.max(1),
                "--cold" => settings.is_cold = true,
                "--json" => settings.json = Some(value()?.into()),
                name => {
                    let named = Workload::all()
                        .iter()
                        .find(|workload| workload.name() == name);
                    settings
                        .workloads
                        .push(*named.ok_or(format!("no workload is called {name}"))?);
                }
            }
        }
        if settings.workloads.is_empty() {
            settings.workloads = Workload::all().to_vec();
        }
        Ok(settings)
    }

    /// The limit for inputs of `bytes` bytes in all.
    pub(crate) fn limit(&self, strategy: &str, bytes: u64) -> u64 {
        match self.memory {
            Some(memory) => memory,
            // The memory strategy needs room for the smallest input; the others show what a limit
            // does.
            None if strategy == "memory" => bytes * 2 + (64 << 20),
            None => (bytes / self.share).max(16 << 20),
        }
    }
}
