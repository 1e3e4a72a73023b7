//! The frame of every page.
//!
//! *Owns:* head, style sheet, figures as JSON, and the order of things. *Invariants:* the page names
//! no other resource, and its own policy forbids browsers to load any or to run anything. *Cost:* 4 KiB, and the page
//! without the figures in memory; these are written one by one, for they may be many.

use std::io::{self, Write};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

use super::charts::colours;
use super::figures::embed;
use crate::cli::escaping::visible;

const STYLE: &str = include_str!("style.css");
/// Nothing may be loaded or run; styles are in the page itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The end of the last element, which has the figures.
const END: &str = "</script>";

/// Writes the whole page to `out`; `document` has all its figures.
pub(super) fn page(
    title: &str,
    lead: &Markup,
    sections: &Markup,
    document: &impl Serialize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let text = without_figures(title, lead, sections).into_string();
    let (before, after) = text.rsplit_once(END).unwrap_or((&text, ""));
    out.write_all(before.as_bytes())?;
    embed(document, &mut *out)?;
    write!(out, "{END}{after}")
}

fn without_figures(title: &str, lead: &Markup, sections: &Markup) -> Markup {
    let title = visible(title);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(colours())) (PreEscaped(STYLE)) }
            }
            body {
                header { h1 { (title) } (lead) }
                main { (sections) }
                footer {
                    p {
                        "Written by outset " (env!("CARGO_PKG_VERSION")) ". Sizes in KiB, MiB, GiB are powers of 1024. "
                        "All figures are in this file as JSON too, in the element with the id “report”."
                    }
                }
                script type="application/json" id="report" {}
            }
        }
    }
}

/// Makes a part of the page.
pub(super) fn section(title: &str, text: &str, content: &Markup) -> Markup {
    html! { section { h2 { (title) } p { (text) } (content) } }
}

/// Makes a picture with its title, a key to what is seen in it, and its table next to it.
pub(super) fn figure(title: &str, key: &Markup, picture: Option<Markup>, table: &Markup) -> Markup {
    html! { div.pair { (alone(title, key, picture)) div { (table) } } }
}

/// Makes a picture with its title and a key to what is seen in it, for a row of pictures whose tables are too wide to
/// stand next to them.
pub(super) fn alone(title: &str, key: &Markup, picture: Option<Markup>) -> Markup {
    match picture {
        Some(picture) => html! { figure { figcaption { (title) p { (key) } } (picture) } },
        None => html! { p.absent { (title) ": not enough data for a chart." } },
    }
}
