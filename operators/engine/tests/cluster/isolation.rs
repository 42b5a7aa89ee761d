//! Isolation tests: a tenant's repository attempts to reach objects that its project does not permit.

use serde_json::{Value, json};

use super::fixture::{ARGO, CONFIG_MAPS, EngineFixture, GitFixture, condition, config_map};

const AUTOMATED: &str = r#"{"automated": {"prune": true, "selfHeal": true}}"#;

fn automated() -> Value {
    serde_json::from_str(AUTOMATED).unwrap()
}

/// Creates the project that the GitOps Service writes for a tenant with the namespace `prod`.
async fn tenant(fixture: &EngineFixture) {
    let spec = json!({"sourceRepos": ["file://**"], "destinations": [{"name": "in-cluster", "namespace": "prod"}]});
    fixture.project("team", spec).await;
    fixture.send("POST", "/api/v1/namespaces", json!({"metadata": {"name": "other"}})).await.unwrap();
}

fn fails(words: &'static str) -> impl Fn(&Value) -> bool {
    move |one| {
        let message = one["status"]["operationState"]["message"].as_str().unwrap_or_default();
        message.starts_with("one or more synchronization tasks are not valid: ") && message.contains(words)
    }
}

/// An Application among the manifests would be served with the engine's rights, under a project that permits
/// everything.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_cannot_create_argo_cd_objects() {
    let fixture = EngineFixture::new().await;
    tenant(&fixture).await;
    let loot = GitFixture::new();
    loot.write("deploy/stolen.yaml", &config_map("stolen", "loot"));
    loot.commit();
    let attempts: [(&str, String, &'static str); 4] = [
        (
            "application",
            format!(
                "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: inner}}\nspec:\n  project: default\n  source: {{repoURL: '{}', path: deploy, targetRevision: main}}\n  destination: {{name: in-cluster, namespace: other}}\n  syncPolicy: {AUTOMATED}\n",
                loot.url()
            ),
            "resource argoproj.io:Application is not permitted in project team",
        ),
        (
            "project",
            "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: all}\nspec: {sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}]}\n".to_string(),
            "resource argoproj.io:AppProject is not permitted in project team",
        ),
        (
            "widened",
            "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: team, namespace: argocd}\nspec: {sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}]}\n".to_string(),
            "namespace argocd is not permitted in project 'team'",
        ),
        (
            "cluster",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: mine, namespace: argocd, labels: {argocd.argoproj.io/secret-type: cluster}}\nstringData: {name: mine, server: 'https://kubernetes.default.svc', config: '{}'}\n".to_string(),
            "namespace argocd is not permitted in project 'team'",
        ),
    ];
    for (name, manifest, words) in &attempts {
        let repository = GitFixture::new();
        // Manifests without a namespace go to the tenant's own namespace.
        repository.write("deploy/x.yaml", manifest);
        repository.commit();
        fixture.application(name, &repository, automated(), json!({"project": "team"})).await;
        fixture.until_application(name, words, fails(words)).await;
    }
    assert!(fixture.get("/apis/argoproj.io/v1alpha1/namespaces/prod/applications/inner").await.is_none());
    assert!(fixture.get("/apis/argoproj.io/v1alpha1/namespaces/prod/appprojects/all").await.is_none());
    assert!(fixture.get("/api/v1/namespaces/argocd/secrets/mine").await.is_none());
    assert!(fixture.get("/api/v1/namespaces/other/configmaps/stolen").await.is_none());
    let project = fixture.get(&format!("{ARGO}/appprojects/team")).await.unwrap();
    assert_eq!(project["spec"]["sourceRepos"], json!(["file://**"]), "it is as it was");
}

