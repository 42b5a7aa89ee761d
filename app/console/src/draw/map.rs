//! Drawing of plugs on the left and their sockets on the right.

use maud::{Markup, html};

use super::truncate_start;
use crate::components::{class, percent_encode};
use crate::load::map::{PlugNode, SocketGroup};

const WIDE: usize = 270;
const HIGH: usize = 44;
const GAP: usize = 10;
const APART: usize = 22;
const BETWEEN: usize = 190;
const FITS: usize = 36;

/// Draws the groups; selecting an element requests `base` with its name.
pub fn map(groups: &[SocketGroup], base: &str, near: Option<&str>) -> Markup {
    let mut at = 2;
    let tops: Vec<usize> = groups
        .iter()
        .map(|group| {
            let top = at;
            at += group.plugs.len().max(1) * (HIGH + GAP) - GAP + APART;
            top
        })
        .collect();
    let (wide, high) = (2 * WIDE + BETWEEN + 4, at.saturating_sub(APART) + 2);
    html! {
        svg.draw viewBox=(format!("0 0 {wide} {high}")) width=(wide) height=(high) role="group" aria-label="Plugs and sockets" {
            @for (socket, top) in groups.iter().zip(tops) { (group(socket, top, base, near)) }
        }
    }
}

fn group(group: &SocketGroup, top: usize, base: &str, near: Option<&str>) -> Markup {
    let rows = group.plugs.len().max(1);
    let middle = top + (rows * (HIGH + GAP) - GAP) / 2;
    let right = WIDE + BETWEEN + 2;
    html! {
        g {
            @if !group.name.is_empty() {
                @for (at, plug) in group.plugs.iter().enumerate() { (wire(plug, top + at * (HIGH + GAP) + HIGH / 2, right, middle)) }
            }
            @for (at, plug) in group.plugs.iter().enumerate() {
                @let what = if plug.is_group { format!("socket/{}", group.name) } else { format!("plug/{}", plug.name) };
                (plate(2, top + at * (HIGH + GAP), 5, &plug.name, &plate_text(&plug.state.to_string(), &plug.message), class(plug.state), &what, base, near))
            }
            @if !group.name.is_empty() {
                @let caption = if group.exists { format!("{} · {} of {} coupled", group.state, group.coupled, group.requested) } else { "missing".to_string() };
                (plate(right, middle - HIGH / 2, HIGH / 2, &group.name, &caption, class(group.state), &format!("socket/{}", group.name), base, near))
            }
        }
    }
}

fn plate_text(state: &str, message: &str) -> String {
    if message.is_empty() { state.to_string() } else { format!("{state} · {message}") }
}

fn wire(plug: &PlugNode, y1: usize, right: usize, y2: usize) -> Markup {
    let (x1, half) = (WIDE + 2, WIDE + 2 + BETWEEN / 2);
    let line = format!("wire s-{}{}", class(plug.state), if plug.coupled { "" } else { " apart" });
    html! { path class=(line) d=(format!("M{x1} {y1} C{half} {y1} {half} {y2} {right} {y2}")) {} }
}

#[expect(clippy::too_many_arguments, reason = "a plate has a position, texts and a link")]
fn plate(
    x: usize,
    y: usize,
    round: usize,
    name: &str,
    caption: &str,
    state: &str,
    what: &str,
    base: &str,
    near: Option<&str>,
) -> Markup {
    let join = if base.contains('?') { '&' } else { '?' };
    html! {
        a href=(format!("{base}{join}near={}", percent_encode(what))) aria-current=[(near == Some(what)).then_some("true")] {
            rect class=(format!("plate s-{state}")) x=(x) y=(y) width=(WIDE) height=(HIGH) rx=(round) { title { (name) ": " (caption) } }
            text x=(x + 14) y=(y + 19) { (truncate_start(name, FITS)) }
            text.sub x=(x + 14) y=(y + 35) { (truncate_end(caption)) }
        }
    }
}

/// Shortens a message at its end, since it starts with its subject.
fn truncate_end(text: &str) -> String {
    match text.char_indices().nth(FITS + 4) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
