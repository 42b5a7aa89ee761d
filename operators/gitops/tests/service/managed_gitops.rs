//! Upgrade from managed-gitops: the roles continue with its database at its newest version, with rows as its code
//! writes them, and with its objects on the clusters.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use switchboard_gitops::deployment::status;
use switchboard_gitops::rows::*;

use crate::cluster_state::{self, ClusterState};
use crate::database::{TestDatabase, on_both};
use crate::fixture::{
    ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, Clients, DEPLOYMENTS, ENVIRONMENT_SECRET, ENVIRONMENTS, GROUP,
    SYNC_RUNS, ServiceFixture, TARGET, create, decoded, kubeconfig, send, uid,
};

on_both! {
    a_database_of_managed_gitops_is_adopted
}

/// Tables of managed-gitops, with its own schema version.
const POSTGRES: &str = include_str!("../../migrations/postgres/0001_managed_gitops.sql");
/// The tables for SQLite, which managed-gitops never used.
const SQLITE: &str = include_str!("../../migrations/sqlite/0001_managed_gitops.sql");
const SCHEMA_VERSION: &str = "create table schema_migrations (version bigint primary key, dirty boolean not null);
insert into schema_migrations values (20, false);";

const URL: &str = "https://git.example/Shop/web.git";

/// The structs of managed-gitops in the form that yaml.v2 writes.
fn spec_field(name: &str, namespace: &str, destination: &str, automated: bool) -> String {
    let policy = "
    automated:
      prune: true
      selfheal: true
      allowempty: true
    syncoptions:
    - PrunePropagationPolicy=background
    retry:
      limit: -1
      backoff:
        duration: 5s
        factor: 2
        maxduration: 3m";
    let policy = if automated { policy } else { " null" };
    format!(
        "fauxtypemeta:
  kind: Application
  apiversion: argoproj.io/v1alpha1
fauxobjectmeta:
  name: {name}
  namespace: {ARGOCD}
spec:
  source:
    repourl: {URL}
    path: deploy
    targetrevision: \"\"
  destination:
    server: \"\"
    namespace: {namespace}
    name: {destination}
  project: app-project-u-shop
  syncpolicy:{policy}
status:
  resources: []
  sync:
    status: \"\"
    comparedto:
      source:
        repourl: \"\"
        path: \"\"
        targetrevision: \"\"
      destination:
        server: \"\"
        namespace: \"\"
        name: \"\"
    revision: \"\"
    revisions: []
  health:
    status: \"\"
    message: \"\"
  conditions: []
  operationstate: null
"
    )
}

/// Uids of the existing objects, by name.
#[derive(Default)]
struct ManagedGitopsUids {
    uids: BTreeMap<String, String>,
}

impl ManagedGitopsUids {
    fn uid(&self, name: &str) -> &str {
        &self.uids[name]
    }
}

/// Deployments: name, destination, its namespace, whether automated, its row.
const DEPLOYED: [(&str, &str, &str, bool, &str); 4] = [
    ("web", "in-cluster", "shop", true, "app-web"),
    ("api", "managed-env-me-stage", "api", true, "app-api"),
    ("own", "managed-env-me-own", "own", true, "app-own"),
    ("job", "in-cluster", "shop", false, "app-job"),
];

fn spec_of(destination: &str, namespace: &str, automated: bool) -> Value {
    let mut spec =
        json!({"source": {"repoURL": URL, "path": "deploy"}, "type": if automated { "automated" } else { "manual" }});
    if let Some(environment) = destination.strip_prefix("managed-env-me-") {
        spec["destination"] = json!({"environment": environment, "namespace": namespace});
    }
    spec
}