/// Covers cluster-scoped kinds and the namespaces of other tenants.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_deploys_to_no_namespace_but_its_own() {
    let fixture = EngineFixture::new().await;
    tenant(&fixture).await;
    let rights = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: all}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: default, namespace: prod}]\n";
    let attempts: [(&str, &str, &'static str); 3] = [
        ("rights", rights, "resource rbac.authorization.k8s.io:ClusterRoleBinding is not permitted in project team"),
        ("space", "apiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n", "resource :Namespace is not permitted"),
        (
            "theirs",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: other}}\n",
            "namespace other is not permitted in project 'team'",
        ),
    ];
    for (name, manifest, words) in attempts {
        let repository = GitFixture::new();
        repository.write("deploy/own.yaml", &config_map("own", "x")).write("deploy/x.yaml", manifest);
        repository.commit();
        fixture.application(name, &repository, automated(), json!({"project": "team"})).await;
        fixture.until_application(name, words, fails(words)).await;
    }
    let binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/all";
    assert!(fixture.get(binding).await.is_none() && fixture.get("/api/v1/namespaces/mine").await.is_none());
    assert!(fixture.get("/api/v1/namespaces/other/configmaps/x").await.is_none());
    assert!(fixture.get(&format!("{CONFIG_MAPS}/own")).await.is_none(), "nothing of such a commit is deployed");
}

/// The Secret of a cluster restricts the namespaces, whatever the project permits.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_with_namespaces_is_only_deployed_to_in_them() {
    let fixture = EngineFixture::new().await;
    fixture.send("POST", "/api/v1/namespaces", json!({"metadata": {"name": "other"}})).await.unwrap();
    let labels = json!({"argocd.argoproj.io/secret-type": "cluster"});
    let data =
        json!({"name": "in-cluster", "server": "https://kubernetes.default.svc", "config": "{}", "namespaces": "prod"});
    let secret = json!({"metadata": {"name": "here", "labels": labels}, "stringData": data});
    fixture.send("POST", "/api/v1/namespaces/argocd/secrets", secret).await.unwrap();
    let of = |manifest: &str| {
        let repository = GitFixture::new();
        repository.write("deploy/x.yaml", manifest);
        repository.commit();
        repository
    };
    let (map, space) = (of(&config_map("x", "text")), of("apiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n"));
    let attempts = [
        ("away", &map, "other", "Namespace \"other\" for ConfigMap \"x\" is not managed"),
        ("wide", &space, "prod", "Cluster level Namespace \"mine\" can not be managed when in namespaced mode"),
    ];
    for (name, repository, namespace, words) in attempts {
        let more = json!({"destination": {"name": "in-cluster", "namespace": namespace}});
        fixture.application(name, repository, automated(), more).await;
        let told = format!("Failed to load live state: {words}");
        fixture.until_application(name, words, |one| condition(one, "ComparisonError") == told).await;
        // A manual sync fails with the same message.
        fixture.patch(name, json!({"operation": {"sync": {"revision": "main"}}})).await;
        let told = format!("ComparisonError: {told}");
        fixture.until_application(name, words, |one| one["status"]["operationState"]["message"] == told).await;
    }
    fixture.application("own", &map, automated(), json!({})).await;
    fixture.until_application("own", "deployed", |one| one["status"]["sync"]["status"] == "Synced").await;
    assert!(fixture.get("/api/v1/namespaces/other/configmaps/x").await.is_none());
    assert!(fixture.get("/api/v1/namespaces/mine").await.is_none());
}

/// The status must not reveal whether a guessed manifest equals another tenant's object.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_reveals_nothing_about_other_tenants() {
    let fixture = EngineFixture::new().await;
    tenant(&fixture).await;
    let secret = json!({"metadata": {"name": "login"}, "stringData": {"password": "right"}});
    fixture.send("POST", "/api/v1/namespaces/other/secrets", secret).await.unwrap();
    let guess = |name: &str, data: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: other}}\nstringData: {{password: {data}}}\n"
        )
    };
    let encoded =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: other}\ndata: {password: cmlnaHQ=}\n";
    let guesses = [
        ("right", guess("login", "right")),
        ("wrong", guess("login", "wrong")),
        ("none", guess("stranger", "x")),
        ("data", encoded.to_string()),
    ];
    let mut told = Vec::new();
    for (name, manifest) in &guesses {
        let repository = GitFixture::new();
        repository.write("deploy/x.yaml", manifest);
        repository.commit();
        fixture.application(name, &repository, json!({}), json!({"project": "team"})).await;
        let compared = |one: &Value| one["status"]["sync"]["status"] == "OutOfSync";
        let application = fixture.until_application(name, "compared", compared).await;
        let one = application["status"]["resources"][0].clone();
        told.push((application["status"]["health"]["status"].clone(), one["status"].clone(), one["health"].clone()));
    }
    assert!(told.iter().all(|one| *one == told[2]), "the responses to two guesses differ: {told:?}");
}

