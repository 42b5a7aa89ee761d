//! What only the database knows, tenant by tenant.

use switchboard_ledger::ids::ApiResource;
use switchboard_ledger::rows::{
    ApiToDatabase, Application, ClusterCredentials, ClusterUser, DeploymentToApplication, EngineInstance,
    ManagedEnvironment,
};
use switchboard_ledger::{Filter, Key, Ledger};

use super::{NAMESPACES, Service, meta, of_ledger};
use crate::problem::Problem;

/// The Application of a deployment, and the Argo CD it is on; none while the backend has not seen it.
pub async fn application(ledger: &Ledger, uid: &str) -> Result<Option<(Application, EngineInstance)>, Problem> {
    let mut view = ledger.view().await.map_err(of_ledger)?;
    let mapping: Option<DeploymentToApplication> = view.get(&Key::from(uid)).await.map_err(of_ledger)?;
    let found = match mapping {
        Some(mapping) => view.get::<Application>(&Key::from(&mapping.application)).await.map_err(of_ledger)?,
        None => None,
    };
    let found = match found {
        Some(row) => {
            let instance = view.get::<EngineInstance>(&Key::from(&row.instance)).await.map_err(of_ledger)?;
            instance.map(|instance| (row, instance))
        }
        None => None,
    };
    view.end();
    Ok(found)
}

/// The context of the kubeconfig that an environment is reached by; none while nobody has looked.
pub async fn context(ledger: &Ledger, uid: &str) -> Result<Option<String>, Problem> {
    let mut view = ledger.view().await.map_err(of_ledger)?;
    let filter = Filter::all().is("api_resource_uid", uid).is("api_resource_type", ApiResource::ManagedEnvironment);
    let mapping = view.list::<ApiToDatabase>(&filter).await.map_err(of_ledger)?.pop();
    let row = match mapping {
        Some(mapping) => view.get::<ManagedEnvironment>(&Key::from(&*mapping.relation_key)).await.map_err(of_ledger)?,
        None => None,
    };
    let credentials = match row {
        Some(row) => view.get::<ClusterCredentials>(&Key::from(&row.credentials)).await.map_err(of_ledger)?,
        None => None,
    };
    view.end();
    Ok(credentials.and_then(|credentials| credentials.kube_config_context))
}

/// The tenant of a namespace as it is now: one that was deleted and made again is another.
pub async fn tenant(service: &Service, namespace: &str) -> Result<Option<ClusterUser>, Problem> {
    let Some(object) = service.tenants.find(&NAMESPACES, "", namespace).await? else { return Ok(None) };
    let filter = Filter::all().is("user_name", meta(&object, "uid"));
    Ok(service.ledger.list::<ClusterUser>(&filter).await.map_err(of_ledger)?.pop())
}

/// The name of the tenant's namespace, if that still is the tenant's.
pub async fn namespace(service: &Service, user: &ClusterUser) -> Result<Option<String>, Problem> {
    let Some(name) = user.display_name.clone() else { return Ok(None) };
    let object = service.tenants.find(&NAMESPACES, "", &name).await?;
    Ok(object.filter(|object| meta(object, "uid") == user.user_name).map(|_| name))
}
