//! Waiting units: what they wait for triggers them, and their reported status is correct.

use super::*;
use crate::redact::REDACTED;
use crate::resource::ObjectKey;
use crate::state::Finding;
use crate::view::Reads;

fn remove(core: &mut Core, now: u64, object: &Value) {
    let bytes = object.to_string().into_bytes().into();
    core.observe(Timestamp(now), &table(&CONFIG_MAPS), TableEvent::Remove(bytes)).unwrap();
}

/// Deletes the child of its object when the object is deleted.
fn takes_its_child_away(unit: &Unit, view: &View) -> Result<Plan, DecideError> {
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
        Some(_) => Ok(Plan::nothing().waiting("child to be deleted")),
    }
}

#[test]
fn a_waiting_unit_without_an_object_is_triggered() {
    let mut core = kernel([per_config_map("a", takes_its_child_away)], &Limits::none());
    core.poll(Timestamp(0));
    sync(&mut core, 0, &CONFIG_MAPS, &[config_map("one", 1, "unit"), config_map("child", 2, "x")]);
    let run = runs(core.poll(Timestamp(1))).remove(0);
    over(decide(&mut core, 1, &run));
    remove(&mut core, 2, &config_map("one", 11, "unit"));
    let run = runs(core.poll(Timestamp(2))).remove(0);
    let progress = decide(&mut core, 2, &run);
    carry(&mut core, 3, &run, progress, 12);
    // A finalizer keeps it.
    let mut going = config_map("child", 12, "x");
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    put(&mut core, 4, &going);
    let run = runs(core.poll(Timestamp(4))).remove(0);
    over(decide(&mut core, 4, &run));
    let unit = core.unit(Timestamp(5), &run.unit).expect("it is not done yet");
    assert_eq!((unit.health, unit.reason.as_str()), (Health::Waiting, "child to be deleted"));
    going["metadata"]["resourceVersion"] = json!("13");
    remove(&mut core, 6, &going);
    let run = runs(core.poll(Timestamp(6))).pop().expect("what it waits for wakes it");
    over(decide(&mut core, 6, &run));
    assert!(core.unit(Timestamp(7), &run.unit).is_none() && core.is_quiet(), "and then it is forgotten");
}

/// Returns what `top` and `why-not` show of the only unit after a run.
fn told(core: &Core) -> (String, String) {
    let mut operator = core.state(Timestamp(1)).operators.remove(0);
    (operator.reason, operator.units.remove(0).reason)
}

#[test]
fn secret_looking_text_in_messages_is_redacted_without_reads() {
    const LOGIN: &str = "postgres://shop:hunter2@db: refused";
    let says: [CoreDecide; 4] = [
        Box::new(|_, _| Err(DecideError::failed(LOGIN))),
        Box::new(|_, _| Ok(Plan::nothing().waiting(LOGIN))),
        Box::new(|_, _| Ok(Plan::nothing().failing(LOGIN))),
        Box::new(|_, _| panic!("{LOGIN}")),
    ];
    for decide_so in says {
        let mut core = kernel([puppet("a", decide_so)], &Limits::none());
        let run = runs(core.poll(Timestamp(0))).remove(0);
        let finished = over(decide(&mut core, 0, &run));
        let masked = format!("postgres://{REDACTED}@db: refused");
        assert!(!format!("{:?}", finished.decision.outcome).contains("hunter2"), "{:?}", finished.decision.outcome);
        let (top, why_not) = told(&core);
        assert!(top.ends_with(&masked) && why_not.ends_with(&masked), "{top}, {why_not}");
    }
    // Messages of the API server for failed and for stale writes.
    for too_late in [false, true] {
        let mut core = kernel([puppet("a", writes_child)], &Limits::none());
        let run = first_run(&mut core);
        let RunProgress::Write { writes, .. } = decide(&mut core, 1, &run) else { panic!("wants to write") };
        let said = |mut write: crate::decision::Write| {
            let message = LOGIN.to_string();
            write.result = if too_late { WriteResult::Stale { message } } else { WriteResult::Failed { message } };
            ExecutedWrite { write, before: None, after: None, unchecked: None }
        };
        let executed = writes.into_iter().map(said).collect();
        let finished = core.finish_writes(Timestamp(1), &run.unit, run.id, executed, 9).unwrap();
        assert!(!format!("{:?}", finished.decision.outcome).contains("hunter2"), "{:?}", finished.decision.outcome);
        assert!(!told(&core).0.contains("hunter2"), "{:?}", told(&core));
    }
}

/// Sets the only field of an object repeatedly, and returns the reported findings.
struct FieldSetter {
    core: Core,
    revision: u64,
    value: String,
}

impl FieldSetter {
    fn set(&mut self, operator: &str, value: &str) -> Vec<Finding> {
        let of = |value: &str| json!({"metadata": {"name": "child", "namespace": "shop"}, "data": {"v": value}});
        let unit = UnitId { operator: OperatorName::new(operator), unit: Unit::Whole };
        self.revision += 1;
        let before = std::mem::replace(&mut self.value, value.to_string());
        let (before, after, now) = (of(&before), of(value), Timestamp(self.revision * 1000));
        let object = ObjectKey { table: table(&CONFIG_MAPS), namespace: "shop".into(), name: "child".into() };
        let result = WriteResult::Written { revision: self.revision };
        let write = crate::decision::Write { mutation: Mutation::update(&CONFIG_MAPS, after.clone()), object, result };
        let reads = Reads::default();
        let inputs = self.core.arbiter.inputs(&unit, &reads, &[]);
        let found = self.core.arbiter.record_write(now, &unit, &write, Some(&before), Some(&after), inputs);
        self.core.new_findings(now, found)
    }
}

#[test]
fn a_conflict_is_reported_at_once_after_a_loop_over_the_same_field() {
    let core = kernel(Vec::<Arc<dyn Operator>>::new(), &Limits::none());
    let mut setting = FieldSetter { core, revision: 0, value: "0".to_string() };
    let loops: Vec<Finding> = (1..8).flat_map(|number| setting.set("a", &number.to_string())).collect();
    assert!(matches!(loops[..], [Finding::HotLoop { .. }]), "{loops:?}");
    let turns = [("b", "red"), ("a", "blue")].into_iter().cycle().take(12);
    let told: Vec<Finding> = turns.flat_map(|(who, colour)| setting.set(who, colour)).collect();
    let fights: Vec<u32> =
        told.iter().filter(|one| matches!(one, Finding::FieldConflict { .. })).map(Finding::count).collect();
    assert_eq!(fights, [3, 6], "{told:?}");
}

#[test]
fn a_waiting_unit_shows_only_the_errors_of_missing_kinds() {
    let reads_both = |_: &Unit, view: &View| {
        view.get(&CONFIG_MAPS, "shop", "web")?;
        view.get(&SECRETS, "shop", "db").map(|_| Plan::nothing())
    };
    let mut core = kernel([puppet("a", reads_both)], &Limits::none());
    let run = first_run(&mut core);
    over(decide(&mut core, 1, &run));
    core.poll(Timestamp(2));
    assert!(core.set_watch_error(&table(&CONFIG_MAPS), "the connection was reset".to_string()));
    let reason = |core: &Core| core.unit(Timestamp(3), &run.unit).unwrap().reason;
    assert_eq!(reason(&core), "secrets to be cached");
    assert!(core.set_watch_error(&table(&SECRETS), "forbidden".to_string()));
    assert_eq!(reason(&core), "secrets: forbidden");
}
