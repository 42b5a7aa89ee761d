#![allow(clippy::unwrap_used)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_sql::DbTimestamp;

use super::*;
use crate::credential::repository_secret;
use crate::deployment::kind::DeploymentStatus;
use crate::deployment::spec_field::{self, ApplicationSpec};
use crate::deployment::{application, status};
use crate::environment::cluster_secret;
use crate::kinds::condition::{ConditionStatus, DeploymentCondition};
use crate::rows;
use crate::tenant::project;

/// Output of managed-gitops's own function for these inputs.
const SPEC_FIELDS: &str = include_str!("tests/spec_fields.json");

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SpecFieldCase {
    name: String,
    namespace: String,
    dest_ns: String,
    dest_name: String,
    repo: String,
    path: String,
    rev: String,
    project: String,
    options: Option<Vec<String>>,
    automated: bool,
    text: String,
}

fn cases() -> Vec<SpecFieldCase> {
    serde_json::from_str(SPEC_FIELDS).unwrap()
}

fn written(case: &SpecFieldCase) -> String {
    spec_field::write(&ApplicationSpec {
        name: &case.name,
        namespace: &case.namespace,
        destination_namespace: &case.dest_ns,
        destination_name: &case.dest_name,
        repo_url: &case.repo,
        path: &case.path,
        target_revision: &case.rev,
        sync_options: case.options.as_deref().unwrap_or_default(),
        automated: case.automated,
        project: &case.project,
    })
}

#[test]
fn a_spec_field_matches_managed_gitops_byte_for_byte() {
    assert_eq!(cases().len(), 8);
    for case in cases() {
        assert_eq!(written(&case), case.text);
    }
}

#[test]
fn a_spec_field_is_read_with_the_case_of_argo_cds_keys() {
    for case in cases() {
        let spec = spec_field::read(&case.text).unwrap();
        assert_eq!(spec["source"]["repoURL"], case.repo.as_str());
        assert_eq!(spec["source"]["path"], case.path.as_str());
        assert_eq!(spec["source"].get("targetRevision").is_none(), case.rev.is_empty());
        assert_eq!(spec["destination"], json!({ "name": case.dest_name, "namespace": case.dest_ns }));
        assert_eq!(spec["project"], case.project.as_str());
        assert_eq!(spec["syncPolicy"]["automated"].is_object(), case.automated);
    }
    let automated = spec_field::read(&cases()[1].text).unwrap();
    assert_eq!(
        automated["syncPolicy"],
        json!({
            "automated": { "prune": true, "selfHeal": true, "allowEmpty": true },
            "syncOptions": ["PrunePropagationPolicy=background", "CreateNamespace=true"],
            "retry": { "limit": -1, "backoff": { "duration": "5s", "factor": 2, "maxDuration": "3m" } },
        })
    );
}

/// A test of managed-gitops stores a complete Application with all fields in lower case.
#[test]
fn a_whole_application_in_lower_case_is_read() {
    let text = "typemeta: {kind: Application}\nobjectmeta: {name: x, labels: {}}\nspec:\n  source:\n    repourl: u\n    helm:\n      \
                valuefiles: []\n      valuesobject: {Image: {Tag: x}}\n      parameters: [{name: a, forcestring: true}]\n    \
                kustomize: null\n    directory: {recurse: true, jsonnet: {extvars: []}}\n  destination: {server: s, namespace: \"\"}\n  \
                project: \"\"\n  syncpolicy: {automated: {}, managednamespacemetadata: {labels: {Team: A}}}\n  \
                ignoredifferences: [{group: apps, jsonpointers: [/spec/replicas]}]\n  info: []\n  revisionhistorylimit: 3\n  sources: null\n";
    assert_eq!(
        spec_field::read(text).unwrap(),
        json!({
            "source": {
                "repoURL": "u",
                "helm": { "valuesObject": { "Image": { "Tag": "x" } }, "parameters": [{ "name": "a", "forceString": true }] },
                "directory": { "recurse": true, "jsonnet": {} },
            },
            "destination": { "server": "s" },
            "syncPolicy": { "automated": {}, "managedNamespaceMetadata": { "labels": { "Team": "A" } } },
            "ignoreDifferences": [{ "group": "apps", "jsonPointers": ["/spec/replicas"] }],
            "revisionHistoryLimit": 3,
        })
    );
}

#[test]
fn an_invalid_application_is_rejected() {
    for text in ["", "[]", "a: b", "spec: 1", "{"] {
        assert!(spec_field::read(text).is_err(), "{text}");
    }
}

