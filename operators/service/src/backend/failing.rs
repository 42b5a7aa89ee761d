//! Deployments whose status says that an error occurred: they are counted, as the original counts them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use switchboard_gitops::kinds::condition::ERROR_OCCURRED;
use switchboard_kernel::plan::{Act, Plan};

use crate::asked::Asked;

/// Who they are. Every deployment is looked at when a backend starts, so that all of them are known soon.
#[derive(Default)]
pub(super) struct Failing(Mutex<BTreeSet<(Box<str>, Box<str>)>>);

impl Failing {
    /// Notes what is said of a deployment once a plan is carried out.
    pub(super) fn note(&self, asked: &Asked, plan: &Plan) {
        let written = plan.mutations.iter().find_map(|write| match &write.act {
            Act::Update(body) if write.subresource.is_some() => Some(&body["status"]),
            _ => None,
        });
        let said = written.or_else(|| asked.object.as_ref().map(|object| &object["status"]));
        let unit = (asked.namespace.as_str().into(), asked.name.as_str().into());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match said.is_some_and(has_error) {
            true => all.insert(unit),
            false => all.remove(&unit),
        };
    }

    /// How many.
    pub(super) fn count(&self) -> u64 {
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

    use serde_json::json;
    use switchboard_gitops::flow::tenant::Namespace;
    use switchboard_kernel::operator::Outward;
    use switchboard_ledger::{Address, Ledger, Moment, Sealing};

    use super::super::deployments::Deployments;
    use super::super::{Backend, Settings};
    use super::*;
    use crate::store::Store;
    use crate::{ids, instance};

    #[tokio::test]
    async fn a_deployment_with_an_error_counts_until_it_is_put_right_or_gone() {
        let ledger = Ledger::open(&Address::parse("sqlite::memory:").unwrap(), Sealing::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        let argocd = Namespace { name: "argocd".into(), uid: "argocd-uid".into() };
        let mut view = ledger.view().await.unwrap();
        let changes = instance::register(&mut view, &"system".into(), &argocd, ids::new, Moment::default()).await;
        view.end();
        ledger.commit(&changes.unwrap()).await.unwrap();
        let backend = Backend::new(Store::new(ledger, tokio::runtime::Handle::current()), Settings::default());
        let decided = async |path: Option<&str>, status: Value| {
            let object = path.map(|path| {
                json!({"metadata": {"name": "web", "namespace": "shop", "uid": "u"}, "status": status,
                    "spec": {"source": {"repoURL": "https://h/r", "path": path}, "type": "automated"}})
            });
            let asked = json!({"now": "2026-11-16T08:00:00Z", "stamp": "2026-11-16T08:00:00Z", "namespace": "shop",
                "name": "web", "tenant": "shop-uid", "object": object});
            let deployments = Deployments(backend.clone());
            tokio::task::spawn_blocking(move || deployments.reach(&asked)).await.unwrap().unwrap();
            backend.failing()
        };
        assert_eq!(decided(Some("/"), json!({})).await, 1, "its Application has no row, and no Operation failed");
        let told = json!({"conditions": [{"type": "ErrorOccurred", "status": "True", "reason": "ErrorOccurred", "message": "m"}]});
        assert_eq!(decided(Some("/"), told.clone()).await, 1);
        assert_eq!(decided(Some("deploy"), told.clone()).await, 0, "it is about to be told that all is well");
        assert_eq!(decided(Some("/"), told).await, 1);
        assert_eq!(decided(None, json!({})).await, 0);
    }
}
