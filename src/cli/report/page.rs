//! The frame of every page.
//!
//! *Owns:* head, style sheet, figures as JSON, and the order of things. *Invariants:* the page names
//! no other resource, and its own policy forbids browsers to load any or to run anything. *Cost:* 4 KiB.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::charts::colours;
use super::figures::Figures;
use crate::cli::text::visible;

const STYLE: &str = include_str!("style.css");
/// Nothing may be loaded or run; styles are in the page itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The whole page.
pub(super) fn page(title: &str, lead: &Markup, sections: &Markup, figures: &Figures) -> String {
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
                script type="application/json" id="report" { (PreEscaped(figures.embedded())) }
            }
        }
    }
    .into_string()
}

/// A part of the page.
pub(super) fn section(title: &str, text: &str, content: &Markup) -> Markup {
    html! { section { h2 { (title) } p { (text) } (content) } }
}

/// A picture with its title, what is to be seen in it, and its table beside it.
pub(super) fn figure(title: &str, key: &Markup, picture: Option<Markup>, table: &Markup) -> Markup {
    html! { div.pair { (alone(title, key, picture)) div { (table) } } }
}

/// A picture with its title and what is to be seen in it, for a row of pictures whose tables are
/// too wide to stand beside them.
pub(super) fn alone(title: &str, key: &Markup, picture: Option<Markup>) -> Markup {
    match picture {
        Some(picture) => html! { figure { figcaption { (title) p { (key) } } (picture) } },
        None => html! { p.absent { (title) ": not enough data for a chart." } },
    }
}