/// Covers source paths and value files that lead out of the repository.
#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_out_of_a_repository() {
    let fixture = EngineFixture::new().await;
    tenant(&fixture).await;
    let repository = GitFixture::new();
    repository.write("deploy/Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n");
    repository.write("deploy/templates/a.yaml", &config_map("a", "{{ .Values.x }}"));
    repository.commit();
    let out = "../../../../../../etc";
    let sources = [
        ("path", json!({"path": out})),
        ("absolute", json!({"path": "/etc"})),
        ("values", json!({"helm": {"valueFiles": [format!("{out}/passwd")]}})),
        ("rooted", json!({"helm": {"valueFiles": ["/etc/passwd"]}})),
        ("file", json!({"helm": {"fileParameters": [{"name": "x", "path": format!("{out}/passwd")}]}})),
        ("url", json!({"helm": {"valueFiles": ["file:///etc/passwd"]}})),
    ];
    for (name, source) in sources {
        fixture.application(name, &repository, automated(), json!({"project": "team", "source": source})).await;
        let refused = |one: &Value| !condition(one, "ComparisonError").is_empty();
        let application = fixture.until_application(name, "refused", refused).await;
        assert!(!application.to_string().contains("root:"), "{name}: {application:#}");
    }
    assert!(fixture.get(&format!("{CONFIG_MAPS}/a")).await.is_none());
}

/// Uses the project that the GitOps Service writes for a tenant with an environment: namespaces are created only if
/// permitted by name.
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_is_created_only_if_the_project_permits_it() {
    let fixture = EngineFixture::new().await;
    let there = fixture.other("team").await;
    let spec = json!({"sourceRepos": ["file://**"], "destinations": [{"name": "managed-env-1", "namespace": "*"}],
        "clusterResourceWhitelist": [{"group": "", "kind": "Namespace", "name": "asked"}]});
    fixture.project("team", spec).await;
    let repository = GitFixture::new();
    repository.write("deploy/a.yaml", &config_map("a", "one")).write("deploy/b.yaml", &config_map("b", "one"));
    repository.commit();
    let mut policy = automated();
    policy["syncOptions"] = json!(["CreateNamespace=true"]);
    let words = "resource :Namespace is not permitted in project team";
    for (name, namespace) in [("shop", "asked"), ("thief", "unasked")] {
        let more = json!({"project": "team", "destination": {"name": "managed-env-1", "namespace": namespace}});
        fixture.application(name, &repository, policy.clone(), more).await;
    }
    fixture.shows("shop", "Synced", "Healthy").await;
    let refused = fixture.until_application("thief", words, fails(words)).await;
    let result = &refused["status"]["operationState"]["syncResult"]["resources"][0];
    assert_eq!((&result["kind"], &result["name"]), (&json!("Namespace"), &json!("unasked")), "{result}");
    // A partial sync is denied as well.
    let some = json!([{"kind": "ConfigMap", "name": "a"}]);
    let sync = json!({"revision": "main", "syncOptions": ["CreateNamespace=true"], "resources": some});
    fixture
        .patch("thief", json!({"operation": {"sync": sync, "retry": null}, "status": {"operationState": null}}))
        .await;
    let failed = |one: &Value| {
        let state = &one["status"]["operationState"];
        state["operation"]["sync"]["resources"] == some && state["phase"] == "Failed" && fails(words)(one)
    };
    fixture.until_application("thief", "refused for some", failed).await;
    let get = async |path: &str| there.request::<Value>(http::Request::get(path).body(Vec::new()).unwrap()).await;
    assert!(get("/api/v1/namespaces/asked/configmaps/a").await.is_ok());
    assert!(get("/api/v1/namespaces/unasked").await.is_err());
    // An existing namespace needs no permission.
    let body = json!({"metadata": {"name": "unasked"}}).to_string().into_bytes();
    let made = http::Request::post("/api/v1/namespaces").header("Content-Type", "application/json").body(body);
    there.request::<Value>(made.unwrap()).await.unwrap();
    fixture
        .patch("thief", json!({"operation": {"sync": {"revision": "main", "syncOptions": ["CreateNamespace=true"]}}}))
        .await;
    fixture.shows("thief", "Synced", "Healthy").await;
}