fn application(text: String) -> rows::Application {
    rows::Application {
        id: "app".into(),
        name: "gitopsdepl-1".into(),
        spec_field: text,
        instance: "ei".into(),
        environment: Some("me".into()),
        created_on: DbTimestamp::default(),
    }
}

#[test]
fn an_application_is_built_from_its_row() {
    let case = &cases()[1];
    let object = application::object(&application(case.text.clone()), "argocd").unwrap();
    assert_eq!(
        object["metadata"],
        json!({ "name": "gitopsdepl-1", "namespace": "argocd", "labels": { "databaseID": "app" } }),
        "and no finalizer"
    );
    assert_eq!(object["spec"], spec_field::read(&case.text).unwrap());
}

#[test]
fn guarantees_an_edit_of_the_spec_is_reverted_and_others_are_kept() {
    let row = application(cases()[0].text.clone());
    let object = application::object(&row, "argocd").unwrap();
    assert_eq!(application::corrected(&object, &row).unwrap(), None);
    let mut edited = object.clone();
    edited["spec"]["syncPolicy"] = json!({ "automated": {} });
    edited["spec"]["project"] = json!("default-of-another");
    edited["metadata"]["labels"]["mine"] = json!("x");
    edited["status"] = json!({ "health": {} });
    let corrected = application::corrected(&edited, &row).unwrap().unwrap();
    assert_eq!(corrected["spec"], object["spec"]);
    assert_eq!(
        (&corrected["metadata"]["labels"]["mine"], &corrected["status"]),
        (&json!("x"), &json!({ "health": {} }))
    );
    // Additional fields of the spec would deploy more than the row says or hide differences.
    for (key, added) in [
        ("sources", json!([{ "repoURL": "https://other.example/x", "path": "." }])),
        ("ignoreDifferences", json!([{ "group": "*", "kind": "*", "jsonPointers": ["/"] }])),
        ("info", json!([{ "name": "a", "value": "b" }])),
        ("revisionHistoryLimit", json!(0)),
    ] {
        let mut edited = object.clone();
        edited["spec"][key] = added;
        let corrected = application::corrected(&edited, &row).unwrap();
        assert_eq!(corrected.as_ref().map(|corrected| &corrected["spec"]), Some(&object["spec"]), "{key}");
    }
    // A missing list equals an empty one.
    let mut empty = object.clone();
    empty["spec"]["info"] = json!([]);
    assert_eq!(application::corrected(&empty, &row).unwrap(), None);
    // A manual deployment has no sync policy, so an added one is removed.
    let manual = application(cases()[2].text.clone());
    let mut added = application::object(&manual, "argocd").unwrap();
    added["spec"]["syncPolicy"] = json!({ "automated": {} });
    assert_eq!(application::corrected(&added, &manual).unwrap().unwrap()["spec"].get("syncPolicy"), None);
}

/// Defect 10: managed-gitops permits every namespace of Argo CD's own cluster to every tenant.
#[test]
fn a_project_permits_only_the_tenants_resources() {
    let repository = |url: &str| rows::AppProjectRepository {
        id: url.into(),
        user: "u".into(),
        repo_url: url.into(),
        created_on: DbTimestamp::default(),
    };
    let environment = rows::AppProjectManagedEnvironment {
        id: "x".into(),
        user: "u".into(),
        environment: "3f".into(),
        created_on: DbTimestamp::default(),
    };
    let object = project::object(
        &"u".into(),
        "argocd",
        &[repository("https://b"), repository("https://a")],
        &[environment],
        &["shop".into()],
    );
    assert_eq!(
        object,
        json!({
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "AppProject",
            "metadata": { "name": "app-project-u", "namespace": "argocd", "annotations": { "username": "u" } },
            "spec": {
                "sourceRepos": ["https://a", "https://b"],
                "destinations": [
                    { "name": "managed-env-3f", "namespace": "*" },
                    { "name": "in-cluster", "namespace": "shop" },
                ],
            },
        })
    );
    let none = project::object(&"u".into(), "argocd", &[], &[], &[]);
    assert_eq!(none["spec"], json!({ "sourceRepos": [], "destinations": [] }));
    let mut turned = object.clone();
    turned["spec"]["sourceRepos"] = json!(["https://b", "https://a"]);
    assert!(project::same(&turned, &object) && !project::same(&none, &object));
    // A missing list equals an empty one, as in Argo CD.
    turned["spec"]["roles"] = json!([]);
    turned["metadata"]["annotations"]["mine"] = json!("x");
    assert!(project::same(&turned, &object));
}

