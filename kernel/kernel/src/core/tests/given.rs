//! Units that the shell names, and operators with a cluster of their own.

use super::*;

struct Given(BTreeSet<Unit>);

impl Operator for Given {
    fn name(&self) -> &str {
        "given"
    }

    fn declaration(&self) -> Declaration {
        let maps = BTreeSet::from([Declared::every(&CONFIG_MAPS)]);
        let units = Units::Given(self.0.clone());
        Declaration { inputs: maps.clone(), outputs: maps, service_account: None, units }
    }

    fn home(&self) -> Option<ClusterName> {
        Some(ClusterName::new("edge"))
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, Stop> {
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

fn names(runs: &[Run]) -> Vec<&str> {
    runs.iter().map(|run| run.unit.unit.name()).collect()
}

fn edge() -> TableKey {
    TableKey { cluster: ClusterName::new("edge"), ..table(&CONFIG_MAPS) }
}

/// A kernel in which both units have decided that all is well.
fn settled() -> Core {
    let mut core = kernel([Arc::new(Given(units(&["a", "b"]))) as Arc<dyn Operator>], &Limits::none());
    for run in runs(core.poll(Moment(0))) {
        decide(&mut core, 0, &run);
    }
    let orders = core.poll(Moment(0));
    assert!(matches!(&orders[..], [Order::Watch(table)] if *table == edge()), "it reads its own cluster");
    core.observe(Moment(1), &edge(), Observed::Begin).unwrap();
    for name in ["a", "b", "c"] {
        let bytes = config_map(name, 5, "x").to_string().into_bytes().into();
        core.observe(Moment(1), &edge(), Observed::Put(bytes)).unwrap();
    }
    core.observe(Moment(1), &edge(), Observed::Synced { revision: 10 }).unwrap();
    for run in runs(core.poll(Moment(1))) {
        over(decide(&mut core, 1, &run));
    }
    core
}

#[test]
fn units_that_are_new_changed_or_gone_run_and_the_others_do_not() {
    let mut core = settled();
    assert!(runs(core.poll(Moment(2))).is_empty());
    let name = OperatorName::new("given");
    assert!(core.set_units(Moment(2), &name, units(&["a", "b"]), &[]));
    assert!(runs(core.poll(Moment(2))).is_empty(), "nothing is different");
    assert!(core.set_units(Moment(3), &name, units(&["b", "c"]), &[Unit::object("shop", "b")]));
    let woken = runs(core.poll(Moment(3)));
    assert_eq!(names(&woken), ["a", "b", "c"]);
    let closed = over(decide(&mut core, 3, &woken[0]));
    assert_eq!(closed.decision.causes, [Cause::Outside]);
    assert!(core.unit(Moment(3), &woken[0].unit).is_none(), "a unit that is gone is forgotten");
    over(decide(&mut core, 3, &woken[1]));
    assert!(core.unit(Moment(3), &woken[1].unit).is_some());
    assert!(!core.set_units(Moment(4), &OperatorName::new("nobody"), units(&[]), &[]));
}

#[test]
fn writes_go_to_the_operators_own_cluster() {
    let mut core = settled();
    core.set_units(Moment(2), &OperatorName::new("given"), units(&["a", "b", "new"]), &[]);
    let run = runs(core.poll(Moment(2))).remove(0);
    let Judgement::Write { writes, .. } = decide(&mut core, 2, &run) else { panic!("it creates") };
    assert_eq!(writes[0].object.table, edge());
}

#[test]
fn a_unit_is_told_of_what_changed_outside_even_if_there_is_none_of_its_name() {
    let mut core = settled();
    let name = OperatorName::new("given");
    // Of this name there is an object, so that it finds nothing to do, but no unit.
    assert!(core.tell(Moment(2), &name, vec![Unit::object("shop", "c")]));
    let woken = runs(core.poll(Moment(2)));
    assert_eq!(names(&woken), ["c"]);
    let closed = over(decide(&mut core, 2, &woken[0]));
    assert_eq!(closed.decision.causes, [Cause::Outside]);
    assert!(core.unit(Moment(2), &woken[0].unit).is_none(), "it is forgotten again");
    assert!(!core.tell(Moment(3), &OperatorName::new("nobody"), vec![]));
}
