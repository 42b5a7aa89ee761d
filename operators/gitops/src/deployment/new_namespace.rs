//! Namespaces that Argo CD creates at the request of a deployment.
//!
//! Argo CD creates a namespace only if the project permits it, and such a permission applies to every cluster of the
//! project. On Argo CD's own cluster, a repository with a Namespace of that name could label, adopt and delete the
//! namespace of another tenant. A project therefore permits either that cluster or new namespaces, never both.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::spec_field;
use crate::argocd::IN_CLUSTER;
use crate::deployment::kind::is_label;
use crate::rows::Application;

/// Field of a project with the permitted cluster-scoped objects.
pub const PERMITTED: &str = "clusterResourceWhitelist";

/// Sync option that requests a namespace.
const OPTION: &str = "CreateNamespace=true";

/// Part of Argo CD's message for an object that a project does not permit.
const NOT_PERMITTED: &str = "is not permitted in project";

/// Adds the namespaces that a tenant's Applications request to the tenant's project. A project that permits Argo CD's
/// own cluster is returned unchanged.
pub fn permit_namespaces(mut project: Value, applications: &[Application]) -> Value {
    let clusters: BTreeSet<String> = items_at(&project, "/spec/destinations").map(|one| text(one, "/name")).collect();
    if clusters.contains(IN_CLUSTER) {
        return project;
    }
    // Most Applications request no namespace, and parsing the whole text is expensive.
    let asking = applications.iter().filter(|row| row.spec_field.contains(OPTION));
    let specs = asking.filter_map(|row| spec_field::read(&row.spec_field).ok());
    let specs = specs.filter(|spec| has_option(spec, "/syncPolicy/syncOptions"));
    let specs = specs.filter(|spec| clusters.contains(&text(spec, "/destination/name")));
    // A project treats the name as a pattern. Valid namespace names contain no pattern characters.
    let names = specs.map(|spec| text(&spec, "/destination/namespace")).filter(|name| is_label(name));
    let names: BTreeSet<String> = names.collect();
    if !names.is_empty() {
        let item = |name: String| json!({ "group": "", "kind": "Namespace", "name": name });
        project["spec"][PERMITTED] = names.into_iter().map(item).collect();
    }
    project
}

/// Whether the permitted namespaces may change, or must be preserved, with this Application. Only then are all
/// Applications of the tenant read; most tenants request no namespace.
pub fn may_change(application: Option<&Application>, project: Option<&Value>) -> bool {
    application.is_some_and(|row| row.spec_field.contains(OPTION))
        || project.is_some_and(|project| permitted_kinds(project).next().is_some())
}

/// Whether an Argo CD accepted the permitted namespaces without their names. The API server of an older version drops
/// the unknown field `name`, and the project then permits any namespace on the tenant's clusters. Writing the names
/// again would never converge.
pub fn names_were_pruned(live: &Value, wanted: &Value) -> bool {
    let unnamed = json!({ "group": "", "kind": "Namespace" });
    let count = permitted_kinds(wanted).count();
    count > 0 && permitted_kinds(live).count() == count && permitted_kinds(live).all(|item| *item == unnamed)
}

fn permitted_kinds(project: &Value) -> impl Iterator<Item = &Value> {
    project["spec"][PERMITTED].as_array().into_iter().flatten()
}

/// Returns the message for a tenant whose project did not permit a namespace. Argo CD's own message names only the
/// project and gives no advice.
pub fn denial_message(status: &Value) -> Option<String> {
    let name = text(status, "/sync/comparedTo/destination/namespace");
    let is_denied = |one: &Value| {
        one["kind"] == "Namespace"
            && one["name"] == name.as_str()
            && one["status"] == "SyncFailed"
            && text(one, "/message").contains(NOT_PERMITTED)
    };
    let asked = has_option(status, "/operationState/operation/sync/syncOptions");
    let denied = items_at(status, "/operationState/syncResult/resources").any(is_denied);
    (asked && denied).then(|| {
        format!(
            "the namespace '{name}' was not created: CreateNamespace=true is not available to tenants that also deploy, or have deployed, without an \
             environment; create the namespace on the cluster of the environment"
        )
    })
}

fn has_option(value: &Value, pointer: &str) -> bool {
    items_at(value, pointer).any(|one| one == OPTION)
}

