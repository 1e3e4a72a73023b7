//! A queue of a model run, for any number of senders and receivers.
//!
//! *Owns:* what the engine uses of `crossbeam-channel`, built from a lock and a condition variable.
//! *Invariants:* as there: messages arrive in the order in which they were sent. Without senders, receiving
//! fails once the queue is empty. Without receivers, sending fails, and what is in the queue is dropped.
//!
//! A method that is not described does what the method of `crossbeam-channel` with its name does. All waiting
//! threads, senders and receivers, wait for one condition and are woken by every change. That is more than
//! they need, but a model run has only a few threads, and no wake-up can reach the wrong one.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use crossbeam_channel::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError,
};

use super::lock::{Condvar, Mutex, MutexGuard};

/// The state that both ends share.
struct SharedChannel<T> {
    state: Mutex<ChannelState<T>>,
    /// Notified whenever a message comes or goes, and when an end is dropped.
    changed: Condvar,
}

struct ChannelState<T> {
    /// Messages, the oldest first.
    queue: VecDeque<T>,
    /// The most messages at a time.
    room: usize,
    /// Live senders; with 0 no message can come.
    senders: usize,
    /// Live receivers; with 0 no message can be taken.
    receivers: usize,
}

impl<T> SharedChannel<T> {
    /// Waits for a change, or for the limit if there is one; returns true if the time ran out.
    fn wait(&self, state: &mut MutexGuard<'_, ChannelState<T>>, limit: Option<Duration>) -> bool {
        match limit {
            Some(limit) => self.changed.wait_for(state, limit),
            None => {
                self.changed.wait(state);
                false
            }
        }
    }
}

/// Makes a queue with room for `room` messages, at least 1. A queue without room, in which a sender waits for its
/// receiver, is not modeled.
pub(crate) fn bounded<T>(room: usize) -> (Sender<T>, Receiver<T>) {
    assert!(room > 0, "a queue without room is not modelled");
    let state = ChannelState {
        queue: VecDeque::new(),
        room,
        senders: 1,
        receivers: 1,
    };
    let shared = Arc::new(SharedChannel {
        state: Mutex::new(state),
        changed: Condvar::new(),
    });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

/// Makes a queue with room for any number of messages.
pub(crate) fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    bounded(usize::MAX)
}

/// The end that messages go into. Clones count: when the last one is dropped, receivers learn that no message
/// will come.
pub(crate) struct Sender<T>(Arc<SharedChannel<T>>);

impl<T> Sender<T> {
    pub(crate) fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.push(message, None)
            .map_err(|failed| SendError(failed.into_inner()))
    }

    pub(crate) fn send_timeout(
        &self,
        message: T,
        limit: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        self.push(message, Some(limit))
    }

    /// Returns true if all messages were taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.state.lock().queue.is_empty()
    }

    /// Appends a message; waits for room, for as long as `limit` if there is one.
    fn push(&self, message: T, limit: Option<Duration>) -> Result<(), SendTimeoutError<T>> {
        let mut state = self.0.state.lock();
        let mut is_over = false;
        while state.receivers > 0 && state.queue.len() >= state.room {
            if is_over {
                return Err(SendTimeoutError::Timeout(message));
            }
            is_over = self.0.wait(&mut state, limit);
        }
        if state.receivers == 0 {
            return Err(SendTimeoutError::Disconnected(message));
        }
        state.queue.push_back(message);
        drop(state);
        self.0.changed.notify_all();
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.state.lock().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.state.lock().senders -= 1;
        self.0.changed.notify_all();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sender")
    }
}

/// The end that messages come out of. Each message goes to one of the clones.
pub(crate) struct Receiver<T>(Arc<SharedChannel<T>>);

impl<T> Receiver<T> {
    /// Returns true if all messages were taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.state.lock().queue.is_empty()
    }

    pub(crate) fn recv(&self) -> Result<T, RecvError> {
        self.receive(None).map_err(|_| RecvError)
    }

    /// Takes a message that is there already; never waits.
    pub(crate) fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.0.state.lock();
        let Some(message) = state.queue.pop_front() else {
            let is_closed = state.senders == 0;
            return Err(if is_closed {
                TryRecvError::Disconnected
            } else {
                TryRecvError::Empty
            });
        };
        drop(state);
        self.0.changed.notify_all();
        Ok(message)
    }

    pub(crate) fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        self.receive(Some(limit))
    }

    /// Takes the next message; waits for it, for as long as `limit` if there is one.
    fn receive(&self, limit: Option<Duration>) -> Result<T, RecvTimeoutError> {
        let mut state = self.0.state.lock();
        let mut is_over = false;
        loop {
            if let Some(message) = state.queue.pop_front() {
                drop(state);
                self.0.changed.notify_all();
                return Ok(message);
            }
            if state.senders == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            if is_over {
                return Err(RecvTimeoutError::Timeout);
            }
            is_over = self.0.wait(&mut state, limit);
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.0.state.lock().receivers += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.receivers -= 1;
        let unread = if state.receivers == 0 {
            std::mem::take(&mut state.queue)
        } else {
            VecDeque::new()
        };
        drop(state);
        // Not under the lock: what a message holds may take others.
        drop(unread);
        self.0.changed.notify_all();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Receiver")
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Messages<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        Messages(self)
    }
}

/// Yields messages until there are no more senders; waits for each.
pub(crate) struct Messages<'a, T>(&'a Receiver<T>);

impl<T> Iterator for Messages<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}
