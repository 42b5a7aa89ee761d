//! Deployments whose status has an error, counted as in managed-gitops.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use switchboard_kernel::plan::{Plan, WriteOp};

use crate::kinds::condition::ERROR_OCCURRED;
use crate::request::UnitRequest;

/// Namespaces and names of the deployments. All deployments are processed after the start of a backend, so the set is
/// soon complete.
#[derive(Default)]
pub(crate) struct FailedDeployments(Mutex<BTreeSet<(Box<str>, Box<str>)>>);

impl FailedDeployments {
    /// Records the status that a deployment has after its plan.
    pub(crate) fn record(&self, request: &UnitRequest, plan: &Plan) {
        let written = plan.mutations.iter().find_map(|write| match &write.operation {
            WriteOp::Update(body) if write.subresource.is_some() => Some(&body["status"]),
            _ => None,
        });
        let status = written.or_else(|| request.object.as_ref().map(|object| &object["status"]));
        let unit = (request.namespace.as_str().into(), request.name.as_str().into());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match status.is_some_and(has_error) {
            true => all.insert(unit),
            false => all.remove(&unit),
        };
    }

    /// Returns the number of failed deployments.
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }
}

fn has_error(status: &Value) -> bool {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| one["type"] == ERROR_OCCURRED && one["status"] == "True")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::tenant::TenantNamespace;
    use serde_json::json;
    use switchboard_sql::{Address, DbTimestamp, Ledger, Sealer};

    use super::*;
    use crate::backend::{Backend, BackendSettings};
    use crate::deployment::operator::Deployments;
    use crate::placement::selection as instance;
    use crate::random_id as ids;
    use crate::store::Store;

    #[tokio::test]
    async fn a_failed_deployment_counts_until_it_is_corrected_or_deleted() {
        let ledger =
            Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        let argocd = TenantNamespace { name: "argocd".into(), uid: "argocd-uid".into() };
        let mut view = ledger.view().await.unwrap();
        let changes = instance::register(&mut view, &"system".into(), &argocd, ids::new, DbTimestamp::default()).await;
        view.end();
        ledger.commit(&changes.unwrap()).await.unwrap();
        let backend = Backend::new(Store::new(ledger, tokio::runtime::Handle::current()), BackendSettings::default());
        let decided = async |path: Option<&str>, status: Value| {
            let object = path.map(|path| {
                json!({"metadata": {"name": "web", "namespace": "shop", "uid": "u"}, "status": status,
                    "spec": {"source": {"repoURL": "https://h/r", "path": path}, "type": "automated"}})
            });
            let request = json!({"now": "2026-11-16T08:00:00Z", "stamp": "2026-11-16T08:00:00Z", "namespace": "shop",
                "name": "web", "tenant": "shop-uid", "object": object});
            let deployments = Deployments(backend.clone());
            let request = serde_json::from_value(request).unwrap();
            tokio::task::spawn_blocking(move || deployments.call(request)).await.unwrap().unwrap();
            backend.failed_deployments()
        };
        assert_eq!(decided(Some("/"), json!({})).await, 1, "its Application has no row, and no Operation failed");
        let status = json!({"conditions": [{"type": "ErrorOccurred", "status": "True", "reason": "ErrorOccurred", "message": "m"}]});
        assert_eq!(decided(Some("/"), status.clone()).await, 1);
        assert_eq!(decided(Some("deploy"), status.clone()).await, 0, "its next status reports no error");
        assert_eq!(decided(Some("/"), status).await, 1);
        assert_eq!(decided(None, json!({})).await, 0);
    }
}