fn items_at<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use crate::rows::AppProjectManagedEnvironment;
    use switchboard_sql::DbTimestamp;

    use super::super::spec_field::ApplicationSpec;
    use super::*;
    use crate::tenant::project;

    fn application(cluster: &str, namespace: &str, options: &[&str]) -> Application {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let text = spec_field::write(&ApplicationSpec {
            name: "gitopsdepl-1",
            namespace: "argocd",
            destination_namespace: namespace,
            destination_name: cluster,
            repo_url: "https://git.example/CreateNamespace=true",
            path: "deploy",
            target_revision: "",
            sync_options: &options,
            automated: true,
            project: "app-project-u",
        });
        Application {
            id: "a".into(),
            name: "gitopsdepl-1".into(),
            spec_field: text,
            instance: "i".into(),
            environment: Some("1".into()),
            created_on: DbTimestamp::default(),
        }
    }

    fn tenant(own: &[String]) -> Value {
        let environment = AppProjectManagedEnvironment {
            id: "x".into(),
            user: "u".into(),
            environment: "1".into(),
            created_on: DbTimestamp::default(),
        };
        project::object(&"u".into(), "argocd", &[], &[environment], own)
    }

    #[test]
    fn a_project_permits_only_requested_namespaces() {
        let asks = ["CreateNamespace=true"];
        let rows = [
            application("managed-env-1", "shop", &asks),
            application("managed-env-1", "bakery", &asks),
            application("managed-env-1", "shop", &asks),
            application("managed-env-1", "there", &[]),
            application("managed-env-1", "not", &["CreateNamespace=false"]),
            application("managed-env-2", "anothers", &asks),
            application("in-cluster", "here", &asks),
            application("", "nowhere", &asks),
            application("managed-env-1", "kube-*", &asks),
            application("managed-env-1", "", &asks),
        ];
        let item = |name: &str| json!({ "group": "", "kind": "Namespace", "name": name });
        let plain = tenant(&[]);
        let wanted = permit_namespaces(plain.clone(), &rows);
        assert_eq!(wanted["spec"]["clusterResourceWhitelist"], json!([item("bakery"), item("shop")]));
        assert!(!project::same(&plain, &wanted) && project::same(&wanted.clone(), &wanted));
        // A manual edit adds another namespace.
        let mut more = wanted.clone();
        more["spec"]["clusterResourceWhitelist"] = json!([item("bakery"), item("kube-system"), item("shop")]);
        assert!(!project::same(&more, &wanted));
        assert_eq!(permit_namespaces(plain.clone(), &rows[3..]), plain, "no deployment requests it");
    }

    /// The API server of an older Argo CD drops fields that the kind does not have.
    #[test]
    fn a_project_of_an_older_argo_cd_is_not_rewritten_forever() {
        let rows = ["a", "b"].map(|name| application("managed-env-1", name, &["CreateNamespace=true"]));
        let wanted = permit_namespaces(tenant(&[]), &rows);
        let mut pruned = wanted.clone();
        for item in pruned["spec"][PERMITTED].as_array_mut().into_iter().flatten() {
            item.as_object_mut().and_then(|item| item.remove("name"));
        }
        assert!(project::same(&pruned, &wanted));
        assert!(!project::same(&pruned, &permit_namespaces(tenant(&[]), &rows[..1])), "one less is asked for");
        assert!(!project::same(&pruned, &tenant(&[])), "none is");
        pruned["spec"]["destinations"] = json!([]);
        assert!(!project::same(&pruned, &wanted), "the rest counts");
    }

    #[test]
    fn applications_are_read_only_if_namespaces_are_requested_or_permitted() {
        let (asks, silent) = (application("e", "a", &["CreateNamespace=true"]), application("e", "a", &[]));
        let silent = Application { spec_field: silent.spec_field.replace("/CreateNamespace=true", "/web"), ..silent };
        let (plain, open) = (
            tenant(&[]),
            permit_namespaces(tenant(&[]), &[application("managed-env-1", "a", &["CreateNamespace=true"])]),
        );
        assert!(!may_change(Some(&silent), Some(&plain)) && !may_change(None, None));
        assert!(
            may_change(Some(&asks), Some(&plain))
                && may_change(Some(&silent), Some(&open))
                && may_change(None, Some(&open))
        );
    }

    /// On that cluster, a Namespace of the name could belong to another tenant.
    #[test]
    fn a_project_with_argo_cds_own_cluster_permits_no_namespaces() {
        let both = tenant(&["shop".to_string()]);
        let rows = [application("managed-env-1", "kube-system", &["CreateNamespace=true"])];
        assert_eq!(permit_namespaces(both.clone(), &rows), both);
    }

    #[test]
    fn a_denied_namespace_is_reported_with_advice() {
        let why = "resource :Namespace is not permitted in project app-project-u";
        let mut status = json!({
            "sync": { "comparedTo": { "destination": { "namespace": "shop" } } },
            "operationState": {
                "operation": { "sync": { "syncOptions": ["CreateNamespace=true"] } },
                "syncResult": { "resources": [{ "kind": "Namespace", "name": "shop", "status": "SyncFailed", "message": why }] },
            },
        });
        assert!(denial_message(&status).is_some_and(|told| told.starts_with("the namespace 'shop' was not created: ")));
        for (pointer, other) in [
            ("/operationState/operation/sync/syncOptions", json!([])),
            ("/operationState/syncResult/resources/0/name", json!("other")),
            ("/operationState/syncResult/resources/0/message", json!("forbidden")),
            ("/operationState/syncResult/resources", json!([])),
        ] {
            let before = status.pointer_mut(pointer).map(|place| std::mem::replace(place, other));
            assert_eq!(denial_message(&status), None, "{pointer}");
            if let (Some(place), Some(before)) = (status.pointer_mut(pointer), before) {
                *place = before;
            }
        }
    }
}
