//! The operators this binary can host.

use std::sync::Arc;

use serde_json::Value;
use switchboard_greeter::Greeter;
use switchboard_integrations::operator::{self as integrations, Integrations};
use switchboard_kernel::config::{Config, GitopsConfig, Known, Part, Whole};
use switchboard_kernel::operator::{Declaration, Operator, OperatorName, Reaching, ServiceAccount, Stop, Unit};
use switchboard_kernel::place::{ClusterName, Topology};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::view::View;
use switchboard_plugs::plug::Options;
use switchboard_rogue::{Rogue, Vice};
use switchboard_service::{agent, backend};

/// What `switchboard.yaml` may name.
pub const KNOWN: Known<'_> = Known {
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
        Part { name: "engine@", of: Whole::Operator(ENGINE) },
        Part { name: "integrations@", of: Whole::Integrations },
        Part { name: agent::APPLICATIONS_NAME, of: Whole::Gitops },
        Part { name: agent::OPERATIONS_NAME, of: Whole::Gitops },
        Part { name: agent::PROJECTS_NAME, of: Whole::Gitops },
        Part { name: agent::SECRETS_NAME, of: Whole::Gitops },
        Part { name: backend::CREDENTIALS_NAME, of: Whole::Gitops },
        Part { name: backend::DEPLOYMENTS_NAME, of: Whole::Gitops },
        Part { name: backend::ENVIRONMENTS_NAME, of: Whole::Gitops },
        Part { name: backend::SYNC_RUNS_NAME, of: Whole::Gitops },
        Part { name: backend::TENANTS_NAME, of: Whole::Gitops },
        Part { name: backend::UPKEEP_NAME, of: Whole::Gitops },
    ],
};

/// The operators of this binary, those that misbehave on purpose last.
pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.operators.iter().chain(KNOWN.samples).copied()
}

/// The embedded GitOps engine. It is hosted with what it needs of the state directory, see [`crate::gitops::engine`].
const ENGINE: &str = switchboard_engine::operator::NAME;
/// The operator that brings its family along: plugs, sockets and deferred resources are of no use alone.
const PLUGS: &str = "plugs";

/// The operator of a name, to decide again what it decided with these settings. The GitOps Service's have nothing but an empty
/// database, which nobody asks: what was answered then is recorded.
pub async fn recalled(name: &str, settings: &Value) -> Option<Arc<dyn Operator>> {
    if matches!(KNOWN.whole(name), Some(Whole::Gitops)) {
        let all = crate::gitops::hosting::declaring(&GitopsConfig::default()).await.ok()?;
        return all.into_iter().find(|one| one.name() == name);
    }
    let of_family = family(head(name).unwrap_or(name), settings).into_iter().find(|one| one.name() == name);
    of_family.or_else(|| operator(name))
}

/// The operator of a name.
pub fn operator(name: &str) -> Option<Arc<dyn Operator>> {
    if let Some(cluster) = name.strip_prefix(integrations::NAME).and_then(|rest| rest.strip_prefix('@')) {
        // Without its data, which is enough to decide again from what was recorded.
        return Some(Arc::new(Reaching(Integrations::of(cluster, Arc::default()))));
    }
    if let Some(engine) = crate::gitops::engine::remembered(name) {
        return Some(engine);
    }
    let vice = match name {
        "greeter" => return Some(Arc::new(Greeter)),
        PLUGS | "sockets" | "deferredresources" => {
            return switchboard_plugs::operators(Options::default()).into_iter().find(|one| one.name() == name);
        }
        "rogue-blue" => Vice::Fights("blue"),
        "rogue-red" => Vice::Fights("red"),
        "rogue-floods" => Vice::Floods,
        "rogue-hangs" => Vice::Hangs,
        "rogue-loops" => Vice::Loops,
        "rogue-panics" => Vice::Panics,
        "rogue-remembers" => Vice::Remembers,
        _ => return None,
    };
    Some(Arc::new(Rogue::new(name, vice)))
}

/// The operators that a name in a configuration stands for, with its settings.
pub fn family(name: &str, settings: &Value) -> Vec<Arc<dyn Operator>> {
    match name {
        PLUGS => switchboard_plugs::operators(Options::of(settings)),
        ENGINE => Vec::new(),
        _ => operator(name).into_iter().collect(),
    }
}

/// The operator whose entry in a configuration brings this one along.
pub fn head(name: &str) -> Option<&'static str> {
    matches!(name, "sockets" | "deferredresources").then_some(PLUGS)
}

/// Whether plugs are hosted.
pub fn hosts_plugs(config: &Config) -> bool {
    config.operators.get(&OperatorName::new(PLUGS)).is_some_and(|operator| operator.enabled)
}

/// The same operator, writing as another service account when one is given.
pub fn writing_as(operator: Arc<dyn Operator>, account: Option<ServiceAccount>) -> Arc<dyn Operator> {
    match account {
        Some(account) => Arc::new(WritingAs { operator, account }),
        None => operator,
    }
}

struct WritingAs {
    operator: Arc<dyn Operator>,
    account: ServiceAccount,
}

impl Operator for WritingAs {
    fn name(&self) -> &str {
        self.operator.name()
    }

    fn declaration(&self) -> Declaration {
        Declaration { service_account: Some(self.account.clone()), ..self.operator.declaration() }
    }

    fn home(&self) -> Option<ClusterName> {
        self.operator.home()
    }

    fn topology(&self) -> Option<Topology> {
        self.operator.topology()
    }

    fn reads_managers(&self) -> bool {
        self.operator.reads_managers()
    }

    fn settings(&self) -> Value {
        self.operator.settings()
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, Stop> {
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
