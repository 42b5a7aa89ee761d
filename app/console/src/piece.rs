//! Pieces that pages are made of: words of state, links, times, differences, YAML.

use maud::{Markup, PreEscaped, html};
use switchboard_kernel::diff::{LEFT_OUT, Line, Sign};
use switchboard_kernel::explain;
use switchboard_kernel::moment::Moment;
use switchboard_kernel::redact::HIDDEN;
use switchboard_kernel::resource::ObjectKey;
use switchboard_kernel::state::Word;

/// A state as a class of the stylesheet.
pub fn class(word: Word) -> &'static str {
    match word {
        Word::Ready => "ready",
        Word::Working => "working",
        Word::Waiting => "waiting",
        Word::Blocked => "blocked",
        Word::Failing => "failing",
    }
}

/// A shape for each state, so that nobody needs the colour.
fn shape(word: Word) -> &'static str {
    match word {
        Word::Ready => "<circle cx='5' cy='5' r='4.5' stroke='none'/>",
        Word::Working => "<path d='M5 .5a4.5 4.5 0 0 1 0 9z' stroke='none'/><circle cx='5' cy='5' r='4' fill='none'/>",
        Word::Waiting => "<circle cx='5' cy='5' r='4' fill='none' stroke-width='1.6'/>",
        Word::Blocked => "<path d='M5 .5 9.8 9.3H.2z' stroke='none'/>",
        Word::Failing => "<path d='m1.2 1.2 7.6 7.6M8.8 1.2 1.2 8.8' stroke-width='2.2'/>",
    }
}

/// A state: word and shape.
pub fn word(word: Word) -> Markup {
    let (class, shape) = (format!("word w-{}", class(word)), PreEscaped(shape(word)));
    html! { span class=(class) { svg viewBox="0 0 10 10" aria-hidden="true" { (shape) } (word.to_string()) } }
}

/// A number and its noun.
pub fn count(number: usize, noun: &str) -> String {
    explain::count(number, noun)
}

/// How long ago.
pub fn ago(now: Moment, at: Moment) -> Markup {
    let stamp = at.to_string();
    html! { time datetime=(stamp) title=(stamp) { (explain::span(now.since(at))) " ago" } }
}

