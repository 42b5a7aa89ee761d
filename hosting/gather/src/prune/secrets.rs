//! Redaction of Secrets.

use serde_json::Value;

/// Replacement for a secret value: `redacted` in base64, as `data` requires it.
const REDACTED: &str = "cmVkYWN0ZWQ=";
/// Replacement for a secret value in plain text.
const REDACTED_TEXT: &str = "redacted";
/// Annotation with the object as applied by kubectl, including its values. It is replaced as a whole, because its
/// readers expect JSON.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Annotations with the owner and lifetime of a Secret, which operators use for decisions. All others may repeat secret
/// values, as `openshift.io/token-secret.value` does.
const KEPT_ANNOTATIONS: &[&str] = &[
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

/// Redacts the values of a Secret or a list of Secrets, and keeps the keys. Other objects stay unchanged.
pub fn redact(object: &mut Value) {
    let kind = object["kind"].as_str().unwrap_or_default();
    match (object["apiVersion"].as_str(), kind) {
        (Some("v1"), "Secret") => redact_secret(object),
        // Lists are normally split before. Redacting them as well leaves no gap.
        (Some("v1"), "SecretList") => items(object).for_each(redact_secret),
        (Some("v1"), "List") => items(object).for_each(redact),
        _ => {}
    }
}

fn items(list: &mut Value) -> impl Iterator<Item = &mut Value> {
    list.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten()
}

fn redact_secret(secret: &mut Value) {
    for (section, instead) in [("data", REDACTED), ("stringData", REDACTED_TEXT)] {
        match secret.get_mut(section) {
            Some(Value::Object(fields)) => fields.values_mut().for_each(|value| *value = instead.into()),
            // Only a map has keys to keep.
            Some(other) => *other = Value::Null,
            None => {}
        }
    }
    if let Some(annotations) = secret.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
        let may_tell = annotations.iter_mut().filter(|(name, _)| !KEPT_ANNOTATIONS.contains(&name.as_str()));
        may_tell.for_each(|(_, value)| *value = REDACTED_TEXT.into());
    }
}
