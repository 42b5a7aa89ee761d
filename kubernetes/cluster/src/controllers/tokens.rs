//! Secrets of type `kubernetes.io/service-account-token`: filled while their service account lives, deleted with it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::api::{Api, Failed};
use super::graph::TOKEN_TYPE;
use crate::auth::service_account_name;
use crate::auth::token::{Claims, LEGACY_ISSUER};
use crate::store::Key;

const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Fills or deletes one Secret, or (with an empty name) every token Secret of a namespace.
pub(super) async fn fill(api: &Api, key: &Key) -> Result<(), Failed> {
    if !key.name().is_empty() {
        return fill_one(api, key).await;
    }
    for key in api.keys("secrets", Some(key.namespace())) {
        fill_one(api, &key).await?;
    }
    Ok(())
}

async fn fill_one(api: &Api, key: &Key) -> Result<(), Failed> {
    let Some(secret) = api.object(key).filter(|secret| secret["type"] == TOKEN_TYPE) else { return Ok(()) };
    let Some(metadata) = api.metadata(key).filter(|metadata| !metadata.is_going()) else { return Ok(()) };
    let annotation = |name: &str| secret["metadata"]["annotations"][name].as_str().unwrap_or_default();
    let (name, uid) = (annotation(ACCOUNT_NAME), annotation(ACCOUNT_UID));
    let account = api.object(&Key::new(key.cluster(), "serviceaccounts", key.namespace(), name));
    let live = account.as_ref().and_then(|a| a["metadata"]["uid"].as_str());
    match live {
        Some(live) if uid.is_empty() || uid == live => {
            let Some(change) = missing(api, &secret, key, (name, live)) else { return Ok(()) };
            api.merge(key, &metadata, change).await
        }
        _ => api.delete(key, &metadata, "Background").await,
    }
}

/// What the Secret lacks. `None` when it is whole.
fn missing(api: &Api, secret: &Value, key: &Key, (name, uid): (&str, &str)) -> Option<Value> {
    let mut data = json!({});
    let authority = &api.inner.gate.authority;
    let fixed = [("ca.crt", STANDARD.encode(authority)), ("namespace", STANDARD.encode(key.namespace()))];
    for (field, wanted) in fixed {
        if !wanted.is_empty() && secret["data"][field] != wanted.as_str() {
            data[field] = wanted.into();
        }
    }
    if secret["data"]["token"].as_str().unwrap_or_default().is_empty() {
        let claims = Claims {
            iss: LEGACY_ISSUER.into(),
            sub: service_account_name(key.namespace(), name),
            legacy_namespace: Some(key.namespace().into()),
            legacy_secret: Some(key.name().into()),
            legacy_name: Some(name.into()),
            legacy_uid: Some(uid.into()),
            ..Claims::default()
        };
        data["token"] = STANDARD.encode(api.inner.gate.authenticator.key().sign(&claims).ok()?).into();
    }
    let named = secret["metadata"]["annotations"][ACCOUNT_UID] == uid;
    if named && data.as_object().is_some_and(|d| d.is_empty()) {
        return None;
    }
    Some(json!({"metadata": {"annotations": {ACCOUNT_UID: uid}}, "data": data}))
}
