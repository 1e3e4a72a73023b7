//! The text of one URL around its token.
//!
//! *Owns:* scheme, host, path and the shape of the end: `https://www.lomar.com/green-tea/best-guide/TOKEN`.
//!
//! *Invariants.* The URL has exactly the length asked for, [`Urls::least`] or more; everything but
//! the token is drawn from the line's stream. The token ends the line or stands before `.html`.
//!
//! *Cost:* 30 to 40 ns for 64 bytes, 0.3 ns for each further byte; no memory but the shared prefix.
//!
//! *Sources:* hosts are drawn from a million by a law in which the probability of a rank falls with
//! its inverse, as page visits do (Adamic and Huberman, "Zipf's law and the Internet", 2002).

use crate::chunk::SLACK;
use crate::seed::{Stream, mix};
use crate::words::{ENDINGS, Piece, SUBDOMAINS, SYLLABLES, WORDS};

/// The scheme and the shortest host: `https://a.io`.
const LEAST_HEAD: usize = 12;

/// The shortest shared prefix: any scheme and host, and some path.
pub(crate) const LEAST_PREFIX: usize = 64;

/// There are `2^HOST_BITS` ranks of hosts.
const HOST_BITS: u64 = 20;

/// The ending that may follow the token.
pub(crate) const SUFFIX: &[u8] = b".html";

const HTTPS: Piece = Piece::new("https://");
const HTTP: Piece = Piece::new("http://");
const SHORT_ENDING: Piece = Piece::new(".io");
const NONE: Piece = Piece::new("");
const HTML: Piece = Piece::new(".html");
const SLASH: Piece = Piece::new("/");
const SLASH_S: Piece = Piece::new("/s");
const DASH: Piece = Piece::new("-");
const ID: Piece = Piece::new("?id=");
const PAGE_ID: Piece = Piece::new("?p=2&id=");

/// The pieces before and after the token, each pair as often as here.
static SHAPES: [(Piece, Piece); 16] = [
    (SLASH, NONE),
    (SLASH, NONE),
    (SLASH, NONE),
    (SLASH, NONE),
    (SLASH, NONE),
    (SLASH, NONE),
    (SLASH, HTML),
    (DASH, NONE),
    (DASH, NONE),
    (DASH, NONE),
    (DASH, HTML),
    (DASH, HTML),
    (ID, NONE),
    (ID, NONE),
    (ID, NONE),
    (PAGE_ID, NONE),
];

/// Writes the URLs of one run.
#[derive(Debug, Clone)]
pub(crate) struct Urls {
    host_key: u64,
    prefix: Vec<u8>,
}

impl Urls {
    /// URLs with hosts from `host_key` that all start with the same `prefix` bytes, if not 0.
    pub(crate) fn new(host_key: u64, prefix_key: u64, prefix: usize) -> Self {
        let mut urls = Self {
            host_key,
            prefix: Vec::new(),
        };
        if prefix > 0 {
            let mut line = vec![0; prefix + SLACK];
            let mut stream = Stream::new(prefix_key);
            let head = urls.head(&mut line, prefix, &mut stream);
            fill(&mut line, head, prefix, &mut stream);
            line.truncate(prefix);
            urls.prefix = line;
        }
        urls
    }

    /// The least length of a URL whose token takes `token` bytes.
    pub(crate) fn least(&self, token: usize) -> usize {
        let head = if self.prefix.is_empty() {
            LEAST_HEAD
        } else {
            self.prefix.len()
        };
        head + 1 + token
    }

