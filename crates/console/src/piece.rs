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

/// `why` in words: the first line leads, labels stand back.
pub fn why(text: &str) -> Markup {
    html! {
        div.why.mono {
            @for (at, line) in text.lines().enumerate() {
                @if at == 0 {
                    span.lead { (line) } "\n"
                } @else if let Some((label, rest)) = line.split_at_checked(11).filter(|(label, _)| label.starts_with("  ")) {
                    span.label { (label) } (rest) "\n"
                } @else {
                    (line) "\n"
                }
            }
        }
    }
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
                @if page > 1 { a href=(format!("{base}{join}page={}", page - 1)) rel="prev" { "← Newer" } }
                span { "Page " (page) " of " (pages) " · " (total) " in all" }
                @if page < pages { a href=(format!("{base}{join}page={}", page + 1)) rel="next" { "Older →" } }
            }
        }
    }
}