/// Creates the resources of the tenant.
async fn tenants(clients: &Clients) -> ManagedGitopsUids {
    let mut uids = ManagedGitopsUids::default();
    let api = "managed-gitops.redhat.com/v1alpha1";
    for name in ["shop", "bank", "kube-system"] {
        let found = send(&clients.tenants, "GET", &format!("/api/v1/namespaces/{name}"), Value::Null).await.unwrap();
        uids.uids.insert(name.into(), uid(&found));
    }
    let of_shop = |kind: &str, name: &str, spec: Value| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec});
    let mut objects = Vec::new();
    for (name, destination, namespace, automated, _) in DEPLOYED {
        objects.push((DEPLOYMENTS, of_shop("GitOpsDeployment", name, spec_of(destination, namespace, automated))));
    }
    for (name, own) in [("stage", false), ("own", true)] {
        let spec = json!({"apiURL": TARGET, "credentialsSecret": "cluster", "allowInsecureSkipTLSVerify": false,
            "createNewServiceAccount": own});
        let mut object = of_shop("GitOpsDeploymentManagedEnvironment", name, spec);
        object["metadata"]["name"] = name.into();
        objects.push((ENVIRONMENTS, object));
    }
    let spec = json!({"repository": URL, "secret": "login"});
    objects.push((CREDENTIALS, of_shop("GitOpsDeploymentRepositoryCredential", "git", spec)));
    let spec = json!({"gitopsDeploymentName": "job", "revisionID": "4403172"});
    objects.push((SYNC_RUNS, of_shop("GitOpsDeploymentSyncRun", "now", spec)));
    for (name, r#type, data) in [
        ("cluster", ENVIRONMENT_SECRET, json!({"kubeconfig": kubeconfig("token-of-shop")})),
        ("login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "password-of-shop"})),
    ] {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": r#type, "metadata": {"name": name}, "stringData": data});
        create(&clients.tenants, "/api/v1/namespaces/shop/secrets", secret).await;
    }
    for (plural, object) in objects {
        let made = create(&clients.tenants, &format!("{GROUP}/namespaces/shop/{plural}"), object).await;
        uids.uids.insert(format!("{plural}/{}", made["metadata"]["name"].as_str().unwrap()), uid(&made));
    }
    uids
}

/// Argo CD's status of an Application.
fn status_of(destination: &str, namespace: &str) -> Value {
    let compared = json!({"source": {"repoURL": URL, "path": "deploy"}, "destination": {"name": destination, "namespace": namespace}});
    json!({"sync": {"status": "Synced", "revision": "4403172", "comparedTo": compared}, "health": {"status": "Healthy"}})
}

/// Creates the objects in the namespace of Argo CD, as managed-gitops' agent writes them.
async fn engine(clients: &Clients, uids: &mut ManagedGitopsUids) {
    let made = create(&clients.engine, "/api/v1/namespaces", json!({"metadata": {"name": ARGOCD}})).await;
    uids.uids.insert(ARGOCD.into(), uid(&made));
    for (name, destination, namespace, automated, row) in DEPLOYED {
        let deployment = uids.uid(&format!("{DEPLOYMENTS}/{name}")).to_string();
        let mut spec = json!({"project": "app-project-u-shop", "source": {"repoURL": URL, "path": "deploy"},
            "destination": {"name": destination, "namespace": namespace}});
        if automated {
            spec["syncPolicy"] = json!({"automated": {"prune": true, "selfHeal": true, "allowEmpty": true},
                "syncOptions": ["PrunePropagationPolicy=background"],
                "retry": {"limit": -1, "backoff": {"duration": "5s", "factor": 2, "maxDuration": "3m"}}});
        }
        let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
            "metadata": {"name": format!("gitopsdepl-{deployment}"), "labels": {"databaseID": row}},
            "spec": spec, "status": status_of(destination, namespace)});
        let made = create(&clients.engine, &format!("{ARGO}/namespaces/{ARGOCD}/applications"), object).await;
        uids.uids.insert(format!("applications/{name}"), uid(&made));
    }
    // Every tenant can deploy to the whole cluster; self-healing has created a project for its own user.
    for user in ["u-shop", "cluster-agent-application-sync-user"] {
        let project = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
            "metadata": {"name": format!("app-project-{user}"), "annotations": {"username": user}},
            "spec": {"sourceRepos": ["https://git.example/shop/web"], "destinations": [{"name": "in-cluster", "namespace": "*"},
                {"name": "managed-env-me-stage", "namespace": "*"}, {"name": "managed-env-me-own", "namespace": "*"}]}});
        create(&clients.engine, &format!("{ARGO}/namespaces/{ARGOCD}/appprojects"), project).await;
    }
    let label = "argocd.argoproj.io/secret-type";
    for (id, token) in [("me-stage", "token-of-shop"), ("me-own", "token-of-account")] {
        let secret = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("managed-env-{id}"), "labels": {label: "cluster", "databaseID": id}},
            "stringData": {"name": format!("managed-env-{id}"), "server": format!("{TARGET}?managedEnvironment={id}"),
                "config": json!({"bearerToken": token, "tlsClientConfig": {"insecure": false}}).to_string()}});
        create(&clients.engine, &format!("/api/v1/namespaces/{ARGOCD}/secrets"), secret).await;
    }
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "repo-cred-rc", "labels": {label: "repository", "databaseID": "rc"},
            "annotations": {"managed-by": "argocd.argoproj.io"}},
        "stringData": {"name": "login", "url": "https://git.example/shop/web", "username": "robot", "password": "password-of-shop",
            "sshPrivateKey": ""}});
    create(&clients.engine, &format!("/api/v1/namespaces/{ARGOCD}/secrets"), secret).await;
    // Notifications of a waiting operation, and of a completed one that was never cleaned up.
    for id in ["op-waiting", "op-completed"] {
        let ring = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "Operation",
            "metadata": {"name": format!("operation-{id}")}, "spec": {"operationID": id}});
        create(&clients.engine, &format!("{GROUP}/namespaces/{ARGOCD}/operations"), ring).await;
    }
}

