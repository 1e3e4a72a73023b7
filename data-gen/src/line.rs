//! From an identity to the bytes of its line, and back.
//!
//! *Owns:* the forms a line can have, and recognising a line.
//!
//! *Invariants.* A line is a pure function of the run's options and its identity. Every line holds
//! its token, so distinct identities have distinct lines. [`LineMaker::parse`] accepts a line only
//! if making its identity again gives the same bytes.
//!
//! *Cost:* 60 ns for 64 bytes; in one bucket of N, N times the hash of a line. No allocation.

use crate::bucket::{BucketSearch, COUNTER};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::identity::{Codec, FULL_WIDTH, Identity};
use crate::length::{LengthLaw, Usual};
use crate::options::{Form, Length, Options};
use crate::seed::{self, Purpose, Stream};
use crate::url::{LEAST_PREFIX, SUFFIX, Urls};

/// Makes the lines of one run.
#[derive(Debug)]
pub(crate) struct LineMaker {
    form: Form,
    codec: Codec,
    urls: Urls,
    lengths: LengthLaw,
    text_key: u64,
    /// The byte that no line may hold.
    terminator: u8,
    bucket: Option<BucketSearch>,
}

impl LineMaker {
    /// The lines of a run in which no class has more than `indexes` lines.
    pub(crate) fn new(options: &Options, indexes: u64) -> Result<Self> {
        let prefix = checked_prefix(options)?;
        let key = |purpose| seed::key(options.seed, purpose, 0);
        let codec = match options.form {
            Form::Token => Codec::shortest(key(Purpose::Token), options.lines.len(), indexes),
            Form::Url | Form::Bytes => Codec::full(key(Purpose::Token)),
        };
        let urls = Urls::new(key(Purpose::Host), key(Purpose::Prefix), prefix);
        let gap = codec.width() + if options.bucket.is_some() { COUNTER } else { 0 };
        let least = if options.form == Form::Url {
            urls.least(gap)
        } else {
            gap
        };
        Ok(Self {
            form: options.form,
            codec,
            lengths: length_law(options, prefix, least)?,
            urls,
            text_key: key(Purpose::Text),
            terminator: options.terminator.byte(),
            bucket: options.bucket.map(BucketSearch::new).transpose()?,
        })
    }

    /// Returns the number of lines that make about `bytes` bytes, without ever making many times more.
    pub(crate) fn lines_in(&self, bytes: usize) -> u64 {
        let typical = bytes / (self.lengths.typical() + 1);
        let safe = 16 * bytes / (self.lengths.most() + 1);
        typical.min(safe).max(1) as u64
    }

    /// Adds the line of `identity` to `chunk`, without a terminator.
    #[inline]
    pub(crate) fn write(&self, identity: Identity, chunk: &mut Chunk) {
        let packed = self.codec.pack(identity);
        let mut stream = Stream::new(self.text_key ^ packed);
        let length = self.lengths.draw(identity.index, &mut stream);
        let line = chunk.open(length);
        let counter = if self.bucket.is_some() { COUNTER } else { 0 };
        let gap = self.surround(line, length, counter + self.codec.width(), &mut stream);
        self.put_token(line, gap + counter, packed);
        if let Some(search) = &self.bucket {
            search.lead(&mut line[..length], gap);
        }
        chunk.close(length);
    }

    /// Writes everything but the gap of `gap` bytes; returns where that starts.
    #[inline]
    fn surround(&self, line: &mut [u8], length: usize, gap: usize, stream: &mut Stream) -> usize {
        let before = length - gap.min(length);
        match self.form {
            Form::Url => return self.urls.write(line, length, gap, stream),
            Form::Token => line[..before].fill(b'0'),
            Form::Bytes => fill_with_bytes(line, before, self.terminator, stream),
        }
        before
    }

    #[inline]
    fn put_token(&self, line: &mut [u8], at: usize, packed: u64) {
        let token = self.codec.encode(packed);
        let width = self.codec.width();
        if width == FULL_WIDTH {
            // A copy of constant length compiles to two stores.
            line[at..at + FULL_WIDTH].copy_from_slice(&token);
        } else {
            line[at..at + width].copy_from_slice(&token[FULL_WIDTH - width..]);
        }
    }

    /// The identity of a line that [`LineMaker::write`] made; whether such an identity belongs to
    /// the run is for the caller to judge. `spare` is memory to use.
    pub(crate) fn parse(&self, line: &[u8], spare: &mut Chunk) -> Option<Identity> {
        let plain = self.decode_at_end(line);
        let html = line
            .strip_suffix(SUFFIX)
            .and_then(|line| self.decode_at_end(line));
        plain.into_iter().chain(html).find(|&identity| {
            // A foreign line may name the longest line's identity: look at the length first.
            self.length_of(identity) == line.len() && {
                spare.clear();
                self.write(identity, spare);
                spare.as_bytes() == line
            }
        })
    }

    fn decode_at_end(&self, line: &[u8]) -> Option<Identity> {
        let at = line.len().checked_sub(self.codec.width())?;
        self.codec.decode(&line[at..])
    }

    fn length_of(&self, identity: Identity) -> usize {
        let mut stream = Stream::new(self.text_key ^ self.codec.pack(identity));
        self.lengths.draw(identity.index, &mut stream)
    }
}

fn checked_prefix(options: &Options) -> Result<usize> {
    let prefix = options.prefix as usize;
    if prefix > 0 && options.form != Form::Url {
        let problem = "only URLs have a shared prefix";
        return Err(Error::usage(
            "--prefix",
            problem,
            "leave it out or use --form url",
        ));
    }
    if (1..LEAST_PREFIX).contains(&prefix) {
        let problem = format!("{prefix} bytes do not hold a scheme and a host");
        return Err(Error::usage(
            "--prefix",
            problem,
            "use 64 bytes or more, or 0 for none",
        ));
    }
    Ok(prefix)
}

/// The law that the options ask for, in which no line is shorter than `least`.
fn length_law(options: &Options, prefix: usize, least: usize) -> Result<LengthLaw> {
    let usual = match (options.length, options.form) {
        (Length::Exact(length), _) => Usual::Exact(length as usize),
        (Length::Drawn, Form::Url) => Usual::Url(prefix),
        (Length::Drawn, Form::Token) => Usual::Exact(least),
        (Length::Drawn, Form::Bytes) => Usual::Uniform(least, 128),
    };
    if let Usual::Exact(length) = usual
        && length < least
    {
        let problem = format!("{length} bytes are too few, a line takes at least {least}");
        let advice = "ask for longer lines (--fixed counts the terminator, --length does not) or use --form token";
        return Err(Error::usage("--length", problem, advice));
    }
    if !options.long.is_zero() && (options.longest as usize) < least {
        let problem = format!(
            "{} bytes are too few, a line takes at least {least}",
            options.longest
        );
        return Err(Error::usage("--longest", problem, "ask for longer lines"));
    }
    Ok(LengthLaw::new(
        usual,
        options.long,
        least,
        options.longest as usize,
    ))
}

/// Any bytes but the terminator, carriage returns and invalid UTF-8 among them.
fn fill_with_bytes(line: &mut [u8], length: usize, terminator: u8, stream: &mut Stream) {
    for eight in line[..length.next_multiple_of(8)].chunks_exact_mut(8) {
        eight.copy_from_slice(&stream.next().to_le_bytes());
    }
    for byte in &mut line[..length] {
        *byte += u8::from(*byte == terminator);
    }
}
