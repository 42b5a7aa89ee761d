//! Secrets without what is secret in them.

use serde_json::Value;

/// What stands for a secret value: `redacted` in base64, as `data` wants it.
const REDACTED: &str = "cmVkYWN0ZWQ=";
/// The same as text.
const REDACTED_TEXT: &str = "redacted";
/// Where kubectl keeps what was applied, values included. Whoever reads it reads JSON, so that it goes as a whole.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Annotations that say whose a Secret is and how long it holds, and that operators decide by. Any other may repeat what is in the
/// Secret, as `openshift.io/token-secret.value` does.
const TELLING_NOTHING: &[&str] = &[
    "auth.openshift.io/certificate-hostnames",
    "auth.openshift.io/certificate-issuer",
    "auth.openshift.io/certificate-not-after",
    "auth.openshift.io/certificate-not-before",
    "cert-manager.io/alt-names",
    "cert-manager.io/certificate-name",
    "cert-manager.io/common-name",
    "cert-manager.io/ip-sans",
    "cert-manager.io/issuer-group",
    "cert-manager.io/issuer-kind",
    "cert-manager.io/issuer-name",
    "cert-manager.io/uri-sans",
    "certificates.openshift.io/auto-regenerate-after-offline-expiry",
    "cloudcredential.openshift.io/credentials-request",
    "encryption.apiserver.operator.openshift.io/external-reason",
    "encryption.apiserver.operator.openshift.io/internal-reason",
    "encryption.apiserver.operator.openshift.io/migrated-resources",
    "encryption.apiserver.operator.openshift.io/migrated-timestamp",
    "encryption.apiserver.operator.openshift.io/mode",
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    "openshift.io/description",
    "openshift.io/internal-registry-auth-token.binding",
    "openshift.io/internal-registry-auth-token.service-account",
    "openshift.io/owning-component",
    "openshift.io/token-secret.name",
    "service.beta.openshift.io/expiry",
    "service.beta.openshift.io/originating-service-name",
    "service.beta.openshift.io/originating-service-uid",
];

/// Takes the values out of a Secret, or out of a list of them, and leaves its keys; anything else stays as it is.
pub fn redact(object: &mut Value) {
    let kind = object["kind"].as_str().unwrap_or_default();
    match (object["apiVersion"].as_str(), kind) {
        (Some("v1"), "Secret") => empty(object),
        // Lists are taken apart long before; one that was not is no way out all the same.
        (Some("v1"), "SecretList") => items(object).for_each(empty),
        (Some("v1"), "List") => items(object).for_each(redact),
        _ => {}
    }
}

fn items(list: &mut Value) -> impl Iterator<Item = &mut Value> {
    list.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten()
}

fn empty(secret: &mut Value) {
    for (section, instead) in [("data", REDACTED), ("stringData", REDACTED_TEXT)] {
        match secret.get_mut(section) {
            Some(Value::Object(fields)) => fields.values_mut().for_each(|value| *value = instead.into()),
            // No map has no keys to leave.
            Some(other) => *other = Value::Null,
            None => {}
        }
    }
    if let Some(annotations) = secret.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
        let may_tell = annotations.iter_mut().filter(|(name, _)| !TELLING_NOTHING.contains(&name.as_str()));
        may_tell.for_each(|(_, value)| *value = REDACTED_TEXT.into());
    }
}