/// An edit of a project must not give a tenant cluster-scoped kinds, other source namespaces or another identity.
#[test]
fn a_project_that_permits_more_is_not_the_same() {
    let object = project::object(&"u".into(), "argocd", &[], &[], &["shop".into()]);
    for (key, added) in [
        ("clusterResourceWhitelist", json!([{ "group": "*", "kind": "*" }])),
        ("namespaceResourceBlacklist", json!([{ "group": "", "kind": "Secret" }])),
        ("sourceNamespaces", json!(["*"])),
        ("roles", json!([{ "name": "admin", "policies": ["p, proj:x:admin, *, *, *, allow"] }])),
        ("destinationServiceAccounts", json!([{ "server": "*", "namespace": "*", "defaultServiceAccount": "root" }])),
    ] {
        let mut widened = object.clone();
        widened["spec"][key] = added;
        assert!(!project::same(&widened, &object), "{key}");
    }
    // The annotation identifies the tenant after its rows are deleted.
    let mut renamed = object.clone();
    renamed["metadata"]["annotations"]["username"] = json!("v");
    assert!(!project::same(&renamed, &object));
}

fn credentials() -> rows::ClusterCredentials {
    rows::ClusterCredentials {
        id: "cc".into(),
        host: Some("https://api.example:6443".into()),
        kube_config: None,
        kube_config_context: None,
        bearer_token: Some("tok\"en".into()),
        service_account_namespace: None,
        allow_insecure: false,
        namespaces: None,
        cluster_resources: false,
        created_on: DbTimestamp::default(),
        ca_data: None,
        client_certificate: None,
        client_key: None,
        own_service_account: false,
        source_digest: None,
    }
}

fn decoded(secret: &Value, key: &str) -> Option<String> {
    let encoded = secret["data"].get(key)?.as_str().unwrap();
    Some(String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap())
}

fn cluster_secret_of(credentials: &rows::ClusterCredentials, project: Option<&str>) -> Value {
    let environment = rows::ManagedEnvironment {
        id: "3f".into(),
        name: "stage".into(),
        credentials: "cc".into(),
        created_on: DbTimestamp::default(),
    };
    cluster_secret::object(&environment, credentials, "argocd", project.map(UserId::from).as_ref()).unwrap()
}

#[test]
fn a_cluster_secret_matches_managed_gitops() {
    let secret = cluster_secret_of(&credentials(), None);
    assert_eq!(
        secret["metadata"],
        json!({
            "name": "managed-env-3f",
            "namespace": "argocd",
            "labels": { "argocd.argoproj.io/secret-type": "cluster", "databaseID": "3f" },
        })
    );
    assert_eq!(decoded(&secret, "name").unwrap(), "managed-env-3f");
    assert_eq!(decoded(&secret, "server").unwrap(), "https://api.example:6443?managedEnvironment=3f");
    assert_eq!(
        decoded(&secret, "config").unwrap(),
        r#"{"bearerToken":"tok\"en","tlsClientConfig":{"insecure":false}}"#
    );
    assert_eq!(
        (decoded(&secret, "namespaces"), decoded(&secret, "clusterResources"), decoded(&secret, "project")),
        (None, None, None)
    );
}

/// Defect 7: managed-gitops drops CA certificates and supports tokens only.
#[test]
fn a_cluster_secret_contains_certificates() {
    let full = rows::ClusterCredentials {
        namespaces: Some("a,b".into()),
        cluster_resources: true,
        ca_data: Some("CA".into()),
        client_certificate: Some("CERT".into()),
        client_key: Some("KEY".into()),
        ..credentials()
    };
    let secret = cluster_secret_of(&full, Some("u"));
    let config: Value = serde_json::from_str(&decoded(&secret, "config").unwrap()).unwrap();
    assert_eq!(
        config["tlsClientConfig"],
        json!({ "insecure": false, "caData": "Q0E=", "certData": "Q0VSVA==", "keyData": "S0VZ" })
    );
    assert_eq!(decoded(&secret, "namespaces").unwrap(), "a,b");
    assert_eq!(decoded(&secret, "clusterResources").unwrap(), "true");
    assert_eq!(decoded(&secret, "project").unwrap(), "app-project-u");
    // Argo CD rejects a CA certificate together with `insecure`.
    let insecure = cluster_secret_of(&rows::ClusterCredentials { allow_insecure: true, ..full }, None);
    let config: Value = serde_json::from_str(&decoded(&insecure, "config").unwrap()).unwrap();
    assert_eq!(config["tlsClientConfig"].get("caData"), None);
}

