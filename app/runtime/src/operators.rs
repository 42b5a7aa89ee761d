//! Operators in this binary.

mod own;

use std::sync::Arc;

use serde_json::Value;
use switchboard_greeter::Greeter;
use switchboard_integrations::operator::{self as integrations, IntegrationsOperator};
use switchboard_kernel::config::{Config, GitopsConfig, KnownOperators, ParentSection, PartOperator};
use switchboard_kernel::operator::{DecideError, Declaration, Operator, OperatorName, ServiceAccount, Unit};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_kernel::view::View;
use switchboard_plugs::plug::PlugOptions;
use switchboard_rogue::{Misbehavior, Rogue};
use switchboard_service::{agent, backend};

pub use own::{NameInUse, known, name_commands, own, program, register, with_own};

/// Names of the built-in operators.
pub const KNOWN: KnownOperators<'_> = KnownOperators {
    operators: &["deferredresources", ENGINE, "greeter", PLUGS, "sockets"],
    samples: &[
        "rogue-blue",
        "rogue-floods",
        "rogue-hangs",
        "rogue-loops",
        "rogue-panics",
        "rogue-red",
        "rogue-remembers",
    ],
    parts: &[
        PartOperator { name: "engine@", parent: ParentSection::Operator(ENGINE) },
        PartOperator { name: "integrations@", parent: ParentSection::Integrations },
        PartOperator { name: agent::APPLICATIONS_NAME, parent: ParentSection::Gitops },
        PartOperator { name: agent::OPERATIONS_NAME, parent: ParentSection::Gitops },
        PartOperator { name: agent::PROJECTS_NAME, parent: ParentSection::Gitops },
        PartOperator { name: agent::SECRETS_NAME, parent: ParentSection::Gitops },
        PartOperator { name: backend::CREDENTIALS_NAME, parent: ParentSection::Gitops },
        PartOperator { name: backend::DEPLOYMENTS_NAME, parent: ParentSection::Gitops },
        PartOperator { name: backend::ENVIRONMENTS_NAME, parent: ParentSection::Gitops },
        PartOperator { name: backend::SYNC_RUNS_NAME, parent: ParentSection::Gitops },
        PartOperator { name: backend::TENANTS_NAME, parent: ParentSection::Gitops },
        PartOperator { name: backend::UPKEEP_NAME, parent: ParentSection::Gitops },
    ],
};

/// Returns the names of the operators in this binary; samples that misbehave on purpose come last.
pub fn names() -> impl Iterator<Item = &'static str> {
    known().operators.iter().chain(KNOWN.samples).copied()
}

/// Embedded GitOps engine. Its host adds parts of the state directory, see [`crate::gitops::engine`].
pub const ENGINE: &str = switchboard_engine::operator::NAME;
/// Operator that brings related operators along: plugs, sockets and deferred resources are useless alone.
const PLUGS: &str = "plugs";

/// Returns an operator that can repeat a recorded decision with its settings. Operators of the GitOps Service get an
/// empty database that is never queried, since the decision records the answers.
pub async fn replay_operator(name: &str, settings: &Value) -> Option<Arc<dyn Operator>> {
    if matches!(KNOWN.parent_of(name), Some(ParentSection::Gitops)) {
        let all = crate::gitops::hosting::declared_operators(&GitopsConfig::default()).await.ok()?;
        return all.into_iter().find(|one| one.name() == name);
    }
    let of_family = family(family_head(name).unwrap_or(name), settings).into_iter().find(|one| one.name() == name);
    of_family.or_else(|| operator(name))
}

/// Returns an operator by name.
pub fn operator(name: &str) -> Option<Arc<dyn Operator>> {
    if let Some(cluster) = name.strip_prefix(integrations::NAME).and_then(|rest| rest.strip_prefix('@')) {
        // Repeating a recorded decision does not need the data.
        return Some(Arc::new(IntegrationsOperator::new(cluster, Arc::default())));
    }
    if let Some(engine) = crate::gitops::engine::replay_operator(name) {
        return Some(engine);
    }
    let vice = match name {
        "greeter" => return Some(Arc::new(Greeter)),
        PLUGS | "sockets" | "deferredresources" => {
            return switchboard_plugs::operators(PlugOptions::default()).into_iter().find(|one| one.name() == name);
        }
        "rogue-blue" => Misbehavior::Fights("blue"),
        "rogue-red" => Misbehavior::Fights("red"),
        "rogue-floods" => Misbehavior::Floods,
        "rogue-hangs" => Misbehavior::Hangs,
        "rogue-loops" => Misbehavior::Loops,
        "rogue-panics" => Misbehavior::Panics,
        "rogue-remembers" => Misbehavior::Remembers,
        _ => return own().iter().find(|one| one.name() == name).cloned(),
    };
    Some(Arc::new(Rogue::new(name, vice)))
}

/// Returns the operators of a configuration entry.
pub fn family(name: &str, settings: &Value) -> Vec<Arc<dyn Operator>> {
    match name {
        PLUGS => switchboard_plugs::operators(PlugOptions::of(settings)),
        ENGINE => Vec::new(),
        _ => operator(name).into_iter().collect(),
    }
}

/// Returns the operator whose configuration entry includes this one.
pub fn family_head(name: &str) -> Option<&'static str> {
    matches!(name, "sockets" | "deferredresources").then_some(PLUGS)
}

/// Whether the configuration enables plugs.
pub fn hosts_plugs(config: &Config) -> bool {
    config.operators.get(&OperatorName::new(PLUGS)).is_some_and(|operator| operator.enabled)
}

/// Makes an operator write as another service account, if one is given.
pub fn with_service_account(operator: Arc<dyn Operator>, account: Option<ServiceAccount>) -> Arc<dyn Operator> {
    match account {
        Some(account) => Arc::new(WithServiceAccount { operator, account }),
        None => operator,
    }
}

struct WithServiceAccount {
    operator: Arc<dyn Operator>,
    account: ServiceAccount,
}

impl Operator for WithServiceAccount {
    fn name(&self) -> &str {
        self.operator.name()
    }

    fn declaration(&self) -> Declaration {
        Declaration { service_account: Some(self.account.clone()), ..self.operator.declaration() }
    }

    fn home_cluster(&self) -> Option<ClusterName> {
        self.operator.home_cluster()
    }

    fn topology(&self) -> Option<Topology> {
        self.operator.topology()
    }

    fn needs_managed_fields(&self) -> bool {
        self.operator.needs_managed_fields()
    }

    fn settings(&self) -> Value {
        self.operator.settings()
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        self.operator.decide(unit, view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_is_an_operator_of_that_name() {
        for name in names() {
            assert_eq!(operator(name).map(|operator| operator.name().to_string()).as_deref(), Some(name));
        }
    }
}
