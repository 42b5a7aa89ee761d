//! Whose a namespace is: that of an Argo CD says which database knows it. Applications of two databases have the same labels, and
//! whoever looks at a cluster with nothing but a backup could not tell its own from another's.

use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use switchboard_gitops::flow::tenant::Namespace;
use switchboard_ledger::ids::Uid;

use super::objects::{code, refused};
use super::{Engine, EngineError, Fleet, FleetError};
use crate::settings;

/// The annotation of a namespace that names the database its Argo CD is of.
const DATABASE: &str = "managed-gitops.redhat.com/database";

/// A namespace, and which database says that it is its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// The namespace.
    pub namespace: Namespace,
    /// The database; none if none says so.
    pub database: Option<String>,
}

impl Marked {
    /// Whether another database than this says that the namespace is its own.
    pub fn is_of_another(&self, database: Option<&str>) -> bool {
        self.database.is_some() && self.database.as_deref() != database
    }
}

impl Engine {
    /// A namespace, if it is there, and whose it is.
    ///
    /// # Errors
    /// When the cluster does not answer.
    pub async fn marked(&self, namespace: &str) -> Result<Option<Marked>, EngineError> {
        let found = self.get("v1", "Namespace", "", namespace).await?;
        Ok(found.map(|found| Marked {
            namespace: Namespace {
                name: namespace.to_string(),
                uid: Uid::from(found["metadata"]["uid"].as_str().unwrap_or(namespace)),
            },
            database: found["metadata"]["annotations"][DATABASE].as_str().map(ToString::to_string),
        }))
    }

    /// Says of a namespace which database its Argo CD is of, or that it is of none; one that is gone says nothing.
    ///
    /// # Errors
    /// When the cluster does not answer, or refuses.
    pub async fn mark(&self, namespace: &str, database: Option<&str>) -> Result<(), EngineError> {
        let patch: Value = json!({ "metadata": { "annotations": { DATABASE: database } } });
        let api: Api<_> = self.api("v1", "Namespace", "");
        let done = api.patch(namespace, &PatchParams::default(), &Patch::Merge(&patch)).await;
        match done {
            Err(source) if code(&source) != Some(404) => Err(refused("mark", "Namespace", namespace, source)),
            _ => Ok(()),
        }
    }
}

impl Fleet {
    /// Whether a namespace can be taken for this database: one that says it is another's cannot, without `force`.
    pub(super) async fn may_take(&self, namespace: &str, force: bool) -> Result<(), FleetError> {
        // It is given a name of its own only when it takes something.
        let database = settings::database(self.store.ledger()).await?;
        let found = self.engine.marked(namespace).await?;
        match found.is_some_and(|found| found.is_of_another(database.as_deref())) {
            true if !force => Err(FleetError::OfAnother(namespace.to_string())),
            _ => Ok(()),
        }
    }

    /// Takes a namespace for this database. One that says it is another's is taken only with `force`.
    pub(super) async fn take(&self, namespace: &str, force: bool) -> Result<(), FleetError> {
        let database = settings::own_database(self.store.ledger()).await?;
        let found = self.engine.marked(namespace).await?;
        match found {
            Some(found) if found.database.as_deref() == Some(&database) => Ok(()),
            Some(found) if !force && found.is_of_another(Some(&database)) => {
                Err(FleetError::OfAnother(namespace.to_string()))
            }
            _ => Ok(self.engine.mark(namespace, Some(&database)).await?),
        }
    }
}
