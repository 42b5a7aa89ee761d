//! Tests of the engine with real git repositories, the embedded cluster and the kernel.

#![allow(clippy::unwrap_used)]

#[path = "cluster/fixture.rs"]
mod fixture;
#[path = "cluster/isolation.rs"]
mod isolation;

use fixture::{CONFIG_MAPS, EngineFixture, GitFixture, condition, config_map, resource};
use serde_json::{Value, json};

fn sync(application: &Value) -> (&str, &str) {
    (
        application["status"]["sync"]["status"].as_str().unwrap_or(""),
        application["status"]["health"]["status"].as_str().unwrap_or(""),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_deployed_and_so_is_the_next() {
    let fixture = EngineFixture::new().await;
    let repository = GitFixture::new();
    repository.write("deploy/a.yaml", &config_map("a", "one")).write("deploy/b.yaml", &config_map("b", "one"));
    let first = repository.commit();
    fixture.application("shop", &repository, json!({"automated": {"prune": true, "selfHeal": true}}), json!({})).await;
    let application = fixture.shows("shop", "Synced", "Healthy").await;
    assert_eq!(fixture.get(&format!("{CONFIG_MAPS}/a")).await.unwrap()["data"]["value"], "one");
    let status = &application["status"];
    assert_eq!(status["sync"]["revision"], first.as_str());
    assert_eq!(status["sync"]["comparedTo"]["source"], application["spec"]["source"]);
    assert_eq!(status["operationState"]["phase"], "Succeeded");
    assert_eq!(status["operationState"]["message"], "successfully synced (all tasks run)");
    assert_eq!(status["operationState"]["operation"]["initiatedBy"], json!({"automated": true}));
    assert_eq!(status["operationState"]["syncResult"]["revision"], first.as_str());
    let result = &status["operationState"]["syncResult"]["resources"][0];
    assert_eq!((&result["status"], &result["message"]), (&json!("Synced"), &json!("configmap/a serverside-applied")));
    assert_eq!(
        status["resources"][0],
        json!({"version": "v1", "kind": "ConfigMap", "namespace": "prod", "name": "a", "status": "Synced"})
    );
    assert_eq!((&status["sourceType"], &status["history"][0]["revision"]), (&json!("Directory"), &json!(first)));
    assert!(status["reconciledAt"].is_string() && application.get("operation").is_none_or(Value::is_null));
    let uid = fixture.get(&format!("{CONFIG_MAPS}/a")).await.unwrap()["metadata"]["uid"].clone();

    // The second commit changes one object and removes another.
    repository.write("deploy/a.yaml", &config_map("a", "two")).remove("deploy/b.yaml");
    let second = repository.commit();
    fixture.refresh("shop").await;
    let application = fixture
        .until_application("shop", "the second commit", |one| {
            sync(one) == ("Synced", "Healthy") && one["status"]["sync"]["revision"] == second.as_str()
        })
        .await;
    let a = fixture.get(&format!("{CONFIG_MAPS}/a")).await.unwrap();
    assert_eq!((&a["data"]["value"], &a["metadata"]["uid"]), (&json!("two"), &uid));
    assert!(fixture.get(&format!("{CONFIG_MAPS}/b")).await.is_none(), "what is not wanted any more is pruned");
    let results = application["status"]["operationState"]["syncResult"]["resources"].as_array().unwrap().clone();
    assert!(
        results.iter().any(|one| one["name"] == "b" && one["status"] == "Pruned" && one["message"] == "pruned"),
        "{results:?}"
    );
    assert_eq!(application["status"]["history"].as_array().unwrap().len(), 2);
    assert!(application["metadata"]["annotations"].get("argocd.argoproj.io/refresh").is_none());
}

/// A request after a push sees the pushed commit, although another Application has listed the references before.
#[tokio::test(flavor = "multi_thread")]
async fn new_applications_and_sources_use_the_current_repository() {
    let fixture = EngineFixture::new().await;
    let repository = GitFixture::new();
    repository.write("deploy/a.yaml", &config_map("a", "one"));
    repository.commit();
    fixture.application("shop", &repository, json!({"automated": {}}), json!({})).await;
    fixture.shows("shop", "Synced", "Healthy").await;
    // A new Application requests the repository.
    repository.write("new/b.yaml", &config_map("b", "one"));
    repository.commit();
    fixture.application("second", &repository, json!({"automated": {}}), json!({"source": {"path": "new"}})).await;
    let first_word = |one: &Value| one["status"]["sync"]["status"].is_string();
    let told = fixture.until_application("second", "compared", first_word).await;
    assert_eq!(condition(&told, "ComparisonError"), "");
    fixture.shows("second", "Synced", "Healthy").await;
    // An existing Application gets a new source.
    repository.write("newer/c.yaml", &config_map("c", "one"));
    let third = repository.commit();
    fixture.patch("shop", json!({"spec": {"source": {"path": "newer"}}})).await;
    let compared = |one: &Value| one["status"]["sync"]["comparedTo"]["source"]["path"] == "newer";
    let told = fixture.until_application("shop", "compared again", compared).await;
    assert_eq!((condition(&told, "ComparisonError"), &told["status"]["sync"]["revision"]), ("", &json!(third)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manual_application_is_out_of_sync_until_a_sync_is_requested() {
    let fixture = EngineFixture::new().await;
    let repository = GitFixture::new();
    repository.write("deploy/a.yaml", &config_map("a", "one"));
    let first = repository.commit();
    fixture.application("shop", &repository, Value::Null, json!({})).await;
    let application = fixture.shows("shop", "OutOfSync", "Missing").await;
    assert_eq!(application["status"]["resources"][0]["health"]["status"], "Missing");
    repository.write("deploy/a.yaml", &config_map("a", "two"));
    repository.commit();
    // The operation syncs to the previous commit.
    let operation = json!({"initiatedBy": {"username": "switchboard"}, "info": [{"name": "syncrun", "value": "7"}], "sync": {"revision": first}});
    fixture.patch("shop", json!({"operation": operation, "status": {"operationState": null}})).await;
    let application = fixture
        .until_application("shop", "synced", |one| one["status"]["operationState"]["phase"] == "Succeeded")
        .await;
    assert_eq!(fixture.get(&format!("{CONFIG_MAPS}/a")).await.unwrap()["data"]["value"], "one");
    assert_eq!(application["status"]["operationState"]["operation"], operation);
    assert!(application.get("operation").is_none_or(Value::is_null));
    fixture.refresh("shop").await;
    fixture.shows("shop", "OutOfSync", "Healthy").await;
    // A leftover object is kept and reported unless pruning is enabled.
    repository.remove("deploy/a.yaml").write("deploy/c.yaml", &config_map("c", "x"));
    repository.commit();
    fixture.refresh("shop").await;
    fixture
        .until_application("shop", "c wanted", |one| {
            one["status"]["resources"].as_array().is_some_and(|all| all.len() == 2)
        })
        .await;
    fixture.patch("shop", json!({"operation": {"sync": {}}, "status": {"operationState": null}})).await;
    let application = fixture
        .until_application("shop", "synced again", |one| one["status"]["operationState"]["phase"] == "Succeeded")
        .await;
    let results = application["status"]["operationState"]["syncResult"]["resources"].as_array().unwrap().clone();
    assert!(results.iter().any(|one| one["name"] == "a" && one["status"] == "PruneSkipped"), "{results:?}");
    assert!(fixture.get(&format!("{CONFIG_MAPS}/a")).await.is_some());
    assert_eq!(application["status"]["sync"]["status"], "OutOfSync");
}

#[tokio::test(flavor = "multi_thread")]
async fn manual_changes_and_deletions_are_healed() {
    let fixture = EngineFixture::new().await;
    let repository = GitFixture::new();
    repository.write("deploy/a.yaml", &config_map("a", "one"));
    repository.commit();
    fixture.application("shop", &repository, json!({"automated": {"prune": true, "selfHeal": true}}), json!({})).await;
    fixture.shows("shop", "Synced", "Healthy").await;
    fixture.send("PATCH", &format!("{CONFIG_MAPS}/a"), json!({"data": {"value": "mine", "more": "x"}})).await.unwrap();
    fixture
        .until(&format!("{CONFIG_MAPS}/a"), "healed", |one| one.is_some_and(|one| one["data"]["value"] == "one"))
        .await;
    let application = fixture.shows("shop", "Synced", "Healthy").await;
    assert_eq!(application["status"]["operationState"]["operation"]["sync"]["autoHealAttemptsCount"], 1);
    fixture.send("DELETE", &format!("{CONFIG_MAPS}/a"), Value::Null).await.unwrap();
    fixture.until(&format!("{CONFIG_MAPS}/a"), "made again", |one| one.is_some()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_is_deployed_with_its_values_into_a_created_namespace() {
    let fixture = EngineFixture::new().await;
    let repository = GitFixture::new();
    repository.write("deploy/Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}");
    repository.write("deploy/values.yaml", "greeting: hello\nreplicas: 1\n").write("values/prod.yaml", "replicas: 3\n");
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  namespace: {{ .Release.Namespace }}\n\
                    data:\n  value: {{ .Values.greeting }}-{{ .Values.replicas }}\n";
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  \
                      template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: web:1}]}\n";
    repository.write("deploy/templates/map.yaml", template).write("deploy/templates/web.yaml", deployment);
    repository.commit();
    let policy = json!({"automated": {}, "syncOptions": ["CreateNamespace=true"]});
    let more = json!({"source": {"helm": {"releaseName": "web", "valueFiles": ["../values/prod.yaml"], "parameters": [{"name": "greeting", "value": "moin"}]}},
        "destination": {"namespace": "fresh"}});
    fixture.application("shop", &repository, policy, more).await;
    // No kubelet runs, so a Deployment stays `Progressing`.
    let application = fixture.shows("shop", "Synced", "Progressing").await;
    assert_eq!(application["status"]["sourceType"], "Helm");
    assert_eq!(application["status"]["summary"]["images"], json!(["web:1"]));
    let map = fixture.get("/api/v1/namespaces/fresh/configmaps/web").await.unwrap();
    assert_eq!(map["data"]["value"], "moin-3");
    assert_eq!(map["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"], "shop:/ConfigMap:fresh/web");
    let web = resource(&application, "Deployment");
    assert!(web["health"]["message"].as_str().unwrap().starts_with("Waiting for rollout to finish: "), "{web}");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_in_the_repository_are_reported_and_nothing_is_deleted() {
    let fixture = EngineFixture::new().await;
    let repository = GitFixture::new();
    repository.write("deploy/a.yaml", &config_map("a", "one"));
    repository.commit();
    fixture.application("shop", &repository, json!({"automated": {"prune": true}}), json!({})).await;
    fixture.shows("shop", "Synced", "Healthy").await;
    repository.write("deploy/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [a\n");
    repository.commit();
    fixture.refresh("shop").await;
    let application = fixture.shows("shop", "Unknown", "Healthy").await;
    let told = condition(&application, "ComparisonError");
    assert!(
        told.contains("Failed to load target state: ") && told.contains("Failed to unmarshal \"a.yaml\""),
        "{told}"
    );
    assert!(fixture.get(&format!("{CONFIG_MAPS}/a")).await.is_some());
    // The folder no longer exists.
    repository.remove("deploy/a.yaml").write("other/a.yaml", &config_map("a", "one"));
    repository.commit();
    fixture.refresh("shop").await;
    let gone = |one: &Value| condition(one, "ComparisonError").ends_with("desc = deploy: app path does not exist");
    fixture.until_application("shop", "the path is missing", gone).await;
    // The branch does not exist.
    fixture.patch("shop", json!({"spec": {"source": {"targetRevision": "nowhere"}}})).await;
    let gone = |one: &Value| condition(one, "ComparisonError").ends_with("unable to resolve 'nowhere' to a commit SHA");
    fixture.until_application("shop", "the branch is missing", gone).await;
    // The source is valid again.
    fixture.patch("shop", json!({"spec": {"source": {"targetRevision": "main", "path": "other"}}})).await;
    let application = fixture.shows("shop", "Synced", "Healthy").await;
    assert_eq!(condition(&application, "ComparisonError"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_holds_an_application_back() {
    let fixture = EngineFixture::new().await;
    let repository = GitFixture::new();
    repository.write("deploy/a.yaml", &config_map("a", "one"));
    repository.write("deploy/ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: made}\n");
    repository.commit();
    let automated = json!({"automated": {}});
    fixture.application("shop", &repository, automated, json!({"project": "team"})).await;
    let application = fixture.shows("shop", "Unknown", "Unknown").await;
    assert_eq!(
        condition(&application, "InvalidSpecError"),
        "Application referencing project team which does not exist"
    );
    fixture.project("team", json!({"sourceRepos": ["https://git.example/*"], "destinations": [{"name": "in-cluster", "namespace": "other"}]})).await;
    let both = |one: &Value| {
        let all: Vec<&str> = one["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["message"].as_str())
            .collect();
        all.iter().any(|told| told.ends_with("is not permitted in project 'team'"))
            && all.contains(&"application destination server 'in-cluster' and namespace 'prod' do not match any of the allowed destinations in project 'team'")
    };
    fixture.until_application("shop", "repository and destination are refused", both).await;
    assert!(fixture.get(&format!("{CONFIG_MAPS}/a")).await.is_none());
    let spec = json!({"sourceRepos": ["file://**"], "destinations": [{"name": "in-cluster", "namespace": "prod"}]});
    fixture.send("PATCH", &format!("{}/appprojects/team", fixture::ARGO), json!({"spec": spec})).await.unwrap();
    let failed = |one: &Value| {
        one["status"]["operationState"]["message"].as_str().is_some_and(|message| {
            message.starts_with(
                "one or more synchronization tasks are not valid: resource :Namespace is not permitted in project team",
            )
        })
    };
    fixture.until_application("shop", "a cluster-wide kind is refused", failed).await;
    assert!(
        fixture.get("/api/v1/namespaces/made").await.is_none()
            && fixture.get(&format!("{CONFIG_MAPS}/a")).await.is_none()
    );
    let allowed = json!({"spec": {"clusterResourceWhitelist": [{"group": "", "kind": "Namespace"}]}});
    fixture.send("PATCH", &format!("{}/appprojects/team", fixture::ARGO), allowed).await.unwrap();
    fixture.shows("shop", "Synced", "Healthy").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_destination_is_reported() {
    let fixture = EngineFixture::new().await;
    let repository = GitFixture::new();
    repository.write("deploy/a.yaml", &config_map("a", "one"));
    repository.commit();
    fixture
        .application("shop", &repository, json!({"automated": {}}), json!({"destination": {"name": "managed-env-9"}}))
        .await;
    let application = fixture.shows("shop", "Unknown", "Unknown").await;
    assert_eq!(condition(&application, "InvalidSpecError"), "there are no clusters with this name: managed-env-9");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_api_server_fails_the_sync() {
    let fixture = EngineFixture::new().await;
    let repository = GitFixture::new();
    repository.write("deploy/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NotAName}\n");
    repository.commit();
    fixture.application("shop", &repository, json!({"automated": {}, "retry": {"limit": 0}}), json!({})).await;
    let application =
        fixture.until_application("shop", "failed", |one| one["status"]["operationState"]["phase"] == "Failed").await;
    let message = application["status"]["operationState"]["message"].as_str().unwrap().to_string();
    assert!(message.starts_with("one or more objects failed to apply, reason: "), "{message}");
    let application = fixture.until_application("shop", "told", |one| !condition(one, "SyncError").is_empty()).await;
    assert!(condition(&application, "SyncError").starts_with("Failed last sync attempt to ["));
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_deletes_the_objects_only_with_the_finalizer() {
    let fixture = EngineFixture::new().await;
    let repository = GitFixture::new();
    repository.write("deploy/a.yaml", &config_map("a", "one"));
    repository.commit();
    fixture.application("shop", &repository, json!({"automated": {}}), json!({})).await;
    fixture.shows("shop", "Synced", "Healthy").await;
    let path = format!("{}/applications/shop", fixture::ARGO);
    fixture.send("DELETE", &path, Value::Null).await.unwrap();
    fixture.until(&path, "gone", |one| one.is_none()).await;
    assert!(fixture.get(&format!("{CONFIG_MAPS}/a")).await.is_some(), "without the finalizer its objects stay");

    fixture.application("shop", &repository, json!({"automated": {}}), json!({})).await;
    fixture.shows("shop", "Synced", "Healthy").await;
    fixture
        .send("PATCH", &format!("{CONFIG_MAPS}/a"), json!({"metadata": {"finalizers": ["example.com/hold"]}}))
        .await
        .unwrap();
    fixture
        .patch("shop", json!({"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io/background"]}}))
        .await;
    fixture.send("DELETE", &path, Value::Null).await.unwrap();
    fixture
        .until(&format!("{CONFIG_MAPS}/a"), "on its way out", |one| {
            one.is_some_and(|one| one["metadata"]["deletionTimestamp"].is_string())
        })
        .await;
    assert!(fixture.get(&path).await.is_some(), "the Application waits for its objects");
    fixture.send("PATCH", &format!("{CONFIG_MAPS}/a"), json!({"metadata": {"finalizers": null}})).await.unwrap();
    fixture.until(&path, "gone", |one| one.is_none()).await;
    assert!(fixture.get(&format!("{CONFIG_MAPS}/a")).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_is_deployed_to_the_cluster_of_a_secret() {
    let fixture = EngineFixture::new().await;
    let there = fixture.other("team").await;
    let repository = GitFixture::new();
    repository.write("deploy/a.yaml", &config_map("a", "one"));
    repository.commit();
    fixture
        .application(
            "shop",
            &repository,
            json!({"automated": {}, "syncOptions": ["CreateNamespace=true"]}),
            json!({"destination": {"name": "managed-env-1"}}),
        )
        .await;
    fixture.shows("shop", "Synced", "Healthy").await;
    let request = http::Request::get(format!("{CONFIG_MAPS}/a")).body(Vec::new()).unwrap();
    let map: Value = there.request(request).await.unwrap();
    assert_eq!(map["data"]["value"], "one");
    assert!(fixture.get(&format!("{CONFIG_MAPS}/a")).await.is_none());
}
