//! Removal of a created service account from a tenant's cluster, with the tenant's credentials or, if they are no
//! longer valid, with the account's own.

use kube::Client;
use serde_json::{Value, json};
use switchboard_object::causes::error_chain;

use super::{ClusterConnector, account_name, objects, send};
use crate::environment::kubeconfig;
use crate::repository::without_login;
use crate::request::text;
use crate::rows::tenant_clusters::ServiceAccount;

/// Error of a removal.
enum RemovalError {
    /// The cluster did not authenticate the client: the token has expired, or its account is deleted.
    Unknown,
    /// The client lacks permissions.
    Forbidden(String),
    /// Any other error.
    Failed(String),
}

/// Removes the created objects.
///
/// # Guarantees
/// - Expired tenant credentials do not count as a removal. // test: an_account_is_removed_with_expired_tenant_credentials
pub(crate) async fn remove(connector: &dyn ClusterConnector, account: &ServiceAccount) -> Result<(), String> {
    let host = account.host.as_str();
    let config = account.kube_config.as_ref().map_or("", |config| config.expose());
    let access = kubeconfig::read(config, host).map_err(|(_, message)| message)?;
    let client = connector.client(host, &access, account.allow_insecure).await.map_err(|(_, message)| message)?;
    let uid = account.resource_uid.as_str();
    let why = match as_tenant(&client, uid).await {
        Ok(()) => return Ok(()),
        Err(RemovalError::Failed(why)) => return Err(why),
        Err(RemovalError::Unknown) => "the cluster no longer accepts the credential that created it".to_string(),
        Err(RemovalError::Forbidden(why)) => why,
    };
    let Some(token) = &account.token else { return Err(why) };
    let own = access.as_account(token);
    let client = connector.client(host, &own, account.allow_insecure).await.map_err(|(_, message)| message)?;
    match delete_with_own_token(&client, uid).await {
        Ok(()) => Ok(()),
        // The token is invalid because the account or the token's Secret is deleted.
        Err(RemovalError::Unknown) => {
            let name = account_name(uid);
            let host = without_login(host);
            tracing::info!(host, "service account {name} no longer has a token; the removal is complete");
            Ok(())
        }
        Err(RemovalError::Forbidden(own)) => Err(format!("{why}; as the account itself: {own}")),
        Err(RemovalError::Failed(why)) => Err(why),
    }
}

/// Deletes the objects one by one, the permissions of the account first. As long as the account has permissions it can
/// remove everything itself; without permissions it is harmless.
async fn as_tenant(client: &Client, uid: &str) -> Result<(), RemovalError> {
    let [account, role, binding, token] = objects(uid);
    for object in [binding, role, account, token] {
        delete_object(client, &object).await?;
    }
    Ok(())
}

/// Deletes everything with a single request, because deleting any object first would revoke the account's permissions
/// or its token. All objects become dependents of the role, and the garbage collector deletes them with it.
async fn delete_with_own_token(client: &Client, uid: &str) -> Result<(), RemovalError> {
    let [account, role, binding, token] = objects(uid);
    let Some(found) = send_request(client, "GET", &path(&role), Value::Null).await? else {
        // The account has permissions from elsewhere, which stay.
        return as_tenant(client, uid).await;
    };
    let owner = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "name": text(&found, "/metadata/name"), "uid": text(&found, "/metadata/uid")});
    for object in [&token, &account, &binding] {
        send_request(client, "PATCH", &path(object), json!({"metadata": {"ownerReferences": [owner]}})).await?;
    }
    delete_object(client, &role).await
}

async fn delete_object(client: &Client, object: &(String, Value)) -> Result<(), RemovalError> {
    send_request(client, "DELETE", &path(object), Value::Null).await.map(drop)
}

fn path((path, body): &(String, Value)) -> String {
    format!("{path}/{}", text(body, "/metadata/name"))
}

/// Sends a request; `None` if the object does not exist.
async fn send_request(client: &Client, method: &str, path: &str, body: Value) -> Result<Option<Value>, RemovalError> {
    match send(client, method, path, body).await {
        Ok(answer) => Ok(Some(answer)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(kube::Error::Api(status)) if status.code == 401 => Err(RemovalError::Unknown),
        Err(kube::Error::Api(status)) if status.code == 403 => Err(RemovalError::Forbidden(status.message.clone())),
        Err(error) => Err(RemovalError::Failed(error_chain(&error))),
    }
}
