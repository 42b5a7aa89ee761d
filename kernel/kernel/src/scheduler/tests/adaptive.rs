//! Rules without fixed limits.

use super::*;
use crate::limits::{COOL_DOWN, DEBOUNCE, MIN_WRITES_PER_SECOND, RUN_BURST, START_WRITES_PER_SECOND, WRITE_BURST};

fn adaptive() -> (Scheduler, UnitId) {
    let mut scheduler = Scheduler::new(7, GlobalLimits::default());
    scheduler.set_operator(Timestamp(0), &operator("greeter"), Limits { resync: None, ..Limits::default() });
    (scheduler, unit("greeter", 1))
}

fn done() -> RunEnd {
    RunEnd::Done { requeue_after: None }
}

#[test]
fn the_first_change_after_quiet_is_not_debounced_and_further_ones_are() {
    let (mut scheduler, u) = adaptive();
    scheduler.trigger(Timestamp(1_000), &u, changed(1));
    assert_eq!(scheduler.start(Timestamp(1_000)).len(), 1);
    scheduler.finish(Timestamp(1_010), &u, done());
    for at in [1_050, 1_100, 1_240] {
        scheduler.trigger(Timestamp(at), &u, changed(at));
    }
    let until = Timestamp(1_050).after(DEBOUNCE);
    assert_eq!(scheduler.wait(Timestamp(1_240), &u), Wait::Debounced { until });
    assert_eq!((scheduler.start(Timestamp(until.0 - 1)).len(), scheduler.start(until).len()), (0, 1));
    scheduler.finish(until, &u, done());
    let quiet = Timestamp(1_240).after(DEBOUNCE);
    scheduler.trigger(quiet, &u, changed(9));
    assert_eq!(scheduler.start(quiet).len(), 1);
}

#[test]
fn the_next_step_is_not_debounced_unless_changes_of_others_are_collected() {
    let (mut scheduler, u) = adaptive();
    scheduler.trigger(Timestamp(1_000), &u, changed(1));
    scheduler.start(Timestamp(1_000));
    scheduler.finish(Timestamp(1_001), &u, done());
    scheduler.trigger_next_step(Timestamp(1_002), &u, changed(2));
    assert_eq!(scheduler.start(Timestamp(1_002)).len(), 1);
    scheduler.finish(Timestamp(1_003), &u, done());
    scheduler.trigger(Timestamp(1_004), &u, changed(3));
    scheduler.trigger_next_step(Timestamp(1_005), &u, changed(4));
    assert_eq!(scheduler.next(), Some(Timestamp(1_004).after(DEBOUNCE)));
}

#[test]
fn own_writes_that_were_observed_before_their_response_are_the_next_step() {
    let (mut scheduler, u) = adaptive();
    scheduler.trigger(Timestamp(1_000), &u, changed(1));
    scheduler.start(Timestamp(1_000));
    // The run has not ended, so nothing shows that this is its write.
    scheduler.trigger(Timestamp(1_001), &u, changed(2));
    scheduler.finish(Timestamp(1_002), &u, done());
    let own = changed(2);
    scheduler.recognize_own_writes(Timestamp(1_002), &u, &|cause| *cause == own);
    assert_eq!(scheduler.start(Timestamp(1_002)).len(), 1);
    // With the change of another writer among them, the debounce applies.
    scheduler.trigger(Timestamp(1_003), &u, changed(3));
    scheduler.finish(Timestamp(1_004), &u, done());
    assert_eq!(scheduler.start(Timestamp(1_004)).len(), 1);
    let of_other = |revision| Cause::Changed { object: object("other"), revision };
    scheduler.trigger(Timestamp(1_005), &u, changed(4));
    scheduler.trigger(Timestamp(1_006), &u, of_other(5));
    scheduler.finish(Timestamp(1_007), &u, done());
    scheduler.recognize_own_writes(Timestamp(1_007), &u, &|cause| *cause == changed(4));
    assert_eq!(scheduler.wait(Timestamp(1_007), &u), Wait::Debounced { until: Timestamp(1_005).after(DEBOUNCE) });
}

