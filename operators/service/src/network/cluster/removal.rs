//! Taking a service account of ours off a tenant's cluster, with what the tenant gave, or, when that works no longer, as the account.

use kube::Client;
use serde_json::{Value, json};
use switchboard_gitops::kubeconfig;
use switchboard_gitops::repository::without_login;
use switchboard_ledger::rows::left::ServiceAccount;

use super::{Reach, account_name, objects, send};
use crate::asked::text;
use crate::error::told;

/// Why something of ours is there yet.
enum Left {
    /// It is not known who asks: a token that has expired, or one of nobody.
    Unknown,
    /// Whoever asks may not.
    Forbidden(String),
    /// Anything else.
    Failed(String),
}

/// Removes what is ours.
///
/// # Guarantees
/// - Nothing is said to be gone because the tenant's credential is. // test: an_account_goes_when_what_the_tenant_gave_works_no_longer
pub(super) async fn remove(reach: &dyn Reach, account: &ServiceAccount) -> Result<(), String> {
    let host = account.host.as_str();
    let config = account.kube_config.as_ref().map_or("", |config| config.expose());
    let access = kubeconfig::read(config, host).map_err(|(_, message)| message)?;
    let client = reach.client(host, &access, account.allow_insecure).await.map_err(|(_, message)| message)?;
    let uid = account.resource_uid.as_str();
    let why = match as_tenant(&client, uid).await {
        Ok(()) => return Ok(()),
        Err(Left::Failed(why)) => return Err(why),
        Err(Left::Unknown) => "the cluster takes the credential no longer that it was made with".to_string(),
        Err(Left::Forbidden(why)) => why,
    };
    let Some(token) = &account.token else { return Err(why) };
    let own = access.as_account(token);
    let client = reach.client(host, &own, account.allow_insecure).await.map_err(|(_, message)| message)?;
    match as_itself(&client, uid).await {
        Ok(()) => Ok(()),
        // Its token is worth nothing any more, because it is gone, or because its Secret is.
        Err(Left::Unknown) => {
            let name = account_name(uid);
            let host = without_login(host);
            tracing::info!(host, "service account {name} has no token any more: nothing more can be removed with it");
            Ok(())
        }
        Err(Left::Forbidden(own)) => Err(format!("{why}; as the account itself: {own}")),
        Err(Left::Failed(why)) => Err(why),
    }
}

/// One after the other, the account's rights first: while they are there it can remove all of it by itself, and without them what
/// is left of it is no danger.
async fn as_tenant(client: &Client, uid: &str) -> Result<(), Left> {
    let [account, role, binding, token] = objects(uid);
    for object in [binding, role, account, token] {
        gone(client, &object).await?;
    }
    Ok(())
}

/// With one request, for whatever goes first takes the account's rights or its token with it, and nothing could go after it. So all of
/// it is made the role's, and the role goes: with it go all rights at once, and the cluster collects the rest.
async fn as_itself(client: &Client, uid: &str) -> Result<(), Left> {
    let [account, role, binding, token] = objects(uid);
    let Some(found) = sent(client, "GET", &path(&role), Value::Null).await? else {
        // It has rights that are not from us, and they stay.
        return as_tenant(client, uid).await;
    };
    let owner = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "name": text(&found, "/metadata/name"), "uid": text(&found, "/metadata/uid")});
    for object in [&token, &account, &binding] {
        sent(client, "PATCH", &path(object), json!({"metadata": {"ownerReferences": [owner]}})).await?;
    }
    gone(client, &role).await
}

async fn gone(client: &Client, object: &(String, Value)) -> Result<(), Left> {
    sent(client, "DELETE", &path(object), Value::Null).await.map(drop)
}

fn path((path, body): &(String, Value)) -> String {
    format!("{path}/{}", text(body, "/metadata/name"))
}

/// The answer; none if there is no such object.
async fn sent(client: &Client, method: &str, path: &str, body: Value) -> Result<Option<Value>, Left> {
    match send(client, method, path, body).await {
        Ok(answer) => Ok(Some(answer)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(kube::Error::Api(status)) if status.code == 401 => Err(Left::Unknown),
        Err(kube::Error::Api(status)) if status.code == 403 => Err(Left::Forbidden(status.message.clone())),
        Err(error) => Err(Left::Failed(told(&error))),
    }
}
