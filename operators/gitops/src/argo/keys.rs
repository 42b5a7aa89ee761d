//! Keys of Argo CD's objects as the database has them: in lower case, because the original's writer knows no other.

use serde_json::{Map, Value};

/// Every key of an Application that has upper-case letters, by the schema of Argo CD 3.6. No two are the same in lower case.
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

/// Keys below which keys are the tenant's own words.
const OPAQUE: &[&str] =
    &["valuesObject", "commonAnnotations", "commonLabels", "options", "map", "annotations", "labels"];

/// The value with the keys Argo CD knows, whatever their case was.
pub fn restore(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| restored(key, value)).collect()),
        Value::Array(items) => Value::Array(items.into_iter().map(restore).collect()),
        other => other,
    }
}

fn restored(key: String, value: Value) -> (String, Value) {
    let lower = key.to_ascii_lowercase();
    let key = KEYS.iter().find(|known| known.eq_ignore_ascii_case(&lower)).map_or(lower, |known| (*known).to_string());
    let value = if OPAQUE.contains(&key.as_str()) { value } else { restore(value) };
    (key, value)
}

/// The value with all keys in lower case but those that are the tenant's own words.
pub fn lower(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| lowered(&key, value)).collect()),
        Value::Array(items) => Value::Array(items.into_iter().map(lower).collect()),
        other => other,
    }
}

fn lowered(key: &str, value: Value) -> (String, Value) {
    let value = if OPAQUE.contains(&key) { value } else { lower(value) };
    (key.to_ascii_lowercase(), value)
}

/// What Go leaves out: nulls, empty lists, empty texts. An empty object stays: `automated: {}` is not nothing.
pub fn without_nothing(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let full: Map<String, Value> = map
                .into_iter()
                .map(|(key, value)| (key, without_nothing(value)))
                .filter(|(_, value)| !is_nothing(value))
                .collect();
            Value::Object(full)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nothing).collect()),
        other => other,
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