#[test]
fn a_url_with_a_query_is_rejected() {
    let environment = rows::ManagedEnvironment {
        id: "x".into(),
        name: "x".into(),
        credentials: "cc".into(),
        created_on: DbTimestamp::default(),
    };
    let odd = rows::ClusterCredentials { host: Some("https://h?managedEnvironment=other".into()), ..credentials() };
    assert!(cluster_secret::object(&environment, &odd, "argocd", None).is_err());
}

#[test]
fn a_repository_secret_belongs_to_its_tenant() {
    let row = rows::RepositoryCredentials {
        id: "rc".into(),
        user: "u".into(),
        url: "https://h/R".into(),
        username: Some("bot".into()),
        password: Some("pw".into()),
        ssh_key: None,
        secret: "mine".into(),
        instance: "ei".into(),
        created_on: DbTimestamp::default(),
    };
    let secret = repository_secret::object(&row, "argocd", true);
    assert_eq!(
        secret["metadata"],
        json!({
            "name": "repo-cred-rc",
            "namespace": "argocd",
            "labels": { "argocd.argoproj.io/secret-type": "repository", "databaseID": "rc" },
            "annotations": { "managed-by": "argocd.argoproj.io" },
        })
    );
    let get = |key: &str| decoded(&secret, key);
    assert_eq!((get("name").unwrap(), get("url").unwrap()), ("mine".into(), "https://h/R".into()));
    assert_eq!((get("username").unwrap(), get("password").unwrap()), ("bot".into(), "pw".into()));
    assert_eq!((get("sshPrivateKey"), get("project").unwrap()), (None, "app-project-u".into()));
    assert_eq!(decoded(&repository_secret::object(&row, "argocd", false), "project"), None);
}

#[test]
fn names_can_be_parsed() {
    assert_eq!(environment_of(&environment_name(&"3f".into())), Some("3f".into()));
    assert_eq!((environment_of("in-cluster"), environment_of("managed-env-")), (None, None));
    let uid = crate::ids::Uid::from("11111111-1111-4111-8111-111111111111");
    assert_eq!(deployment_of(&application_name(&uid)), Some(uid));
    assert_eq!(deployment_of("gitopsdepl-short"), None);
}

fn report() -> Value {
    json!({
        "sync": {
            "status": "OutOfSync",
            "revision": "abc",
            "comparedTo": {
                "source": { "repoURL": "https://h/r", "path": "p", "targetRevision": "main" },
                "destination": { "name": "managed-env-3f", "namespace": "n" },
            },
        },
        "health": { "status": "Degraded", "message": "too few" },
        "resources": [
            { "group": "apps", "version": "v1", "kind": "Deployment", "namespace": "n", "name": "web", "status": "Synced", "health": { "status": "Healthy" } },
            { "version": "v1", "kind": "ConfigMap", "namespace": "n", "name": "c", "status": "OutOfSync", "requiresPruning": true },
        ],
        "conditions": [{ "type": "SyncError", "message": "no", "lastTransitionTime": "2026-01-01T00:00:00Z" }],
        "operationState": {
            "operation": { "sync": { "revision": "abc" }, "initiatedBy": { "automated": true } },
            "phase": "Running",
            "startedAt": "2026-01-01T00:00:00Z",
        },
        "reconciledAt": "2026-01-01T00:00:00Z",
    })
}

#[test]
fn a_status_survives_packing() {
    let packed = status::pack(&report()).unwrap();
    let mut expected = report();
    expected["sync"]["comparedTo"]["destination"]["name"] = json!("3f");
    let unpacked = status::unpack(&packed).unwrap();
    assert_eq!(unpacked, expected);
    assert_eq!(status::compared_environment(&unpacked), Some("3f"));
    assert!(status::unpack(b"not gzip").is_err());
}

