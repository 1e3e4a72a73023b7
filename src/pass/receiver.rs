//! The receive pass: frames of shards, checked and decoded, their lines hashed and appended to the buckets of their
//! side.
//!
//! *Owns:* the way from frames to buckets. What [`spill`](crate::pass::spill) does for lines of one input, this does
//! for lines of all sides in one reading, because they come mixed:
//!
//! ```text
//!  read-0 ──frame──▶ belt ──▶ worker: check, decode, hash, scatter ──full block──▶ spill-N ──▶ file
//!
//!  buckets of the writer   │ side 1: 0 .. B-1 │ side 2: B .. 2B-1 │ ...      B for each side, by the same hash
//! ```
//!
//! 1. `read-0` reads one frame after the other, of one source after the other. It counts what their headers say.
//! 2. A worker checks the frame and decodes it into a buffer of its own.
//! 3. It hashes the lines under the key of this run, which is not the key of the job: no hash of a bucket of the job
//!    has anything to do with the bucket that the lines are in.
//! 4. It appends them to the buckets of their side ([`ToBuckets`]).
//!
//! *Invariants:* every line of every frame is in its bucket, or the pass fails. The threads end as those of every
//! [`Belt`] do.
//!
//! *Cost:* one reading; the buffers of the layout, each as large as a decoded frame.

use std::collections::BTreeSet;
use std::path::Path;

use crate::batch::{Ordinals, Scratch, for_each_batch};
use crate::error::{Error, Result};
use crate::exchange::frame::{FrameHeader, MOST_DECODED};
use crate::exchange::totals::BucketTotals;
use crate::exchange::{Frame, Frames, bad_frames};
use crate::lines::prefixed::PrefixedLines;
use crate::memory::buffer::Buffer;
use crate::pass::spill::ToBuckets;
use crate::reading::failure::LocatedFailure;
use crate::reading::long_lines::LongLines;
use crate::run::{Phase, Run};
use crate::spill::writer::BucketWriter;
use crate::sys::belt::{Belt, Filled, Producer};
use crate::sys::sync::Mutex;

/// The properties that frames must have to be received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    /// The number of sides.
    pub(crate) sides: u32,
    /// The only bucket that they may be of, if there is one.
    pub(crate) bucket: Option<u32>,
}

/// The frames that came, added up.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// The job of all frames; `None` if none came.
    pub(crate) job: Option<u64>,
    /// The totals of each side.
    pub(crate) sides: Vec<BucketTotals>,
    /// The buckets of the frames.
    pub(crate) buckets: BTreeSet<u32>,
    /// The reason why the reading ended before the end. It counts only if all frames before it were undamaged: the
    /// job that later frames are compared with may come from a damaged one.
    refusal: Option<Error>,
}

/// A frame on its way to a worker, and which of the sources it is of.
struct Arrival {
    /// Header and payload, which nobody has checked yet.
    frame: Frame,
    /// The index of the source, for its name in messages.
    source: usize,
    /// True if its buffer is to be given back.
    is_pooled: bool,
}

impl Filled for Arrival {
    type Buffer = Buffer;

    fn into_spare(self) -> Option<Buffer> {
        self.is_pooled.then_some(self.frame.payload)
    }
}

/// Reads all frames of `sources` and appends their lines to `writer`, which has the same number of buckets for each
/// side.
///
/// A buffer is large enough for any frame that [`Sender`](crate::exchange) makes. A frame of one line that is longer
/// than that has a buffer of its own, from the memory for long lines, which is dropped after use.
///
/// # Errors
/// The first failure of reading, of a frame, or of appending.
pub(crate) fn receive(
    run: &Run<'_>,
    phase: &Phase<'_>,
    sources: Vec<Box<dyn Frames + '_>>,
    expected: Expected,
    writer: &BucketWriter<'_>,
) -> Result<Received> {
    let located = LocatedFailure::default();
    let room = run
        .budget
        .split_off("long lines", run.layout.scan.long_line_bytes)?;
    let long_lines = LongLines::new(room, &run.layout, run.interrupt(), &located);
    let names: Vec<_> = sources.iter().map(|it| it.name().to_owned()).collect();
    // Nobody waits for this lock: there is one reader.
    let reader = Mutex::new(Reader {
        run,
        expected,
        long_lines: &long_lines,
        sources,
        received: Received {
            sides: vec![BucketTotals::default(); expected.sides as usize],
            ..Received::default()
        },
    });
    let belt = Belt {
        buffers: run.layout.scan.chunk_buffers,
        readers: 1,
        workers: run.workers,
        failure: located.first(),
    };
    belt.run(
        &|workers| {
            let mut reader = reader.lock();
            reader.read_all(workers)
        },
        &|arrivals| {
            let mut worker = ReceiverWorker {
                run,
                phase,
                sides: expected.sides,
                scratch: Scratch::default(),
                decoded: Buffer::new(&run.budget, "decoded frames", MOST_DECODED)?,
                to_buckets: ToBuckets::new(writer, run.hasher),
            };
            arrivals.each(|arrival| {
                worker.work(arrival).map_err(|wrong| {
                    let name = &names[arrival.source];
                    wrong.unwrap_or_else(|what| bad_frames(name, arrival.frame.offset, what))
                })
            })
        },
    );
    let Reader { mut received, .. } = reader.into_inner();
    drop(long_lines);
    located.into_unlocated()?;
    received.refusal.take().map_or(Ok(received), Err)
}

