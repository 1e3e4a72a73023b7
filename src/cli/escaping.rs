//! Texts from outside: paths and lines that go to a terminal or into a page.
//!
//! *Owns:* escaping and shortening. *Invariants:* what comes out has no control characters, and none that
//! change the direction of what follows.

/// Tells whether a character cannot be seen, or changes the direction of text.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Returns the text with escapes in place of hidden characters.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Works as [`visible`], but returns at most `most` characters: `gap` stands for the middle of a longer text. Its
/// beginning says what it is, and its end tells files apart.
pub(crate) fn shortened(text: &str, most: usize, gap: &str) -> String {
    let characters: Vec<char> = visible(text).chars().collect();
    let gap_length = gap.chars().count();
    if characters.len() <= most {
        return characters.into_iter().collect();
    }
    if most < gap_length + 4 {
        return characters.into_iter().take(most).collect();
    }
    let room = most - gap_length;
    let head = characters.iter().take(room / 2).copied();
    let tail = &characters[characters.len() - (room - room / 2)..];
    head.chain(gap.chars())
        .chain(tail.iter().copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped() {
        assert_eq!(
            visible("a\tb\u{1b}[31m\u{202e}c\u{7f}"),
            r"a\tb\u{1b}[31m\u{202e}c\u{7f}"
        );
    }

    #[test]
    fn long_texts_lose_their_middle() {
        for (text, most, gap, expected) in [
            ("short", 9, "…", "short"),
            ("a long name.txt", 9, "…", "a lo….txt"),
            ("ééééééé", 5, "…", "éé…éé"),
            ("ééééééé", 4, "…", "éééé"),
            (
                "spill täglich-größer-als-erwartet",
                20,
                "..",
                "spill täg..-erwartet",
            ),
        ] {
            assert_eq!(shortened(text, most, gap), expected);
        }
    }

    #[test]
    fn texts_are_escaped_before_they_are_shortened() {
        assert_eq!(
            shortened("spill a\n\x1b[2J", 24, ".."),
            "spill a\\n\\u{1b}[2J"
        );
        assert_eq!(shortened(&"\x1b".repeat(30), 24, "..").chars().count(), 24);
    }
}
