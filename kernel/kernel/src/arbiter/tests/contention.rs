//! Detection of field conflicts and hot loops, and cases that are neither.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::arbiter::{
    FINDING_AGE, LOOP_WINDOW, MAX_FIELDS, MAX_FINDINGS, MAX_UNITS, MAX_WRITTEN, SLOW_FIRST, SLOW_MAX, turn_wait,
};
use crate::decision::{Cause, WriteResult};
use crate::state::Finding;
use crate::timestamp::Timestamp;
use crate::view::{ExternalQuery, ListedObject};

/// One object, the arbiter, and a clock.
struct ContentionBench {
    arbiter: Arbiter,
    now: Timestamp,
    object: Option<Value>,
    revision: u64,
    /// Revision of an input that each unit reads besides the object.
    input: u64,
    /// Digest of the external answer, if a unit makes a query.
    look: Option<u64>,
    /// Causes of the next runs.
    causes: Vec<Cause>,
}

fn external_query(digest: u64) -> ExternalQuery {
    ExternalQuery {
        kind: "weather".to_string(),
        request: json!({ "now": digest }),
        answer: Ok(json!({ "saw": digest })),
        deterministic: false,
        digest: Some(digest),
    }
}

impl ContentionBench {
    fn new() -> Self {
        let object = Some(config_map(json!({ "a": "0", "b": "0" })));
        let (arbiter, now, causes) = (Arbiter::default(), Timestamp(1_000_000), Vec::new());
        Self { arbiter, now, object, revision: 10, input: 1, look: None, causes }
    }

    /// Makes the next run query something new, triggered by the last write.
    fn looks_after_a_write(&mut self) -> &mut Self {
        self.look = Some(self.look.unwrap_or_default() + 1);
        self.causes = vec![Cause::Changed { object: key(&CONFIG_MAPS, "web"), revision: self.revision }];
        self
    }

    fn later(&mut self, wait: Duration) -> &mut Self {
        self.now = self.now.after(wait);
        self
    }

    /// A writer outside the kernel sets a field.
    fn user_sets(&mut self, field: &str, value: &str) {
        self.object.as_mut().unwrap()["data"][field] = value.into();
        self.revision += 1;
    }

    /// A unit reads the object and its input, and sets a field one second later than the previous write.
    fn sets(&mut self, operator: &str, field: &str, value: &str) -> Vec<Finding> {
        let mut after = self.object.clone().unwrap();
        after["data"][field] = value.into();
        self.becomes(operator, Some(after))
    }

    fn becomes(&mut self, operator: &str, after: Option<Value>) -> Vec<Finding> {
        let mutation = match &after {
            Some(after) => Mutation::update(&CONFIG_MAPS, after.clone()),
            None => Mutation::delete(&CONFIG_MAPS, "shop", "web"),
        };
        self.writes(operator, mutation, after)
    }

    /// A unit deletes an object with a finalizer: the response has the terminating object, which is deleted before the
    /// next read.
    fn deletes_slowly(&mut self, operator: &str) -> Vec<Finding> {
        let mut going = self.object.clone().unwrap();
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let found = self.writes(operator, Mutation::delete(&CONFIG_MAPS, "shop", "web"), Some(going));
        self.object = None;
        found
    }

    fn writes(&mut self, operator: &str, mutation: Mutation, after: Option<Value>) -> Vec<Finding> {
        self.later(Duration::from_secs(1));
        let unit = unit(operator);
        let object = key(&CONFIG_MAPS, "web");
        let mut reads = Reads::default();
        reads.gets.insert(object.clone(), self.object.as_ref().map(|_| self.revision));
        reads.gets.insert(key(&PLUGS, "input"), Some(self.input));
        reads.external_queries.extend(self.look.map(external_query));
        let inputs = self.arbiter.inputs(&unit, &reads, &self.causes);
        self.revision += 1;
        let revision = if after.is_some() { self.revision } else { 0 };
        let write = Write { mutation, object, result: WriteResult::Written { revision } };
        let before = std::mem::replace(&mut self.object, after);
        self.arbiter.record_write(self.now, &unit, &write, before.as_ref(), self.object.as_ref(), inputs)
    }
}

/// Returns the number of writes up to the first finding, with the finding.
fn first(writes: impl Iterator<Item = Vec<Finding>>) -> (usize, Finding) {
    let (before, mut found) =
        writes.enumerate().find(|(_, findings)| !findings.is_empty()).expect("a finding within the writes");
    assert_eq!(found.len(), 1, "{found:?}");
    (before + 1, found.remove(0))
}

