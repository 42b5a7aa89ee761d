//! Setup before the roles start: the kinds on the clusters, and the first Argo CD instance.

use http::Method;
use kube::Client;
use serde_json::{Value, json};
use switchboard_http::cluster::send;
use switchboard_object::causes::error_chain;
use switchboard_object::yaml;
use switchboard_sql::{DbTimestamp, Filter};

use crate::error::ServiceError;
use crate::ids::Uid;
use crate::instance::fleet::EngineClient;
use crate::kinds::CRDS;
use crate::placement::selection;
use crate::request::text;
use crate::resources::NAMESPACES;
use crate::rows::EngineInstance;
use crate::store::Store;
use crate::tenant::TenantNamespace;
use crate::{random_id, related_rows, settings};

/// Namespace whose uid identifies a cluster; also the identity of a cluster without that namespace.
pub const SYSTEM_NAMESPACE: &str = "kube-system";

/// Error of the setup.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A request to the cluster failed.
    #[error("could not {act}")]
    Cluster {
        /// Action, as a verb with its object.
        act: String,
        /// Error of kube.
        #[source]
        source: Box<kube::Error>,
    },
    /// The database failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// Returns a namespace; `None` if it does not exist.
///
/// # Errors
/// When the cluster fails.
pub async fn namespace(client: &Client, name: &str) -> Result<Option<TenantNamespace>, SetupError> {
    match send(client, Method::GET, NAMESPACES.object_path("", name), None).await {
        Ok(found) => {
            Ok(Some(TenantNamespace { name: name.to_string(), uid: Uid::from(text(&found, "/metadata/uid")) }))
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(cluster_error(format!("read namespace `{name}`"), error)),
    }
}

/// Returns the identity of a cluster; `None` for a cluster without `kube-system`, such as a logical cluster of kcp. Two
/// of those may or may not be the same.
///
/// # Errors
/// When the cluster fails.
pub async fn cluster_identity(client: &Client) -> Result<Option<Uid>, SetupError> {
    Ok(namespace(client, SYSTEM_NAMESPACE).await?.map(|system| system.uid))
}

/// Returns the identity of an engine cluster in the database.
///
/// # Errors
/// When the cluster fails.
pub async fn cluster_uid(client: &Client) -> Result<Uid, SetupError> {
    Ok(cluster_identity(client).await?.unwrap_or_else(|| Uid::from(SYSTEM_NAMESPACE)))
}

/// Creates the tenants' kinds and a namespace. Existing objects are left unchanged.
///
/// # Errors
/// When the cluster fails or rejects an object.
pub async fn install(client: &Client, more: &[Value], namespace: &str) -> Result<(), SetupError> {
    let definitions = CRDS.iter().filter_map(|text| yaml::read(text).ok()).map(|document| document.value);
    for definition in definitions.chain(more.iter().cloned()) {
        let act = format!("create {}", text(&definition, "/spec/names/kind"));
        create(client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition, act).await?;
    }
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    create(client, "/api/v1/namespaces", &body, format!("create namespace `{namespace}`")).await
}

/// Registers the instance of a namespace if the database has none yet. Returns false if the namespace does not exist.
///
/// # Errors
/// When the cluster or the database fails.
pub async fn first_instance(store: &Store, client: &Client, name: &str, now: DbTimestamp) -> Result<bool, SetupError> {
    let known: Vec<EngineInstance> = store.ledger().list(&Filter::all().limit(1)).await.map_err(ServiceError::from)?;
    let cluster = cluster_uid(client).await?;
    if known.is_empty() {
        let Some(found) = namespace(client, name).await? else { return Ok(false) };
        store
            .transact(async |view| Ok((selection::register(view, &cluster, &found, random_id::new, now).await?, ())))
            .await?;
    }
    mark_namespaces(store, client, &cluster, known.is_empty()).await?;
    Ok(true)
}

/// Marks the namespaces of all instances on a cluster as this database's, for later restores. A namespace that is
/// marked as another database's is only claimed with `force`, which is set when the user configured the first instance.
async fn mark_namespaces(store: &Store, client: &Client, cluster: &Uid, force: bool) -> Result<(), SetupError> {
    let engine = EngineClient::new(client.clone());
    let database = settings::get_or_create_database_id(store.ledger()).await.map_err(ServiceError::from)?;
    let mut view = store.ledger().view().await.map_err(ServiceError::from)?;
    let mut places = Vec::new();
    for instance in view.list::<EngineInstance>(&Filter::all()).await.map_err(ServiceError::from)? {
        if related_rows::is_on_cluster(&mut view, &instance, cluster).await.map_err(ServiceError::from)? {
            places.push(instance.namespace);
        }
    }
    view.end();
    for place in &places {
        let marked = match engine.namespace_owner(place).await {
            Ok(Some(found)) if found.database.as_ref() == Some(&database) => Ok(()),
            Ok(Some(found)) if found.is_owned_by_other(Some(&database)) && !force => {
                tracing::warn!(
                    namespace = place,
                    "an Argo CD namespace of this database is marked as another database's"
                );
                Ok(())
            }
            Ok(Some(_)) => engine.set_namespace_owner(place, Some(&database)).await,
            other => other.map(drop),
        };
        // The role works without permission to patch namespaces; `fleet add` marks them as well.
        if let Err(error) = marked {
            let error = error_chain(&error);
            tracing::warn!(namespace = place, error, "could not mark the Argo CD namespace as this database's");
        }
    }
    Ok(())
}

/// Whether the database has an instance on this cluster; also true if it has no instance at all.
///
/// # Errors
/// When the database fails.
pub async fn has_instance(store: &Store, cluster: &Uid) -> Result<bool, ServiceError> {
    let mut view = store.ledger().view().await?;
    let instances: Vec<EngineInstance> = view.list(&Filter::all()).await?;
    let mut found = instances.is_empty();
    for instance in &instances {
        found = found || related_rows::is_on_cluster(&mut view, instance, cluster).await?;
    }
    view.end();
    Ok(found)
}

async fn create(client: &Client, path: &str, body: &Value, act: String) -> Result<(), SetupError> {
    match send(client, Method::POST, path.to_string(), Some(body)).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => made.map(drop).map_err(|error| cluster_error(act, error)),
    }
}

fn cluster_error(act: String, error: kube::Error) -> SetupError {
    SetupError::Cluster { act, source: Box::new(error) }
}
