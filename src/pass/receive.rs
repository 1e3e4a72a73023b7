//! The receive pass: frames of shards, checked and decoded, their lines hashed and appended to the buckets of their side.
//!
//! *Owns:* the way from frames to buckets. What [`spill`](crate::pass::spill) does for lines of one input, this does for
//! lines of all sides in one reading, because they come mixed:
//!
//! ```text
//!  read-0 ──frame──▶ bounded channel ──▶ worker: check, decode, hash, scatter ──full block──▶ spill-N ──▶ file
//!     ▲                                     │
//!     └────────────── empty buffer ◀────────┘
//!
//!  buckets of the writer   │ side 1: 0 .. B-1 │ side 2: B .. 2B-1 │ ...      B for each side, by the same hash
//! ```
//!
//! 1. `read-0` reads one frame after the other, of one source after the other. It counts what their headers say.
//! 2. A worker checks the frame and decodes it into a buffer of its own.
//! 3. It hashes the lines under the key of this run, which is not the key of the job: no hash of a bucket of the job has
//!    anything to do with the bucket that the lines are in.
//! 4. It appends them to the buckets of their side ([`ToBuckets`]).
//!
//! *Invariants:* every line of every frame is in its bucket, or the pass fails. The threads end as those of a
//! [`pipeline`](crate::pass::pipeline) do.
//!
//! *Cost:* one reading; the buffers of the layout, each as large as a decoded frame.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::batch::{Ordinals, Scratch, for_each_batch};
use crate::error::{Error, Result};
use crate::exchange::frame::{Header, MOST_DECODED};
use crate::exchange::totals::BucketTotals;
use crate::exchange::{Frame, Frames, bad_frames};
use crate::input::long_lines::LongLines;
use crate::input::placed::PlacedFailure;
use crate::memory::buffer::Buffer;
use crate::pass::spill::ToBuckets;
use crate::run::{Phase, Run};
use crate::spill::block::Records;
use crate::spill::writer::BucketWriter;
use crate::sys::first_error::{FirstFailure, PanicAlarm};
use crate::sys::sync::channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded};
use crate::sys::sync::thread;
use crate::sys::threads;

/// How often a waiting thread checks for the failure of another.
const LOOK_UP: Duration = Duration::from_millis(50);

/// What frames must be, to be received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    /// How many sides there are.
    pub(crate) sides: u32,
    /// The only bucket that they may be of, if there is one.
    pub(crate) bucket: Option<u32>,
}

/// What came.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// The job of all frames; `None` where none came.
    pub(crate) job: Option<u64>,
    /// What each side has.
    pub(crate) sides: Vec<BucketTotals>,
    /// The buckets of the frames.
    pub(crate) buckets: BTreeSet<u32>,
    /// Why the reading ended before the end. It counts if all frames before that were undamaged: of one that is damaged the
    /// job may be wrong that later ones are compared with.
    refusal: Option<Error>,
}

/// A frame on its way to a worker, and which of the sources it is of.
struct Arrival {
    /// Header and payload, which nobody has checked yet.
    frame: Frame,
    /// The index of the source, for its name in messages.
    source: usize,
    /// Whether its buffer is to be given back.
    is_pooled: bool,
}