#[test]
fn the_steps_of_one_work_need_no_rest_and_a_loop_does() {
    let (mut scheduler, u) = adaptive();
    let now = Timestamp(1_000);
    scheduler.trigger(now, &u, changed(1));
    let mut steps = 0;
    while !scheduler.start(now).is_empty() {
        steps += 1;
        scheduler.finish(now, &u, done());
        scheduler.trigger_next_step(now, &u, changed(steps));
    }
    assert_eq!(steps, u64::from(RUN_BURST));
    let until = now.after(COOL_DOWN);
    assert_eq!((scheduler.wait(now, &u), scheduler.next()), (Wait::CoolingDown { until }, Some(until)));
    // A unit that is deleted and created again keeps its delays.
    assert_eq!(scheduler.start(until).len(), 1);
    scheduler.finish(until, &u, RunEnd::Gone);
    scheduler.start(until.after(COOL_DOWN));
    scheduler.trigger(until.after(COOL_DOWN), &u, changed(9));
    assert_eq!(scheduler.start(until.after(COOL_DOWN)).len(), 1);
    scheduler.finish(until.after(COOL_DOWN), &u, RunEnd::Gone);
    scheduler.trigger(until.after(COOL_DOWN), &u, changed(10));
    assert!(matches!(scheduler.wait(until.after(COOL_DOWN), &u), Wait::CoolingDown { .. }));
}

#[test]
fn a_fixed_debounce_and_cool_down_hold_for_every_step() {
    let mut scheduler = Scheduler::new(7, GlobalLimits::default());
    let limits = Limits { debounce: Some(ms(300)), cool_down: Some(ms(500)), resync: None, ..Limits::default() };
    scheduler.set_operator(Timestamp(0), &operator("greeter"), limits);
    let u = unit("greeter", 1);
    scheduler.trigger(Timestamp(1_000), &u, changed(1));
    assert_eq!(scheduler.next(), Some(Timestamp(1_300)));
    scheduler.start(Timestamp(1_300));
    scheduler.finish(Timestamp(1_300), &u, done());
    scheduler.trigger_next_step(Timestamp(1_301), &u, changed(2));
    assert_eq!(scheduler.next(), Some(Timestamp(1_800)));
}

#[test]
fn a_unit_that_floods_waits_and_others_do_not() {
    let (mut scheduler, u) = adaptive();
    let other = unit("greeter", 2);
    let now = Timestamp(1_000);
    scheduler.trigger(now, &u, changed(1));
    scheduler.trigger(now, &other, changed(1));
    assert_eq!(scheduler.start(now).len(), 2);
    assert_eq!(scheduler.spend(now, &u, 500), WRITE_BURST as usize);
    scheduler.finish(now, &u, RunEnd::Unfinished);
    let until = now.after(ms(1_000));
    assert_eq!(scheduler.wait(now, &u), Wait::WritesSpent { until });
    assert_eq!(scheduler.spend(now, &other, 40), 40);
    scheduler.finish(now, &other, done());
    assert_eq!(names(&scheduler.start(until)), ["greeter shop/u1"]);
    assert_eq!(scheduler.spend(until, &u, 400), 20);
}

#[test]
fn writes_follow_the_api_servers() {
    let (mut scheduler, _) = adaptive();
    let now = Timestamp(1_000);
    for number in 0..3 {
        scheduler.trigger(now, &unit("greeter", number), changed(1));
    }
    assert_eq!(scheduler.start(now).len(), 3);
    // A run that has started writes all of its plan; the next ones wait.
    for number in 0..3 {
        assert_eq!(scheduler.spend(now, &unit("greeter", number), 90), 90);
        scheduler.finish(now, &unit("greeter", number), done());
    }
    let late = unit("greeter", 9);
    scheduler.trigger(now, &late, changed(1));
    let Wait::Paced { until, writes_per_second } = scheduler.wait(now, &late) else { panic!("not paced") };
    assert_eq!((writes_per_second, scheduler.next()), (START_WRITES_PER_SECOND, Some(until)));
    assert!(until <= now.after(ms(1_020)), "{until:?}");
    assert_eq!(scheduler.slowed_by_servers(), None);
    (0..20).for_each(|count| scheduler.throttle(now.after(ms(count * 1_000))));
    let slowed = scheduler.slowed_by_servers();
    assert_eq!(slowed, Some((MIN_WRITES_PER_SECOND, SlowServer::TooManyRequests)));
    // A fixed limit does not adapt.
    scheduler.set_global(GlobalLimits { requests_per_second: Some(100), ..GlobalLimits::default() });
    assert_eq!(scheduler.slowed_by_servers(), None);
    assert_eq!(scheduler.spend(now.after(ms(60_000)), &late, 90), 50);
}

#[test]
fn runs_that_started_at_once_do_not_exceed_the_rate_of_a_slow_server() {
    let (mut scheduler, _) = adaptive();
    (0..20).for_each(|count| scheduler.throttle(Timestamp(count * 1_000)));
    let now = Timestamp(60_000);
    for number in 0..3 {
        scheduler.trigger(now, &unit("greeter", number), changed(1));
    }
    assert_eq!(scheduler.start(now).len(), 3);
    let granted: usize = (0..3).map(|number| scheduler.spend(now, &unit("greeter", number), 50)).sum();
    assert_eq!(granted, MIN_WRITES_PER_SECOND as usize);
}