/// The state of the thread that reads.
struct Reader<'a> {
    run: &'a Run<'a>,
    /// The properties that each frame is compared with before a worker sees it.
    expected: Expected,
    /// Memory for frames that no pooled buffer holds.
    long_lines: &'a LongLines<'a>,
    sources: Vec<Box<dyn Frames + 'a>>,
    received: Received,
}

impl Reader<'_> {
    /// Does the work of `read-0`: reads all frames of all sources, in their order.
    ///
    /// A frame that is refused ends the reading without a failure. The workers still go through the frames
    /// before it: if one of them is damaged, that is the cause which is reported, and not the refusal.
    ///
    /// # Errors
    /// What reading a source reports, [`Error::Memory`] for a frame that is too long, and [`Error::Interrupted`]
    /// where another thread has failed.
    fn read_all(&mut self, workers: &Producer<'_, Arrival>) -> Result<()> {
        let new_buffer = || Buffer::new(&self.run.budget, "frames", MOST_DECODED);
        let received = &mut self.received;
        for (source, frames) in self.sources.iter_mut().enumerate() {
            let name = frames.name().to_owned();
            let mut is_pooled = true;
            while let Some(frame) = frames.next(&mut |header, offset| {
                is_pooled = header.stored_bytes <= MOST_DECODED;
                if is_pooled {
                    workers.take(new_buffer)
                } else {
                    self.long_lines.whole(&name, offset, header.stored_bytes)
                }
            })? {
                let location = (name.as_path(), frame.offset);
                if let Err(refusal) = self.expected.check(&frame.header, received, location) {
                    received.refusal = Some(what_is_wrong(&frame, location, refusal));
                    return Ok(());
                }
                received.count(&frame.header);
                workers.send(Arrival {
                    frame,
                    source,
                    is_pooled,
                })?;
            }
        }
        Ok(())
    }
}

impl Expected {
    /// Refuses a frame, at a location in its source, that cannot be received after those before it.
    fn check(
        &self,
        header: &FrameHeader,
        received: &Received,
        location: (&Path, u64),
    ) -> Result<()> {
        let FrameHeader {
            job, side, bucket, ..
        } = *header;
        let refuse = |what: String, advice: &str| {
            let (name, offset) = location;
            Err(Error::usage(
                format!("{}: the frame at byte {offset} is {what}", name.display()),
                advice,
            ))
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

/// Says why a frame is not received: because it is damaged, else because of `refusal`. A header that was damaged on
/// its way looks like one of another job, and the step that made it can be repeated.
fn what_is_wrong(frame: &Frame, (name, offset): (&Path, u64), refusal: Error) -> Error {
    let mut decoded = vec![0; MOST_DECODED as usize];
    match frame.open(&mut decoded) {
        Ok(_) => refusal,
        Err(what) => bad_frames(name, offset, what),
    }
}

impl Received {
    /// Counts what the header of an accepted frame says. Its content is compared with that by the workers.
    fn count(&mut self, header: &FrameHeader) {
        self.job = Some(header.job);
        self.buckets.insert(header.bucket);
        self.sides[header.side as usize - 1].count(header);
    }
}

/// The state of a worker.
struct ReceiverWorker<'a> {
    run: &'a Run<'a>,
    /// The phase, in which the bytes of frames and their lines are counted.
    phase: &'a Phase<'a>,
    /// The number of sides, 1 or more: the buckets of the writer are divided among them.
    sides: u32,
    scratch: Scratch,
    /// Room for a decoded payload: one frame at a time.
    decoded: Buffer,
    to_buckets: ToBuckets<'a>,
}

impl ReceiverWorker<'_> {
    /// Checks and decodes a frame and appends its lines.
    ///
    /// # Errors
    /// What is wrong with the frame, in words; or any other error.
    fn work(&mut self, arrival: &Arrival) -> Result<(), Result<Error, &'static str>> {
        self.run.interrupt().check().map_err(Ok)?;
        let frame = &arrival.frame;
        let payload = frame.open(&mut self.decoded).map_err(Err)?;
        self.to_buckets.switch_to(frame.header.side - 1, self.sides);
        let to_buckets = &mut self.to_buckets;
        let appended = for_each_batch(
            PrefixedLines(payload),
            Ordinals::None,
            None,
            Some(&self.run.hasher),
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
