//! The operators this binary can host.

use std::sync::Arc;

use serde_json::Value;
use switchboard_greeter::Greeter;
use switchboard_integrations::operator::{self as integrations, Integrations};
use switchboard_kernel::config::Config;
use switchboard_kernel::operator::{Declaration, Operator, OperatorName, Reaching, ServiceAccount, Stop, Unit};
use switchboard_kernel::place::{ClusterName, Topology};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::view::View;
use switchboard_plugs::plug::Options;
use switchboard_rogue::{Rogue, Vice};

/// Their names, as `switchboard.yaml` names them.
pub const KNOWN: [&str; 12] = [
    "deferredresources",
    ENGINE,
    "greeter",
    PLUGS,
    "rogue-blue",
    "rogue-floods",
    "rogue-hangs",
    "rogue-loops",
    "rogue-panics",
    "rogue-red",
    "rogue-remembers",
    "sockets",
];

/// The embedded GitOps engine. It is hosted with what it needs of the state directory, see [`crate::gitops::engine`].
const ENGINE: &str = switchboard_engine::operator::NAME;
/// The operator that brings its family along: plugs, sockets and deferred resources are of no use alone.
const PLUGS: &str = "plugs";

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
        PLUGS => switchboard_plugs::operators(plugs_options(settings)),
        ENGINE => Vec::new(),
        _ => operator(name).into_iter().collect(),
    }
}

fn plugs_options(settings: &Value) -> Options {
    let home = settings["namespace"].as_str().map(Arc::from);
    Options { strict: settings["strict"] == true, home: home.unwrap_or_else(|| Options::default().home) }
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

    fn hears(&self, request: &serde_json::Value) -> bool {
        self.operator.hears(request)
    }

    fn reads_managers(&self) -> bool {
        self.operator.reads_managers()
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
        for name in KNOWN {
            assert_eq!(operator(name).map(|operator| operator.name().to_string()).as_deref(), Some(name));
        }
    }
}
