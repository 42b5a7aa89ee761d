//! The operators this binary can host.

use std::sync::Arc;

use switchboard_greeter::Greeter;
use switchboard_integrations::operator::{self as integrations, Integrations};
use switchboard_kernel::operator::{Declaration, Operator, Reaching, ServiceAccount, Stop, Unit};
use switchboard_kernel::place::ClusterName;
use switchboard_kernel::plan::Plan;
use switchboard_kernel::view::View;
use switchboard_rogue::{Rogue, Vice};

/// Their names, as `switchboard.yaml` names them.
pub const KNOWN: [&str; 8] = [
    "greeter",
    "rogue-blue",
    "rogue-floods",
    "rogue-hangs",
    "rogue-loops",
    "rogue-panics",
    "rogue-red",
    "rogue-remembers",
];

/// The operator of a name.
pub fn operator(name: &str) -> Option<Arc<dyn Operator>> {
    if let Some(cluster) = name.strip_prefix(integrations::NAME).and_then(|rest| rest.strip_prefix('@')) {
        // Without its data, which is enough to decide again from what was recorded.
        return Some(Arc::new(Reaching(Integrations::of(cluster, Arc::default()))));
    }
    let vice = match name {
        "greeter" => return Some(Arc::new(Greeter)),
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
