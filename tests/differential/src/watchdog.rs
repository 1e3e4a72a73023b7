//! Ends the process when a case is stuck: a run that hangs says nothing.
//!
//! *Owns:* the thread that waits. *Invariants:* the last case that was begun is named. *Cost:* a thread that sleeps.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// No case takes nearly so long.
const STUCK: Duration = Duration::from_secs(300);

/// Waits for the next case.
#[derive(Debug)]
pub(crate) struct Watchdog(Sender<Option<u64>>);

impl Watchdog {
    /// Starts waiting.
    pub(crate) fn start(seed: u64) -> io::Result<Self> {
        let (sender, cases) = mpsc::channel();
        let wait = move || {
            let mut last = None;
            loop {
                match cases.recv_timeout(STUCK) {
                    Ok(Some(case)) => last = Some(case),
                    Err(RecvTimeoutError::Timeout) => {
                        eprintln!("stuck: --seed {seed} --case {}", last.unwrap_or(0));
                        std::process::abort();
                    }
                    Ok(None) | Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        std::thread::Builder::new()
            .stack_size(64 << 10)
            .spawn(wait)?;
        Ok(Self(sender))
    }

    /// A case begins.
    pub(crate) fn next(&self, case: u64) {
        let _ended = self.0.send(Some(case));
    }

    /// Nothing more is waited for.
    pub(crate) fn stop(&self) {
        let _ended = self.0.send(None);
    }
}
