//! Secrets of type `kubernetes.io/service-account-token`: filled while their service account exists, deleted with it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::client::{ControllerClient, RequestFailure};
use super::ownership_graph::TOKEN_TYPE;
use crate::auth::service_account_name;
use crate::auth::token::{LEGACY_ISSUER, TokenClaims};
use crate::store::StoreKey;

const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Fills or deletes one Secret, or (with an empty name) every token Secret of a namespace.
pub(super) async fn fill(api: &ControllerClient, key: &StoreKey) -> Result<(), RequestFailure> {
    if !key.name().is_empty() {
        return fill_one(api, key).await;
    }
    for key in api.keys("secrets", Some(key.namespace())) {
        fill_one(api, &key).await?;
    }
    Ok(())
}

async fn fill_one(api: &ControllerClient, key: &StoreKey) -> Result<(), RequestFailure> {
    let Some(secret) = api.object(key).filter(|secret| secret["type"] == TOKEN_TYPE) else { return Ok(()) };
    let Some(metadata) = api.metadata(key).filter(|metadata| !metadata.is_deleting()) else { return Ok(()) };
    let annotation = |name: &str| secret["metadata"]["annotations"][name].as_str().unwrap_or_default();
    let (name, uid) = (annotation(ACCOUNT_NAME), annotation(ACCOUNT_UID));
    let account = api.object(&StoreKey::new(key.cluster(), "serviceaccounts", key.namespace(), name));
    let live = account.as_ref().and_then(|a| a["metadata"]["uid"].as_str());
    match live {
        Some(live) if uid.is_empty() || uid == live => {
            let Some(change) = missing_fields(api, &secret, key, (name, live)) else { return Ok(()) };
            api.merge(key, &metadata, change).await
        }
        _ => api.delete(key, &metadata, "Background").await,
    }
}

/// Returns the missing fields of the Secret; `None` if it is complete.
fn missing_fields(api: &ControllerClient, secret: &Value, key: &StoreKey, (name, uid): (&str, &str)) -> Option<Value> {
    let mut data = json!({});
    let authority = &api.inner.auth_keys.authority;
    let fixed = [("ca.crt", STANDARD.encode(authority)), ("namespace", STANDARD.encode(key.namespace()))];
    for (field, wanted) in fixed {
        if !wanted.is_empty() && secret["data"][field] != wanted.as_str() {
            data[field] = wanted.into();
        }
    }
    if secret["data"]["token"].as_str().unwrap_or_default().is_empty() {
        let claims = TokenClaims {
            iss: LEGACY_ISSUER.into(),
            sub: service_account_name(key.namespace(), name),
            legacy_namespace: Some(key.namespace().into()),
            legacy_secret: Some(key.name().into()),
            legacy_name: Some(name.into()),
            legacy_uid: Some(uid.into()),
            ..TokenClaims::default()
        };
        data["token"] = STANDARD.encode(api.inner.auth_keys.authenticator.key().sign(&claims).ok()?).into();
    }
    let named = secret["metadata"]["annotations"][ACCOUNT_UID] == uid;
    if named && data.as_object().is_some_and(|d| d.is_empty()) {
        return None;
    }
    Some(json!({"metadata": {"annotations": {ACCOUNT_UID: uid}}, "data": data}))
}
