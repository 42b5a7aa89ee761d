//! Drawing of an object's relations: its causes on the left, its effects on the right.

use maud::{Markup, html};
use switchboard_kernel::resource::ObjectKey;

use super::truncate_start;
use crate::load::relations::Relation;

const WIDE: usize = 260;
const HIGH: usize = 42;
const GAP: usize = 12;
const BETWEEN: usize = 120;
const FITS: usize = 34;

/// Draws the relations, or returns a text if there are none.
pub fn relations(key: &ObjectKey, all: &[Relation]) -> Markup {
    let (left, right): (Vec<&Relation>, Vec<&Relation>) = all.iter().partition(|one| one.before);
    if all.is_empty() {
        return html! { p.soft { "No known relations." } };
    }
    let rows = left.len().max(right.len()).max(1);
    let high = rows * (HIGH + GAP) - GAP + 4;
    let middle = high / 2;
    let (own, far) = (WIDE + BETWEEN, 2 * (WIDE + BETWEEN));
    let wide = far + WIDE + 4;
    html! {
        svg.draw viewBox=(format!("0 0 {wide} {high}")) width=(wide) height=(high) role="group" aria-label=(format!("Relations of {key}")) {
            @for (at, one) in left.iter().enumerate() {
                (wire(WIDE + 2, y(at, left.len(), high) + HIGH / 2, own + 2, middle, one.relation, true))
                (plate(2, y(at, left.len(), high), one))
            }
            @for (at, one) in right.iter().enumerate() {
                (wire(own + WIDE + 2, middle, far + 2, y(at, right.len(), high) + HIGH / 2, one.relation, false))
                (plate(far + 2, y(at, right.len(), high), one))
            }
            g {
                rect.plate.own x=(own + 2) y=(middle - HIGH / 2) width=(WIDE) height=(HIGH) rx="8" {}
                text x=(own + 14) y=(middle - 2) { (truncate_start(&key.name, FITS)) }
                text.sub x=(own + 14) y=(middle + 14) { (truncate_start(&key.table.resource.to_string(), FITS)) }
            }
        }
    }
}

/// Returns the top of a row; rows are centered vertically.
fn y(at: usize, of: usize, high: usize) -> usize {
    let block = of * (HIGH + GAP) - GAP;
    high.saturating_sub(block) / 2 + at * (HIGH + GAP)
}

fn wire(x1: usize, y1: usize, x2: usize, y2: usize, what: &str, left: bool) -> Markup {
    let half = (x1 + x2) / 2;
    // The label is placed at the end where the lines are apart.
    let (x, y, anchor) = if left { (x1 + 8, y1 - 5, "start") } else { (x2 - 8, y2 - 5, "end") };
    html! {
        path.wire d=(format!("M{x1} {y1} C{half} {y1} {half} {y2} {x2} {y2}")) {}
        text.edge x=(x) y=(y) text-anchor=(anchor) { (what) }
    }
}

fn plate(x: usize, y: usize, one: &Relation) -> Markup {
    // A unit is named `operator namespace/name`, an object `kind/namespace/name`.
    let between = if one.name.contains(' ') { ' ' } else { '/' };
    let (kind, name) = one.name.split_once(between).unwrap_or((one.relation, &one.name));
    html! {
        a href=(one.href) {
            rect.plate x=(x) y=(y) width=(WIDE) height=(HIGH) rx="8" { title { (one.relation) ": " (one.name) } }
            text x=(x + 12) y=(y + 18) { (truncate_start(name, FITS)) }
            text.sub x=(x + 12) y=(y + 34) { (truncate_start(kind, FITS)) }
        }
    }
}
