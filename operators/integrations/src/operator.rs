//! The operator: what is wanted on a cluster against what is there.
//!
//! ```text
//!  Desired ─▶ Shelf ◀─ask─ unit: an integration in a namespace ─▶ create, replace, adopt
//!             (shell)      unit: a namespace ─────────────────▶ what is shared; what is no longer wanted is deleted
//! ```
//!
//! There is one operator for each cluster of the data, so that a cluster that cannot be reached holds up itself alone, and
//! one unit for each integration in a namespace, so that one that fails fails alone.

mod drift;
mod object;
mod rollout;
mod shelf;
mod sweep;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_kernel::operator::{Declaration, Declared, Outward, Stop, Unit, Units};
use switchboard_kernel::place::ClusterName;
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::Resource;
use switchboard_kernel::view::{Outside, View};

pub use drift::drifts;
pub use shelf::{Changed, Shelf};
pub use sweep::{DEFAULT_ALWAYS, DEFAULT_SHARE_PERCENT, Guard};

use crate::desired::KINDS;
use object::{Verdict, Wanted, judge};

/// What all operators of this kind are called; the cluster stands behind it.
pub const NAME: &str = "integrations";

const NAMESPACES: Resource = Resource::cluster_wide("", "v1", "Namespace", "namespaces");

/// The unit that looks after a namespace as a whole. No integration can have this name.
const WHOLE_NAMESPACE: &str = "_namespace";

/// Looks after one cluster.
pub struct Integrations {
    name: String,
    cluster: Arc<str>,
    at_home: bool,
    shelf: Arc<Shelf>,
}

impl Integrations {
    /// For a cluster of the data, with what is wanted there.
    pub fn of(cluster: &str, shelf: Arc<Shelf>) -> Self {
        Self { name: operator_name(cluster), cluster: Arc::from(cluster), at_home: false, shelf }
    }

    /// The same on the real cluster of that name, whatever the topology says.
    #[must_use]
    pub fn at_home(self) -> Self {
        Self { at_home: true, ..self }
    }

    fn integration(&self, namespace: &str, name: &str, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let answer = outside.ask(json!({"namespace": namespace, "integration": name})).map_err(Stop::Failed)?;
        if answer.is_null() {
            // Nothing is wanted any more; what is left is the namespace's to delete.
            return Ok(Plan::nothing());
        }
        if let Some(problem) = answer["problem"].as_str() {
            return Ok(Plan::nothing().blocked(problem));
        }
        self.objects(namespace, &answer, view)
    }

    fn objects(&self, namespace: &str, answer: &Value, view: &View) -> Result<Plan, Stop> {
        let mut plan = Plan::nothing();
        if view.get(&NAMESPACES, "", namespace)?.is_none() {
            return Ok(plan.waiting(format!("namespace {namespace} to exist on cluster {}", self.cluster)));
        }
        let (mut refused, mut under_way) = (Vec::new(), Vec::new());
        for one in answer["objects"].as_array().into_iter().flatten() {
            let Some(wanted) = Wanted::read(one, answer, namespace) else { continue };
            let live = view.get(wanted.kind, namespace, wanted.name)?.map(|object| object.value());
            match judge(&wanted, live.as_ref(), view.now()) {
                Verdict::Right => under_way.extend(live.as_ref().and_then(rollout::under_way)),
                Verdict::Write(mutation) => drop(plan.push(*mutation)),
                Verdict::Refuse(why) => refused.push(why),
            }
        }
        Ok(match (refused.is_empty(), under_way.is_empty()) {
            (false, _) => plan.blocked(refused.join("; ")),
            (true, false) => plan.waiting(rollout::told(&under_way)),
            (true, true) => plan,
        })
    }

    fn namespace(&self, namespace: &str, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let answer = outside.ask(json!({"namespace": namespace})).map_err(Stop::Failed)?;
        if answer.is_null() {
            return Ok(Plan::nothing());
        }
        let mut plan = self.objects(namespace, &answer, view)?;
        sweep::sweep(namespace, &answer, view, &mut plan)?;
        Ok(plan)
    }
}

/// The name of the operator for a cluster.
pub fn operator_name(cluster: &str) -> String {
    format!("{NAME}@{cluster}")
}

impl Outward for Integrations {
    fn name(&self) -> &str {
        &self.name
    }

    fn declaration(&self) -> Declaration {
        let mut inputs: BTreeSet<Declared> = KINDS.iter().map(Declared::every).collect();
        let outputs = inputs.clone();
        inputs.insert(Declared::every(&NAMESPACES));
        Declaration { inputs, outputs, service_account: None, units: Units::Given(self.shelf.units(&self.cluster)) }
    }

    fn home(&self) -> Option<ClusterName> {
        self.at_home.then(|| ClusterName::new(&self.cluster))
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        Ok(self.shelf.answer(&self.cluster, request))
    }

    /// What is wanted is looked up, and that is all.
    fn acts(&self, _request: &Value) -> bool {
        false
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        match unit.name() {
            WHOLE_NAMESPACE => self.namespace(unit.namespace(), view, outside),
            name => self.integration(unit.namespace(), name, view, outside),
        }
    }
}

#[cfg(test)]
mod tests;
