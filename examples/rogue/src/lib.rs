//! Operator that misbehaves on purpose, in one way at a time. The kernel must report it and protect other operators.

pub mod family;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::{Mutation, Plan};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::view::View;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");

/// Number of objects in a flood.
const FLOOD: usize = 500;

/// Kind of misbehavior.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misbehavior {
    /// Sets the color of ConfigMap `default/flag` to its own value, regardless of other writers.
    Fights(&'static str),
    /// Increments ConfigMap `default/counter` because of its own last increment.
    Loops,
    /// Panics.
    Panics,
    /// Never returns.
    Hangs,
    /// Plans far more writes than its budget.
    Floods,
    /// Decides from its memory instead of its reads, so that no replay is possible.
    Remembers,
}

/// Operator with a kind of misbehavior.
pub struct Rogue {
    name: String,
    misbehavior: Misbehavior,
    /// Memory between runs, which an operator must not have.
    memory: AtomicU64,
}

impl Rogue {
    /// Creates an operator with a name and a kind of misbehavior.
    pub fn new(name: &str, vice: Misbehavior) -> Self {
        Self { name: name.to_string(), misbehavior: vice, memory: AtomicU64::default() }
    }
}

impl Operator for Rogue {
    fn name(&self) -> &str {
        &self.name
    }

    fn declaration(&self) -> Declaration {
        let config_maps = BTreeSet::from([AccessRule::every(&CONFIG_MAPS)]);
        Declaration { inputs: config_maps.clone(), outputs: config_maps, service_account: None, units: Units::Whole }
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        match self.misbehavior {
            Misbehavior::Fights(colour) => fight(view, colour),
            Misbehavior::Loops => count(view),
            Misbehavior::Panics => panic!("this operator panics on purpose"),
            Misbehavior::Hangs => hang(),
            Misbehavior::Floods => flood(view),
            Misbehavior::Remembers => remember(view, self.memory.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

fn fight(view: &View, colour: &str) -> Result<Plan, DecideError> {
    let flag = view.get(&CONFIG_MAPS, "default", "flag")?;
    let shown = flag.and_then(|flag| flag.value().pointer("/data/colour")?.as_str().map(str::to_string));
    let mut plan = Plan::nothing();
    if shown.as_deref() != Some(colour) {
        let body = json!({"metadata": {"name": "flag", "namespace": "default"}, "data": {"colour": colour}});
        plan.push(Mutation::apply(&CONFIG_MAPS, body).forced());
    }
    Ok(plan)
}

fn count(view: &View) -> Result<Plan, DecideError> {
    let counter = view.get(&CONFIG_MAPS, "default", "counter")?;
    let value = counter.map(|counter| counter.value());
    let count =
        value.as_ref().and_then(|v| v.pointer("/data/count")?.as_str()?.parse::<u64>().ok()).unwrap_or_default();
    let mut plan = Plan::nothing();
    let data = json!({"count": (count + 1).to_string()});
    let body = json!({"metadata": {"name": "counter", "namespace": "default"}, "data": data});
    plan.push(Mutation::apply(&CONFIG_MAPS, body));
    Ok(plan)
}

fn remember(view: &View, runs: u64) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    if view.get(&CONFIG_MAPS, "default", "question")?.is_some() {
        let data = json!({"runs": runs.to_string()});
        let body = json!({"metadata": {"name": "answer", "namespace": "default"}, "data": data});
        plan.push(Mutation::apply(&CONFIG_MAPS, body));
    }
    Ok(plan)
}

fn hang() -> Result<Plan, DecideError> {
    loop {
        std::thread::park();
    }
}

fn flood(view: &View) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    for number in 0..FLOOD {
        let name = format!("flood-{number}");
        if view.get(&CONFIG_MAPS, "default", &name)?.is_none() {
            let metadata: Value = json!({"name": name, "namespace": "default"});
            plan.push(Mutation::create(&CONFIG_MAPS, json!({"metadata": metadata})));
        }
    }
    Ok(plan)
}
