//! Examples of each rule.

use super::*;

fn with(limits: Limits) -> Scheduler {
    let mut scheduler = Scheduler::new(7, GlobalLimits::default());
    scheduler.set_operator(Timestamp(0), &operator("greeter"), limits);
    scheduler
}

#[test]
fn debounce_counts_from_the_first_change() {
    let mut scheduler = with(Limits { debounce: Some(ms(200)), ..Limits::none() });
    let u = unit("greeter", 1);
    scheduler.trigger(Timestamp(1000), &u, changed(1));
    scheduler.trigger(Timestamp(1150), &u, changed(2));
    assert_eq!(scheduler.wait(Timestamp(1150), &u), Wait::Debounced { until: Timestamp(1200) });
    assert_eq!(scheduler.next(), Some(Timestamp(1200)));
    assert!(scheduler.start(Timestamp(1199)).is_empty());
    let started = scheduler.start(Timestamp(1200));
    assert_eq!(started, [StartedRun { unit: u.clone(), causes: vec![changed(2)], triggered_at: Timestamp(1000) }]);
    assert_eq!(scheduler.wait(Timestamp(1201), &u), Wait::Running { since: Timestamp(1200) });
}

#[test]
fn a_change_is_reported_even_if_the_unit_would_have_run_before_the_debounce_ends() {
    let mut scheduler = with(Limits { debounce: Some(ms(60_000)), resync: Some(ms(1_000)), ..Limits::none() });
    let u = unit("greeter", 1);
    scheduler.trigger(Timestamp(0), &u, Cause::Requested);
    scheduler.start(Timestamp(0));
    scheduler.finish(Timestamp(10), &u, RunEnd::Done { requeue_after: None });
    assert_eq!(scheduler.wait(Timestamp(20), &u), Wait::NothingChanged);
    scheduler.trigger(Timestamp(20), &u, changed(1));
    let Wait::Debounced { until } = scheduler.wait(Timestamp(20), &u) else { panic!("something has changed") };
    assert!(until <= Timestamp(1_010), "{until:?}");
}

#[test]
fn user_requests_are_not_debounced() {
    let mut scheduler = with(Limits { debounce: Some(ms(200)), ..Limits::none() });
    scheduler.trigger(Timestamp(1000), &unit("greeter", 1), changed(1));
    scheduler.trigger(Timestamp(1001), &unit("greeter", 1), Cause::Requested);
    assert_eq!(scheduler.start(Timestamp(1001)).len(), 1);
}

#[test]
fn a_change_during_backoff_shortens_it_to_the_first_wait_only() {
    let first = ms(1000);
    let mut scheduler = with(Limits { backoff_first: first, backoff_max: ms(60_000), ..Limits::none() });
    let u = unit("greeter", 1);
    scheduler.trigger(Timestamp(0), &u, Cause::Started);
    let mut now = Timestamp(0);
    for _ in 0..5 {
        assert_eq!(scheduler.start(now).len(), 1);
        scheduler.finish(now, &u, RunEnd::Failed);
        now = scheduler.next().unwrap();
    }
    let Wait::BackingOff { until, failures: 5 } = scheduler.wait(Timestamp(0), &u) else { panic!("no backoff") };
    let (least, most) = (until.0 - 16_000, until.0 - 8_000);
    scheduler.trigger(scheduler.now, &u, changed(9));
    let early = scheduler.next().unwrap();
    assert!((least + 1000..=most + 1000).contains(&early.0), "{early:?} of {until:?}");
    let causes = scheduler.start(early).remove(0).causes;
    assert_eq!(causes, [changed(9)]);
    scheduler.finish(early, &u, RunEnd::Done { requeue_after: None });
    assert_eq!(scheduler.wait(early, &u), Wait::NothingChanged);
}

#[test]
fn a_retry_says_how_many_failed() {
    let mut scheduler = with(Limits { backoff_first: ms(100), backoff_max: ms(100), ..Limits::none() });
    let u = unit("greeter", 1);
    scheduler.trigger(Timestamp(0), &u, Cause::Started);
    scheduler.start(Timestamp(0));
    scheduler.finish(Timestamp(10), &u, RunEnd::Failed);
    let next = scheduler.next().unwrap();
    assert!((60..=110).contains(&next.0), "{next:?}");
    assert_eq!(scheduler.start(next).remove(0).causes, [Cause::Retry { failures: 1 }]);
}

