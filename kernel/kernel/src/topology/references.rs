//! References to namespaces inside objects, mapped when an operator reads or writes them.
//!
//! Only typed fields are mapped: namespace names, service accounts as user names, and label selectors on the name label
//! of Namespaces. Host names inside strings are not changed.

use serde_json::Value;

use crate::plan::{PatchType, WriteOp};
use crate::resource::Resource;

/// Label with the name of a Namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// Placeholder for all namespaces.
const EVERY: &str = "*";
const ACCOUNT: &str = "system:serviceaccount:";
const ACCOUNTS: &str = "system:serviceaccounts:";

/// Type of a field that refers to a namespace.
#[derive(Clone, Copy, Debug)]
enum ReferenceForm {
    /// Name of a namespace.
    Namespace,
    /// User or group, which may be a service account.
    User,
    /// Label selector over namespaces.
    Selector,
    /// Reference with a `namespace`, or to a Namespace by `name`.
    Reference,
}

/// Field that refers to a namespace; `*` stands for every item of a list.
struct ReferenceRule {
    group: &'static str,
    kinds: &'static [&'static str],
    path: &'static str,
    form: ReferenceForm,
}

const fn rule(
    group: &'static str,
    kinds: &'static [&'static str],
    path: &'static str,
    form: ReferenceForm,
) -> ReferenceRule {
    ReferenceRule { group, kinds, path, form }
}

