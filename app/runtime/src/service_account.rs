//! Operators that write as a configured service account.

use std::sync::Arc;

use serde_json::Value;
use switchboard_kernel::operator::{DecideError, Declaration, Operator, ServiceAccount, Unit};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_kernel::view::View;

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