#[test]
fn operators_take_turns_and_units_keep_their_order() {
    let mut scheduler = Scheduler::new(1, GlobalLimits { max_concurrent: 2, ..GlobalLimits::default() });
    for name in ["a", "b"] {
        scheduler.set_operator(Timestamp(0), &operator(name), Limits::none());
    }
    for number in [3, 1, 2] {
        scheduler.trigger(Timestamp(0), &unit("a", number), changed(1));
    }
    scheduler.trigger(Timestamp(5), &unit("b", 1), changed(1));
    let first = scheduler.start(Timestamp(5));
    assert_eq!(names(&first), ["a shop/u3", "b shop/u1"]);
    assert_eq!(scheduler.wait(Timestamp(5), &unit("a", 1)), Wait::Full { running: 2 });
    first.iter().for_each(|s| scheduler.finish(Timestamp(6), &s.unit, RunEnd::Done { requeue_after: None }));
    assert_eq!(names(&scheduler.start(Timestamp(6))), ["a shop/u1"], "the last slot is for another operator");
    scheduler.finish(Timestamp(7), &unit("a", 1), RunEnd::Done { requeue_after: None });
    assert_eq!(names(&scheduler.start(Timestamp(7))), ["a shop/u2"]);
}

#[test]
fn a_unit_rests_even_when_it_is_gone_and_comes_back() {
    let mut scheduler = with(Limits { cool_down: Some(ms(1000)), ..Limits::none() });
    let u = unit("greeter", 1);
    scheduler.trigger(Timestamp(0), &u, Cause::Started);
    scheduler.start(Timestamp(0));
    scheduler.finish(Timestamp(100), &u, RunEnd::Gone);
    scheduler.trigger(Timestamp(200), &u, changed(1));
    assert_eq!(scheduler.wait(Timestamp(200), &u), Wait::CoolingDown { until: Timestamp(1100) });
    assert_eq!(scheduler.start(Timestamp(1100)).len(), 1);
    scheduler.finish(Timestamp(1200), &u, RunEnd::Gone);
    scheduler.start(Timestamp(9000));
    assert!(scheduler.operators[&u.operator].units.is_empty(), "what is gone and has rested is dropped");
}

#[test]
fn waits_for_writes_kinds_slowdown_and_pause_are_reported() {
    let mut scheduler = with(Limits::none());
    let u = unit("greeter", 1);
    scheduler.trigger(Timestamp(0), &u, Cause::Started);
    scheduler.start(Timestamp(0));
    scheduler.hold(&u, object("b"), Timestamp(500));
    scheduler.finish(Timestamp(1), &u, RunEnd::Done { requeue_after: None });
    scheduler.trigger(Timestamp(2), &u, changed(2));
    assert_eq!(scheduler.wait(Timestamp(2), &u), Wait::AwaitingCache { object: object("b"), until: Timestamp(500) });
    scheduler.release(Timestamp(3), &u);
    scheduler.slow(Timestamp(3), &u, Timestamp(50));
    assert_eq!(scheduler.wait(Timestamp(3), &u), Wait::Slowed { until: Timestamp(50) });
    let pause = OperatorPause { by: "ada".into(), since: Timestamp(3) };
    scheduler.pause(&u.operator, Some(pause.clone()));
    assert_eq!((scheduler.wait(Timestamp(3), &u), scheduler.next()), (Wait::Paused(pause), None));
    scheduler.pause(&u.operator, None);
    assert_eq!(scheduler.start(Timestamp(50)).len(), 1);
    scheduler.finish(Timestamp(51), &u, RunEnd::NotCached { missing: vec![table()] });
    assert_eq!(scheduler.wait(Timestamp(51), &u), Wait::NotCached { missing: vec![table()] });
    assert_eq!(scheduler.next(), None);
}

#[test]
fn a_spent_budget_keeps_units_from_starting() {
    let mut scheduler = with(Limits { writes_per_second: Some(2), ..Limits::none() });
    let u = unit("greeter", 1);
    assert_eq!(scheduler.spend(Timestamp(0), &u, 5), 2);
    scheduler.trigger(Timestamp(1), &u, changed(1));
    let until = scheduler.next().unwrap();
    assert_eq!(scheduler.wait(Timestamp(1), &u), Wait::OutOfBudget { until });
    assert!((1000..=1010).contains(&until.0));
    assert!(scheduler.start(Timestamp(until.0 - 1)).is_empty());
    assert_eq!(scheduler.start(until).len(), 1);
}