/// managed-gitops writes keys in lower case and omits nothing.
#[test]
fn a_status_of_managed_gitops_is_read() {
    use std::io::Write as _;
    let text = "resources: []\nsync:\n  status: Synced\n  comparedto:\n    source:\n      repourl: u\n      path: p\n      targetrevision: \"\"\n    \
                destination:\n      server: \"\"\n      namespace: \"n\"\n      name: in-cluster\n  revision: abc\n  revisions: []\nhealth:\n  \
                status: Healthy\n  message: \"\"\nconditions:\n- type: SyncError\n  message: m\n  lasttransitiontime: \"2023-01-02T03:04:05Z\"\n\
                operationstate:\n  operation:\n    sync: null\n    initiatedby:\n      username: \"\"\n      automated: false\n    info: []\n    \
                retry:\n      limit: 0\n      backoff: null\n  phase: Running\n  message: \"\"\n  syncresult: null\n  \
                startedat: \"2023-01-02T03:04:05Z\"\n  finishedat: null\n  retrycount: 0\n";
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    let said = status::unpack(&packer.finish().unwrap()).unwrap();
    assert_eq!(status::compared_environment(&said), None);
    let told = status::deployment_status(&DeploymentStatus::default(), &said, None, "now");
    assert_eq!(
        (told.sync.status.as_str(), told.sync.revision.as_str(), told.health.status.as_str()),
        ("Synced", "abc", "Healthy")
    );
    assert_eq!(told.reconciled_state.source.repo_url, "u");
    assert_eq!(told.conditions[0].r#type, "SyncError");
    assert_eq!(told.operation_state.unwrap()["startedAt"], "2023-01-02T03:04:05Z");
}

#[test]
fn a_deployment_reports_the_status_of_argo_cd() {
    let told =
        serde_json::to_value(status::deployment_status(&DeploymentStatus::default(), &report(), Some("stage"), "now"))
            .unwrap();
    assert_eq!(
        told,
        json!({
            "conditions": [{
                "type": "SyncError", "status": "True", "reason": "SyncError", "message": "no",
                "lastProbeTime": "now", "lastTransitionTime": "now",
            }],
            "sync": { "status": "OutOfSync", "revision": "abc" },
            "health": { "status": "Degraded", "message": "too few" },
            "resources": [
                { "group": "apps", "version": "v1", "kind": "Deployment", "namespace": "n", "name": "web", "status": "Synced", "health": { "status": "Healthy" } },
                { "version": "v1", "kind": "ConfigMap", "namespace": "n", "name": "c", "status": "OutOfSync" },
            ],
            "reconciledState": {
                "source": { "path": "p", "repoURL": "https://h/r", "branch": "main" },
                "destination": { "name": "stage", "namespace": "n" },
            },
            "operationState": {
                "operation": { "sync": { "revision": "abc" }, "initiatedBy": { "automated": true } },
                "phase": "Running",
                "startedAt": "2026-01-01T00:00:00Z",
            },
        })
    );
}

/// Defect 2: a report resolves Argo CD's conditions and preserves the backend's.
#[test]
fn a_report_resolves_only_conditions_of_argo_cd() {
    let of = |r#type: &str| DeploymentCondition {
        r#type: r#type.into(),
        message: "m".into(),
        last_probe_time: None,
        last_transition_time: None,
        status: ConditionStatus::True,
        reason: r#type.into(),
    };
    let before =
        DeploymentStatus { conditions: vec![of("ErrorOccurred"), of("ComparisonError")], ..Default::default() };
    let told = status::deployment_status(&before, &json!({ "sync": { "status": "Synced" } }), None, "now");
    assert_eq!(told.conditions[0], of("ErrorOccurred"));
    assert_eq!(
        (told.conditions[1].status, told.conditions[1].reason.as_str()),
        (ConditionStatus::False, "ComparisonErrorResolved")
    );
    let again = status::deployment_status(&told, &json!({ "sync": { "status": "Synced" } }), None, "later");
    assert_eq!(again, told, "what is said is not said again");
}

#[test]
fn a_synced_resource_of_the_core_group_keeps_its_empty_group() {
    let status = json!({"operationState": {"phase": "Succeeded", "syncResult": {"revision": "1", "resources": [
        {"group": "", "version": "v1", "kind": "Namespace", "namespace": "", "name": "shop", "status": "Synced"},
    ]}}});
    let kept = status::unpack(&status::pack(&status).unwrap()).unwrap();
    let told = status::deployment_status(&DeploymentStatus::default(), &kept, None, "2026-01-01T00:00:00Z")
        .operation_state
        .unwrap();
    let resource = &told["syncResult"]["resources"][0];
    assert_eq!((&resource["group"], &resource["namespace"]), (&json!(""), &json!("")));
}
