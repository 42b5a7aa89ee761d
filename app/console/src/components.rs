//! Components of pages: state badges, links, times, diffs and YAML.

use maud::{Markup, PreEscaped, html};
use switchboard_kernel::diff::{DiffLine, DiffSign, LEFT_OUT};
use switchboard_kernel::explain;
use switchboard_kernel::redact::REDACTED;
use switchboard_kernel::resource::ObjectKey;
use switchboard_kernel::state::{Health, OperatorPause};
use switchboard_kernel::timestamp::Timestamp;

/// Returns the CSS class of a state.
pub fn class(word: Health) -> &'static str {
    match word {
        Health::Ready => "ready",
        Health::Working => "working",
        Health::Waiting => "waiting",
        Health::Blocked => "blocked",
        Health::Failing => "failing",
    }
}

/// Returns an icon of a state, so that color is not the only cue.
fn shape(word: Health) -> &'static str {
    match word {
        Health::Ready => "<circle cx='5' cy='5' r='4.5' stroke='none'/>",
        Health::Working => {
            "<path d='M5 .5a4.5 4.5 0 0 1 0 9z' stroke='none'/><circle cx='5' cy='5' r='4' fill='none'/>"
        }
        Health::Waiting => "<circle cx='5' cy='5' r='4' fill='none' stroke-width='1.6'/>",
        Health::Blocked => "<path d='M5 .5 9.8 9.3H.2z' stroke='none'/>",
        Health::Failing => "<path d='m1.2 1.2 7.6 7.6M8.8 1.2 1.2 8.8' stroke-width='2.2'/>",
    }
}

/// Renders a state as word and icon.
pub fn state_badge(state: Health) -> Markup {
    badge(state, &state.to_string())
}

/// Renders a word with color and icon of a state.
pub fn badge(state: Health, word: &str) -> Markup {
    let (class, shape) = (format!("badge w-{}", class(state)), PreEscaped(shape(state)));
    html! { span class=(class) { svg viewBox="0 0 10 10" aria-hidden="true" { (shape) } (word) } }
}

/// Formats a number with its noun.
pub fn count(number: usize, noun: &str) -> String {
    explain::count(number, noun)
}

/// Renders the time since an event.
pub fn ago(now: Timestamp, at: Timestamp) -> Markup {
    let stamp = at.to_string();
    html! { time datetime=(stamp) title=(stamp) { (explain::format_duration(now.since(at))) " ago" } }
}

/// Renders who paused an operator, and when.
pub fn paused(pause: &OperatorPause, now: Timestamp) -> Markup {
    html! { span.tag.hot.wrap { "paused by " (pause.by) ", " (ago(now, pause.since)) } }
}

/// Percent-encodes a path segment.
pub fn percent_encode(part: &str) -> String {
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

/// Path segment for objects without a namespace.
pub const NO_NAMESPACE: &str = "-";

/// Returns the link to an object's page.
pub fn object_href(key: &ObjectKey) -> String {
    let namespace = if key.namespace.is_empty() { NO_NAMESPACE } else { &key.namespace };
    let (cluster, kind) = (&key.table.cluster.0, key.table.resource.to_string());
    format!(
        "/objects/{}/{}/{}/{}",
        percent_encode(cluster),
        percent_encode(&kind),
        percent_encode(namespace),
        percent_encode(&key.name)
    )
}

/// Renders a link to an object.
pub fn object(key: &ObjectKey) -> Markup {
    html! { a.mono href=(object_href(key)) { (key.to_string()) } }
}

/// Returns the link to an operator's page.
pub fn operator_href(name: &str) -> String {
    format!("/operators/{}", percent_encode(name))
}

/// Renders a diff; added and removed lines have a sign and a color.
pub fn diff(lines: &[DiffLine]) -> Markup {
    html! {
        div.diff tabindex="0" role="group" aria-label="Changes" {
            @for line in lines {
                @match line.sign {
                    DiffSign::Added => div.add { (line.to_string()) },
                    DiffSign::Removed => div.del { (line.to_string()) },
                    DiffSign::Same if line.text == LEFT_OUT => div.gap { (line.to_string()) },
                    DiffSign::Same => div { (line.to_string()) },
                }
            }
        }
    }
}

/// Renders YAML with highlighted keys.
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
        if text.contains(REDACTED) {
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

/// Maximum number of lines of a label before the rest is folded.
const MAX_LINES: usize = 5;
/// Width of labels.
const LABEL: usize = 11;

/// Renders the output of `why`: a first line, labels, and long parts folded.
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

/// Renders a text with its backquoted parts as code.
pub fn with_code_spans(text: &str) -> Markup {
    html! { @for (at, part) in text.split('`').enumerate() { @if at % 2 == 1 { code { (part) } } @else { (part) } } }
}

/// Renders a panel with a title.
pub fn panel(id: &str, title: &str, aside: &Markup, body: &Markup) -> Markup {
    let heading = format!("{id}-title");
    html! {
        section.panel id=(id) data-live aria-labelledby=(heading) {
            header { h2 id=(heading) { (title) } span.grow {} (aside) }
            (body)
        }
    }
}

/// Renders links to the pages of a list.
pub fn pager(base: &str, page: usize, size: usize, total: usize) -> Markup {
    let pages = total.div_ceil(size.max(1)).max(1);
    let join = if base.contains('?') { '&' } else { '?' };
    html! {
        @if pages > 1 {
            nav.pager aria-label="Pages" {
                @if page > 1 { a href=(format!("{base}{join}page={}", page - 1)) rel="prev" { "← Previous" } }
                span { "Page " (page) " of " (pages) " · " (total) " in total" }
                @if page < pages { a href=(format!("{base}{join}page={}", page + 1)) rel="next" { "Next →" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_folded_and_labels_are_separate() {
        let from = (0..9).map(|at| format!("           configmaps/default/c{at} at revision {at}")).collect::<Vec<_>>();
        let text = format!("it was written\n  because  it changed\n  from     a\n{}\n  owned by me", from.join("\n"));
        let shown = why(&text).into_string();
        assert!(shown.contains("<span class=\"lead\">it was written</span>"), "{shown}");
        let (open, folded) = shown.split_once("<details").expect("what is left is folded");
        assert!(open.contains("/c3 ") && !open.contains("/c4 ") && folded.contains("and 5 more"), "{shown}");
        assert!(folded.contains("/c8 ") && folded.contains("<span class=\"label\">owned by</span>"), "{shown}");
    }

    #[test]
    fn backquoted_parts_are_code() {
        assert_eq!(with_code_spans("run `a b` now").into_string(), "run <code>a b</code> now");
    }
}
