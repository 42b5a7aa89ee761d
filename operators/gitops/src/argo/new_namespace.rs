//! Namespaces that Argo CD makes because a deployment asks for it.
//!
//! Argo CD makes none that the project does not permit, and what a project permits by name counts on every cluster it may deploy to.
//! On Argo CD's own, a repository with a Namespace of that name could label the namespace of another tenant, take it over, and
//! remove it with all that is in it. So a project permits either that cluster or new namespaces, never both.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchboard_ledger::rows::Application;

use super::{IN_CLUSTER, spec_field};
use crate::kinds::deployment::is_label;

/// Where a project says which objects without a namespace it permits.
pub const PERMITTED: &str = "clusterResourceWhitelist";

/// The option that asks for it.
const OPTION: &str = "CreateNamespace=true";

/// What Argo CD says of an object that a project does not permit.
const NOT_PERMITTED: &str = "is not permitted in project";

/// The project of a tenant with the namespaces that these Applications of the tenant ask for; as it is if it permits Argo CD's own
/// cluster.
pub fn permitted(mut project: Value, applications: &[Application]) -> Value {
    let clusters: BTreeSet<String> = listed(&project, "/spec/destinations").map(|one| text(one, "/name")).collect();
    if clusters.contains(IN_CLUSTER) {
        return project;
    }
    // Most ask for none, and to read the whole text costs.
    let asking = applications.iter().filter(|row| row.spec_field.contains(OPTION));
    let specs = asking.filter_map(|row| spec_field::read(&row.spec_field).ok());
    let specs = specs.filter(|spec| has_option(spec, "/syncPolicy/syncOptions"));
    let specs = specs.filter(|spec| clusters.contains(&text(spec, "/destination/name")));
    // A name of a project is a pattern, and one of a namespace never has signs of one.
    let names = specs.map(|spec| text(&spec, "/destination/namespace")).filter(|name| is_label(name));
    let names: BTreeSet<String> = names.collect();
    if !names.is_empty() {
        let item = |name: String| json!({ "group": "", "kind": "Namespace", "name": name });
        project["spec"][PERMITTED] = names.into_iter().map(item).collect();
    }
    project
}

/// Whether what a project permits may have to change with an Application, or is to be kept: only then it must be known what all
/// Applications of the tenant ask for. Most ask for none, and none of them is read for another's sake.
pub fn matters(application: Option<&Application>, project: Option<&Value>) -> bool {
    application.is_some_and(|row| row.spec_field.contains(OPTION))
        || project.is_some_and(|project| permits(project).next().is_some())
}

/// Whether an Argo CD took what a project should permit, but for the names: older ones know none, and their API server leaves them out
/// without a word. Namespaces of any name are permitted then, on clusters that are the tenant's own. To ask for names again and again
/// would end nothing.
pub fn lost_names(live: &Value, wanted: &Value) -> bool {
    let unnamed = json!({ "group": "", "kind": "Namespace" });
    let count = permits(wanted).count();
    count > 0 && permits(live).count() == count && permits(live).all(|item| *item == unnamed)
}

fn permits(project: &Value) -> impl Iterator<Item = &Value> {
    project["spec"][PERMITTED].as_array().into_iter().flatten()
}

/// What a tenant is told of a namespace that its project did not permit: Argo CD names the project, and not what to do.
pub fn refused(status: &Value) -> Option<String> {
    let name = text(status, "/sync/comparedTo/destination/namespace");
    let is_denied = |one: &Value| {
        one["kind"] == "Namespace"
            && one["name"] == name.as_str()
            && one["status"] == "SyncFailed"
            && text(one, "/message").contains(NOT_PERMITTED)
    };
    let asked = has_option(status, "/operationState/operation/sync/syncOptions");
    let denied = listed(status, "/operationState/syncResult/resources").any(is_denied);
    (asked && denied).then(|| {
        format!(
            "the namespace '{name}' was not created: CreateNamespace=true is not for who deploys, or has deployed, without an \
             environment as well; create the namespace on the cluster of the environment"
        )
    })
}

fn has_option(value: &Value, pointer: &str) -> bool {
    listed(value, pointer).any(|one| one == OPTION)
}