fn loops(finding: &Finding) -> (&str, u32) {
    match finding {
        Finding::HotLoop { field, writes, unit: looping, .. } if *looping == unit("plugs") => (field, *writes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_conflict_is_found_within_five_flips_and_names_both_units_and_the_field() {
    let mut bench = ContentionBench::new();
    let turns = [("plugs", "1"), ("sockets", "0")].into_iter().cycle().take(6);
    let (writes, finding) = first(turns.map(|(operator, value)| bench.sets(operator, "a", value)));
    assert_eq!(writes, 4);
    let Finding::FieldConflict { object, field, units, flips, at } = &finding else { panic!("{finding:?}") };
    assert_eq!((object, field.as_str(), *flips), (&key(&CONFIG_MAPS, "web"), ".data.a", 3));
    assert_eq!(units, &[unit("plugs"), unit("sockets")]);
    assert_eq!(bench.arbiter.findings(*at), std::slice::from_ref(&finding));
    assert_eq!(bench.arbiter.findings(at.after(FINDING_AGE)).len(), 1);
    assert_eq!(bench.arbiter.findings(at.after(FINDING_AGE + Duration::from_millis(1))), []);
}

#[test]
fn a_conflict_with_always_new_values_is_found_and_stays_active_while_slowed() {
    let mut bench = ContentionBench::new();
    let turns = (0..12).map(|turn| (["plugs", "sockets"][turn % 2], format!("turn {turn}")));
    let (writes, finding) = first(turns.map(|(operator, value)| bench.sets(operator, "a", &value)));
    assert_eq!(writes, 6);
    let Finding::FieldConflict { field, units, flips, .. } = &finding else { panic!("{finding:?}") };
    assert_eq!((field.as_str(), *flips, units), (".data.a", 3, &[unit("sockets"), unit("plugs")]));
    for turn in 0..20 {
        bench.later(turn_wait(3 + turn));
        let found = bench.sets(["plugs", "sockets"][turn as usize % 2], "a", &format!("slowed {turn}"));
        let [Finding::FieldConflict { flips, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(*flips, 4 + turn);
    }
    assert_eq!(bench.arbiter.slowdown(&unit("plugs"), bench.now), None, "no unit loops");
}

#[test]
fn an_always_new_value_against_a_constant_one_is_a_conflict() {
    let mut bench = ContentionBench::new();
    for turn in 0..4 {
        bench.input += 1;
        bench.sets("plugs", "a", &format!("input {turn}"));
        bench.sets("sockets", "a", "0");
    }
    assert!(matches!(bench.arbiter.findings(bench.now)[..], [Finding::FieldConflict { flips: 4, .. }]));
}

#[test]
fn turns_with_an_outside_cause_are_no_conflict() {
    let mut bench = ContentionBench::new();
    for turn in 0..20 {
        bench.input += 1;
        for operator in ["plugs", "sockets"] {
            assert_eq!(bench.sets(operator, "a", &format!("{operator} follows {turn}")), [], "turn {turn}");
        }
    }
    // One unit reacts to the other's value; only the first has a reason of its own.
    let mut bench = ContentionBench::new();
    for turn in 0..20 {
        bench.input += 1;
        assert_eq!(bench.sets("plugs", "a", &format!("order {turn}")), []);
        bench.input = 1_000_000;
        assert_eq!(bench.sets("sockets", "a", &format!("order {turn} taken")), []);
        bench.input = turn;
    }
}

#[test]
fn new_values_from_time_to_time_are_no_fight() {
    let mut bench = ContentionBench::new();
    for turn in 0..50 {
        bench.later(LOOP_WINDOW + SLOW_FIRST);
        assert_eq!(bench.sets(["plugs", "sockets"][turn % 2], "a", &format!("seen {turn}")), [], "turn {turn}");
    }
}

#[test]
fn conflicting_units_do_not_loop() {
    let mut bench = ContentionBench::new();
    for turn in 0..20 {
        let (operator, value) = if turn % 2 == 0 { ("plugs", "1") } else { ("sockets", "0") };
        let found = bench.sets(operator, "a", value);
        assert!(found.iter().all(|finding| matches!(finding, Finding::FieldConflict { .. })), "{found:?}");
    }
    assert_eq!(bench.arbiter.slowdown(&unit("plugs"), bench.now), None);
}

#[test]
fn a_creating_and_a_deleting_unit_conflict() {
    let mut bench = ContentionBench::new();
    let object = bench.object.clone();
    let turns = [("plugs", None), ("sockets", object)].into_iter().cycle().take(6);
    let (writes, finding) = first(turns.map(|(operator, after)| bench.becomes(operator, after)));
    assert_eq!(writes, 4);
    assert!(matches!(finding, Finding::FieldConflict { field, .. } if field == "."));
}

#[test]
fn a_slow_deletion_counts_for_conflicts_and_loops() {
    for (maker, fights) in [("sockets", true), ("plugs", false)] {
        let mut bench = ContentionBench::new();
        let object = bench.object.clone();
        let (writes, finding) = first((0..6).map(|turn| match turn % 2 {
            0 => bench.deletes_slowly("plugs"),
            _ => bench.becomes(maker, object.clone()),
        }));
        assert_eq!((writes, finding.field()), (if fights { 4 } else { 5 }, "."), "{finding:?}");
        assert_eq!(matches!(finding, Finding::FieldConflict { .. }), fights, "{finding:?}");
    }
}

#[test]
fn a_finished_conflict_is_not_found_again() {
    let mut bench = ContentionBench::new();
    for value in ["1", "0", "1", "0", "1"].iter().enumerate() {
        bench.sets(["plugs", "sockets"][value.0 % 2], "a", value.1);
    }
    bench.input += 1;
    assert_eq!(bench.sets("plugs", "a", "2"), [], "no other unit sets it back");
    bench.arbiter.forget(&unit("sockets"));
    assert_eq!(bench.arbiter.findings(bench.now), []);
}

#[test]
fn different_fields_are_no_fight() {
    let mut bench = ContentionBench::new();
    for turn in 0..20 {
        bench.input += 1;
        let (operator, field) = if turn % 2 == 0 { ("plugs", "a") } else { ("sockets", "b") };
        assert_eq!(bench.sets(operator, field, if turn % 4 < 2 { "1" } else { "0" }), []);
    }
}

#[test]
fn different_conditions_and_finalizers_are_no_fight() {
    let mut bench = ContentionBench::new();
    let list = |flags: [bool; 2]| {
        let conditions: Vec<_> = ["Ready", "Coupled"]
            .iter()
            .zip(flags)
            .map(|(name, flag)| json!({ "type": name, "status": if flag { "True" } else { "False" } }))
            .collect();
        let finalizers: Vec<_> = ["a", "b"].iter().zip(flags).filter(|(_, flag)| *flag).map(|(name, _)| name).collect();
        body(
            &CONFIG_MAPS,
            "web",
            json!({ "metadata": { "finalizers": finalizers }, "status": { "conditions": conditions } }),
        )
    };
    bench.object = Some(list([false, false]));
    let mut flags = [false, false];
    for turn in 0..20 {
        bench.input += 1;
        flags[turn % 2] = !flags[turn % 2];
        assert_eq!(bench.becomes(["plugs", "sockets"][turn % 2], Some(list(flags))), [], "turn {turn}");
    }
}

#[test]
fn a_user_who_edits_back_is_no_conflict_and_no_loop() {
    let mut bench = ContentionBench::new();
    for turn in 0..20 {
        bench.user_sets("a", "0");
        assert_eq!(bench.sets(["plugs", "sockets"][turn % 2], "a", "1"), []);
    }
    for _ in 0..20 {
        bench.user_sets("a", "0");
        assert_eq!(bench.sets("plugs", "a", "1"), []);
    }
}

#[test]
fn slow_turns_are_no_fight() {
    let mut bench = ContentionBench::new();
    for turn in 0..20 {
        bench.later(FINDING_AGE);
        assert_eq!(bench.sets(["plugs", "sockets"][turn % 2], "a", ["1", "0"][turn % 2]), []);
    }
}

#[test]
fn a_loop_is_found_within_five_writes_and_names_the_field() {
    let mut bench = ContentionBench::new();
    let (writes, finding) = first((1..7).map(|n| bench.sets("plugs", "a", &n.to_string())));
    assert_eq!((writes, loops(&finding)), (5, (".data.a", 4)));
    assert_eq!(bench.arbiter.findings(bench.now), [finding]);
}

#[test]
fn a_loop_over_two_fields_is_found() {
    let mut bench = ContentionBench::new();
    let (writes, _) = first((1..9).map(|n| bench.sets("plugs", ["a", "b"][n % 2], &n.to_string())));
    assert!(writes <= 6, "{writes}");
}

#[test]
fn creating_and_deleting_the_same_object_is_a_loop() {
    let mut bench = ContentionBench::new();
    let object = bench.object.clone();
    let turns = [None, object].into_iter().cycle().take(6);
    let (writes, finding) = first(turns.map(|after| bench.becomes("plugs", after)));
    assert_eq!((writes, loops(&finding)), (5, (".", 4)));
}

/// Each run creates `many` objects with a generated name.
fn generates(bench: &mut ContentionBench, run: usize, many: usize) -> Vec<Finding> {
    bench.later(Duration::from_secs(1));
    let mut reads = Reads::default();
    let query = ListQuery { table: key(&PODS, "").table, selection: Default::default() };
    let names = (0..run).flat_map(|run| (0..many).map(move |n| (run, n)));
    let listed = names.map(|(run, n)| ListedObject {
        namespace: "shop".into(),
        name: format!("job-{run}-{n}").into(),
        revision: (100 * run + n) as u64,
    });
    reads.lists.insert(query, listed.collect());
    let inputs = bench.arbiter.inputs(&unit("plugs"), &reads, &[]);
    let writes = (0..many).flat_map(|n| {
        let name = format!("job-{run}-{n}");
        let after = body(&PODS, &name, json!({ "metadata": { "generateName": "job-" } }));
        let result = WriteResult::Written { revision: (100 * run + n) as u64 };
        let write = Write { mutation: Mutation::create(&PODS, after.clone()), object: key(&PODS, &name), result };
        bench.arbiter.record_write(bench.now, &unit("plugs"), &write, None, Some(&after), inputs)
    });
    writes.collect()
}

#[test]
fn creating_one_more_generated_name_each_time_is_a_loop() {
    let mut bench = ContentionBench::new();
    let (runs, finding) = first((0..6).map(|run| generates(&mut bench, run, 1)));
    assert_eq!((runs, loops(&finding)), (4, (".", 4)));
}

#[test]
fn creating_many_generated_names_at_once_is_no_loop() {
    assert_eq!(generates(&mut ContentionBench::new(), 0, 50), []);
}

#[test]
fn an_object_built_up_field_by_field_is_no_loop() {
    let mut bench = ContentionBench::new();
    for n in 0..12 {
        assert_eq!(bench.sets("plugs", &format!("field-{n}"), "1"), []);
    }
}

#[test]
fn following_changing_inputs_is_no_loop() {
    let mut bench = ContentionBench::new();
    for n in 0..20 {
        bench.input += 1;
        assert_eq!(bench.sets("plugs", "a", &format!("input {n}")), []);
    }
}

#[test]
fn object_and_status_of_one_run_count_once() {
    let mut bench = ContentionBench::new();
    let status = |n: u64| Mutation::update(&CONFIG_MAPS, config_map(json!({ "a": n }))).status();
    for n in 0..3_u64 {
        assert_eq!(bench.sets("plugs", "a", &format!("run {n}")), []);
        // Within one run: the time does not advance, and nothing is read in between.
        let mut after = bench.object.clone().unwrap();
        after["status"] = json!({ "seen": n });
        bench.now = Timestamp(bench.now.0 - 1_000);
        bench.revision += 1;
        let found = bench.writes("plugs", status(n), Some(after));
        assert_eq!(found, [], "run {n}");
    }
}

#[test]
fn a_heartbeat_is_no_loop() {
    let mut bench = ContentionBench::new();
    for n in 0..50 {
        bench.later(LOOP_WINDOW);
        assert_eq!(bench.sets("plugs", "a", &format!("alive {n}")), []);
    }
}

#[test]
fn a_loop_is_slowed_more_and_more_and_never_without_end() {
    let (mut bench, plugs) = (ContentionBench::new(), unit("plugs"));
    let mut waits = Vec::new();
    for n in 1..20 {
        bench.sets("plugs", "a", &n.to_string());
        let wait = bench.arbiter.slowdown(&plugs, bench.now).unwrap_or_default();
        // With the slowdown applied, the loop is still the same one.
        bench.later(wait);
        waits.push(wait);
    }
    assert_eq!(waits[..4], [Duration::ZERO; 4]);
    let seconds: Vec<u64> = waits[4..].iter().map(Duration::as_secs).collect();
    assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60, 60, 60]);
    assert_eq!((SLOW_FIRST.as_secs(), SLOW_MAX.as_secs()), (1, 60));
    // After it stopped, no unit is slowed.
    assert_eq!(bench.arbiter.slowdown(&unit("sockets"), bench.now), None);
    bench.later(LOOP_WINDOW + Duration::from_millis(1));
    assert_eq!(bench.arbiter.slowdown(&plugs, bench.now), None);
}

#[test]
fn changed_inputs_end_a_loop() {
    let mut bench = ContentionBench::new();
    (0..10).for_each(|n| drop(bench.sets("plugs", "a", &n.to_string())));
    assert!(bench.arbiter.slowdown(&unit("plugs"), bench.now).is_some());
    bench.input += 1;
    assert_eq!(bench.sets("plugs", "a", "new"), []);
    assert_eq!(bench.arbiter.slowdown(&unit("plugs"), bench.now), None);
}

/// For example the live command of a hosted program: its answer is new each time, and only its own writes trigger it.
#[test]
fn a_unit_whose_queries_are_caused_by_itself_loops_and_is_slowed() {
    let mut bench = ContentionBench::new();
    let (writes, finding) =
        first((0..9).map(|write| bench.looks_after_a_write().sets("plugs", "a", &format!("n{write}"))));
    assert_eq!((writes, loops(&finding)), (5, (".data.a", 4)));
    assert_eq!(bench.arbiter.slowdown(&unit("plugs"), bench.now), Some(SLOW_FIRST));
    // A resync in between is no evidence for or against a loop.
    bench.looks_after_a_write().causes.push(Cause::Resync);
    assert_eq!(bench.sets("plugs", "a", "regular"), []);
    let found = bench.looks_after_a_write().sets("plugs", "a", "again");
    assert_eq!(loops(&found[0]), (".data.a", 5));
    // Neither is a retry after a failure.
    bench.looks_after_a_write().causes.push(Cause::Retry { failures: 3 });
    let found = bench.sets("plugs", "a", "and again");
    assert_eq!(loops(&found[0]), (".data.a", 6));
}

#[test]
fn a_unit_whose_queries_have_another_cause_is_no_loop() {
    for cause in [Cause::Resync, Cause::Requested, Cause::External] {
        let mut bench = ContentionBench::new();
        for write in 0..20 {
            bench.looks_after_a_write().causes.push(cause.clone());
            // Alternating values, as of something external that comes and goes.
            assert_eq!(bench.sets("plugs", "a", ["up", "down"][write % 2]), [], "{cause:?}");
        }
    }
}

#[test]
fn units_whose_queries_are_caused_by_each_other_conflict() {
    let mut bench = ContentionBench::new();
    let turns = (0..12).map(|turn| (["plugs", "sockets"][turn % 2], format!("turn {turn}")));
    let found = turns.map(|(operator, value)| bench.looks_after_a_write().sets(operator, "a", &value));
    assert!(matches!(first(found), (6, Finding::FieldConflict { .. })));
    // Units that another cause triggered are no loops.
    let mut bench = ContentionBench::new();
    for turn in 0..12 {
        bench.looks_after_a_write().causes.push(Cause::Resync);
        assert_eq!(bench.sets(["plugs", "sockets"][turn % 2], "a", &format!("turn {turn}")), []);
    }
}

#[test]
fn unwritten_writes_do_not_count() {
    let mut bench = ContentionBench::new();
    let (unit, object) = (unit("plugs"), key(&CONFIG_MAPS, "web"));
    for n in 0..10 {
        let after = config_map(json!({ "a": n }));
        let mutation = Mutation::update(&CONFIG_MAPS, after.clone());
        let write = Write { mutation, object: object.clone(), result: WriteResult::DryRun };
        let before = bench.object.replace(after);
        let (reads, after) = (Reads::default(), bench.object.as_ref());
        let inputs = bench.arbiter.inputs(&unit, &reads, &[]);
        assert_eq!(bench.arbiter.record_write(bench.now, &unit, &write, before.as_ref(), after, inputs), []);
    }
}

#[test]
fn memory_is_bounded() {
    let mut arbiter = Arbiter::default();
    let whole = |name: &str| UnitId { operator: OperatorName::new(name), unit: Unit::Whole };
    let mut tell = |unit: &UnitId, object: ObjectKey, now: u64, n: usize| {
        let before = config_map(json!({ "a": n }));
        let after = config_map(json!({ "a": n + 1 }));
        let result = WriteResult::Written { revision: now };
        let write = Write { mutation: Mutation::update(&CONFIG_MAPS, after.clone()), object, result };
        // Every third write changes nothing, but its revision is remembered.
        let before = if n.is_multiple_of(3) { &after } else { &before };
        let reads = Reads::default();
        let inputs = arbiter.inputs(unit, &reads, &[]);
        arbiter.record_write(Timestamp(now), unit, &write, Some(before), Some(&after), inputs);
    };
    for n in 0..MAX_UNITS + 500 {
        tell(&whole(&format!("unit-{n}")), key(&CONFIG_MAPS, &format!("object-{n}")), n as u64, n);
    }
    for n in 0..MAX_WRITTEN + 500 {
        tell(&whole(&format!("few-{}", n % 1_000)), key(&CONFIG_MAPS, &format!("object-{n}")), n as u64, n);
    }
    let (units, objects) = arbiter.contention.hot_loops.remembered();
    assert!(units <= MAX_UNITS && objects <= MAX_WRITTEN, "{units} units, {objects} objects");
    assert!(objects > MAX_WRITTEN / 2, "{objects}: no more than needed is forgotten");
    assert!(arbiter.contention.field_conflicts.remembered() <= MAX_FIELDS);
}

#[test]
fn findings_are_bounded() {
    let mut arbiter = Arbiter::default();
    let now = |n: usize| Timestamp(1_000 + n as u64);
    for object in 0..MAX_FINDINGS + 20 {
        for n in 0..4 {
            let (before, after) = (config_map(json!({ "a": n % 2 })), config_map(json!({ "a": (n + 1) % 2 })));
            let mutation = Mutation::update(&CONFIG_MAPS, after.clone());
            let result = WriteResult::Written { revision: 1 };
            let write = Write { mutation, object: key(&CONFIG_MAPS, &format!("object-{object}")), result };
            let mut reads = Reads::default();
            reads.gets.insert(key(&PLUGS, "input"), Some(n as u64));
            let unit = unit(["a", "b"][n % 2]);
            let inputs = arbiter.inputs(&unit, &reads, &[]);
            arbiter.record_write(now(object), &unit, &write, Some(&before), Some(&after), inputs);
        }
    }
    let kept = arbiter.findings(now(MAX_FINDINGS));
    assert_eq!(kept.len(), MAX_FINDINGS);
    let first =
        |finding: &Finding| matches!(finding, Finding::FieldConflict { object, .. } if *object.name == *"object-0");
    assert!(!kept.iter().any(first), "the oldest goes");
}

#[test]
fn a_slow_loop_is_found_when_it_goes_round() {
    let mut bench = ContentionBench::new();
    let values = ["1", "0"].into_iter().cycle().take(6);
    let (writes, finding) = first(values.map(|value| bench.later(LOOP_WINDOW * 12).sets("plugs", "a", value)));
    assert_eq!((writes, loops(&finding)), (5, (".data.a", 4)));
    assert_eq!(bench.arbiter.slowdown(&unit("plugs"), bench.now), Some(SLOW_FIRST));
}

#[test]
fn creating_and_deleting_the_same_object_slowly_is_a_loop() {
    let mut bench = ContentionBench::new();
    let object = bench.object.clone();
    let turns = [None, object].into_iter().cycle().take(6);
    let (writes, finding) = first(turns.map(|after| bench.later(LOOP_WINDOW * 12).becomes("plugs", after)));
    assert_eq!((writes, loops(&finding)), (5, (".", 4)));
}

#[test]
fn always_new_or_rarely_repeated_values_are_no_slow_loop() {
    let mut bench = ContentionBench::new();
    for beat in 0..20 {
        assert_eq!(bench.later(LOOP_WINDOW * 12).sets("plugs", "a", &beat.to_string()), [], "a heartbeat");
    }
    for turn in 0..20 {
        assert_eq!(bench.later(FINDING_AGE).sets("plugs", "b", ["1", "0"][turn % 2]), [], "day and night");
    }
    for turn in 0..20 {
        bench.input += 1;
        assert_eq!(bench.later(LOOP_WINDOW * 12).sets("plugs", "b", ["1", "0"][turn % 2]), [], "its inputs change");
    }
}
