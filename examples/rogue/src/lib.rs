//! An operator that misbehaves on purpose, in one way at a time. The kernel must name it and keep it away from the others.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use switchboard_kernel::operator::{Declaration, Declared, Operator, Stop, Unit, Units};
use switchboard_kernel::plan::{Mutation, Plan};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::view::View;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");

/// How many objects a flood is made of.
const FLOOD: usize = 500;

/// A way to misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vice {
    /// Sets the colour of ConfigMap `default/flag` to its own, whatever others set it to.
    Fights(&'static str),
    /// Counts up in ConfigMap `default/counter` because it counted up before.
    Loops,
    /// Panics.
    Panics,
    /// Never answers.
    Hangs,
    /// Wants far more writes than its budget allows.
    Floods,
    /// Decides from what it remembers instead of from what it reads: nobody can decide it again.
    Remembers,
}

/// An operator with a vice.
pub struct Rogue {
    name: String,
    vice: Vice,
    /// What an operator must not have.
    memory: AtomicU64,
}

impl Rogue {
    /// An operator of that name with that vice.
    pub fn new(name: &str, vice: Vice) -> Self {
        Self { name: name.to_string(), vice, memory: AtomicU64::default() }
    }
}

impl Operator for Rogue {
    fn name(&self) -> &str {
        &self.name
    }

    fn declaration(&self) -> Declaration {
        let config_maps = BTreeSet::from([Declared::every(&CONFIG_MAPS)]);
        Declaration { inputs: config_maps.clone(), outputs: config_maps, service_account: None, units: Units::Whole }
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, Stop> {
        match self.vice {
            Vice::Fights(colour) => fight(view, colour),
            Vice::Loops => count(view),
            Vice::Panics => panic!("this operator panics on purpose"),
            Vice::Hangs => hang(),
            Vice::Floods => flood(view),
            Vice::Remembers => remember(view, self.memory.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

fn fight(view: &View, colour: &str) -> Result<Plan, Stop> {
    let flag = view.get(&CONFIG_MAPS, "default", "flag")?;
    let shown = flag.and_then(|flag| flag.value().pointer("/data/colour")?.as_str().map(str::to_string));
    let mut plan = Plan::nothing();
    if shown.as_deref() != Some(colour) {
        let body = json!({"metadata": {"name": "flag", "namespace": "default"}, "data": {"colour": colour}});
        plan.push(Mutation::apply(&CONFIG_MAPS, body).forced());
    }
    Ok(plan)
}

fn count(view: &View) -> Result<Plan, Stop> {
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

fn remember(view: &View, runs: u64) -> Result<Plan, Stop> {
    let mut plan = Plan::nothing();
    if view.get(&CONFIG_MAPS, "default", "question")?.is_some() {
        let data = json!({"runs": runs.to_string()});
        let body = json!({"metadata": {"name": "answer", "namespace": "default"}, "data": data});
        plan.push(Mutation::apply(&CONFIG_MAPS, body));
    }
    Ok(plan)
}

fn hang() -> Result<Plan, Stop> {
    loop {
        std::thread::park();
    }
}

fn flood(view: &View) -> Result<Plan, Stop> {
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