/// One part of a path; slashes and the like are escaped.
pub fn escaped(part: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(part.len());
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => out.push(char::from(byte)),
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

/// Stands for no namespace in a path.
pub const NO_NAMESPACE: &str = "-";

/// The page of an object.
pub fn object_href(key: &ObjectKey) -> String {
    let namespace = if key.namespace.is_empty() { NO_NAMESPACE } else { &key.namespace };
    let (cluster, kind) = (&key.table.cluster.0, key.table.resource.to_string());
    format!("/objects/{}/{}/{}/{}", escaped(cluster), escaped(&kind), escaped(namespace), escaped(&key.name))
}

/// A link to an object.
pub fn object(key: &ObjectKey) -> Markup {
    html! { a.mono href=(object_href(key)) { (key.to_string()) } }
}

/// The page of an operator.
pub fn operator_href(name: &str) -> String {
    format!("/operators/{}", escaped(name))
}

/// What a write changes: added and removed lines are marked by sign and colour.
pub fn diff(lines: &[Line]) -> Markup {
    html! {
        div.diff tabindex="0" role="group" aria-label="What changes" {
            @for line in lines {
                @match line.sign {
                    Sign::Added => div.add { (line.to_string()) },
                    Sign::Removed => div.del { (line.to_string()) },
                    Sign::Same if line.text == LEFT_OUT => div.gap { (line.to_string()) },
                    Sign::Same => div { (line.to_string()) },
                }
            }
        }
    }
}

/// YAML with its keys told apart.
pub fn yaml(text: &str) -> Markup {
    html! {
        pre.code.yaml tabindex="0" role="group" aria-label="YAML" {
            code { @for line in text.lines() { (yaml_line(line)) "\n" } }
        }
    }
}

fn yaml_line(line: &str) -> Markup {
    let key = line.find(": ").or_else(|| line.strip_suffix(':').map(str::len)).filter(|end| {
        let name = line[..*end].trim_start_matches([' ', '-']);
        !name.is_empty() && !name.starts_with(['"', '\'', '|', '>', '#'])
    });
    let value = |text: &str| -> Markup {
        if text.contains(HIDDEN) {
            html! { span.h { (text) } }
        } else {
            html! { (text) }
        }
    };
    match key {
        Some(end) => html! { span.k { (line[..end]) } (value(&line[end..])) },
        None => value(line),
    }
}

/// How many lines of one label are shown before the rest is folded.
const MAX_LINES: usize = 5;
/// How wide labels are.
const LABEL: usize = 11;

/// `why` in words: the first line leads, labels stand back, and what is long is folded.
pub fn why(text: &str) -> Markup {
    let lines: Vec<&str> = text.lines().collect();
    let goes_on = |line: &&&str| line.len() > LABEL && line[..line.floor_char_boundary(LABEL)].trim().is_empty();
    let mut parts: Vec<&[&str]> = Vec::new();
    let mut rest = &lines[..];
    while !rest.is_empty() {
        let (part, after) = rest.split_at(1 + rest[1..].iter().take_while(goes_on).count());
        parts.push(part);
        rest = after;
    }
    html! {
        div.why.mono {
            @for (at, part) in parts.iter().enumerate() {
                @for line in part.iter().take(MAX_LINES) { (why_line(line, at == 0)) "\n" }
                @if part.len() > MAX_LINES {
                    details id=(format!("why-{at}")) {
                        summary { "and " (part.len() - MAX_LINES) " more" }
                        @for line in &part[MAX_LINES..] { (why_line(line, false)) "\n" }
                    }
                }
            }
        }
    }
}

fn why_line(line: &str, leads: bool) -> Markup {
    html! {
        @if leads {
            span.lead { (line) }
        } @else if let Some((label, rest)) = line.split_at_checked(LABEL).filter(|(label, _)| label.starts_with("  ")) {
            span.row { span.label { (label.trim()) } " " span { (rest) } }
        } @else {
            span { (line) }
        }
    }
}

/// What a person is told, with its commands as such.
pub fn coded(text: &str) -> Markup {
    html! { @for (at, part) in text.split('`').enumerate() { @if at % 2 == 1 { code { (part) } } @else { (part) } } }
}

/// What is said of a failure, without who passed it on to whom: the cause comes last.
pub fn cause(message: &str) -> &str {
    message.rsplit_once("desc = ").map_or(message, |(_, last)| last)
}

/// A panel with a title.
pub fn panel(id: &str, title: &str, aside: &Markup, body: &Markup) -> Markup {
    let heading = format!("{id}-title");
    html! {
        section.panel id=(id) data-live aria-labelledby=(heading) {
            header { h2 id=(heading) { (title) } span.grow {} (aside) }
            (body)
        }
    }
}

/// Links to the pages of a long list.
pub fn pager(base: &str, page: usize, size: usize, total: usize) -> Markup {
    let pages = total.div_ceil(size.max(1)).max(1);
    let join = if base.contains('?') { '&' } else { '?' };
    html! {
        @if pages > 1 {
            nav.pager aria-label="Pages" {
                @if page > 1 { a href=(format!("{base}{join}page={}", page - 1)) rel="prev" { "← Previous" } }
                span { "Page " (page) " of " (pages) " · " (total) " in all" }
                @if page < pages { a href=(format!("{base}{join}page={}", page + 1)) rel="next" { "Next →" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_folded_and_labels_stand_apart() {
        let from = (0..9).map(|at| format!("           configmaps/default/c{at} at revision {at}")).collect::<Vec<_>>();
        let text = format!("it was written\n  because  it changed\n  from     a\n{}\n  owned by me", from.join("\n"));
        let shown = why(&text).into_string();
        assert!(shown.contains("<span class=\"lead\">it was written</span>"), "{shown}");
        let (open, folded) = shown.split_once("<details").expect("what is left is folded");
        assert!(open.contains("/c3 ") && !open.contains("/c4 ") && folded.contains("and 5 more"), "{shown}");
        assert!(folded.contains("/c8 ") && folded.contains("<span class=\"label\">owned by</span>"), "{shown}");
    }

    #[test]
    fn the_cause_is_told_without_who_passed_it_on() {
        let said =
            "Failed to load target state: rpc error: code = Unknown desc = no-such-folder: app path does not exist";
        assert_eq!(cause(said), "no-such-folder: app path does not exist");
        assert_eq!(cause("back-off restarting failed container"), "back-off restarting failed container");
        assert_eq!(coded("run `a b` now").into_string(), "run <code>a b</code> now");
    }
}
