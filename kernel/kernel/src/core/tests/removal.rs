//! Removal of operators.

use super::*;

fn name(text: &str) -> OperatorName {
    OperatorName::new(text)
}

fn own(unit: &Unit, view: &View) -> Result<Plan, DecideError> {
    view.get(&SECRETS, unit.namespace(), unit.name()).map(|_| Plan::nothing())
}

/// Returns a core with two operators over the same objects, both Ready.
fn two() -> Core {
    let mut core = kernel([per_config_map("a", own), per_config_map("b", own)], &Limits::none());
    core.poll(Timestamp(0));
    sync(&mut core, 0, &CONFIG_MAPS, &[config_map("one", 1, "unit")]);
    for run in runs(core.poll(Timestamp(1))) {
        over(decide(&mut core, 1, &run));
    }
    core.poll(Timestamp(1));
    sync(&mut core, 1, &SECRETS, &[]);
    for run in runs(core.poll(Timestamp(2))) {
        over(decide(&mut core, 2, &run));
    }
    assert!(core.is_quiet(), "{:?}", core.unsettled_reasons());
    core
}

#[test]
fn a_removed_operator_is_not_shown_and_does_not_run() {
    let mut core = two();
    assert!(core.remove(&name("a")) && !core.remove(&name("a")));
    let state = core.state(Timestamp(3));
    assert_eq!(state.operators.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["b"]);
    assert!(state.tables.iter().all(|table| table.readers == [name("b")]), "{:?}", state.tables);
    put(&mut core, 3, &config_map("one", 12, "unit"));
    let woken = runs(core.poll(Timestamp(3)));
    assert_eq!(woken.iter().map(|run| run.unit.to_string()).collect::<Vec<_>>(), ["b shop/one"]);
    assert_eq!(core.reconcile(Timestamp(3), &name("a"), None), None);
}

#[test]
fn kinds_without_other_readers_are_unwatched() {
    let mut core = two();
    assert!(core.remove(&name("a")) && core.remove(&name("b")));
    assert_eq!(core.poll(Timestamp(4)).len(), 0, "not at once");
    let gone = core.poll(Timestamp(4 + UNREAD_GRACE_MS));
    assert!(matches!(gone.as_slice(), [CoreCommand::Unwatch(_), CoreCommand::Unwatch(_)]), "{}", gone.len());
    assert!(core.is_quiet() && core.next().is_none());
}

#[test]
fn an_active_run_is_dropped_with_its_operator() {
    let mut core = two();
    put(&mut core, 3, &config_map("one", 12, "unit"));
    let run = runs(core.poll(Timestamp(3))).remove(0);
    assert_eq!(run.unit.operator, name("a"));
    core.remove(&name("a"));
    let (plan, reads) = run.decide();
    assert!(core.finish_decide(Timestamp(4), &run.unit, run.id, DecideResult { plan, reads, decide_us: 7 }).is_none());
    assert!(!core.unsettled_reasons().iter().any(|one| one.starts_with("a ")), "{:?}", core.unsettled_reasons());
    assert!(core.unit(Timestamp(4), &run.unit).is_none());
    // An operator that is added again starts over.
    core.add(Timestamp(5), per_config_map("a", own), Limits::none());
    let again = runs(core.poll(Timestamp(5)));
    assert!(again.iter().any(|run| run.unit.to_string() == "a shop/one"));
}

/// For example when its cluster has new credentials.
#[test]
fn an_operator_added_again_exists_once() {
    let mut core = two();
    for _ in 0..3 {
        core.add(Timestamp(3), per_config_map("a", own), Limits::none());
    }
    let known: Vec<&OperatorName> = core.unit_index.operators(&table(&CONFIG_MAPS)).collect();
    assert_eq!(known, [&name("b"), &name("a")]);
    let woken = runs(core.poll(Timestamp(4)));
    assert_eq!(woken.iter().map(|run| run.unit.to_string()).collect::<Vec<_>>(), ["a shop/one"]);
}

#[test]
fn active_writes_are_finished() {
    let mut core = kernel([puppet("a", applies_child)], &Limits::none());
    let run = first_run(&mut core);
    let progress = decide(&mut core, 1, &run);
    core.remove(&name("a"));
    carry(&mut core, 2, &run, progress, 12);
    assert!(core.unit(Timestamp(3), &run.unit).is_none() && core.state(Timestamp(3)).operators.is_empty());
    put(&mut core, 3, &config_map("child", 12, "x"));
    assert!(runs(core.poll(Timestamp(3))).is_empty());
}