fn listed<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use switchboard_ledger::Moment;
    use switchboard_ledger::rows::AppProjectManagedEnvironment;

    use super::super::project;
    use super::super::spec_field::Wanted;
    use super::*;

    fn application(cluster: &str, namespace: &str, options: &[&str]) -> Application {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let text = spec_field::write(&Wanted {
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
            created_on: Moment::default(),
        }
    }

    fn tenant(own: &[String]) -> Value {
        let environment = AppProjectManagedEnvironment {
            id: "x".into(),
            user: "u".into(),
            environment: "1".into(),
            created_on: Moment::default(),
        };
        project::object(&"u".into(), "argocd", &[], &[environment], own)
    }

    #[test]
    fn a_project_permits_the_namespaces_that_are_asked_for_and_no_other() {
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
        let wanted = permitted(plain.clone(), &rows);
        assert_eq!(wanted["spec"]["clusterResourceWhitelist"], json!([item("bakery"), item("shop")]));
        assert!(!project::same(&plain, &wanted) && project::same(&wanted.clone(), &wanted));
        // Somebody adds another.
        let mut more = wanted.clone();
        more["spec"]["clusterResourceWhitelist"] = json!([item("bakery"), item("kube-system"), item("shop")]);
        assert!(!project::same(&more, &wanted));
        assert_eq!(permitted(plain.clone(), &rows[3..]), plain, "nobody asks");
    }

    /// Its API server leaves out what the kind does not have.
    #[test]
    fn a_project_of_an_argo_cd_without_names_is_not_written_again_and_again() {
        let rows = ["a", "b"].map(|name| application("managed-env-1", name, &["CreateNamespace=true"]));
        let wanted = permitted(tenant(&[]), &rows);
        let mut pruned = wanted.clone();
        for item in pruned["spec"][PERMITTED].as_array_mut().into_iter().flatten() {
            item.as_object_mut().and_then(|item| item.remove("name"));
        }
        assert!(project::same(&pruned, &wanted));
        assert!(!project::same(&pruned, &permitted(tenant(&[]), &rows[..1])), "one less is asked for");
        assert!(!project::same(&pruned, &tenant(&[])), "none is");
        pruned["spec"]["destinations"] = json!([]);
        assert!(!project::same(&pruned, &wanted), "the rest counts");
    }

    #[test]
    fn what_all_ask_for_matters_only_where_somebody_asks_or_something_is_permitted() {
        let (asks, silent) = (application("e", "a", &["CreateNamespace=true"]), application("e", "a", &[]));
        let silent = Application { spec_field: silent.spec_field.replace("/CreateNamespace=true", "/web"), ..silent };
        let (plain, open) =
            (tenant(&[]), permitted(tenant(&[]), &[application("managed-env-1", "a", &["CreateNamespace=true"])]));
        assert!(!matters(Some(&silent), Some(&plain)) && !matters(None, None));
        assert!(
            matters(Some(&asks), Some(&plain)) && matters(Some(&silent), Some(&open)) && matters(None, Some(&open))
        );
    }

    /// There, a Namespace of the name would be another tenant's.
    #[test]
    fn who_may_deploy_to_argo_cds_own_cluster_makes_no_namespace() {
        let both = tenant(&["shop".to_string()]);
        let rows = [application("managed-env-1", "kube-system", &["CreateNamespace=true"])];
        assert_eq!(permitted(both.clone(), &rows), both);
    }

    #[test]
    fn a_namespace_that_is_not_permitted_is_told_in_words_that_help() {
        let why = "resource :Namespace is not permitted in project app-project-u";
        let mut status = json!({
            "sync": { "comparedTo": { "destination": { "namespace": "shop" } } },
            "operationState": {
                "operation": { "sync": { "syncOptions": ["CreateNamespace=true"] } },
                "syncResult": { "resources": [{ "kind": "Namespace", "name": "shop", "status": "SyncFailed", "message": why }] },
            },
        });
        assert!(refused(&status).is_some_and(|told| told.starts_with("the namespace 'shop' was not created: ")));
        for (pointer, other) in [
            ("/operationState/operation/sync/syncOptions", json!([])),
            ("/operationState/syncResult/resources/0/name", json!("other")),
            ("/operationState/syncResult/resources/0/message", json!("forbidden")),
            ("/operationState/syncResult/resources", json!([])),
        ] {
            let before = status.pointer_mut(pointer).map(|place| std::mem::replace(place, other));
            assert_eq!(refused(&status), None, "{pointer}");
            if let (Some(place), Some(before)) = (status.pointer_mut(pointer), before) {
                *place = before;
            }
        }
    }
}
