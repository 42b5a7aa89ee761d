//! Each rule by example.

use super::*;

fn with(limits: Limits) -> Scheduler {
    let mut scheduler = Scheduler::new(7, GlobalLimits::default());
    scheduler.set_operator(Moment(0), &operator("greeter"), limits);
    scheduler
}

#[test]
fn debounce_counts_from_the_first_change() {
    let mut scheduler = with(Limits { debounce: ms(200), ..Limits::none() });
    let u = unit("greeter", 1);
    scheduler.wake(Moment(1000), &u, changed(1));
    scheduler.wake(Moment(1150), &u, changed(2));
    assert_eq!(scheduler.wait(Moment(1150), &u), Wait::Debounced { until: Moment(1200) });
    assert_eq!(scheduler.next(), Some(Moment(1200)));
    assert!(scheduler.start(Moment(1199)).is_empty());
    let started = scheduler.start(Moment(1200));
    assert_eq!(started, [Started { unit: u.clone(), causes: vec![changed(2)], woken: Moment(1000) }]);
    assert_eq!(scheduler.wait(Moment(1201), &u), Wait::Running { since: Moment(1200) });
}

#[test]
fn a_change_is_told_even_when_the_unit_would_have_run_before_the_debounce_ends() {
    let mut scheduler = with(Limits { debounce: ms(60_000), resync: Some(ms(1_000)), ..Limits::none() });
    let u = unit("greeter", 1);
    scheduler.wake(Moment(0), &u, Cause::Asked);
    scheduler.start(Moment(0));
    scheduler.finish(Moment(10), &u, Ended::Done { again: None });
    assert_eq!(scheduler.wait(Moment(20), &u), Wait::NothingChanged);
    scheduler.wake(Moment(20), &u, changed(1));
    let Wait::Debounced { until } = scheduler.wait(Moment(20), &u) else { panic!("something has changed") };
    assert!(until <= Moment(1_010), "{until:?}");
}

#[test]
fn what_somebody_asks_for_is_not_debounced() {
    let mut scheduler = with(Limits { debounce: ms(200), ..Limits::none() });
    scheduler.wake(Moment(1000), &unit("greeter", 1), changed(1));
    scheduler.wake(Moment(1001), &unit("greeter", 1), Cause::Asked);
    assert_eq!(scheduler.start(Moment(1001)).len(), 1);
}

#[test]
fn a_change_during_backoff_shortens_it_to_the_first_wait_only() {
    let first = ms(1000);
    let mut scheduler = with(Limits { backoff_first: first, backoff_max: ms(60_000), ..Limits::none() });
    let u = unit("greeter", 1);
    scheduler.wake(Moment(0), &u, Cause::Started);
    let mut now = Moment(0);
    for _ in 0..5 {
        assert_eq!(scheduler.start(now).len(), 1);
        scheduler.finish(now, &u, Ended::Failed);
        now = scheduler.next().unwrap();
    }
    let Wait::BackingOff { until, failures: 5 } = scheduler.wait(Moment(0), &u) else { panic!("no backoff") };
    let (least, most) = (until.0 - 16_000, until.0 - 8_000);
    scheduler.wake(scheduler.now, &u, changed(9));
    let early = scheduler.next().unwrap();
    assert!((least + 1000..=most + 1000).contains(&early.0), "{early:?} of {until:?}");
    let causes = scheduler.start(early).remove(0).causes;
    assert_eq!(causes, [changed(9)]);
    scheduler.finish(early, &u, Ended::Done { again: None });
    assert_eq!(scheduler.wait(early, &u), Wait::NothingChanged);
}

#[test]
fn a_retry_says_how_many_failed() {
    let mut scheduler = with(Limits { backoff_first: ms(100), backoff_max: ms(100), ..Limits::none() });
    let u = unit("greeter", 1);
    scheduler.wake(Moment(0), &u, Cause::Started);
    scheduler.start(Moment(0));
    scheduler.finish(Moment(10), &u, Ended::Failed);
    let next = scheduler.next().unwrap();
    assert!((60..=110).contains(&next.0), "{next:?}");
    assert_eq!(scheduler.start(next).remove(0).causes, [Cause::Retry { failures: 1 }]);
}