#[test]
fn operators_that_write_at_once_share_the_requests() {
    let mut scheduler = Scheduler::new(1, GlobalLimits { requests_per_second: Some(20), ..GlobalLimits::default() });
    for name in ["a", "b"] {
        scheduler.set_operator(Timestamp(0), &operator(name), Limits::none());
    }
    assert_eq!(scheduler.spend(Timestamp(0), &unit("a", 0), 100), 10);
    assert_eq!(scheduler.spend(Timestamp(0), &unit("b", 0), 100), 0);
    assert_eq!(scheduler.spend(Timestamp(1100), &unit("a", 0), 100), 5);
    assert_eq!(scheduler.spend(Timestamp(1100), &unit("b", 0), 100), 5);
}

#[test]
fn a_large_process_is_not_overtaken_for_ever() {
    let mut scheduler = Scheduler::new(1, GlobalLimits { process_memory_bytes: 100, ..GlobalLimits::default() });
    scheduler.set_operator(Timestamp(0), &operator("large"), Limits { memory_bytes: 900, ..Limits::none() });
    scheduler.set_operator(Timestamp(0), &operator("small"), Limits { memory_bytes: 60, ..Limits::none() });
    scheduler.trigger(Timestamp(0), &unit("small", 1), changed(1));
    assert_eq!(scheduler.start(Timestamp(0)).len(), 1);
    scheduler.trigger(Timestamp(1), &unit("large", 1), changed(1));
    scheduler.trigger(Timestamp(2), &unit("small", 2), changed(1));
    assert_eq!((scheduler.start(Timestamp(2)).len(), scheduler.next()), (0, None));
    assert_eq!(scheduler.wait(Timestamp(2), &unit("large", 1)), Wait::MemorySpent);
    scheduler.finish(Timestamp(3), &unit("small", 1), RunEnd::Done { requeue_after: None });
    assert_eq!(names(&scheduler.start(Timestamp(3))), ["large shop/u1"]);
}

#[test]
fn changed_limits_hold_for_what_already_waits() {
    let mut scheduler = with(Limits { debounce: Some(ms(60_000)), ..Limits::none() });
    scheduler.trigger(Timestamp(0), &unit("greeter", 1), changed(1));
    assert_eq!(scheduler.next(), Some(Timestamp(60_000)));
    scheduler.set_operator(Timestamp(10), &operator("greeter"), Limits { debounce: Some(ms(20)), ..Limits::none() });
    assert_eq!(scheduler.next(), Some(Timestamp(20)));
}

#[test]
fn guarantees_hung_runs_leave_slots_for_others() {
    let timeout = ms(30_000);
    let mut scheduler = Scheduler::new(7, GlobalLimits { max_concurrent: 4, ..GlobalLimits::default() });
    let limits = Limits { timeout, backoff_first: ms(100), backoff_max: ms(100), ..Limits::none() };
    scheduler.set_operator(Timestamp(0), &operator("hangs"), limits.clone());
    scheduler.set_operator(Timestamp(0), &operator("works"), limits);
    (0..9).for_each(|number| scheduler.trigger(Timestamp(0), &unit("hangs", number), changed(1)));
    let hanging = scheduler.start(Timestamp(0));
    assert_eq!(hanging.len(), 3, "the last slot is not for an operator with all the others");

    // Meanwhile the other one runs whenever it is triggered.
    for at in 1..100 {
        scheduler.trigger(Timestamp(at), &unit("works", 1), changed(at));
        assert_eq!(scheduler.start(Timestamp(at)).len(), 1, "at {at}");
        scheduler.finish(Timestamp(at), &unit("works", 1), RunEnd::Done { requeue_after: None });
    }

    // These runs timed out; from now on the operator has one slot, for any of its units.
    let late = Timestamp(30_000);
    hanging.iter().for_each(|run| scheduler.finish(late, &run.unit, RunEnd::Failed));
    let next = scheduler.start(late);
    assert_eq!(next.len(), 1);
    assert_eq!(scheduler.wait(late, &unit("hangs", 8)), Wait::Full { running: 1 });

    // A failure in time does not prove that it no longer hangs; a decision does.
    scheduler.finish(late.after(ms(1)), &next[0].unit, RunEnd::Failed);
    let next = scheduler.start(late.after(ms(1)));
    assert_eq!(next.len(), 1);
    scheduler.finish(late.after(ms(2)), &next[0].unit, RunEnd::Done { requeue_after: None });
    assert_eq!(scheduler.start(late.after(ms(2))).len(), 3);
}
