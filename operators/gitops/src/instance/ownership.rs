//! Ownership of namespaces: an annotation of an instance's namespace names its database. Applications of two databases
//! have the same labels, so a restore could not tell them apart otherwise.

use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::argocd::engine_client::{code, refused};
use crate::ids::Uid;
use crate::instance::fleet::{EngineClient, EngineError, Fleet, FleetError};
use crate::settings;
use crate::tenant::TenantNamespace;

/// Annotation of a namespace with the id of its database.
const DATABASE_ANNOTATION: &str = "managed-gitops.redhat.com/database";

/// Namespace and the database it is marked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceOwner {
    /// Namespace.
    pub namespace: TenantNamespace,
    /// Id of the database; `None` if the namespace is not marked.
    pub database: Option<String>,
}

impl NamespaceOwner {
    /// Whether the namespace is marked as another database's.
    pub fn is_owned_by_other(&self, database: Option<&str>) -> bool {
        self.database.is_some() && self.database.as_deref() != database
    }
}

impl EngineClient {
    /// Returns a namespace and its owner, if the namespace exists.
    ///
    /// # Errors
    /// When the cluster fails.
    pub async fn namespace_owner(&self, namespace: &str) -> Result<Option<NamespaceOwner>, EngineError> {
        let found = self.get("v1", "Namespace", "", namespace).await?;
        Ok(found.map(|found| NamespaceOwner {
            namespace: TenantNamespace {
                name: namespace.to_string(),
                uid: Uid::from(found["metadata"]["uid"].as_str().unwrap_or(namespace)),
            },
            database: found["metadata"]["annotations"][DATABASE_ANNOTATION].as_str().map(ToString::to_string),
        }))
    }

    /// Sets or removes the owner of a namespace. A missing namespace is ignored.
    ///
    /// # Errors
    /// When the cluster fails or rejects the change.
    pub async fn set_namespace_owner(&self, namespace: &str, database: Option<&str>) -> Result<(), EngineError> {
        let patch: Value = json!({ "metadata": { "annotations": { DATABASE_ANNOTATION: database } } });
        let api: Api<_> = self.api("v1", "Namespace", "");
        let done = api.patch(namespace, &PatchParams::default(), &Patch::Merge(&patch)).await;
        match done {
            Err(source) if code(&source) != Some(404) => Err(refused("mark", "Namespace", namespace, source)),
            _ => Ok(()),
        }
    }
}

impl Fleet {
    /// Fails if the namespace is marked as another database's, unless `force` is set.
    pub(crate) async fn check_ownership(&self, namespace: &str, force: bool) -> Result<(), FleetError> {
        // The database gets an id only when it claims a namespace.
        let database = settings::database_id(self.store.ledger()).await?;
        let found = self.engine.namespace_owner(namespace).await?;
        match found.is_some_and(|found| found.is_owned_by_other(database.as_deref())) {
            true if !force => Err(FleetError::OtherDatabase(namespace.to_string())),
            _ => Ok(()),
        }
    }

    /// Marks a namespace as this database's. Fails if it is marked as another one's, unless `force` is set.
    pub(crate) async fn claim(&self, namespace: &str, force: bool) -> Result<(), FleetError> {
        let database = settings::get_or_create_database_id(self.store.ledger()).await?;
        let found = self.engine.namespace_owner(namespace).await?;
        match found {
            Some(found) if found.database.as_deref() == Some(&database) => Ok(()),
            Some(found) if !force && found.is_owned_by_other(Some(&database)) => {
                Err(FleetError::OtherDatabase(namespace.to_string()))
            }
            _ => Ok(self.engine.set_namespace_owner(namespace, Some(&database)).await?),
        }
    }
}
