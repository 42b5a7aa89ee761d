//! Units that wait: what they wait for wakes them, and what is said of them is true.

use super::*;

fn remove(core: &mut Core, now: u64, object: &Value) {
    let bytes = object.to_string().into_bytes().into();
    core.observe(Moment(now), &table(&CONFIG_MAPS), Observed::Remove(bytes)).unwrap();
}

/// Once its object is gone, its child is to be gone as well.
fn takes_its_child_away(unit: &Unit, view: &View) -> Result<Plan, Stop> {
    if view.get(&CONFIG_MAPS, unit.namespace(), unit.name())?.is_some() {
        return Ok(Plan::nothing());
    }
    match view.get(&CONFIG_MAPS, unit.namespace(), "child")? {
        None => Ok(Plan::nothing()),
        Some(child) if child.value()["metadata"]["deletionTimestamp"].is_null() => {
            let mut plan = Plan::nothing();
            plan.push(Mutation::delete(&CONFIG_MAPS, unit.namespace(), "child"));
            Ok(plan)
        }
        Some(_) => Ok(Plan::nothing().waiting("child to be gone")),
    }
}

#[test]
fn a_unit_without_an_object_that_waits_for_something_is_woken_by_it() {
    let mut core = kernel([per_config_map("a", takes_its_child_away)], &Limits::none());
    core.poll(Moment(0));
    sync(&mut core, 0, &CONFIG_MAPS, &[config_map("one", 1, "unit"), config_map("child", 2, "x")]);
    let run = runs(core.poll(Moment(1))).remove(0);
    over(decide(&mut core, 1, &run));
    remove(&mut core, 2, &config_map("one", 11, "unit"));
    let run = runs(core.poll(Moment(2))).remove(0);
    let judgement = decide(&mut core, 2, &run);
    carry(&mut core, 3, &run, judgement, 12);
    // A finalizer holds it back.
    let mut going = config_map("child", 12, "x");
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    put(&mut core, 4, &going);
    let run = runs(core.poll(Moment(4))).remove(0);
    over(decide(&mut core, 4, &run));
    let unit = core.unit(Moment(5), &run.unit).expect("it is not done yet");
    assert_eq!((unit.word, unit.reason.as_str()), (Word::Waiting, "child to be gone"));
    going["metadata"]["resourceVersion"] = json!("13");
    remove(&mut core, 6, &going);
    let run = runs(core.poll(Moment(6))).pop().expect("what it waits for wakes it");
    over(decide(&mut core, 6, &run));
    assert!(core.unit(Moment(7), &run.unit).is_none() && core.is_quiet(), "and then it is forgotten");
}
