//! Where objects name namespaces: read so that an operator finds its own world, written so that the real one is meant.
//!
//! Only what has a type is changed: fields that hold the name of a namespace, service accounts by their user name, and label
//! selectors over the label that every Namespace has. Host names inside of strings stay as they are.

use serde_json::Value;

use crate::plan::{Act, PatchForm};
use crate::resource::Resource;

/// The label with a Namespace's own name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// What stands for every namespace.
const EVERY: &str = "*";
const ACCOUNT: &str = "system:serviceaccount:";
const ACCOUNTS: &str = "system:serviceaccounts:";

/// What stands at a path.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// The name of a namespace.
    Namespace,
    /// A user or group, which may be a service account.
    User,
    /// A label selector over namespaces.
    Selector,
    /// A reference with `namespace`, or to a Namespace by `name`.
    Reference,
}

/// A field that names a namespace; `*` is every item of a list.
struct Rule {
    group: &'static str,
    kinds: &'static [&'static str],
    path: &'static str,
    form: Form,
}

const fn rule(group: &'static str, kinds: &'static [&'static str], path: &'static str, form: Form) -> Rule {
    Rule { group, kinds, path, form }
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

static RULES: &[Rule] = &[
    rule("", &["Namespace"], "metadata/name", Form::Namespace),
    rule("", &["Event"], "involvedObject", Form::Reference),
    rule("", &["Event"], "related", Form::Reference),
    rule("events.k8s.io", &["Event"], "regarding", Form::Reference),
    rule("events.k8s.io", &["Event"], "related", Form::Reference),
    rule("", &["PersistentVolume"], "spec/claimRef", Form::Reference),
    rule("", &["PersistentVolume"], "spec/csi/controllerPublishSecretRef", Form::Reference),
    rule("", &["PersistentVolume"], "spec/csi/controllerExpandSecretRef", Form::Reference),
    rule("", &["PersistentVolume"], "spec/csi/nodeStageSecretRef", Form::Reference),
    rule("", &["PersistentVolume"], "spec/csi/nodePublishSecretRef", Form::Reference),
    rule("", &["PersistentVolume"], "spec/csi/nodeExpandSecretRef", Form::Reference),
    rule("", &["PersistentVolumeClaim"], "spec/dataSourceRef", Form::Reference),
    rule("", &["Endpoints"], "subsets/*/addresses/*/targetRef", Form::Reference),
    rule("", &["Endpoints"], "subsets/*/notReadyAddresses/*/targetRef", Form::Reference),
    rule("discovery.k8s.io", &["EndpointSlice"], "endpoints/*/targetRef", Form::Reference),
    rule(RBAC, BINDINGS, "subjects/*/namespace", Form::Namespace),
    rule(RBAC, BINDINGS, "subjects/*/name", Form::User),
    rule(ADMISSION, WEBHOOKS, "webhooks/*/clientConfig/service/namespace", Form::Namespace),
    rule(ADMISSION, WEBHOOKS, "webhooks/*/namespaceSelector", Form::Selector),
    rule(ADMISSION, POLICIES, "spec/matchConstraints/namespaceSelector", Form::Selector),
    rule(ADMISSION, POLICY_BINDINGS, "spec/matchResources/namespaceSelector", Form::Selector),
    rule(ADMISSION, POLICY_BINDINGS, "spec/paramRef/namespace", Form::Namespace),
    rule("apiregistration.k8s.io", &["APIService"], "spec/service/namespace", Form::Namespace),
    rule(
        "apiextensions.k8s.io",
        &["CustomResourceDefinition"],
        "spec/conversion/webhook/clientConfig/service/namespace",
        Form::Namespace,
    ),
    rule("networking.k8s.io", &["NetworkPolicy"], "spec/ingress/*/from/*/namespaceSelector", Form::Selector),
    rule("networking.k8s.io", &["NetworkPolicy"], "spec/egress/*/to/*/namespaceSelector", Form::Selector),
    rule("authorization.k8s.io", REVIEWS, "spec/resourceAttributes/namespace", Form::Namespace),
    rule("authorization.k8s.io", REVIEWS, "spec/user", Form::User),
    rule("authorization.k8s.io", REVIEWS, "spec/groups/*", Form::User),
    rule("certificates.k8s.io", &["CertificateSigningRequest"], "spec/username", Form::User),
    rule("certificates.k8s.io", &["CertificateSigningRequest"], "spec/groups/*", Form::User),
    rule(FLOWS, &["FlowSchema"], "spec/rules/*/subjects/*/serviceAccount/namespace", Form::Namespace),
    rule(FLOWS, &["FlowSchema"], "spec/rules/*/subjects/*/user/name", Form::User),
    rule(FLOWS, &["FlowSchema"], "spec/rules/*/subjects/*/group/name", Form::User),
    rule(FLOWS, &["FlowSchema"], "spec/rules/*/resourceRules/*/namespaces/*", Form::Namespace),
    rule("security.openshift.io", &["SecurityContextConstraints"], "users/*", Form::User),
    rule("security.openshift.io", &["SecurityContextConstraints"], "groups/*", Form::User),
    rule(CONSOLE, &["ConsolePlugin"], "spec/backend/service/namespace", Form::Namespace),
    rule(CONSOLE, &["ConsolePlugin"], "spec/proxy/*/endpoint/service/namespace", Form::Namespace),
    // The same two in v1alpha1.
    rule(CONSOLE, &["ConsolePlugin"], "spec/service/namespace", Form::Namespace),
    rule(CONSOLE, &["ConsolePlugin"], "spec/proxy/*/service/namespace", Form::Namespace),
    rule("networking.k8s.io", &["IngressClass"], "spec/parameters/namespace", Form::Namespace),
    rule("snapshot.storage.k8s.io", &["VolumeSnapshotContent"], "spec/volumeSnapshotRef", Form::Reference),
    rule(GATEWAY, &["GatewayClass"], "spec/parametersRef/namespace", Form::Namespace),
    rule(GATEWAY, &["Gateway"], "spec/listeners/*/tls/certificateRefs/*/namespace", Form::Namespace),
    rule(GATEWAY, &["Gateway"], "spec/listeners/*/allowedRoutes/namespaces/selector", Form::Selector),
    rule(GATEWAY, ROUTES, "spec/parentRefs/*/namespace", Form::Namespace),
    rule(GATEWAY, ROUTES, "status/parents/*/parentRef/namespace", Form::Namespace),
    rule(GATEWAY, ROUTES, "spec/rules/*/backendRefs/*/namespace", Form::Namespace),
    rule(GATEWAY, MIRRORING, "spec/rules/*/filters/*/requestMirror/backendRef/namespace", Form::Namespace),
    rule(
        GATEWAY,
        MIRRORING,
        "spec/rules/*/backendRefs/*/filters/*/requestMirror/backendRef/namespace",
        Form::Namespace,
    ),
    rule(GATEWAY, &["ReferenceGrant"], "spec/from/*/namespace", Form::Namespace),
    rule("monitoring.coreos.com", MONITORS, "spec/namespaceSelector/matchNames/*", Form::Namespace),
    rule("config.openshift.io", &["ClusterOperator"], "status/relatedObjects/*", Form::Reference),
];

/// Where pods are described, and what of them names namespaces.
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

/// From one world's namespace to the other's.
pub type Change<'a> = &'a dyn Fn(&str) -> String;

/// Changes every namespace that an object of a kind names, its own included.
pub fn change_object(resource: &Resource, object: &mut Value, change: Change<'_>) {
    for (path, form) in paths(resource) {
        visit(object, &path, form, change);
    }
}

/// Changes every namespace that what is done to an object of a kind names.
///
/// # Errors
/// When it cannot be told whether something is a namespace; for people.
pub fn change_act(resource: &Resource, act: &mut Act, change: Change<'_>) -> Result<(), String> {
    match act {
        Act::Create(body) | Act::Update(body) | Act::Apply { body, .. } => change_object(resource, body, change),
        Act::Patch { form: PatchForm::Merge | PatchForm::Strategic, body } => change_object(resource, body, change),
        Act::Patch { form: PatchForm::Json, body } => return change_steps(resource, body, change),
        Act::Delete { .. } => {}
    }
    Ok(())
}

/// A JSON patch sets a field that names a namespace, or something that holds one.
fn change_steps(resource: &Resource, patch: &mut Value, change: Change<'_>) -> Result<(), String> {
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
                change_inside(value, &at, (path, *form), &keys, change)?;
            }
        }
    }
    Ok(())
}

