//! What must be there before the roles begin: the kinds on the clusters, and the Argo CD that the database knows.

use http::Request;
use kube::Client;
use serde_json::{Value, json};
use switchboard_gitops::flow::tenant::Namespace;
use switchboard_gitops::kinds::CRDS;
use switchboard_ledger::ids::Uid;
use switchboard_ledger::rows::EngineInstance;
use switchboard_ledger::{Filter, Moment};
use switchboard_object::yaml;

use crate::asked::text;
use crate::error::ServiceError;
use crate::fleet::Engine;
use crate::store::Store;
use crate::{ids, instance, rows, settings};

/// The namespace by whose uid a cluster is known; and what one is known by that has no such namespace.
pub const SYSTEM: &str = "kube-system";

/// Why a cluster is not ready.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// It did not do what it was asked.
    #[error("could not {act}")]
    Cluster {
        /// What it was asked.
        act: String,
        /// What it said.
        #[source]
        source: Box<kube::Error>,
    },
    /// The database did not.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// The uid of a namespace; none if it is not there.
///
/// # Errors
/// When the cluster does not say.
pub async fn namespace(client: &Client, name: &str) -> Result<Option<Namespace>, SetupError> {
    match send(client, "GET", &format!("/api/v1/namespaces/{name}"), Value::Null).await {
        Ok(found) => Ok(Some(Namespace { name: name.to_string(), uid: Uid::from(text(&found, "/metadata/uid")) })),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(failed(format!("look at namespace `{name}`"), error)),
    }
}

/// What a cluster is known by; none for one that has nothing to be known by, as a logical cluster of kcp. Two such may or may not
/// be the same.
///
/// # Errors
/// When the cluster does not say.
pub async fn identity(client: &Client) -> Result<Option<Uid>, SetupError> {
    Ok(namespace(client, SYSTEM).await?.map(|system| system.uid))
}

/// What a cluster of Argo CDs is known by in the database.
///
/// # Errors
/// When the cluster does not say.
pub async fn known_as(client: &Client) -> Result<Uid, SetupError> {
    Ok(identity(client).await?.unwrap_or_else(|| Uid::from(SYSTEM)))
}

/// Makes the tenants' kinds, and a namespace, on a cluster where nobody else does. What is there stays.
///
/// # Errors
/// When the cluster does not do it.
pub async fn install(client: &Client, more: &[Value], namespace: &str) -> Result<(), SetupError> {
    let definitions = CRDS.iter().filter_map(|text| yaml::read(text).ok()).map(|document| document.value);
    for definition in definitions.chain(more.iter().cloned()) {
        let act = format!("define {}", text(&definition, "/spec/names/kind"));
        make(client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition, act).await?;
    }
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    make(client, "/api/v1/namespaces", body, format!("create namespace `{namespace}`")).await
}

/// Makes the Argo CD of a namespace known, if the database knows none yet. False if there is no such namespace.
///
/// # Errors
/// When the cluster or the database fails.
pub async fn first_instance(store: &Store, client: &Client, name: &str, now: Moment) -> Result<bool, SetupError> {
    let known: Vec<EngineInstance> = store.ledger().list(&Filter::all().limit(1)).await.map_err(ServiceError::from)?;
    let cluster = known_as(client).await?;
    if known.is_empty() {
        let Some(found) = namespace(client, name).await? else { return Ok(false) };
        store.settle(async |view| Ok((instance::register(view, &cluster, &found, ids::new, now).await?, ()))).await?;
    }
    mark(store, client, &cluster, known.is_empty()).await?;
    Ok(true)
}

/// Says of every Argo CD of a cluster that it is this database's, for whoever restores a backup. One that another database says is its
/// own is taken only with `force`: where this one knew none, and was told which is its.
async fn mark(store: &Store, client: &Client, cluster: &Uid, force: bool) -> Result<(), SetupError> {
    let engine = Engine::new(client.clone());
    let database = settings::own_database(store.ledger()).await.map_err(ServiceError::from)?;
    let mut view = store.ledger().view().await.map_err(ServiceError::from)?;
    let mut places = Vec::new();
    for instance in view.list::<EngineInstance>(&Filter::all()).await.map_err(ServiceError::from)? {
        if rows::is_at(&mut view, &instance, cluster).await.map_err(ServiceError::from)? {
            places.push(instance.namespace);
        }
    }
    view.end();
    for place in &places {
        let marked = match engine.marked(place).await {
            Ok(Some(found)) if found.database.as_ref() == Some(&database) => Ok(()),
            Ok(Some(found)) if found.is_of_another(Some(&database)) && !force => {
                tracing::warn!(namespace = place, "an Argo CD of this database is said to be another's as well");
                Ok(())
            }
            Ok(Some(_)) => engine.mark(place, Some(&database)).await,
            other => other.map(drop),
        };
        // Whoever may not write to namespaces works all the same: `fleet add` marks it, too.
        if let Err(error) = marked {
            let error = crate::error::told(&error);
            tracing::warn!(namespace = place, error, "could not mark an Argo CD as one of this database");
        }
    }
    Ok(())
}

/// Whether any Argo CD that the database knows is on this cluster; true as well if it knows none.
///
/// # Errors
/// When the database fails.
pub async fn has_instance(store: &Store, cluster: &Uid) -> Result<bool, ServiceError> {
    let mut view = store.ledger().view().await?;
    let instances: Vec<EngineInstance> = view.list(&Filter::all()).await?;
    let mut found = instances.is_empty();
    for instance in &instances {
        found = found || rows::is_at(&mut view, instance, cluster).await?;
    }
    view.end();
    Ok(found)
}

async fn make(client: &Client, path: &str, body: Value, act: String) -> Result<(), SetupError> {
    match send(client, "POST", path, body).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => made.map(drop).map_err(|error| failed(act, error)),
    }
}

fn failed(act: String, error: kube::Error) -> SetupError {
    SetupError::Cluster { act, source: Box::new(error) }
}

async fn send(client: &Client, method: &str, path: &str, body: Value) -> Result<Value, kube::Error> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header("Content-Type", "application/json");
    client.request(request.body(body).map_err(kube::Error::HttpError)?).await
}
