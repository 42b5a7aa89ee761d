//! External units, and operators with a cluster of their own.

use super::*;

struct ExternalUnitsOperator(BTreeSet<Unit>);

impl Operator for ExternalUnitsOperator {
    fn name(&self) -> &str {
        "given"
    }

    fn declaration(&self) -> Declaration {
        let maps = BTreeSet::from([AccessRule::every(&CONFIG_MAPS)]);
        let units = Units::External(self.0.clone());
        Declaration { inputs: maps.clone(), outputs: maps, service_account: None, units }
    }

    fn home_cluster(&self) -> Option<ClusterName> {
        Some(ClusterName::new("edge"))
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let mut plan = Plan::nothing();
        if view.get(&CONFIG_MAPS, unit.namespace(), unit.name())?.is_none() {
            plan.push(Mutation::create(
                &CONFIG_MAPS,
                json!({"metadata": {"name": unit.name(), "namespace": unit.namespace()}}),
            ));
        }
        Ok(plan)
    }
}

fn units(names: &[&str]) -> BTreeSet<Unit> {
    names.iter().map(|name| Unit::object("shop", name)).collect()
}

fn names(runs: &[UnitRun]) -> Vec<&str> {
    runs.iter().map(|run| run.unit.unit.name()).collect()
}

fn edge() -> TableKey {
    TableKey { cluster: ClusterName::new("edge"), ..table(&CONFIG_MAPS) }
}

/// Returns a core in which both units are Ready.
fn settled() -> Core {
    let mut core = kernel([Arc::new(ExternalUnitsOperator(units(&["a", "b"]))) as Arc<dyn Operator>], &Limits::none());
    for run in runs(core.poll(Timestamp(0))) {
        decide(&mut core, 0, &run);
    }
    let orders = core.poll(Timestamp(0));
    assert!(matches!(&orders[..], [CoreCommand::Watch(table)] if *table == edge()), "it reads its own cluster");
    core.observe(Timestamp(1), &edge(), TableEvent::Begin).unwrap();
    for name in ["a", "b", "c"] {
        let bytes = config_map(name, 5, "x").to_string().into_bytes().into();
        core.observe(Timestamp(1), &edge(), TableEvent::Put(bytes)).unwrap();
    }
    core.observe(Timestamp(1), &edge(), TableEvent::Synced { revision: 10 }).unwrap();
    for run in runs(core.poll(Timestamp(1))) {
        over(decide(&mut core, 1, &run));
    }
    core
}

#[test]
fn units_that_are_new_changed_or_gone_run_and_the_others_do_not() {
    let mut core = settled();
    assert!(runs(core.poll(Timestamp(2))).is_empty());
    let name = OperatorName::new("given");
    assert!(core.set_units(Timestamp(2), &name, units(&["a", "b"]), &[]));
    assert!(runs(core.poll(Timestamp(2))).is_empty(), "nothing is different");
    assert!(core.set_units(Timestamp(3), &name, units(&["b", "c"]), &[Unit::object("shop", "b")]));
    let woken = runs(core.poll(Timestamp(3)));
    assert_eq!(names(&woken), ["a", "b", "c"]);
    let finished = over(decide(&mut core, 3, &woken[0]));
    assert_eq!(finished.decision.causes, [Cause::External]);
    assert!(core.unit(Timestamp(3), &woken[0].unit).is_none(), "a unit that is gone is forgotten");
    over(decide(&mut core, 3, &woken[1]));
    assert!(core.unit(Timestamp(3), &woken[1].unit).is_some());
    assert!(!core.set_units(Timestamp(4), &OperatorName::new("unknown"), units(&[]), &[]));
}

#[test]
fn writes_go_to_the_operators_own_cluster() {
    let mut core = settled();
    core.set_units(Timestamp(2), &OperatorName::new("given"), units(&["a", "b", "new"]), &[]);
    let run = runs(core.poll(Timestamp(2))).remove(0);
    let RunProgress::Write { writes, .. } = decide(&mut core, 2, &run) else { panic!("it creates") };
    assert_eq!(writes[0].object.table, edge());
}

#[test]
fn a_unit_is_triggered_from_outside_even_without_its_object() {
    let mut core = settled();
    let name = OperatorName::new("given");
    // The name has an object, so the run has nothing to do, but it is not a unit.
    assert!(core.enqueue(Timestamp(2), &name, vec![Unit::object("shop", "c")]));
    let woken = runs(core.poll(Timestamp(2)));
    assert_eq!(names(&woken), ["c"]);
    let finished = over(decide(&mut core, 2, &woken[0]));
    assert_eq!(finished.decision.causes, [Cause::External]);
    assert!(core.unit(Timestamp(2), &woken[0].unit).is_none(), "it is forgotten again");
    assert!(!core.enqueue(Timestamp(3), &OperatorName::new("unknown"), vec![]));
}
