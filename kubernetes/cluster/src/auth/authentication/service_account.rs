//! Service account tokens: checks that the service account is still the one the token was issued for, and that the
//! bound object still exists.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use switchboard_object::Value;
use switchboard_object::quote::quote;

use super::{CREDENTIAL_ID, TokenObjects};
use crate::auth::token::{LEGACY_ISSUER, TokenBinding, TokenClaims};
use crate::auth::{User, split_service_account};

/// Tolerated difference between clocks.
const LEEWAY_SECONDS: i64 = 60;
const INVALIDATED: &str = "service account token has been invalidated";
/// Label of a Secret whose token is no longer valid.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

/// Returns the user of a token with valid signature and audience, or the error in kube-apiserver's words.
pub fn user(claims: &TokenClaims, token: &str, objects: &dyn TokenObjects, now: Timestamp) -> Result<User, String> {
    if claims.iss == LEGACY_ISSUER {
        return legacy(claims, token, objects);
    }
    in_time(claims, now)?;
    let binding = claims.kubernetes.as_ref().ok_or("service account token claims could not be validated")?;
    let (namespace, account) = (&binding.namespace, &binding.serviceaccount);
    let found = objects
        .object("serviceaccounts", namespace, &account.name)
        .ok_or_else(|| format!("serviceaccounts {} not found", quote(&account.name)))?;
    let uid = text(&found, "/metadata/uid");
    if uid != account.uid {
        return Err(format!("service account UID ({uid}) does not match claim ({})", account.uid));
    }
    if is_gone(&found, now) {
        return Err(format!("service account {namespace}/{} has been deleted", account.name));
    }
    bound_objects_live(binding, objects, now)?;
    let mut user = User::service_account(namespace, &account.name, &account.uid);
    let mut say = |key: &str, value: &str| user.extra.insert(key.to_string(), vec![value.to_string()]);
    if let Some(id) = &claims.jti {
        say(CREDENTIAL_ID, &format!("JTI={id}"));
    }
    if let Some(pod) = &binding.pod {
        say("authentication.kubernetes.io/pod-name", &pod.name);
        say("authentication.kubernetes.io/pod-uid", &pod.uid);
    }
    if let Some(node) = &binding.node {
        say("authentication.kubernetes.io/node-name", &node.name);
        if !node.uid.is_empty() {
            say("authentication.kubernetes.io/node-uid", &node.uid);
        }
    }
    Ok(user)
}

fn in_time(claims: &TokenClaims, now: Timestamp) -> Result<(), String> {
    let now = now.as_second();
    if claims.nbf.is_some_and(|from| now + LEEWAY_SECONDS < from) {
        return Err("service account token is not valid yet".into());
    }
    // Tokens issued here always expire, so a token without an expiry was not issued here.
    if claims.exp.is_none_or(|end| now - LEEWAY_SECONDS > end) {
        return Err("service account token has expired".into());
    }
    if claims.iat.is_some_and(|made| now + LEEWAY_SECONDS < made) {
        return Err("service account token is issued in the future".into());
    }
    Ok(())
}

fn bound_objects_live(binding: &TokenBinding, objects: &dyn TokenObjects, now: Timestamp) -> Result<(), String> {
    // The node of a pod's token is informational only.
    let node = binding.node.as_ref().filter(|_| binding.pod.is_none());
    let bound = [
        ("secret", "secrets", binding.namespace.as_str(), binding.secret.as_ref()),
        ("pod", "pods", binding.namespace.as_str(), binding.pod.as_ref()),
        ("node", "nodes", "", node),
    ];
    for (word, resource, namespace, reference) in bound {
        let Some(reference) = reference else { continue };
        let found = objects.object(resource, namespace, &reference.name).ok_or(INVALIDATED)?;
        let uid = text(&found, "/metadata/uid");
        if uid != reference.uid {
            return Err(format!(
                "{word} UID ({uid}) does not match service account {word} ref claim ({})",
                reference.uid
            ));
        }
        if is_gone(&found, now) {
            return Err(INVALIDATED.into());
        }
    }
    Ok(())
}

/// Returns the user of a token stored in a Secret, which is valid as long as the Secret holds it.
fn legacy(claims: &TokenClaims, token: &str, objects: &dyn TokenObjects) -> Result<User, String> {
    let claim = |value: &Option<String>, name: &str| {
        value.clone().filter(|v| !v.is_empty()).ok_or_else(|| format!("{name} claim is missing"))
    };
    let namespace = claim(&claims.legacy_namespace, "namespace")?;
    let secret_name = claim(&claims.legacy_secret, "secretName")?;
    let name = claim(&claims.legacy_name, "serviceAccountName")?;
    let uid = claim(&claims.legacy_uid, "serviceAccountUID")?;
    if split_service_account(&claims.sub) != Some((&namespace, &name)) {
        return Err("sub claim is invalid".into());
    }
    let secret = objects.object("secrets", &namespace, &secret_name).ok_or("Token has been invalidated")?;
    if secret.pointer("/metadata/deletionTimestamp").is_some() {
        return Err("Token has been invalidated".into());
    }
    let kept = STANDARD.decode(text(&secret, "/data/token")).unwrap_or_default();
    if digest(&SHA256, &kept).as_ref() != digest(&SHA256, token.as_bytes()).as_ref() {
        return Err("Token does not match server's copy".into());
    }
    let account = objects
        .object("serviceaccounts", &namespace, &name)
        .ok_or_else(|| format!("serviceaccounts {} not found", quote(&name)))?;
    if account.pointer("/metadata/deletionTimestamp").is_some() {
        return Err(format!("ServiceAccount {namespace}/{name} has been deleted"));
    }
    let live = text(&account, "/metadata/uid");
    if live != uid {
        return Err(format!("ServiceAccount UID ({live}) does not match claim ({uid})"));
    }
    if secret.pointer("/metadata/labels").and_then(|l| l.get(INVALID_SINCE)).is_some_and(|v| v != "") {
        return Err(format!(
            "the token in secret {namespace}/{secret_name} for service account {namespace}/{name} has been marked \
             invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the \
             '{INVALID_SINCE}' label from the secret to temporarily allow use of this token"
        ));
    }
    Ok(User::service_account(&namespace, &name, &uid))
}

/// Whether an object was deleted longer ago than the clock tolerance and waits for its finalizers.
fn is_gone(object: &Value, now: Timestamp) -> bool {
    let deleted = text(object, "/metadata/deletionTimestamp");
    deleted.parse::<Timestamp>().is_ok_and(|at| at.as_second() < now.as_second() - LEEWAY_SECONDS)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