    /// Writes a URL of `length` bytes with a gap of `token` bytes; returns where the gap starts.
    #[inline]
    pub(crate) fn write(
        &self,
        line: &mut [u8],
        length: usize,
        token: usize,
        stream: &mut Stream,
    ) -> usize {
        let head = if self.prefix.is_empty() {
            self.head(line, length - token - 1, stream)
        } else {
            line[..self.prefix.len()].copy_from_slice(&self.prefix);
            self.prefix.len()
        };
        let room = length - head - token;
        let (mut before, mut behind) = SHAPES[(stream.next() & 15) as usize];
        if before.len() + behind.len() + 4 > room {
            // Too little path to hang a query on. With two bytes of room a slash alone would leave
            // one for the path, and two slashes would meet.
            before = if room == 2 { SLASH_S } else { SLASH };
            behind = NONE;
        }
        let path = length - token - before.len() - behind.len();
        fill(line, head, path, stream);
        let gap = before.put(line, path);
        behind.put(line, gap + token);
        gap
    }

    /// Writes scheme and host in at most `room` bytes; returns where they end.
    #[inline]
    fn head(&self, line: &mut [u8], room: usize, stream: &mut Stream) -> usize {
        let word = stream.next();
        let scheme = if word & 15 < 1 { HTTP } else { HTTPS };
        let at = scheme.put(line, 0);
        let host = mix(self.host_key ^ host_rank(word));
        let piece = |table: &[Piece; 64], shift: u32| table[((host >> shift) & 63) as usize];
        let subdomain = SUBDOMAINS[(host >> 60) as usize];
        let ending = ENDINGS[((host >> 56) & 15) as usize];
        let third = if (host >> 54) & 3 < 1 {
            NONE
        } else {
            piece(&SYLLABLES, 12)
        };
        let parts = [
            subdomain,
            piece(&SYLLABLES, 0),
            piece(&SYLLABLES, 6),
            third,
            ending,
        ];
        if at + parts.iter().map(|part| part.len()).sum::<usize>() > room {
            let at = parts[1]
                .clipped(room - at - SHORT_ENDING.len())
                .put(line, at);
            return SHORT_ENDING.put(line, at);
        }
        parts.iter().fold(at, |at, part| part.put(line, at))
    }
}

/// A rank in `1..2^HOST_BITS`: a uniform number of bits, then uniform among the ranks with that number of bits.
#[inline]
fn host_rank(word: u64) -> u64 {
    let bits = ((word >> 32) * HOST_BITS) >> 32;
    let leading = 1 << bits;
    leading | ((word >> 8) & (leading - 1))
}

/// Fills `from..to` with `/word-word/word`. The last byte is never a separator.
#[inline]
fn fill(line: &mut [u8], from: usize, to: usize, stream: &mut Stream) {
    let mut at = from;
    while at < to {
        let mut bits = stream.next();
        for _ in 0..8 {
            if at >= to {
                break;
            }
            let slash = at == from || bits & 0xc0 == 0;
            let word = WORDS[(bits & 63) as usize];
            at = word.led_by(if slash { b'/' } else { b'-' }).put(line, at);
            bits >>= 8;
        }
    }
    if to > from && matches!(line[to - 1], b'/' | b'-') {
        line[to - 1] = b's';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_from_the_least_gives_one_path_without_empty_segments() {
        for prefix in [0, 64, 300] {
            let urls = Urls::new(1, 2, prefix);
            for length in urls.least(13)..urls.least(13) + 90 {
                let mut line = vec![0; length + SLACK];
                for seed in 0..50 {
                    let gap = urls.write(&mut line, length, 13, &mut Stream::new(seed));
                    line[gap..gap + 13].fill(b'0');
                    let text = String::from_utf8_lossy(&line[..length]);
                    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
                    let (host, path) = rest.split_once('/').unwrap_or_default();
                    assert!(host.contains('.') && !host.contains(['-', '?']), "{text}");
                    assert!(path.split('/').all(|part| !part.is_empty()), "{text}");
                }
            }
        }
    }

    #[test]
    fn few_hosts_get_much_of_the_traffic() {
        let mut stream = Stream::new(4);
        let popular = (0..10_000)
            .filter(|_| host_rank(stream.next()) < 1 << 10)
            .count();
        assert!((4_800..5_200).contains(&popular), "{popular}");
    }
}
