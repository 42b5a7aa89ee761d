//! Own writes that are observed: the next step of the work, or nothing to do.

use super::*;
use crate::limits::RUN_BURST;
use crate::plan::WriteOp;

fn with_data(revision: u64, value: &str) -> Value {
    let mut object = config_map("child", revision, "x");
    object["data"] = json!({"v": value});
    object
}

/// Sets the field `v` of the child to `wanted`, which defaults nothing.
fn sets(wanted: &'static str) -> impl Fn(&Unit, &View) -> Result<Plan, DecideError> {
    move |_, view| {
        view.get(&CONFIG_MAPS, "shop", "child")?;
        let mut plan = Plan::nothing();
        let body = json!({"metadata": {"name": "child", "namespace": "shop"}, "data": {"v": wanted}});
        plan.push(Mutation::apply(&CONFIG_MAPS, body));
        Ok(plan)
    }
}

/// Starts a unit that applies to the child at revision 11 with value `one`, and returns its run and writes.
fn applying(core: &mut Core) -> (UnitRun, Vec<crate::decision::Write>) {
    let run = runs(core.poll(Timestamp(0))).remove(0);
    over(decide(core, 0, &run));
    core.poll(Timestamp(0));
    sync(core, 0, &CONFIG_MAPS, &[with_data(11, "one")]);
    let run = runs(core.poll(Timestamp(1_000))).remove(0);
    let RunProgress::Write { writes, .. } = decide(core, 1_000, &run) else { panic!("wants to write nothing") };
    (run, writes)
}

/// Reports that the write left the child like this.
fn wrote(core: &mut Core, now: u64, run: &UnitRun, writes: Vec<crate::decision::Write>, after: &Value) {
    let revision = after["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    let done = |mut write: crate::decision::Write| {
        write.result = WriteResult::Written { revision };
        ExecutedWrite { write, before: Some(with_data(11, "one")), after: Some(after.clone()), unchecked: None }
    };
    core.finish_writes(Timestamp(now), &run.unit, run.id, writes.into_iter().map(done).collect(), 9).unwrap();
}

fn adaptive() -> Limits {
    Limits { resync: None, ..Limits::default() }
}

#[test]
fn an_own_write_without_a_visible_change_causes_no_run() {
    // The apply only added the operator to the field managers, which the cache does not keep.
    for observed_first in [false, true] {
        let mut core = kernel([puppet("a", sets("one"))], &adaptive());
        let (run, writes) = applying(&mut core);
        if observed_first {
            put(&mut core, 1_001, &with_data(12, "one"));
        }
        wrote(&mut core, 1_002, &run, writes, &with_data(12, "one"));
        put(&mut core, 1_003, &with_data(12, "one"));
        assert!(runs(core.poll(Timestamp(100_000))).is_empty() && core.is_quiet(), "{observed_first}");
        // The revision counts as read: a change of another writer to it starts a run.
        put(&mut core, 100_001, &with_data(13, "two"));
        assert_eq!(runs(core.poll(Timestamp(100_001))).len(), 1);
    }
}

#[test]
fn an_own_write_that_the_server_changed_causes_a_run_at_once() {
    for observed_first in [false, true] {
        let mut core = kernel([puppet("a", sets("two"))], &adaptive());
        let (run, writes) = applying(&mut core);
        let mut mutated = with_data(12, "two");
        mutated["data"]["default"] = json!("of a webhook");
        if observed_first {
            put(&mut core, 1_001, &mutated);
        }
        wrote(&mut core, 1_002, &run, writes, &mutated);
        put(&mut core, 1_003, &mutated);
        assert_eq!(runs(core.poll(Timestamp(1_003))).len(), 1, "{observed_first}");
    }
}

#[test]
fn a_change_of_another_writer_is_never_taken_for_an_own_write() {
    for observed_first in [false, true] {
        let mut core = kernel([puppet("a", sets("one"))], &adaptive());
        let (run, writes) = applying(&mut core);
        if observed_first {
            put(&mut core, 1_001, &with_data(12, "one"));
            put(&mut core, 1_001, &with_data(13, "another's"));
        }
        wrote(&mut core, 1_002, &run, writes, &with_data(12, "one"));
        if !observed_first {
            // The watch merges both changes into one.
            put(&mut core, 1_003, &with_data(13, "another's"));
        }
        let run = runs(core.poll(Timestamp(2_000))).remove(0);
        let RunProgress::Write { writes, .. } = decide(&mut core, 2_000, &run) else { panic!("it sets it back") };
        assert!(matches!(writes[0].mutation.operation, WriteOp::Apply { .. }));
    }
}

#[test]
fn a_change_of_another_writer_without_a_visible_effect_causes_a_run() {
    let mut core = kernel([puppet("a", sets("one"))], &adaptive());
    let (run, writes) = applying(&mut core);
    put(&mut core, 1_001, &with_data(12, "one"));
    let mut unchanged = writes;
    unchanged[0].result = WriteResult::Unchanged;
    let executed =
        unchanged.into_iter().map(|write| ExecutedWrite { write, before: None, after: None, unchecked: None });
    core.finish_writes(Timestamp(1_002), &run.unit, run.id, executed.collect(), 9).unwrap();
    assert_eq!(runs(core.poll(Timestamp(1_002))).len(), 1);
}

/// Creates one more object in every run, so no write repeats an earlier one.
fn grows(_: &Unit, view: &View) -> Result<Plan, DecideError> {
    let all = view.list(&CONFIG_MAPS, &Selection::all())?;
    let mut plan = Plan::nothing();
    let name = format!("child-{}", all.len());
    plan.push(Mutation::create(&CONFIG_MAPS, json!({"metadata": {"name": name, "namespace": "shop"}})));
    Ok(plan)
}

#[test]
fn a_loop_through_ever_new_objects_is_braked() {
    let mut core = kernel([puppet("a", grows)], &adaptive());
    let run = runs(core.poll(Timestamp(0))).remove(0);
    over(decide(&mut core, 0, &run));
    core.poll(Timestamp(0));
    sync(&mut core, 0, &CONFIG_MAPS, &[]);
    let (mut now, mut made) = (1_000, 0);
    let end = now + 60_000;
    loop {
        for run in runs(core.poll(Timestamp(now))) {
            let RunProgress::Write { writes, .. } = decide(&mut core, now, &run) else {
                panic!("wants to write nothing")
            };
            made += 1;
            let revision = 100 + made;
            let object = config_map(&writes[0].object.name, revision, "x");
            let done = |mut write: crate::decision::Write| {
                write.result = WriteResult::Written { revision };
                ExecutedWrite { write, before: None, after: Some(object.clone()), unchecked: None }
            };
            core.finish_writes(Timestamp(now), &run.unit, run.id, writes.into_iter().map(done).collect(), 9).unwrap();
            put(&mut core, now, &object);
        }
        now = core.next().map_or(end, |next| next.0.max(now + 1));
        if now >= end {
            break;
        }
    }
    assert!((u64::from(RUN_BURST)..=u64::from(RUN_BURST) + 60).contains(&made), "{made} writes in a minute");
}