/// Creates the objects of managed-gitops on the target for the environment `own`.
async fn target(clients: &Clients, uids: &ManagedGitopsUids) {
    let uid = uids.uid(&format!("{ENVIRONMENTS}/own"));
    let (account, role) = (format!("argocd-manager-{uid}"), format!("argocd-manager-cluster-role-{uid}"));
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let all = json!(["*"]);
    let objects = [
        ("/api/v1/namespaces/kube-system/serviceaccounts".to_string(), json!({"metadata": {"name": account}})),
        (
            format!("{rbac}/clusterroles"),
            json!({"metadata": {"name": role}, "rules": [{"apiGroups": all, "resources": all, "verbs": all}]}),
        ),
        (
            format!("{rbac}/clusterrolebindings"),
            json!({"metadata": {"name": format!("argocd-manager-cluster-role-binding-{uid}")},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "kube-system"}]}),
        ),
        (
            "/api/v1/namespaces/kube-system/secrets".to_string(),
            json!({"type": "kubernetes.io/service-account-token",
                "metadata": {"generateName": format!("{account}-token-"),
                    "annotations": {"kubernetes.io/service-account.name": account}}}),
        ),
    ];
    for (path, body) in objects {
        create(&clients.target, &path, body).await;
    }
}

/// Writes rows as go-pg does: empty texts are NULL, and fields with the default value are omitted.
async fn rows(database: &TestDatabase, uids: &ManagedGitopsUids) {
    let sqlite = database.is_sqlite();
    database.execute_sql(if sqlite { format!("{SQLITE}\n{SCHEMA_VERSION}") } else { POSTGRES.to_string() }).await;
    let moment = if sqlite { "1744000000000000" } else { "'2025-04-07 04:26:40.123456+00:00:00'" };
    let bytes = |bytes: &[u8]| {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        if sqlite { format!("x'{hex}'") } else { format!("'\\x{hex}'") }
    };
    let (shop, bank, system, argocd) = (uids.uid("shop"), uids.uid("bank"), uids.uid("kube-system"), uids.uid(ARGOCD));
    let placeholder =
        "'host', 'kube_config', 'kube_config_context', 'serviceaccount_bearer_token', 'serviceaccount_ns'";
    let mut sql = format!(
        "insert into clustercredentials (clustercredentials_cred_id, host, kube_config, kube_config_context, serviceaccount_bearer_token, serviceaccount_ns)
  values ('cc-engine', {placeholder}), ('cc-shop', {placeholder});
insert into clustercredentials (clustercredentials_cred_id, host, serviceaccount_bearer_token, serviceaccount_ns)
  values ('cc-stage', '{TARGET}', 'token-of-shop', 'kube-system'), ('cc-own', '{TARGET}', 'token-of-account', 'kube-system');
insert into gitopsenginecluster (gitopsenginecluster_id, clustercredentials_id) values ('ec', 'cc-engine');
insert into gitopsengineinstance (gitopsengineinstance_id, namespace_name, namespace_uid, enginecluster_id) values ('ei', '{ARGOCD}', '{argocd}', 'ec');
insert into managedenvironment (managedenvironment_id, name, clustercredentials_id)
  values ('me-shop', 'Managed Environment for shop', 'cc-shop'), ('me-stage', 'stage', 'cc-stage'), ('me-own', 'own', 'cc-own');
insert into clusteruser (clusteruser_id, user_name) values ('u-shop', '{shop}');
insert into clusteruser (clusteruser_id, user_name, display_name) values ('u-bank', '{bank}', 'bank'),
  ('cluster-agent-application-sync-user', 'cluster-agent-application-sync-user', 'cluster-agent-application-sync-user');
insert into clusteraccess (clusteraccess_user_id, clusteraccess_managed_environment_id, clusteraccess_gitops_engine_instance_id)
  values ('u-shop', 'me-shop', 'ei'), ('u-shop', 'me-stage', 'ei'), ('u-shop', 'me-own', 'ei');
insert into kubernetestodbresourcemapping (kubernetes_resource_type, kubernetes_resource_uid, db_relation_type, db_relation_key)
  values ('Namespace', '{system}', 'GitopsEngineCluster', 'ec'), ('Namespace', '{argocd}', 'GitopsEngineInstance', 'ei'),
  ('Namespace', '{shop}', 'ManagedEnvironment', 'me-shop');
insert into appprojectrepository (appproject_repository_id, clusteruser_id, repo_url) values ('pr', 'u-shop', 'https://git.example/shop/web');
insert into appprojectmanagedenvironment (appproject_managedenv_id, clusteruser_id, managed_environment_id)
  values ('pe1', 'u-shop', 'me-stage'), ('pe2', 'u-shop', 'me-stage'), ('pe3', 'u-shop', 'me-own');
insert into repositorycredentials (repositorycredentials_id, repo_cred_user_id, repo_cred_url, repo_cred_user, repo_cred_pass, repo_cred_secret, repo_cred_engine_id)
  values ('rc', 'u-shop', 'https://git.example/shop/web', 'robot', 'password-of-shop', 'login', 'ei');
"
    );
    for (name, destination, namespace, automated, row) in DEPLOYED {
        let deployment = uids.uid(&format!("{DEPLOYMENTS}/{name}"));
        let environment = destination.strip_prefix("managed-env-").unwrap_or("me-shop");
        let object = format!("gitopsdepl-{deployment}");
        let field = spec_field(&object, namespace, destination, automated);
        // In the database, the Application's destination is the environment's ID.
        let said = status_of(destination.strip_prefix("managed-env-").unwrap_or(destination), namespace);
        let said = bytes(&status::pack(&said).unwrap());
        sql.push_str(&format!(
            "insert into application (application_id, name, spec_field, engine_instance_inst_id, managed_environment_id) values ('{row}', '{object}', '{field}', 'ei', '{environment}');
insert into applicationstate (applicationstate_application_id, argocd_application_status) values ('{row}', {said});
insert into applicationowner (application_owner_application_id, application_owner_user_id) values ('{row}', 'u-shop');
insert into deploymenttoapplicationmapping (deploymenttoapplicationmapping_uid_id, name, namespace, namespace_uid, application_id)
  values ('{deployment}', '{name}', 'shop', '{shop}', '{row}');
"
        ));
    }
    sql.push_str("insert into syncoperation (syncoperation_id, application_id, deployment_name, revision, desired_state) values ('so', 'app-job', 'job', '4403172', 'Running');\n");
    for (kind, plural, name, relation, key) in [
        ("GitOpsDeploymentManagedEnvironment", ENVIRONMENTS, "stage", "ManagedEnvironment", "me-stage"),
        ("GitOpsDeploymentManagedEnvironment", ENVIRONMENTS, "own", "ManagedEnvironment", "me-own"),
        ("GitOpsDeploymentSyncRun", SYNC_RUNS, "now", "SyncOperation", "so"),
        ("GitOpsDeploymentRepositoryCredential", CREDENTIALS, "git", "RepositoryCredential", "rc"),
    ] {
        let resource = uids.uid(&format!("{plural}/{name}"));
        sql.push_str(&format!(
            "insert into apicrtodatabasemapping (api_resource_type, api_resource_uid, api_resource_name, api_resource_namespace, api_resource_namespace_uid, db_relation_type, db_relation_key)
  values ('{kind}', '{resource}', '{name}', 'shop', '{shop}', '{relation}', '{key}');\n"
        ));
    }
    // A waiting operation, one without a notification, one whose agent died, one of self-healing, and two completed
    // ones.
    for (id, of, resource, owner, state, said) in [
        ("op-waiting", "Application", "app-web", "u-shop", "Waiting", "null"),
        ("op-silent", "RepositoryCredentials", "rc", "u-shop", "Waiting", "null"),
        ("op-died", "Application", "app-api", "u-shop", "In_Progress", "null"),
        ("op-healing", "Application", "app-own", "cluster-agent-application-sync-user", "Waiting", "null"),
        ("op-completed", "SyncOperation", "so", "u-shop", "Completed", "null"),
        ("op-failed", "Application", "app-gone", "u-shop", "Failed", "'it was not to be'"),
    ] {
        sql.push_str(&format!(
            "insert into operation (operation_id, instance_id, resource_id, operation_owner_user_id, resource_type, created_on, last_state_update, state, human_readable_state)
  values ('{id}', 'ei', '{resource}', '{owner}', '{of}', {moment}, {moment}, '{state}', {said});\n"
        ));
    }
    database.execute_sql(sql).await;
}