/// Reads all frames of `sources` and appends their lines to `writer`, which has as many buckets for each side.
///
/// The life of a buffer, which is large enough for any frame that [`Sender`](crate::exchange) makes:
///
/// 1. `read-0` makes it, while fewer exist than the layout has chunks, or takes an empty one back.
/// 2. It reads a frame into it, looks at the header, and sends it to the workers as an [`Arrival`]. Where the
///    channel is full it waits: reading never runs further ahead than the buffers go.
/// 3. A worker goes through the lines and sends the empty buffer back. There is room in that channel for all
///    buffers, so this never waits.
///
/// A frame of one line that is longer than that has a buffer of its own, from the memory for long lines, which is
/// dropped after use.
///
/// After a failure the workers only give buffers back and `read-0` ends, so that no thread waits for another for
/// ever. The channel of arrivals closes when `read-0` drops its sender.
///
/// # Errors
/// The first failure of reading, of a frame, or of appending.
pub(crate) fn receive(
    run: &Run<'_>,
    phase: &Phase<'_>,
    mut sources: Vec<Box<dyn Frames + '_>>,
    expected: Expected,
    writer: &BucketWriter<'_>,
) -> Result<Received> {
    let placed = PlacedFailure::default();
    let failure = placed.first();
    let room = run
        .budget
        .split_off("long lines", run.layout.scan.long_line_bytes)?;
    let long_lines = LongLines::new(room, &run.layout, run.interrupt(), &placed);
    let names: Vec<_> = sources.iter().map(|it| it.name().to_owned()).collect();
    let buffers = run.layout.scan.chunk_buffers;
    let (full_sender, full) = bounded(buffers);
    let (empty_sender, empty) = bounded(buffers);
    let mut received = Received {
        sides: vec![BucketTotals::default(); expected.sides as usize],
        ..Received::default()
    };
    thread::scope(|scope| {
        let reader = Reader {
            run,
            expected,
            full: full_sender,
            empty: &empty,
            long_lines: &long_lines,
            failure,
            unmade: buffers,
        };
        let (sources, received) = (&mut sources, &mut received);
        let body = move || {
            // Noted as a failure when this thread unwinds: the workers would wait for its frames.
            let _alarm = PanicAlarm(failure);
            failure.record(reader.read_all(sources, received));
        };
        failure.record(threads::spawn(scope, "read-0", body));
        run.workers.run(failure, |found_work| {
            let mut worker = Worker {
                run,
                phase,
                sides: expected.sides,
                scratch: Scratch::default(),
                decoded: Buffer::new(&run.budget, "decoded frames", MOST_DECODED)?,
                to_buckets: ToBuckets::new(writer, run.hasher),
            };
            for arrival in &full {
                found_work();
                if !failure.has_failed() {
                    let done = worker.work(&arrival);
                    failure.record(done.map_err(|wrong| {
                        let name = &names[arrival.source];
                        wrong.unwrap_or_else(|what| bad_frames(name, arrival.frame.offset, what))
                    }));
                }
                if arrival.is_pooled {
                    let _has_room = empty_sender.send(arrival.frame.payload);
                }
            }
            failure.check()
        });
    });
    drop(long_lines);
    placed.into_unplaced()?;
    received.refusal.take().map_or(Ok(received), Err)
}

/// The thread that reads. What it borrows outlives the thread's scope.
struct Reader<'a> {
    run: &'a Run<'a>,
    /// What each frame is compared with before a worker sees it.
    expected: Expected,
    /// To the workers. The reader has the only sender: the channel ends with the reader.
    full: Sender<Arrival>,
    /// Buffers that workers have gone through.
    empty: &'a Receiver<Buffer>,
    /// Memory for frames that no pooled buffer holds.
    long_lines: &'a LongLines<'a>,
    /// The first failure of any thread, which ends the reading.
    failure: &'a FirstFailure,
    /// Buffers that may still be made: 0 to the chunk buffers of the layout.
    unmade: usize,
}

impl Reader<'_> {
    /// The body of `read-0`: all frames of all sources, in their order.
    ///
    /// A frame that is refused ends the reading without a failure. The workers still go through the frames
    /// before it: if one of them is damaged, that is the cause which is reported, and not the refusal.
    ///
    /// # Errors
    /// What reading a source reports, [`Error::Memory`] for a frame that is too long, and [`Error::Interrupted`]
    /// where another thread has failed.
    fn read_all(
        mut self,
        sources: &mut [Box<dyn Frames + '_>],
        received: &mut Received,
    ) -> Result<()> {
        for (source, frames) in sources.iter_mut().enumerate() {
            let name = frames.name().to_owned();
            let mut is_pooled = true;
            while let Some(frame) = frames.next(&mut |header, offset| {
                is_pooled = header.stored_bytes <= MOST_DECODED;
                if is_pooled {
                    self.take_buffer()
                } else {
                    self.long_lines.whole(&name, offset, header.stored_bytes)
                }
            })? {
                let place = (name.as_path(), frame.offset);
                if let Err(refusal) = self.expected.check(&frame.header, received, place) {
                    received.refusal = Some(what_is_wrong(&frame, place, refusal));
                    return Ok(());
                }
                received.count(&frame.header);
                self.send(Arrival {
                    frame,
                    source,
                    is_pooled,
                })?;
            }
        }
        Ok(())
    }

    /// A buffer to read into: an empty one, else a new one, else the next that a worker gives back.
    fn take_buffer(&mut self) -> Result<Buffer> {
        self.failure.check()?;
        if let Ok(buffer) = self.empty.try_recv() {
            return Ok(buffer);
        }
        if self.unmade > 0 {
            self.unmade -= 1;
            return Buffer::new(&self.run.budget, "frames", MOST_DECODED);
        }
        loop {
            self.failure.check()?;
            self.run.interrupt().check()?;
            match self.empty.recv_timeout(LOOK_UP) {
                Ok(buffer) => return Ok(buffer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Interrupted),
            }
        }
    }

    /// Hands a frame to the workers, waiting while they have as many as there is room for.
    fn send(&self, mut arrival: Arrival) -> Result<()> {
        loop {
            self.failure.check()?;
            match self.full.send_timeout(arrival, LOOK_UP) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(back)) => arrival = back,
                Err(SendTimeoutError::Disconnected(_)) => return Err(Error::Interrupted),
            }
        }
    }
}