#[test]
fn operators_take_turns_and_units_keep_their_order() {
    let mut scheduler = Scheduler::new(1, GlobalLimits { max_concurrent: 2, ..GlobalLimits::default() });
    for name in ["a", "b"] {
        scheduler.set_operator(Moment(0), &operator(name), Limits::none());
    }
    for number in [3, 1, 2] {
        scheduler.wake(Moment(0), &unit("a", number), changed(1));
    }
    scheduler.wake(Moment(5), &unit("b", 1), changed(1));
    let first = scheduler.start(Moment(5));
    assert_eq!(names(&first), ["a shop/u3", "b shop/u1"]);
    assert_eq!(scheduler.wait(Moment(5), &unit("a", 1)), Wait::Full { running: 2 });
    first.iter().for_each(|s| scheduler.finish(Moment(6), &s.unit, Ended::Done { again: None }));
    assert_eq!(names(&scheduler.start(Moment(6))), ["a shop/u1"], "the last place is for somebody else");
    scheduler.finish(Moment(7), &unit("a", 1), Ended::Done { again: None });
    assert_eq!(names(&scheduler.start(Moment(7))), ["a shop/u2"]);
}

#[test]
fn a_unit_rests_even_when_it_is_gone_and_comes_back() {
    let mut scheduler = with(Limits { cool_down: ms(1000), ..Limits::none() });
    let u = unit("greeter", 1);
    scheduler.wake(Moment(0), &u, Cause::Started);
    scheduler.start(Moment(0));
    scheduler.finish(Moment(100), &u, Ended::Gone);
    scheduler.wake(Moment(200), &u, changed(1));
    assert_eq!(scheduler.wait(Moment(200), &u), Wait::CoolingDown { until: Moment(1100) });
    assert_eq!(scheduler.start(Moment(1100)).len(), 1);
    scheduler.finish(Moment(1200), &u, Ended::Gone);
    scheduler.start(Moment(9000));
    assert!(scheduler.operators[&u.operator].units.is_empty(), "what is gone and has rested is dropped");
}

#[test]
fn echo_parking_slowing_and_pausing_are_told() {
    let mut scheduler = with(Limits::none());
    let u = unit("greeter", 1);
    scheduler.wake(Moment(0), &u, Cause::Started);
    scheduler.start(Moment(0));
    scheduler.hold(&u, object("b"), Moment(500));
    scheduler.finish(Moment(1), &u, Ended::Done { again: None });
    scheduler.wake(Moment(2), &u, changed(2));
    assert_eq!(scheduler.wait(Moment(2), &u), Wait::Echo { object: object("b"), until: Moment(500) });
    scheduler.release(Moment(3), &u);
    scheduler.slow(Moment(3), &u, Moment(50));
    assert_eq!(scheduler.wait(Moment(3), &u), Wait::Slowed { until: Moment(50) });
    scheduler.pause(&u.operator, true);
    assert_eq!((scheduler.wait(Moment(3), &u), scheduler.next()), (Wait::Paused, None));
    scheduler.pause(&u.operator, false);
    assert_eq!(scheduler.start(Moment(50)).len(), 1);
    scheduler.finish(Moment(51), &u, Ended::Parked { missing: vec![table()] });
    assert_eq!(scheduler.wait(Moment(51), &u), Wait::Parked { missing: vec![table()] });
    assert_eq!(scheduler.next(), None);
}

#[test]
fn a_spent_budget_keeps_units_from_starting() {
    let mut scheduler = with(Limits { writes_per_second: 2, ..Limits::none() });
    let u = unit("greeter", 1);
    assert_eq!(scheduler.spend(Moment(0), &u.operator, 5), 2);
    scheduler.wake(Moment(1), &u, changed(1));
    let until = scheduler.next().unwrap();
    assert_eq!(scheduler.wait(Moment(1), &u), Wait::OutOfBudget { until });
    assert!((1000..=1010).contains(&until.0));
    assert!(scheduler.start(Moment(until.0 - 1)).is_empty());
    assert_eq!(scheduler.start(until).len(), 1);
}