async fn synced(fixture: &ServiceFixture, name: &str) -> Value {
    fixture
        .wait_for("a status", async || {
            fixture.deployment("shop", name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await
}

async fn a_database_of_managed_gitops_is_adopted(database: TestDatabase) {
    let mut found = ManagedGitopsUids::default();
    let (mut bare, mut with_token) = (BTreeSet::new(), BTreeSet::new());
    let mut fixture = ServiceFixture::with_database(database, false, async |database, clients| {
        found = tenants(clients).await;
        bare = cluster_state::objects_of(&clients.target).await;
        engine(clients, &mut found).await;
        target(clients, &found).await;
        // The token that managed-gitops created is deleted with its account; the service's account has another token.
        let token = cluster_state::objects_of(&clients.target)
            .await
            .into_iter()
            .find(|one| one.starts_with("Secret ") && one.contains("argocd-manager-"));
        with_token.extend(token);
        with_token.extend(bare.clone());
        rows(database, &found).await;
    })
    .await;
    fixture.start().await;
    // Reported unchanged, with the tenant's names for environments.
    for (name, destination, ..) in DEPLOYED {
        let reported = synced(&fixture, name).await;
        let environment = destination.strip_prefix("managed-env-me-").unwrap_or_default();
        assert_eq!(reported["status"]["reconciledState"]["destination"]["name"], environment, "{name}");
    }
    fixture.wait_until_settled().await;
    // Nothing is deleted or duplicated: rows and objects are the same.
    let kept = async |fixture: &ServiceFixture| {
        for (name, .., row) in DEPLOYED {
            let deployment = found.uid(&format!("{DEPLOYMENTS}/{name}"));
            let application = fixture.application(deployment).await.unwrap();
            assert_eq!(uid(&application), found.uid(&format!("applications/{name}")), "{name} is not recreated");
            assert_eq!(application["metadata"]["labels"]["databaseID"], row);
        }
        assert_eq!(fixture.cascades(), 0);
        let ids = |mut ids: Vec<String>| {
            ids.sort();
            ids
        };
        let rows = fixture.all::<Application>().await;
        let wanted = DEPLOYED.iter().map(|(.., row)| row.to_string()).collect();
        assert_eq!(ids(rows.iter().map(|row| row.id.to_string()).collect()), ids(wanted));
        let environments = fixture.all::<ManagedEnvironment>().await.iter().map(|row| row.id.to_string()).collect();
        assert_eq!(ids(environments), ["me-own", "me-shop", "me-stage"]);
        assert_eq!(fixture.all::<RepositoryCredentials>().await[0].id.as_str(), "rc");
        assert_eq!(fixture.all::<SyncOperation>().await[0].id.as_str(), "so");
        assert_eq!(fixture.all::<EngineInstance>().await.len(), 1);
        assert_eq!(fixture.all::<EngineCluster>().await.len(), 1);
    };
    kept(&fixture).await;
    fixture
        .wait_for("no open operation", async || {
            let operations: Vec<Operation> = fixture.all().await;
            (!operations.iter().any(switchboard_gitops::related_rows::is_open)).then_some(())
        })
        .await;
    let empty = ClusterState::with_target(with_token);
    cluster_state::assert_consistent(&fixture, &empty).await;
    // Excess permissions are revoked: the project lists only the tenant's destinations, and Secrets belong to the
    // project.
    fixture
        .wait_for("a project of the tenant's own", async || {
            let path = format!("{ARGO}/namespaces/{ARGOCD}/appprojects/app-project-u-shop");
            let project = send(&fixture.engine, "GET", &path, Value::Null).await.ok()?;
            let mut allowed = project["spec"]["destinations"].as_array()?.clone();
            allowed.sort_by_key(Value::to_string);
            let of = |name: &str, namespace: &str| json!({"name": name, "namespace": namespace});
            let wanted = [of("in-cluster", "shop"), of("managed-env-me-own", "*"), of("managed-env-me-stage", "*")];
            (allowed == wanted && project["spec"]["sourceRepos"][0] == "https://git.example/Shop/web").then_some(())
        })
        .await;
    fixture
        .wait_for("Secrets of the project", async || {
            let secrets = fixture.argocd_secrets().await;
            let ours = secrets.iter().all(|secret| decoded(secret, "project") == "app-project-u-shop");
            (secrets.len() == 3 && ours).then_some(())
        })
        .await;

    edit_resources(&fixture, &found).await;
    fixture.wait_until_settled().await;
    kept(&fixture).await;
    cluster_state::assert_consistent(&fixture, &empty).await;

    // Deleting the namespace deletes everything of the tenant, and nothing of the other tenant.
    send(&fixture.tenants, "DELETE", "/api/v1/namespaces/shop", Value::Null).await.unwrap();
    fixture.wait_for("no rows", async || fixture.all::<Application>().await.is_empty().then_some(())).await;
    let of_others = async || {
        let users = fixture.all::<ClusterUser>().await;
        (!users.iter().any(|user| user.id.as_str() == "u-shop")).then_some(users.len())
    };
    // managed-gitops' own user belongs to no tenant and is deleted as well.
    assert_eq!(fixture.wait_for("no tenant", of_others).await, 1, "the other");
    fixture.wait_until_settled().await;
    assert!(fixture.list_objects(&format!("{ARGO}/applications")).await.is_empty());
    assert!(fixture.argocd_secrets().await.is_empty());
    assert!(fixture.all::<ManagedEnvironment>().await.is_empty());
    assert_eq!(fixture.all::<ClusterCredentials>().await.len(), 1, "that of the engine cluster");
    let bare = ClusterState::with_target(bare);
    let on_target = async || {
        cluster_state::additions_to(&bare, &cluster_state::objects_of(&fixture.target).await).is_empty().then_some(())
    };
    fixture.wait_for("nothing on the target", on_target).await;
}

/// Edits of a tenant after the upgrade: another path, another password, another token, a run.
async fn edit_resources(fixture: &ServiceFixture, found: &ManagedGitopsUids) {
    let path = format!("{GROUP}/namespaces/shop/{DEPLOYMENTS}/web");
    send(&fixture.tenants, "PATCH", &path, json!({"spec": {"source": {"path": "other"}}})).await.unwrap();
    let web = found.uid(&format!("{DEPLOYMENTS}/web"));
    fixture
        .wait_for("the other path", async || {
            fixture.application(web).await.filter(|found| found["spec"]["source"]["path"] == "other")
        })
        .await;
    let rotated =
        [("cluster", "kubeconfig", kubeconfig("token-two")), ("login", "password", "password-two".to_string())];
    for (name, key, value) in rotated {
        let path = format!("/api/v1/namespaces/shop/secrets/{name}");
        send(&fixture.tenants, "PATCH", &path, json!({"stringData": {key: value}})).await.unwrap();
    }
    for (name, key, value) in
        [("managed-env-me-stage", "config", "token-two"), ("repo-cred-rc", "password", "password-two")]
    {
        fixture
            .wait_for("what was rotated", async || {
                let secrets = fixture.argocd_secrets().await;
                let secret = secrets.iter().find(|secret| secret["metadata"]["name"] == name)?;
                decoded(secret, key).contains(value).then_some(())
            })
            .await;
    }
    let spec = json!({"gitopsDeploymentName": "job"});
    fixture.create_resource("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", "again", spec).await;
    fixture
        .wait_for("an end", async || {
            let run = fixture.resource("shop", SYNC_RUNS, "again").await?;
            (run["status"]["conditions"][0]["status"] == "False").then_some(())
        })
        .await;
    fixture.delete("shop", SYNC_RUNS, "again").await;
    fixture.wait_for("one run", async || (fixture.all::<SyncOperation>().await.len() == 1).then_some(())).await;
}
