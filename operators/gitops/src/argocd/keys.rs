//! Case of object keys. The database stores keys in lower case, because managed-gitops writes them that way.

use serde_json::{Map, Value};

/// Every key of an Application with upper-case letters, from the schema of Argo CD 3.6. In lower case they are all
/// distinct.
const KEYS: &[&str] = &[
    "allowEmpty",
    "annotationSelector",
    "apiVersion",
    "apiVersions",
    "autoHealAttemptsCount",
    "commonAnnotations",
    "commonAnnotationsEnvsubst",
    "commonLabels",
    "comparedTo",
    "controllerNamespace",
    "currentOperation",
    "deployStartedAt",
    "deployedAt",
    "disableExtensionFilter",
    "dryRun",
    "drySHA",
    "drySource",
    "extVars",
    "externalURLs",
    "fileParameters",
    "finishedAt",
    "forceCommonAnnotations",
    "forceCommonLabels",
    "forceString",
    "hookPhase",
    "hookType",
    "hydrateTo",
    "hydratedSHA",
    "ignoreDifferences",
    "ignoreMissingComponents",
    "ignoreMissingValueFiles",
    "initiatedBy",
    "isAppOfApps",
    "jqPathExpressions",
    "jsonPointers",
    "kubeVersion",
    "labelIncludeTemplates",
    "labelSelector",
    "labelWithoutSelector",
    "lastComparedDryRevision",
    "lastSuccessfulOperation",
    "lastTransitionTime",
    "managedFieldsManagers",
    "managedNamespaceMetadata",
    "maxDuration",
    "namePrefix",
    "nameSuffix",
    "observedAt",
    "operationState",
    "passCredentials",
    "reconciledAt",
    "releaseName",
    "repoURL",
    "requiresDeletionConfirmation",
    "requiresPruning",
    "resourceHealthSource",
    "retryCount",
    "revisionHistoryLimit",
    "selfHeal",
    "skipCrds",
    "skipSchemaValidation",
    "skipTests",
    "sourceHydrator",
    "sourceType",
    "sourceTypes",
    "startedAt",
    "syncOptions",
    "syncPhase",
    "syncPolicy",
    "syncResult",
    "syncSource",
    "syncStrategy",
    "syncWave",
    "tagPrefix",
    "targetBranch",
    "targetRevision",
    "valueFiles",
    "valuesObject",
];

/// Keys whose children are chosen by the tenant and keep their case.
const OPAQUE: &[&str] =
    &["valuesObject", "commonAnnotations", "commonLabels", "options", "map", "annotations", "labels"];

/// Restores the case of Argo CD's keys.
pub fn restore_case(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| restored_entry(key, value)).collect()),
        Value::Array(items) => Value::Array(items.into_iter().map(restore_case).collect()),
        other => other,
    }
}

fn restored_entry(key: String, value: Value) -> (String, Value) {
    let lower = key.to_ascii_lowercase();
    let key = KEYS.iter().find(|known| known.eq_ignore_ascii_case(&lower)).map_or(lower, |known| (*known).to_string());
    let value = if OPAQUE.contains(&key.as_str()) { value } else { restore_case(value) };
    (key, value)
}

/// Converts all keys to lower case except those chosen by the tenant.
pub fn lowercase(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| lowercase_entry(&key, value)).collect()),
        Value::Array(items) => Value::Array(items.into_iter().map(lowercase).collect()),
        other => other,
    }
}

fn lowercase_entry(key: &str, value: Value) -> (String, Value) {
    let value = if OPAQUE.contains(&key) { value } else { lowercase(value) };
    (key.to_ascii_lowercase(), value)
}

/// Removes what Go omits with `omitempty`: nulls, empty lists and empty texts. Empty objects are kept, because
/// `automated: {}` has a meaning.
pub fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let full: Map<String, Value> = map
                .into_iter()
                .map(|(key, value)| (key, without_empty(value)))
                .filter(|(_, value)| !is_empty_value(value))
                .collect();
            Value::Object(full)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_empty).collect()),
        other => other,
    }
}

fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
