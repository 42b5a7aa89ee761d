#![allow(clippy::unwrap_used)]

use super::*;
use crate::decision::Cause;
use crate::scheduler::unit::TriggerOrigin;

/// Returns a queue in which these units were triggered one after the other.
fn triggered(units: impl IntoIterator<Item = Unit>) -> (OperatorQueue, u64) {
    let mut queue = OperatorQueue::new(Limits { debounce: Some(Duration::from_millis(10)), ..Limits::none() });
    let mut arrivals = 0;
    for (at, unit) in (0..).zip(units) {
        trigger(&mut queue, &unit, Timestamp(at), &mut arrivals);
    }
    (queue, arrivals)
}

fn trigger(queue: &mut OperatorQueue, unit: &Unit, at: Timestamp, arrivals: &mut u64) {
    queue.units.entry(unit.clone()).or_default().trigger(at, Cause::Requested, TriggerOrigin::Other);
    queue.requeue(unit, arrivals);
}

fn all(queue: &mut OperatorQueue) -> Vec<String> {
    std::iter::from_fn(|| queue.pop()).map(|unit| unit.to_string()).collect()
}

#[test]
fn a_namespace_with_thousands_of_units_delays_no_other() {
    let many = (0..2000).map(|number| Unit::object("a", &format!("u{number:04}")));
    let (mut queue, mut arrivals) = triggered(many);
    queue.purge(Timestamp(5000));
    for _ in 0..10 {
        assert_eq!(queue.pop().unwrap().namespace(), "a");
    }
    trigger(&mut queue, &Unit::object("b", "one"), Timestamp(5001), &mut arrivals);
    queue.purge(Timestamp(6000));
    let next: Vec<Unit> = (0..2).filter_map(|_| queue.pop()).collect();
    assert!(next.contains(&Unit::object("b", "one")), "{next:?}");
    assert_eq!(all(&mut queue).len(), 1989, "and no unit is forgotten");
    assert_eq!(queue.head(), None);
}

#[test]
fn namespaces_take_turns_and_units_of_one_keep_their_order() {
    let unit = |text: &str| text.parse::<Unit>().unwrap();
    let (mut queue, _) = triggered(["a/1", "a/2", "a/3", "b/1", "b/2", "c/1"].map(unit));
    queue.purge(Timestamp(100));
    assert_eq!(all(&mut queue), ["a/1", "b/1", "c/1", "a/2", "b/2", "a/3"]);
}

#[test]
fn a_unit_that_is_no_longer_due_has_no_turn() {
    let unit = |text: &str| text.parse::<Unit>().unwrap();
    let (mut queue, mut arrivals) = triggered(["a/1", "a/2"].map(unit));
    queue.purge(Timestamp(100));
    queue.units.get_mut(&unit("a/1")).unwrap().slow(Timestamp(900));
    queue.requeue(&unit("a/1"), &mut arrivals);
    assert_eq!(queue.pop(), Some(unit("a/2")));
    assert_eq!(queue.head(), Some(Timestamp(900)));
    queue.purge(Timestamp(900));
    assert_eq!(all(&mut queue), ["a/1"]);
}

#[test]
fn flows_of_one_namespace_take_turns() {
    let unit = |text: &str| text.parse::<Unit>().unwrap();
    let mut queue = OperatorQueue::new(Limits { debounce: Some(Duration::from_millis(10)), ..Limits::none() });
    let mut arrivals = 0;
    for (text, flow) in [("a/1", "shop"), ("a/2", "shop"), ("a/3", "shop"), ("a/4", "bank")] {
        queue.units.entry(unit(text)).or_default().flow = Some(flow.into());
        trigger(&mut queue, &unit(text), Timestamp(0), &mut arrivals);
    }
    queue.purge(Timestamp(100));
    assert_eq!(all(&mut queue), ["a/1", "a/4", "a/2", "a/3"]);
}