/// The keys of selectors that a JSON patch sets or tests, with the expression they are of.
fn keys(patch: &Value) -> Vec<(Vec<String>, String)> {
    let of = |step: &Value| {
        let mut at = pointer(step["path"].as_str()?);
        (at.pop()? == "key").then_some(())?;
        Some((at, step["value"].as_str()?.to_string()))
    };
    patch.as_array().into_iter().flatten().filter_map(of).collect()
}

/// The patch reaches into a reference or a selector.
fn change_inside(
    value: &mut Value,
    at: &[String],
    (path, form): (&[&str], Form),
    keys: &[(Vec<String>, String)],
    change: Change<'_>,
) -> Result<(), String> {
    if !path.iter().zip(at).all(|(rule, key)| *rule == "*" || rule == key) {
        return Ok(());
    }
    let rest: Vec<&str> = at[path.len()..].iter().map(String::as_str).collect();
    match (form, &rest[..]) {
        (Form::Reference, ["namespace"]) => visit(value, &[], Form::Namespace, change),
        (Form::Selector, ["matchLabels"]) => labels(value, change),
        (Form::Selector, ["matchLabels", NAME_LABEL]) => visit(value, &[], Form::Namespace, change),
        (Form::Selector, ["matchExpressions"]) => expressions(Some(value), change),
        (Form::Selector, ["matchExpressions", _]) => expression(value, change),
        (Form::Selector, ["matchExpressions", _, "values", inner @ ..]) => {
            // Which label they are of stands in the object, which is not here.
            let of = &at[..path.len() + 2];
            let key = keys.iter().find(|(expression, _)| expression == of).ok_or_else(|| {
                format!(
                    "it cannot be told whether the values at /{} are namespaces: let the patch replace the whole \
                     expression, or `test` its key",
                    at.join("/")
                )
            })?;
            if key.1 == NAME_LABEL {
                visit(value, if inner.is_empty() { &["*"] } else { &[] }, Form::Namespace, change);
            }
        }
        _ => {}
    }
    Ok(())
}

