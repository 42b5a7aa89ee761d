//! Operator that reconciles the desired objects of a cluster.
//!
//! ```text
//!  DesiredObjects ─▶ DesiredStore ◀─query─ unit: an integration in a namespace ─▶ create, replace, adopt
//!                                          unit: a namespace ─────────────────▶ shared objects; deletion of orphans
//! ```
//!
//! Each cluster has its own operator, so that an unreachable cluster does not block others. Each integration in a
//! namespace is a unit, so that its failures do not affect others.

mod desired_store;
mod drift;
mod object;
mod question;
mod rollout;
mod sweep;

use std::collections::BTreeSet;
use std::sync::Arc;

use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::Resource;
use switchboard_kernel::topology::ClusterName;
use switchboard_kernel::view::View;

pub use desired_store::{DesiredStore, UnitChanges};
pub use drift::has_drifted;
pub use sweep::{DEFAULT_ALWAYS, DEFAULT_SHARE_PERCENT, DeletionGuard};

use crate::desired::KINDS;
use object::{ObjectAction, ReconcileTarget, decide};
use question::{DesiredState, IntegrationAnswer, IntegrationQuestion, NamespaceQuestion};

/// Prefix of the operators' names, followed by the cluster.
pub const NAME: &str = "integrations";

const NAMESPACES: Resource = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");

/// Name of the unit for a whole namespace, which is not a valid name of an integration.
const WHOLE_NAMESPACE: &str = "_namespace";

/// Operator of one cluster.
pub struct IntegrationsOperator {
    name: String,
    cluster: Arc<str>,
    is_cluster_fixed: bool,
    store: Arc<DesiredStore>,
}

impl IntegrationsOperator {
    /// Creates the operator of a cluster.
    pub fn new(cluster: &str, store: Arc<DesiredStore>) -> Self {
        Self { name: operator_name(cluster), cluster: Arc::from(cluster), is_cluster_fixed: false, store }
    }

    /// Uses the cluster of that name, whatever the topology defines.
    #[must_use]
    pub fn on_named_cluster(self) -> Self {
        Self { is_cluster_fixed: true, ..self }
    }

    fn integration(&self, namespace: &str, integration: &str, view: &View) -> Result<Plan, DecideError> {
        let question = IntegrationQuestion { namespace, integration };
        let answer = view.ask(question, |_| Ok(self.store.integration(&self.cluster, namespace, integration)));
        match answer.map_err(DecideError::Failed)? {
            Some(IntegrationAnswer::Desired(state)) => self.objects(namespace, &state, view),
            Some(IntegrationAnswer::Problem(problem)) => Ok(Plan::nothing().blocked(problem)),
            // The namespace's unit deletes what is left.
            None => Ok(Plan::nothing()),
        }
    }

    fn objects(&self, namespace: &str, state: &DesiredState, view: &View) -> Result<Plan, DecideError> {
        let mut plan = Plan::nothing();
        if view.get(&NAMESPACES, "", namespace)?.is_none() {
            return Ok(plan.waiting(format!("namespace {namespace} to exist on cluster {}", self.cluster)));
        }
        let (mut refused, mut under_way) = (Vec::new(), Vec::new());
        for object in &state.objects {
            let Some(wanted) = ReconcileTarget::of(object, state, namespace) else { continue };
            let live = view.get(wanted.kind, namespace, wanted.name)?.map(|object| object.value());
            match decide(&wanted, live.as_ref(), view.now()) {
                ObjectAction::UpToDate => under_way.extend(live.as_ref().and_then(rollout::rollout_progress)),
                ObjectAction::Write(mutation) => drop(plan.push(*mutation)),
                ObjectAction::Refuse(why) => refused.push(why),
            }
        }
        Ok(match (refused.is_empty(), under_way.is_empty()) {
            (false, _) => plan.blocked(refused.join("; ")),
            (true, false) => plan.waiting(rollout::summary(&under_way)),
            (true, true) => plan,
        })
    }

    fn namespace(&self, namespace: &str, view: &View) -> Result<Plan, DecideError> {
        let question = NamespaceQuestion { namespace };
        let answer = view.ask(question, |_| Ok(self.store.namespace(&self.cluster, namespace)));
        let Some(answer) = answer.map_err(DecideError::Failed)? else { return Ok(Plan::nothing()) };
        let mut plan = self.objects(namespace, &answer.state, view)?;
        sweep::sweep(namespace, &answer, view, &mut plan)?;
        Ok(plan)
    }
}

/// Returns the name of a cluster's operator.
pub fn operator_name(cluster: &str) -> String {
    format!("{NAME}@{cluster}")
}

impl Operator for IntegrationsOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn declaration(&self) -> Declaration {
        let mut inputs: BTreeSet<AccessRule> = KINDS.iter().map(AccessRule::every).collect();
        let outputs = inputs.clone();
        inputs.insert(AccessRule::every(&NAMESPACES));
        Declaration { inputs, outputs, service_account: None, units: Units::External(self.store.units(&self.cluster)) }
    }

    fn home_cluster(&self) -> Option<ClusterName> {
        self.is_cluster_fixed.then(|| ClusterName::new(&self.cluster))
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        match unit.name() {
            WHOLE_NAMESPACE => self.namespace(unit.namespace(), view),
            name => self.integration(unit.namespace(), name, view),
        }
    }
}

#[cfg(test)]
mod tests;
