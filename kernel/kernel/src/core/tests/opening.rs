//! Kinds are opened together, and units resume as soon as the kinds are cached.

use super::*;

/// Reads two kinds one after the other.
fn reads_both(_: &Unit, view: &View) -> Result<Plan, DecideError> {
    view.get(&CONFIG_MAPS, "shop", "web")?;
    view.get(&SECRETS, "shop", "web")?;
    Ok(Plan::nothing())
}

/// Reads the same kinds, and opens them together.
fn reads_both_together(unit: &Unit, view: &View) -> Result<Plan, DecideError> {
    let plan = reads_both(unit, view);
    view.open_together([&CONFIG_MAPS, &SECRETS]);
    plan
}

/// Decides the only due run, and returns whether it waits for a kind.
fn parks(core: &mut Core, now: u64) -> bool {
    let run = runs(core.poll(Timestamp(now))).pop().expect("the unit is due");
    matches!(over(decide(core, now, &run)).decision.outcome, RunOutcome::NotCached { .. })
}

#[test]
fn kinds_that_a_run_waits_for_are_opened_in_one_round_trip() {
    let mut core = kernel([puppet("a", reads_both_together)], &Limits::default());
    assert!(parks(&mut core, 200));
    assert_eq!(watches(&core.poll(Timestamp(200))), 2);
    sync(&mut core, 210, &SECRETS, &[]);
    assert!(runs(core.poll(Timestamp(210))).is_empty(), "a kind is still missing");
    sync(&mut core, 220, &CONFIG_MAPS, &[]);
    assert!(!parks(&mut core, 220), "neither a debounce nor a cool-down applies");
}

#[test]
fn a_unit_resumes_although_another_kind_is_still_missing() {
    let mut core = kernel([puppet("a", reads_both_together)], &Limits::default());
    assert!(parks(&mut core, 200));
    core.poll(Timestamp(200));
    sync(&mut core, 210, &CONFIG_MAPS, &[]);
    assert!(parks(&mut core, 410), "after the debounce, because the kind may not be needed any more");
}

#[test]
fn a_kind_that_is_read_later_costs_one_round_trip_and_no_cool_down() {
    let mut core = kernel([puppet("a", reads_both)], &Limits::default());
    assert!(parks(&mut core, 200));
    assert_eq!(watches(&core.poll(Timestamp(200))), 1);
    sync(&mut core, 210, &CONFIG_MAPS, &[]);
    assert!(parks(&mut core, 210));
    assert_eq!(watches(&core.poll(Timestamp(210))), 1);
    sync(&mut core, 220, &SECRETS, &[]);
    assert!(!parks(&mut core, 220));
}

#[test]
fn a_kind_that_is_cached_during_the_run_resumes_the_unit_at_once() {
    let mut core = kernel([puppet("a", reads_both_together), puppet("b", reads_both_together)], &Limits::default());
    let both = runs(core.poll(Timestamp(200)));
    over(decide(&mut core, 200, &both[0]));
    core.poll(Timestamp(200));
    sync(&mut core, 205, &SECRETS, &[]);
    sync(&mut core, 205, &CONFIG_MAPS, &[]);
    over(decide(&mut core, 210, &both[1]));
    let resumed = runs(core.poll(Timestamp(210)));
    assert!(resumed.iter().any(|run| run.unit == both[1].unit), "its view was older than the cache");
}

#[test]
fn the_cool_down_follows_the_last_decision() {
    let limits = Limits { cool_down: Some(Duration::from_secs(1)), ..Limits::default() };
    let mut core = kernel([puppet("a", reads_both_together)], &limits);
    assert!(parks(&mut core, 200));
    core.poll(Timestamp(200));
    sync(&mut core, 210, &SECRETS, &[]);
    sync(&mut core, 210, &CONFIG_MAPS, &[]);
    assert!(!parks(&mut core, 210));
    put(&mut core, 300, &config_map("web", 20, "x"));
    assert!(runs(core.poll(Timestamp(1209))).is_empty());
    assert!(!parks(&mut core, 1210));
}

#[test]
fn opening_kinds_does_not_affect_a_run_that_decides() {
    let opens = |_: &Unit, view: &View| {
        view.open_together([&SECRETS]);
        Ok(Plan::nothing())
    };
    let mut core = kernel([puppet("a", opens)], &Limits::default());
    assert!(!parks(&mut core, 200));
    assert_eq!(watches(&core.poll(Timestamp(200))), 0, "no Secret is listed that nothing reads");
}