fn pointer(path: &str) -> Vec<String> {
    path.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect()
}

/// The paths that name a namespace in objects of a kind.
fn paths(resource: &Resource) -> Vec<(Vec<&'static str>, Form)> {
    let mut paths = vec![(vec!["metadata", "namespace"], Form::Namespace)];
    if is_namespace(resource) {
        paths.push((vec!["metadata", "labels", NAME_LABEL], Form::Namespace));
    }
    let of = |group: &str, kinds: &[&str]| group == resource.group && kinds.contains(&resource.kind.as_ref());
    for rule in RULES.iter().filter(|rule| of(rule.group, rule.kinds)) {
        paths.push((rule.path.split('/').collect(), rule.form));
    }
    for (_, _, spec) in POD_SPECS.iter().filter(|(group, kinds, _)| of(group, kinds)) {
        for term in POD_TERMS {
            let under = |last: &[&'static str]| spec.split('/').chain(term.split('/')).chain(last.to_vec()).collect();
            paths.push((under(&["namespaces", "*"]), Form::Namespace));
            paths.push((under(&["namespaceSelector"]), Form::Selector));
        }
    }
    paths
}

/// Whether objects of a kind are namespaces themselves.
pub fn is_namespace(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

fn visit(value: &mut Value, path: &[&str], form: Form, change: Change<'_>) {
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

fn apply(value: &mut Value, form: Form, change: Change<'_>) {
    match (form, value) {
        // Where all namespaces are meant, all of both worlds are.
        (Form::Namespace, Value::String(name)) if !name.is_empty() && name != EVERY => *name = change(name),
        (Form::User, Value::String(user)) => {
            if let Some(account) = account(user, change) {
                *user = account;
            }
        }
        (Form::Selector, Value::Object(selector)) => {
            selector.get_mut("matchLabels").into_iter().for_each(|wanted| labels(wanted, change));
            expressions(selector.get_mut("matchExpressions"), change);
        }
        (Form::Reference, reference @ Value::Object(_)) => {
            let names = |field: &str, value: &str| reference[field] == *value;
            let whole = names("kind", "Namespace") || names("resource", "namespaces");
            visit(reference, &["namespace"], Form::Namespace, change);
            if whole {
                visit(reference, &["name"], Form::Namespace, change);
            }
        }
        _ => {}
    }
}

fn account(user: &str, change: Change<'_>) -> Option<String> {
    if let Some(namespace) = user.strip_prefix(ACCOUNTS) {
        return Some(format!("{ACCOUNTS}{}", change(namespace)));
    }
    let (namespace, name) = user.strip_prefix(ACCOUNT)?.split_once(':')?;
    Some(format!("{ACCOUNT}{}:{name}", change(namespace)))
}

fn labels(wanted: &mut Value, change: Change<'_>) {
    visit(wanted, &[NAME_LABEL], Form::Namespace, change);
}

fn expressions(all: Option<&mut Value>, change: Change<'_>) {
    all.and_then(Value::as_array_mut).into_iter().flatten().for_each(|one| expression(one, change));
}

fn expression(one: &mut Value, change: Change<'_>) {
    if one.get("key").is_some_and(|key| key == NAME_LABEL) {
        visit(one, &["values", "*"], Form::Namespace, change);
    }
}

#[cfg(test)]
mod tests;
