//! Data of a tenant that exists only in the database.

use switchboard_http::problem::ProblemDetails;
use switchboard_sql::{Ledger, RowKey};

use super::{GitOpsApi, NAMESPACES, database_problem, meta};
use crate::ids::Uid;
use crate::related_rows;
use crate::rows::{Application, ClusterCredentials, ClusterUser, EngineInstance, ManagedEnvironment};

/// Returns the Argo CD Application of a deployment and its Argo CD instance; `None` until the backend has processed the
/// deployment.
pub async fn application(ledger: &Ledger, uid: &str) -> Result<Option<(Application, EngineInstance)>, ProblemDetails> {
    let mut view = ledger.view().await.map_err(database_problem)?;
    let found = match related_rows::application_of(&mut view, &Uid::from(uid)).await.map_err(database_problem)? {
        Some(row) => {
            let instance = related_rows::instance(&mut view, &row.instance).await.map_err(database_problem)?;
            instance.map(|instance| (row, instance))
        }
        None => None,
    };
    view.end();
    Ok(found)
}

/// Returns the kubeconfig context of an environment; `None` until the backend has determined it.
pub async fn context(ledger: &Ledger, uid: &str) -> Result<Option<String>, ProblemDetails> {
    let mut view = ledger.view().await.map_err(database_problem)?;
    let mapping = related_rows::environment_of(&mut view, &Uid::from(uid)).await.map_err(database_problem)?;
    let row = match mapping {
        Some(mapping) => {
            view.get::<ManagedEnvironment>(&RowKey::from(&*mapping.relation_key)).await.map_err(database_problem)?
        }
        None => None,
    };
    let credentials = match row {
        Some(row) => view.get::<ClusterCredentials>(&RowKey::from(&row.credentials)).await.map_err(database_problem)?,
        None => None,
    };
    view.end();
    Ok(credentials.and_then(|credentials| credentials.kube_config_context))
}

/// Returns the tenant of a namespace by the namespace's UID: a recreated namespace is a different tenant.
pub async fn tenant(service: &GitOpsApi, namespace: &str) -> Result<Option<ClusterUser>, ProblemDetails> {
    let Some(object) = service.tenants.find(&NAMESPACES, "", namespace).await? else { return Ok(None) };
    let mut view = service.ledger.view().await.map_err(database_problem)?;
    let user = related_rows::user(&mut view, &Uid::from(meta(&object, "uid"))).await.map_err(database_problem)?;
    view.end();
    Ok(user)
}

/// Returns the name of the tenant's namespace, if the namespace with that UID still exists.
pub async fn namespace(service: &GitOpsApi, user: &ClusterUser) -> Result<Option<String>, ProblemDetails> {
    let Some(name) = user.display_name.clone() else { return Ok(None) };
    let object = service.tenants.find(&NAMESPACES, "", &name).await?;
    Ok(object.filter(|object| meta(object, "uid") == user.user_name).map(|_| name))
}
