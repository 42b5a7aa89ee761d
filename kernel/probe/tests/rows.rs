//! Operators with rows: one that survives all faults, and planted bugs that the probe finds.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::{Mutation, Plan};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::row::{ColumnType, ColumnValue, Row, RowColumn, RowFilter, RowTable, RowWrite, TableRow};
use switchboard_kernel::store::{MemoryRowStore, StoreName};
use switchboard_kernel::view::View;
use switchboard_probe::{FaultClass, FaultKind, Probe, ProbeReport, ScriptStep};

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const COLUMNS: &[RowColumn] = &[
    RowColumn { name: "id", column_type: ColumnType::Text, is_key: true },
    RowColumn { name: "shop", column_type: ColumnType::Text, is_key: false },
    RowColumn { name: "state", column_type: ColumnType::Text, is_key: false },
    RowColumn { name: "weight", column_type: ColumnType::Integer, is_key: false },
];

/// Row of a parcel. Another program sets the weight, the operator the state.
#[derive(Clone, Debug, PartialEq)]
struct Parcel {
    id: String,
    state: String,
    weight: i64,
}

impl TableRow for Parcel {
    const TABLE: &'static RowTable = &RowTable { name: "parcel", columns: COLUMNS };

    fn from_row(row: &Row) -> Result<Self, String> {
        let weight = row.value("weight").as_integer().ok_or("it has no weight")?;
        Ok(Self { id: row.text("id").to_string(), state: row.text("state").to_string(), weight })
    }

    fn values(&self) -> Vec<ColumnValue> {
        vec![(&*self.id).into(), "shop".into(), (&*self.state).into(), self.weight.into()]
    }
}

fn database() -> StoreName {
    StoreName::new("database")
}

/// Packs the parcels of a shop: state as a row, then a label as an object.
struct Packer(fn(&View) -> Result<Plan, DecideError>);

impl Operator for Packer {
    fn name(&self) -> &str {
        "packer"
    }

    fn declaration(&self) -> Declaration {
        let rules = BTreeSet::from([AccessRule::every(&CONFIG_MAPS), AccessRule::every(&Parcel::TABLE.resource())]);
        Declaration { inputs: rules.clone(), outputs: rules, service_account: None, units: Units::Whole }
    }

    fn decide(&self, _: &Unit, view: &View) -> Result<Plan, DecideError> {
        (self.0)(view)
    }
}

fn order(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}})
}

fn label(parcel: &Parcel) -> Value {
    let name = format!("label-{}", parcel.id);
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"},
        "data": {"weight": parcel.weight.to_string()}})
}

fn parcels(view: &View) -> Result<Vec<Parcel>, DecideError> {
    view.rows(&database()).list(RowFilter::by("shop", "shop"))
}

/// Packs every ordered parcel once it has a weight. Objects follow rows.
fn pack(view: &View, write: fn(&Parcel) -> RowWrite) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    if view.get(&CONFIG_MAPS, "shop", "order")?.is_none() {
        return Ok(plan);
    }
    for mut parcel in parcels(view)? {
        if parcel.state != "packed" && parcel.weight > 0 {
            parcel.state = "packed".to_string();
            plan.push_row(write(&parcel));
        }
        if parcel.state == "packed" {
            plan.push(Mutation::apply(&CONFIG_MAPS, label(&parcel)));
        }
    }
    Ok(plan)
}

fn put(parcel: &Parcel) -> RowWrite {
    RowWrite::put(&database(), parcel)
}

fn weighed(id: &str, state: &str, weight: i64) -> RowWrite {
    let parcel = Parcel { id: id.to_string(), state: state.to_string(), weight };
    put(&parcel).unconditional()
}

fn probe(decide: fn(&View) -> Result<Plan, DecideError>) -> Probe {
    let rows = MemoryRowStore::new(database());
    rows.commit_now(&[weighed("a", "", 1), weighed("b", "", 5)]);
    Probe::of(move || Arc::new(Packer(decide)))
        .given_rows(&rows)
        .commit_after(0, [weighed("b", "", 7)])
        .script([ScriptStep::apply(order("order"))])
        .commit_after(1, [weighed("c", "", 2)])
        .commit_after(1, [weighed("a", "packed", 3)])
}

fn classes(report: &ProbeReport) -> BTreeSet<FaultClass> {
    let parts = report.failures.iter().flat_map(|failure| failure.fault.parts());
    parts.map(|part| part.kind.class()).collect()
}

#[test]
fn an_operator_with_rows_survives_all_faults() {
    let report = probe(|view| pack(view, put)).run();
    report.assert_ok();
    // Own commits with 6 faults each, and those of all writers with 4.
    assert!(report.runs > 30, "{} runs", report.runs);
}

/// Overwrites a parcel regardless of what another program has written since.
#[test]
fn a_write_without_its_precondition_is_found() {
    let report = probe(|view| pack(view, |parcel| put(parcel).unconditional())).run();
    assert_eq!(classes(&report), BTreeSet::from([FaultClass::Stale]), "{report}");
    let mut parts = report.failures.iter().flat_map(|failure| failure.fault.parts());
    assert!(parts.all(|part| part.kind == FaultKind::LateLog), "{report}");
}

/// Writes the label only in the run that packs.
fn labels_once(view: &View) -> Result<Plan, DecideError> {
    let mut plan = pack(view, put)?;
    if plan.rows.is_empty() {
        plan.mutations.clear();
    }
    Ok(plan)
}

#[test]
fn objects_that_are_not_derived_from_rows_are_found() {
    let report = probe(labels_once).run();
    let crash = report.failures.iter().find(|failure| failure.fault.to_string() == "crash-after-commit:2");
    assert_eq!(crash.map(|failure| failure.problem.as_str()), Some("configmaps/shop/label-c is missing"), "{report}");
}