const BINDINGS: &[&str] = &["RoleBinding", "ClusterRoleBinding"];
const RBAC: &str = "rbac.authorization.k8s.io";
const WEBHOOKS: &[&str] = &["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
const ADMISSION: &str = "admissionregistration.k8s.io";
const POLICIES: &[&str] = &["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"];
const POLICY_BINDINGS: &[&str] = &["ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"];
const REVIEWS: &[&str] = &["SubjectAccessReview", "LocalSubjectAccessReview", "SelfSubjectAccessReview"];
const GATEWAY: &str = "gateway.networking.k8s.io";
const ROUTES: &[&str] = &["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute"];
const MIRRORING: &[&str] = &["HTTPRoute", "GRPCRoute"];
const FLOWS: &str = "flowcontrol.apiserver.k8s.io";
const CONSOLE: &str = "console.openshift.io";
const MONITORS: &[&str] = &["ServiceMonitor", "PodMonitor"];

static RULES: &[ReferenceRule] = &[
    rule("", &["Namespace"], "metadata/name", ReferenceForm::Namespace),
    rule("", &["Event"], "involvedObject", ReferenceForm::Reference),
    rule("", &["Event"], "related", ReferenceForm::Reference),
    rule("events.k8s.io", &["Event"], "regarding", ReferenceForm::Reference),
    rule("events.k8s.io", &["Event"], "related", ReferenceForm::Reference),
    rule("", &["PersistentVolume"], "spec/claimRef", ReferenceForm::Reference),
    rule("", &["PersistentVolume"], "spec/csi/controllerPublishSecretRef", ReferenceForm::Reference),
    rule("", &["PersistentVolume"], "spec/csi/controllerExpandSecretRef", ReferenceForm::Reference),
    rule("", &["PersistentVolume"], "spec/csi/nodeStageSecretRef", ReferenceForm::Reference),
    rule("", &["PersistentVolume"], "spec/csi/nodePublishSecretRef", ReferenceForm::Reference),
    rule("", &["PersistentVolume"], "spec/csi/nodeExpandSecretRef", ReferenceForm::Reference),
    rule("", &["PersistentVolumeClaim"], "spec/dataSourceRef", ReferenceForm::Reference),
    rule("", &["Endpoints"], "subsets/*/addresses/*/targetRef", ReferenceForm::Reference),
    rule("", &["Endpoints"], "subsets/*/notReadyAddresses/*/targetRef", ReferenceForm::Reference),
    rule("discovery.k8s.io", &["EndpointSlice"], "endpoints/*/targetRef", ReferenceForm::Reference),
    rule(RBAC, BINDINGS, "subjects/*/namespace", ReferenceForm::Namespace),
    rule(RBAC, BINDINGS, "subjects/*/name", ReferenceForm::User),
    rule(ADMISSION, WEBHOOKS, "webhooks/*/clientConfig/service/namespace", ReferenceForm::Namespace),
    rule(ADMISSION, WEBHOOKS, "webhooks/*/namespaceSelector", ReferenceForm::Selector),
    rule(ADMISSION, POLICIES, "spec/matchConstraints/namespaceSelector", ReferenceForm::Selector),
    rule(ADMISSION, POLICY_BINDINGS, "spec/matchResources/namespaceSelector", ReferenceForm::Selector),
    rule(ADMISSION, POLICY_BINDINGS, "spec/paramRef/namespace", ReferenceForm::Namespace),
    rule("apiregistration.k8s.io", &["APIService"], "spec/service/namespace", ReferenceForm::Namespace),
    rule(
        "apiextensions.k8s.io",
        &["CustomResourceDefinition"],
        "spec/conversion/webhook/clientConfig/service/namespace",
        ReferenceForm::Namespace,
    ),
    rule("networking.k8s.io", &["NetworkPolicy"], "spec/ingress/*/from/*/namespaceSelector", ReferenceForm::Selector),
    rule("networking.k8s.io", &["NetworkPolicy"], "spec/egress/*/to/*/namespaceSelector", ReferenceForm::Selector),
    rule("authorization.k8s.io", REVIEWS, "spec/resourceAttributes/namespace", ReferenceForm::Namespace),
    rule("authorization.k8s.io", REVIEWS, "spec/user", ReferenceForm::User),
    rule("authorization.k8s.io", REVIEWS, "spec/groups/*", ReferenceForm::User),
    rule("certificates.k8s.io", &["CertificateSigningRequest"], "spec/username", ReferenceForm::User),
    rule("certificates.k8s.io", &["CertificateSigningRequest"], "spec/groups/*", ReferenceForm::User),
    rule(FLOWS, &["FlowSchema"], "spec/rules/*/subjects/*/serviceAccount/namespace", ReferenceForm::Namespace),
    rule(FLOWS, &["FlowSchema"], "spec/rules/*/subjects/*/user/name", ReferenceForm::User),
    rule(FLOWS, &["FlowSchema"], "spec/rules/*/subjects/*/group/name", ReferenceForm::User),
    rule(FLOWS, &["FlowSchema"], "spec/rules/*/resourceRules/*/namespaces/*", ReferenceForm::Namespace),
    rule("security.openshift.io", &["SecurityContextConstraints"], "users/*", ReferenceForm::User),
    rule("security.openshift.io", &["SecurityContextConstraints"], "groups/*", ReferenceForm::User),
    rule(CONSOLE, &["ConsolePlugin"], "spec/backend/service/namespace", ReferenceForm::Namespace),
    rule(CONSOLE, &["ConsolePlugin"], "spec/proxy/*/endpoint/service/namespace", ReferenceForm::Namespace),
    // Two fields of v1alpha1.
    rule(CONSOLE, &["ConsolePlugin"], "spec/service/namespace", ReferenceForm::Namespace),
    rule(CONSOLE, &["ConsolePlugin"], "spec/proxy/*/service/namespace", ReferenceForm::Namespace),
    rule("networking.k8s.io", &["IngressClass"], "spec/parameters/namespace", ReferenceForm::Namespace),
    rule("snapshot.storage.k8s.io", &["VolumeSnapshotContent"], "spec/volumeSnapshotRef", ReferenceForm::Reference),
    rule(GATEWAY, &["GatewayClass"], "spec/parametersRef/namespace", ReferenceForm::Namespace),
    rule(GATEWAY, &["Gateway"], "spec/listeners/*/tls/certificateRefs/*/namespace", ReferenceForm::Namespace),
    rule(GATEWAY, &["Gateway"], "spec/listeners/*/allowedRoutes/namespaces/selector", ReferenceForm::Selector),
    rule(GATEWAY, ROUTES, "spec/parentRefs/*/namespace", ReferenceForm::Namespace),
    rule(GATEWAY, ROUTES, "status/parents/*/parentRef/namespace", ReferenceForm::Namespace),
    rule(GATEWAY, ROUTES, "spec/rules/*/backendRefs/*/namespace", ReferenceForm::Namespace),
    rule(GATEWAY, MIRRORING, "spec/rules/*/filters/*/requestMirror/backendRef/namespace", ReferenceForm::Namespace),
    rule(
        GATEWAY,
        MIRRORING,
        "spec/rules/*/backendRefs/*/filters/*/requestMirror/backendRef/namespace",
        ReferenceForm::Namespace,
    ),
    rule(GATEWAY, &["ReferenceGrant"], "spec/from/*/namespace", ReferenceForm::Namespace),
    rule("monitoring.coreos.com", MONITORS, "spec/namespaceSelector/matchNames/*", ReferenceForm::Namespace),
    rule("config.openshift.io", &["ClusterOperator"], "status/relatedObjects/*", ReferenceForm::Reference),
];

/// Paths of pod specs, and the fields in them that refer to namespaces.
const POD_SPECS: &[(&str, &[&str], &str)] = &[
    ("", &["Pod"], "spec"),
    ("", &["PodTemplate"], "template/spec"),
    ("", &["ReplicationController"], "spec/template/spec"),
    ("apps", &["Deployment", "DaemonSet", "StatefulSet", "ReplicaSet"], "spec/template/spec"),
    ("batch", &["Job"], "spec/template/spec"),
    ("batch", &["CronJob"], "spec/jobTemplate/spec/template/spec"),
];
const POD_TERMS: &[&str] = &[
    "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/*",
    "affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/*/podAffinityTerm",
    "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/*",
    "affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/*/podAffinityTerm",
];

/// Function that maps a namespace name.
pub type MapNamespace<'a> = &'a dyn Fn(&str) -> String;

/// Maps every namespace in an object, including its own.
pub fn map_object(resource: &Resource, object: &mut Value, change: MapNamespace<'_>) {
    for (path, form) in paths(resource) {
        visit(object, &path, form, change);
    }
}

/// Maps every namespace in a write operation.
///
/// # Errors
/// A message for users when it is unknown whether a value is a namespace.
pub fn map_operation(resource: &Resource, operation: &mut WriteOp, change: MapNamespace<'_>) -> Result<(), String> {
    match operation {
        WriteOp::Create(body) | WriteOp::Update(body) | WriteOp::Apply { body, .. } => {
            map_object(resource, body, change)
        }
        WriteOp::Patch { patch_type: PatchType::Merge | PatchType::Strategic, body } => {
            map_object(resource, body, change)
        }
        WriteOp::Patch { patch_type: PatchType::Json, body } => return map_json_patch(resource, body, change),
        WriteOp::Delete { .. } => {}
    }
    Ok(())
}

/// Maps the values of a JSON patch that are namespaces or contain some.
fn map_json_patch(resource: &Resource, patch: &mut Value, change: MapNamespace<'_>) -> Result<(), String> {
    let paths = paths(resource);
    let keys = keys(patch);
    for step in patch.as_array_mut().into_iter().flatten() {
        let Some(at) = step.get("path").and_then(Value::as_str).map(pointer) else { continue };
        let Some(value) = step.get_mut("value") else { continue };
        for (path, form) in &paths {
            let meets = path.len() >= at.len() && path.iter().zip(&at).all(|(rule, key)| *rule == "*" || rule == key);
            if meets {
                visit(value, &path[at.len()..], *form, change);
            } else if at.len() > path.len() {
                map_nested(value, &at, (path, *form), &keys, change)?;
            }
        }
    }
    Ok(())
}

/// Returns the selector keys that a JSON patch sets or tests, with the path of their expression.
fn keys(patch: &Value) -> Vec<(Vec<String>, String)> {
    let of = |step: &Value| {
        let mut at = pointer(step["path"].as_str()?);
        (at.pop()? == "key").then_some(())?;
        Some((at, step["value"].as_str()?.to_string()))
    };
    patch.as_array().into_iter().flatten().filter_map(of).collect()
}

/// Maps a value that a patch sets inside a reference or selector.
fn map_nested(
    value: &mut Value,
    at: &[String],
    (path, form): (&[&str], ReferenceForm),
    keys: &[(Vec<String>, String)],
    change: MapNamespace<'_>,
) -> Result<(), String> {
    if !path.iter().zip(at).all(|(rule, key)| *rule == "*" || rule == key) {
        return Ok(());
    }
    let rest: Vec<&str> = at[path.len()..].iter().map(String::as_str).collect();
    match (form, &rest[..]) {
        (ReferenceForm::Reference, ["namespace"]) => visit(value, &[], ReferenceForm::Namespace, change),
        (ReferenceForm::Selector, ["matchLabels"]) => labels(value, change),
        (ReferenceForm::Selector, ["matchLabels", NAME_LABEL]) => visit(value, &[], ReferenceForm::Namespace, change),
        (ReferenceForm::Selector, ["matchExpressions"]) => expressions(Some(value), change),
        (ReferenceForm::Selector, ["matchExpressions", _]) => expression(value, change),
        (ReferenceForm::Selector, ["matchExpressions", _, "values", inner @ ..]) => {
            // The label of these values is in the object, which is not available here.
            let of = &at[..path.len() + 2];
            let key = keys.iter().find(|(expression, _)| expression == of).ok_or_else(|| {
                format!(
                    "it is unknown whether the values at /{} are namespaces; let the patch replace the whole \
                     expression, or `test` its key",
                    at.join("/")
                )
            })?;
            if key.1 == NAME_LABEL {
                visit(value, if inner.is_empty() { &["*"] } else { &[] }, ReferenceForm::Namespace, change);
            }
        }
        _ => {}
    }
    Ok(())
}

fn pointer(path: &str) -> Vec<String> {
    path.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect()
}

/// Returns the paths of namespaces in objects of a kind.
fn paths(resource: &Resource) -> Vec<(Vec<&'static str>, ReferenceForm)> {
    let mut paths = vec![(vec!["metadata", "namespace"], ReferenceForm::Namespace)];
    if is_namespace(resource) {
        paths.push((vec!["metadata", "labels", NAME_LABEL], ReferenceForm::Namespace));
    }
    let of = |group: &str, kinds: &[&str]| group == resource.group && kinds.contains(&resource.kind.as_ref());
    for rule in RULES.iter().filter(|rule| of(rule.group, rule.kinds)) {
        paths.push((rule.path.split('/').collect(), rule.form));
    }
    for (_, _, spec) in POD_SPECS.iter().filter(|(group, kinds, _)| of(group, kinds)) {
        for term in POD_TERMS {
            let under = |last: &[&'static str]| spec.split('/').chain(term.split('/')).chain(last.to_vec()).collect();
            paths.push((under(&["namespaces", "*"]), ReferenceForm::Namespace));
            paths.push((under(&["namespaceSelector"]), ReferenceForm::Selector));
        }
    }
    paths
}

/// Whether the kind is Namespace.
pub fn is_namespace(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

fn visit(value: &mut Value, path: &[&str], form: ReferenceForm, change: MapNamespace<'_>) {
    let Some((first, rest)) = path.split_first() else { return apply(value, form, change) };
    match (first, value) {
        (&"*", Value::Array(items)) => items.iter_mut().for_each(|item| visit(item, rest, form, change)),
        (key, Value::Object(fields)) => {
            if let Some(field) = fields.get_mut(*key) {
                visit(field, rest, form, change);
            }
        }
        _ => {}
    }
}

fn apply(value: &mut Value, form: ReferenceForm, change: MapNamespace<'_>) {
    match (form, value) {
        // The placeholder for all namespaces stays.
        (ReferenceForm::Namespace, Value::String(name)) if !name.is_empty() && name != EVERY => *name = change(name),
        (ReferenceForm::User, Value::String(user)) => {
            if let Some(account) = account(user, change) {
                *user = account;
            }
        }
        (ReferenceForm::Selector, Value::Object(selector)) => {
            selector.get_mut("matchLabels").into_iter().for_each(|wanted| labels(wanted, change));
            expressions(selector.get_mut("matchExpressions"), change);
        }
        (ReferenceForm::Reference, reference @ Value::Object(_)) => {
            let names = |field: &str, value: &str| reference[field] == *value;
            let whole = names("kind", "Namespace") || names("resource", "namespaces");
            visit(reference, &["namespace"], ReferenceForm::Namespace, change);
            if whole {
                visit(reference, &["name"], ReferenceForm::Namespace, change);
            }
        }
        _ => {}
    }
}

fn account(user: &str, change: MapNamespace<'_>) -> Option<String> {
    if let Some(namespace) = user.strip_prefix(ACCOUNTS) {
        return Some(format!("{ACCOUNTS}{}", change(namespace)));
    }
    let (namespace, name) = user.strip_prefix(ACCOUNT)?.split_once(':')?;
    Some(format!("{ACCOUNT}{}:{name}", change(namespace)))
}

fn labels(wanted: &mut Value, change: MapNamespace<'_>) {
    visit(wanted, &[NAME_LABEL], ReferenceForm::Namespace, change);
}

fn expressions(all: Option<&mut Value>, change: MapNamespace<'_>) {
    all.and_then(Value::as_array_mut).into_iter().flatten().for_each(|one| expression(one, change));
}

fn expression(one: &mut Value, change: MapNamespace<'_>) {
    if one.get("key").is_some_and(|key| key == NAME_LABEL) {
        visit(one, &["values", "*"], ReferenceForm::Namespace, change);
    }
}

#[cfg(test)]
mod tests;