#[test]
fn operators_that_write_at_once_share_the_requests() {
    let mut scheduler = Scheduler::new(1, GlobalLimits { requests_per_second: 20, ..GlobalLimits::default() });
    for name in ["a", "b"] {
        scheduler.set_operator(Moment(0), &operator(name), Limits::none());
    }
    assert_eq!(scheduler.spend(Moment(0), &operator("a"), 100), 10);
    assert_eq!(scheduler.spend(Moment(0), &operator("b"), 100), 0);
    assert_eq!(scheduler.spend(Moment(1100), &operator("a"), 100), 5);
    assert_eq!(scheduler.spend(Moment(1100), &operator("b"), 100), 5);
}

#[test]
fn a_large_process_is_not_overtaken_for_ever() {
    let mut scheduler = Scheduler::new(1, GlobalLimits { process_memory_bytes: 100, ..GlobalLimits::default() });
    scheduler.set_operator(Moment(0), &operator("large"), Limits { memory_bytes: 900, ..Limits::none() });
    scheduler.set_operator(Moment(0), &operator("small"), Limits { memory_bytes: 60, ..Limits::none() });
    scheduler.wake(Moment(0), &unit("small", 1), changed(1));
    assert_eq!(scheduler.start(Moment(0)).len(), 1);
    scheduler.wake(Moment(1), &unit("large", 1), changed(1));
    scheduler.wake(Moment(2), &unit("small", 2), changed(1));
    assert_eq!((scheduler.start(Moment(2)).len(), scheduler.next()), (0, None));
    assert_eq!(scheduler.wait(Moment(2), &unit("large", 1)), Wait::MemorySpent);
    scheduler.finish(Moment(3), &unit("small", 1), Ended::Done { again: None });
    assert_eq!(names(&scheduler.start(Moment(3))), ["large shop/u1"]);
}

#[test]
fn changed_limits_hold_for_what_already_waits() {
    let mut scheduler = with(Limits { debounce: ms(60_000), ..Limits::none() });
    scheduler.wake(Moment(0), &unit("greeter", 1), changed(1));
    assert_eq!(scheduler.next(), Some(Moment(60_000)));
    scheduler.set_operator(Moment(10), &operator("greeter"), Limits { debounce: ms(20), ..Limits::none() });
    assert_eq!(scheduler.next(), Some(Moment(20)));
}

#[test]
fn guarantees_runs_that_hang_leave_room_for_others() {
    let timeout = ms(30_000);
    let mut scheduler = Scheduler::new(7, GlobalLimits { max_concurrent: 4, ..GlobalLimits::default() });
    let limits = Limits { timeout, backoff_first: ms(100), backoff_max: ms(100), ..Limits::none() };
    scheduler.set_operator(Moment(0), &operator("hangs"), limits.clone());
    scheduler.set_operator(Moment(0), &operator("works"), limits);
    (0..9).for_each(|number| scheduler.wake(Moment(0), &unit("hangs", number), changed(1)));
    let hanging = scheduler.start(Moment(0));
    assert_eq!(hanging.len(), 3, "the last place is not for one that has all the others");

    // Meanwhile the other runs whenever it is woken.
    for at in 1..100 {
        scheduler.wake(Moment(at), &unit("works", 1), changed(at));
        assert_eq!(scheduler.start(Moment(at)).len(), 1, "at {at}");
        scheduler.finish(Moment(at), &unit("works", 1), Ended::Done { again: None });
    }

    // They were given up; from then on it has one place, whichever unit takes it.
    let late = Moment(30_000);
    hanging.iter().for_each(|run| scheduler.finish(late, &run.unit, Ended::Failed));
    let next = scheduler.start(late);
    assert_eq!(next.len(), 1);
    assert_eq!(scheduler.wait(late, &unit("hangs", 8)), Wait::Full { running: 1 });

    // A failure that came in time does not show that it no longer hangs; an answer does.
    scheduler.finish(late.after(ms(1)), &next[0].unit, Ended::Failed);
    let next = scheduler.start(late.after(ms(1)));
    assert_eq!(next.len(), 1);
    scheduler.finish(late.after(ms(2)), &next[0].unit, Ended::Done { again: None });
    assert_eq!(scheduler.start(late.after(ms(2))).len(), 3);
}