impl Expected {
    /// Refuses a frame, at a place in its source, that cannot be received beside those before it.
    fn check(&self, header: &Header, received: &Received, place: (&Path, u64)) -> Result<()> {
        let Header {
            job, side, bucket, ..
        } = *header;
        let refuse = |what: String, advice: &str| {
            let (name, offset) = place;
            Err(Error::Usage {
                what: format!("{}: the frame at byte {offset} is {what}", name.display()),
                advice: advice.into(),
            })
        };
        if received.job.is_some_and(|other| other != job) {
            return refuse(
                "from a different job than those before it".into(),
                "give all shards of a job the same hash key and the same number of buckets",
            );
        }
        if side > self.sides {
            let there_are = match self.sides {
                1 => "there is only 1 side".to_owned(),
                sides => format!("there are only {sides} sides"),
            };
            return refuse(
                format!("from side {side}, but {there_are}"),
                "give the number of sides with `sides`",
            );
        }
        match self.bucket {
            Some(only) if only != bucket => refuse(
                format!("of bucket {bucket} instead of {only}"),
                "send each bucket to a join of its own, or leave out `bucket`",
            ),
            _ => Ok(()),
        }
    }
}

/// Why a frame is not received: because it is damaged, else because of `refusal`. A header that was damaged on its way looks
/// like one of another job, and the step that made it can be repeated.
fn what_is_wrong(frame: &Frame, (name, offset): (&Path, u64), refusal: Error) -> Error {
    let mut decoded = vec![0; MOST_DECODED as usize];
    match frame.open(&mut decoded) {
        Ok(_) => refusal,
        Err(what) => bad_frames(name, offset, what),
    }
}

impl Received {
    /// Counts what the header of an accepted frame says. Its content is compared with that by the workers.
    fn count(&mut self, header: &Header) {
        self.job = Some(header.job);
        self.buckets.insert(header.bucket);
        self.sides[header.side as usize - 1].count(header);
    }
}

/// What a worker has for itself.
struct Worker<'a> {
    run: &'a Run<'a>,
    /// Counts the bytes of frames and their lines.
    phase: &'a Phase<'a>,
    /// How many sides there are, 1 or more: the buckets of the writer are divided among them.
    sides: u32,
    scratch: Scratch,
    /// Room for a decoded payload: one frame at a time.
    decoded: Buffer,
    to_buckets: ToBuckets<'a>,
}

impl Worker<'_> {
    /// Checks and decodes a frame and appends its lines.
    ///
    /// # Errors
    /// What is wrong with the frame, in words; or any other error.
    fn work(&mut self, arrival: &Arrival) -> Result<(), Result<Error, &'static str>> {
        self.run.interrupt().check().map_err(Ok)?;
        let frame = &arrival.frame;
        let payload = frame.open(&mut self.decoded).map_err(Err)?;
        self.to_buckets.turn_to(frame.header.side - 1, self.sides);
        let to_buckets = &mut self.to_buckets;
        let appended = for_each_batch(
            Records(payload),
            Ordinals::None,
            None,
            &self.run.hasher,
            &mut self.scratch,
            |batch| {
                to_buckets
                    .append(batch, 0..batch.lines.len() as u32)
                    .map(|()| true)
            },
        );
        let lines = appended.map_err(Ok)?;
        if lines != u64::from(frame.header.records) {
            return Err(Err(
                "the frame has a different number of lines than its header says",
            ));
        }
        self.phase.advance(frame.header.stored_bytes, lines);
        Ok(())
    }
}
