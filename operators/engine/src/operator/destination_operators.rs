//! Destination clusters and the state of their operators.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::Plan;
use switchboard_kernel::view::Question;

use super::reconciliation::{COMPARISON_CONDITIONS, Reconciliation};
use crate::destination::DestinationCluster;
use crate::status::set_conditions;

/// Delay before the operator of a cluster that has not been started yet is queried again.
const UNTRIED_CLUSTER_RETRY: Duration = Duration::from_secs(1);

/// Result of starting the operator of a cluster, with the reason of a failure.
type OperatorStart = Result<(), String>;

/// Results by the namespace and name of the Secret that declares the cluster.
#[derive(Debug, Default)]
pub struct DestinationOperators(Mutex<BTreeMap<(String, String), OperatorStart>>);

impl DestinationOperators {
    /// Records the result of starting a cluster's operator.
    pub fn record(&self, secret: (String, String), reached: OperatorStart) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(secret, reached);
    }

    /// Removes all clusters except those of these Secrets.
    pub fn retain(&self, secrets: &BTreeSet<(String, String)>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|secret, _| secrets.contains(secret));
    }

    /// Whether a cluster has its operator; false if it has not been started yet.
    fn is_started(&self, secret: &(String, String)) -> Result<bool, String> {
        let started = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        started.get(secret).map_or(Ok(false), |start| start.clone().map(|()| true))
    }
}

/// Question for the operator of a cluster: whether it was started.
#[derive(Serialize)]
struct OperatorStartQuestion<'a> {
    namespace: &'a str,
    name: &'a str,
}

impl Question for OperatorStartQuestion<'_> {
    type Answer = bool;
    const KIND: &'static str = "operator-start";

    fn acts(&self) -> bool {
        false
    }
}

impl Reconciliation<'_> {
    /// Returns the plan for an Application whose cluster has no operator, or `None` if it has one.
    pub(super) fn without_operator(&mut self, cluster: &DestinationCluster) -> Option<Result<Plan, DecideError>> {
        let secret = cluster.secret.as_ref()?;
        let question = OperatorStartQuestion { namespace: &secret.0, name: &secret.1 };
        match self.view.ask(question, |_| self.engine.destinations.is_started(secret)) {
            Ok(false) => {
                let waits = format!("the operator of cluster {} to start", cluster.name);
                Some(Ok(Plan::nothing().waiting(waits).requeue_after(UNTRIED_CLUSTER_RETRY)))
            }
            Ok(true) => None,
            Err(why) => {
                let message = format!("Failed to load live state: error getting cluster: {why}");
                let wrong = [("ComparisonError", message.clone())];
                set_conditions(&mut self.next["status"], &COMPARISON_CONDITIONS, &wrong, self.now);
                self.set_unknown();
                Some(Ok(self.patch_plan().blocked(message)))
            }
        }
    }
}
