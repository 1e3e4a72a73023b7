//! The pieces that hosts and paths are put together from.
//!
//! *Owns:* pieces and the word lists. *Invariant:* a piece has eight bytes at most and is always
//! written as eight: one store, no call. There must be room for them, see [`crate::chunk::SLACK`].
//! *Cost:* 1 to 2 ns a piece; the tables take 5 KiB.

/// A text of up to eight bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    bytes: [u8; 8],
    length: u8,
}

impl Piece {
    const EMPTY: Self = Self::new("");

    /// The piece for `text`; longer texts do not compile where the result is a constant.
    pub(crate) const fn new(text: &str) -> Self {
        let text = text.as_bytes();
        assert!(text.len() <= 8, "a piece has at most eight bytes");
        let mut bytes = [0; 8];
        let mut at = 0;
        while at < text.len() {
            bytes[at] = text[at];
            at += 1;
        }
        Self {
            bytes,
            length: text.len() as u8,
        }
    }

    /// Its length in bytes.
    #[inline]
    pub(crate) const fn len(self) -> usize {
        self.length as usize
    }

    /// Writes it at `at` and returns where it ends.
    #[inline]
    pub(crate) fn put(self, line: &mut [u8], at: usize) -> usize {
        line[at..at + 8].copy_from_slice(&self.bytes);
        at + self.len()
    }

    /// Returns the piece with another first byte.
    #[inline]
    pub(crate) fn led_by(self, first: u8) -> Self {
        let mut bytes = self.bytes;
        bytes[0] = first;
        Self { bytes, ..self }
    }

    /// The first bytes of it, `length` at most.
    #[inline]
    pub(crate) fn clipped(self, length: usize) -> Self {
        Self {
            length: self.len().min(length) as u8,
            ..self
        }
    }
}

/// The byte before the line feed in some files.
pub(crate) const CARRIAGE_RETURN: Piece = Piece::new("\r");

const fn pieces<const N: usize>(texts: [&str; N]) -> [Piece; N] {
    let mut pieces = [Piece::EMPTY; N];
    let mut at = 0;
    while at < N {
        pieces[at] = Piece::new(texts[at]);
        at += 1;
    }
    pieces
}

/// Words of paths, each behind a place for its separator.
pub(crate) static WORDS: [Piece; 64] = pieces([
    "-about", "-account", "-album", "-archive", "-article", "-author", "-best", "-blog", "-book",
    "-buy", "-car", "-catalog", "-city", "-cloud", "-code", "-coffee", "-data", "-day", "-design",
    "-detail", "-docs", "-energy", "-event", "-film", "-food", "-forum", "-free", "-game",
    "-garden", "-green", "-guide", "-health", "-help", "-history", "-home", "-hotel", "-image",
    "-item", "-job", "-light", "-list", "-map", "-market", "-music", "-news", "-offer", "-page",
    "-photo", "-post", "-price", "-product", "-recipe", "-review", "-sale", "-search", "-shop",
    "-sport", "-story", "-tag", "-team", "-topic", "-travel", "-video", "-world",
]);

/// Syllables of host names.
pub(crate) static SYLLABLES: [Piece; 64] = pieces([
    "al", "an", "bar", "bel", "bi", "bo", "cal", "co", "cor", "da", "del", "di", "do", "el", "en",
    "fa", "fin", "fo", "ga", "gen", "go", "ha", "hol", "in", "jo", "ka", "ken", "ki", "la", "lan",
    "len", "lo", "lu", "ma", "mar", "mi", "mon", "na", "nel", "no", "or", "pa", "pen", "po", "ra",
    "ren", "ri", "ro", "sa", "sel", "so", "sun", "ta", "tel", "ti", "tor", "u", "va", "ver", "vi",
    "web", "win", "ya", "zen",
]);

/// The pieces that may stand before a host name; most have nothing.
pub(crate) static SUBDOMAINS: [Piece; 16] = pieces([
    "", "", "", "", "", "", "", "www.", "www.", "www.", "www.", "m.", "blog.", "shop.", "api.",
    "en.",
]);

/// The pieces after it, each as often as here.
pub(crate) static ENDINGS: [Piece; 16] = pieces([
    ".com", ".com", ".com", ".com", ".com", ".com", ".org", ".org", ".net", ".net", ".de",
    ".co.uk", ".io", ".fr", ".info", ".ru",
]);
