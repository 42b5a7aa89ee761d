//! Writes that a unit makes because earlier ones were rejected.

use super::*;

fn record(revision: u64) -> Value {
    let mut record = config_map("record", revision, "x");
    record["data"] = json!({"count": revision.to_string()});
    record
}

/// Lets a unit write a count each time its deletion of another object is rejected, as a teardown does, and returns the
/// number of runs until a finding.
fn runs_until_finding(limit: u64) -> Option<u64> {
    let counts = |_: &Unit, view: &View| {
        let mut plan = Plan::ordered();
        let count = view.get(&CONFIG_MAPS, "shop", "record")?.map_or(0, |record| record.revision);
        if !view.rejected_writes().is_empty() {
            plan.push(Mutation::apply(&CONFIG_MAPS, record(count + 1)));
        }
        plan.push(Mutation::delete(&CONFIG_MAPS, "shop", "web"));
        Ok(plan)
    };
    let mut core = kernel([puppet("a", counts)], &Limits::none());
    let run = runs(core.poll(Timestamp(0))).remove(0);
    over(decide(&mut core, 0, &run));
    core.poll(Timestamp(0));
    sync(&mut core, 0, &CONFIG_MAPS, &[record(10), config_map("web", 9, "x")]);
    let mut revision = 10;
    for number in 1..limit {
        let now = number * 1000;
        let run = runs(core.poll(Timestamp(now))).remove(0);
        let RunProgress::Write { writes, .. } = decide(&mut core, now, &run) else { panic!("wants to write nothing") };
        let mut executed = Vec::new();
        for mut write in writes {
            let (mut before, mut after) = (None, None);
            if &*write.object.name == "record" {
                (before, after) = (Some(record(revision)), Some(record(revision + 1)));
                revision += 1;
                write.result = WriteResult::Written { revision };
            } else {
                write.result = WriteResult::Failed { message: "it is forbidden".to_string() };
            }
            executed.push(ExecutedWrite { write, before, after, unchecked: None });
        }
        let finished = core.finish_writes(Timestamp(now), &run.unit, run.id, executed, 9).unwrap();
        put(&mut core, now, &record(revision));
        let state = core.state(Timestamp(now));
        assert!(state.operators[0].reason.ends_with("it is forbidden"), "{}", state.operators[0].reason);
        if !finished.findings.is_empty() {
            return Some(number);
        }
    }
    None
}

#[test]
fn a_unit_that_counts_rejections_is_not_found_to_loop() {
    assert_eq!(runs_until_finding(10), None);
}

#[test]
fn a_unit_that_counts_rejections_without_end_is_found_to_loop() {
    assert_eq!(runs_until_finding(60), Some(21));
}
