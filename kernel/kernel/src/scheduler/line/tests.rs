#![allow(clippy::unwrap_used)]

use super::*;
use crate::decision::Cause;

/// A line in which these units were woken, one after the other.
fn woken(units: impl IntoIterator<Item = Unit>) -> (Line, u64) {
    let mut line = Line::new(Limits { debounce: Duration::from_millis(10), ..Limits::none() });
    let mut arrivals = 0;
    for (at, unit) in (0..).zip(units) {
        wake(&mut line, &unit, Moment(at), &mut arrivals);
    }
    (line, arrivals)
}

fn wake(line: &mut Line, unit: &Unit, at: Moment, arrivals: &mut u64) {
    line.units.entry(unit.clone()).or_default().wake(at, Cause::Asked);
    line.place(unit, arrivals);
}

fn all(line: &mut Line) -> Vec<String> {
    std::iter::from_fn(|| line.pop()).map(|unit| unit.to_string()).collect()
}

#[test]
fn a_namespace_with_thousands_of_units_delays_no_other() {
    let many = (0..2000).map(|number| Unit::object("a", &format!("u{number:04}")));
    let (mut line, mut arrivals) = woken(many);
    line.purge(Moment(5000));
    for _ in 0..10 {
        assert_eq!(line.pop().unwrap().namespace(), "a");
    }
    wake(&mut line, &Unit::object("b", "one"), Moment(5001), &mut arrivals);
    line.purge(Moment(6000));
    let next: Vec<Unit> = (0..2).filter_map(|_| line.pop()).collect();
    assert!(next.contains(&Unit::object("b", "one")), "{next:?}");
    assert_eq!(all(&mut line).len(), 1989, "and nobody is forgotten");
    assert_eq!(line.head(), None);
}

#[test]
fn namespaces_go_round_and_units_of_one_keep_their_order() {
    let unit = |text: &str| text.parse::<Unit>().unwrap();
    let (mut line, _) = woken(["a/1", "a/2", "a/3", "b/1", "b/2", "c/1"].map(unit));
    line.purge(Moment(100));
    assert_eq!(all(&mut line), ["a/1", "b/1", "c/1", "a/2", "b/2", "a/3"]);
}

#[test]
fn one_that_may_not_run_any_more_has_no_turn() {
    let unit = |text: &str| text.parse::<Unit>().unwrap();
    let (mut line, mut arrivals) = woken(["a/1", "a/2"].map(unit));
    line.purge(Moment(100));
    line.units.get_mut(&unit("a/1")).unwrap().slow(Moment(900));
    line.place(&unit("a/1"), &mut arrivals);
    assert_eq!(line.pop(), Some(unit("a/2")));
    assert_eq!(line.head(), Some(Moment(900)));
    line.purge(Moment(900));
    assert_eq!(all(&mut line), ["a/1"]);
}

#[test]
fn parties_of_one_namespace_go_round() {
    let unit = |text: &str| text.parse::<Unit>().unwrap();
    let mut line = Line::new(Limits { debounce: Duration::from_millis(10), ..Limits::none() });
    let mut arrivals = 0;
    for (text, party) in [("a/1", "shop"), ("a/2", "shop"), ("a/3", "shop"), ("a/4", "bank")] {
        line.units.entry(unit(text)).or_default().party = Some(party.into());
        wake(&mut line, &unit(text), Moment(0), &mut arrivals);
    }
    line.purge(Moment(100));
    assert_eq!(all(&mut line), ["a/1", "a/4", "a/2", "a/3"]);
}
