//! Restore of a backup that is older than later changes.

use serde_json::{Value, json};
use switchboard_gitops::backup::{self, BackupError, BackupRows};
use switchboard_gitops::ids::{InstanceState, MoveStep};
use switchboard_gitops::instance::fleet::{EngineClient, FleetError, InstanceSpec};
use switchboard_gitops::rows::fleet::Placement;
use switchboard_gitops::rows::*;

use crate::database::{TestDatabase, on_both};
use crate::fixture::{
    ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, GROUP, SYNC_RUNS, ServiceFixture, create, plain, uid,
};

on_both! {
    changes_since_a_backup_are_found_and_nothing_is_deleted
    a_restore_leaves_no_credential_of_lost_rows
    work_in_progress_at_a_backup_is_requested_again
    instances_of_another_database_are_left_alone
    a_placement_that_is_newer_than_a_backup_keeps_its_instance
    a_move_without_a_row_continues_once
}

const OTHER: &str = "argocd-2";

async fn synced(fixture: &ServiceFixture, name: &str) -> String {
    let found = fixture
        .wait_for("a status", async || {
            fixture.deployment("shop", name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
    uid(&found)
}

/// Reads a whole backup.
fn read_backup(file: &[u8]) -> BackupRows {
    backup::open(&mut &*file).unwrap()
}

/// Every Application: its namespace and its uid.
async fn objects(fixture: &ServiceFixture) -> Vec<(Value, Value)> {
    let all = fixture.list_objects(&format!("{ARGO}/applications")).await;
    all.iter().map(|one| (one["metadata"]["namespace"].clone(), one["metadata"]["uid"].clone())).collect()
}

async fn changes_since_a_backup_are_found_and_nothing_is_deleted(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    for name in ["web", "old"] {
        fixture.deploy("shop", name, plain()).await;
        synced(&fixture, name).await;
    }
    fixture.wait_until_settled().await;
    let mut file = Vec::new();
    assert!(backup::backup(&fixture.ledger, &mut file).await.unwrap() > 10);

    // After the backup, one deployment was created, one deleted, and all of them moved.
    fixture.add_instance(OTHER).await;
    fixture.deploy("shop", "new", plain()).await;
    synced(&fixture, "new").await;
    fixture.delete("shop", DEPLOYMENTS, "old").await;
    fixture.wait_for("two", async || (fixture.all::<Application>().await.len() == 2).then_some(())).await;
    fixture.wait_until_settled().await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", None).await.unwrap();
    let row = fleet.begin_move(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    fleet.finish_move(&row.id, |_| ()).await.unwrap();
    fixture.wait_until_settled().await;
    let before = objects(&fixture).await;
    let gone = fixture.cascades();

    fixture.kill().await;
    let engine = EngineClient::new(fixture.engine.clone());
    let (rows, adopted) = backup::restore(&fixture.ledger, &engine, &read_backup(&file)).await.unwrap();
    assert!(rows > 10);
    assert_eq!(
        (adopted.instances, adopted.applications),
        (1, 1),
        "an instance that is newer, and one that is there now"
    );
    fixture.start().await;

    fixture.wait_for("two again", async || (fixture.all::<Application>().await.len() == 2).then_some(())).await;
    for name in ["web", "new"] {
        let uid = synced(&fixture, name).await;
        fixture
            .wait_for("the label of its new row", async || {
                let rows: Vec<Application> = fixture.all().await;
                let row = rows.into_iter().find(|row| row.name == format!("gitopsdepl-{uid}"))?;
                let (at, object) = fixture.find_application(&uid).await?;
                assert_eq!(at, OTHER);
                (object["metadata"]["labels"]["databaseID"] == row.id.as_str()).then_some(())
            })
            .await;
    }
    fixture.wait_until_settled().await;
    assert_eq!(objects(&fixture).await, before, "the very same Applications, where they were");
    assert_eq!(fixture.cascades(), gone, "and no deployed resource was deleted");
    assert!(fixture.list_objects(&format!("{ARGO}/namespaces/{ARGOCD}/applications")).await.is_empty());
    let placements: Vec<Placement> = fixture.all().await;
    let other = fleet.instance(OTHER).await.unwrap();
    assert!(placements.iter().all(|one| one.instance == other.id && one.moving.is_none()), "{placements:?}");
}

/// Sorted names of Secrets and projects: the existing ones, and the ones that rows refer to.
async fn argocd_objects(fixture: &ServiceFixture) -> (Vec<String>, Vec<String>) {
    let mut objects = fixture.argocd_secrets().await;
    objects.extend(fixture.list_objects(&format!("{ARGO}/appprojects")).await);
    let name = |one: &Value| one["metadata"]["name"].as_str().unwrap().to_string();
    let mut there: Vec<String> = objects.iter().map(name).collect();
    there.sort();
    let credentials: Vec<RepositoryCredentials> = fixture.all().await;
    let environments: Vec<ApiToDatabase> = fixture.all().await;
    let users: Vec<ClusterUser> = fixture.all().await;
    let mut known: Vec<String> = credentials.iter().map(|row| format!("repo-cred-{}", row.id)).collect();
    known.extend(users.iter().map(|row| format!("app-project-{}", row.id)));
    let environments = environments.iter().filter(|row| row.relation.as_str() == "ManagedEnvironment");
    known.extend(environments.map(|row| format!("managed-env-{}", row.relation_key)));
    known.sort();
    (there, known)
}

async fn a_restore_leaves_no_credential_of_lost_rows(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    fixture.deploy("shop", "web", plain()).await;
    synced(&fixture, "web").await;
    fixture.wait_until_settled().await;
    let mut file = Vec::new();
    backup::backup(&fixture.ledger, &mut file).await.unwrap();

    // A tenant with an environment and a credential that are not in the backup.
    fixture.environment("bank", "stage", "token-one").await;
    fixture.secret("bank", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    fixture.create_resource("bank", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let mut spec = plain();
    spec["destination"] = json!({"environment": "stage", "namespace": "web"});
    let vault = uid(&fixture.deploy("bank", "vault", spec).await);
    fixture.wait_for("an Application", async || fixture.application(&vault).await).await;
    let complete = async || {
        let (there, known) = argocd_objects(&fixture).await;
        (there == known && there.len() == 4).then_some(there)
    };
    let before = fixture.wait_for("all of it", complete).await;
    fixture.wait_until_settled().await;

    fixture.kill().await;
    let engine = EngineClient::new(fixture.engine.clone());
    backup::restore(&fixture.ledger, &engine, &read_backup(&file)).await.unwrap();
    fixture.start().await;
    let after = fixture
        .wait_for("all of it, under other names", async || {
            let (there, known) = argocd_objects(&fixture).await;
            (there == known && there.len() == 4 && there != before).then_some(there)
        })
        .await;
    fixture.wait_until_settled().await;
    assert_eq!(fixture.cascades(), 0, "no deployed resource was deleted");
    let application = fixture.application(&vault).await.unwrap();
    assert!(after.contains(&application["spec"]["destination"]["name"].as_str().unwrap().to_string()));
}

/// A waiting sync, and a deployment that waits for its resources to be deleted: a backup omits their Operations.
async fn work_in_progress_at_a_backup_is_requested_again(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    let mut manual = plain();
    manual["type"] = "manual".into();
    let web = uid(&fixture.deploy("shop", "web", manual).await);
    let body = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment", "spec": plain(),
        "metadata": {"name": "old", "finalizers": [switchboard_gitops::deployment::kind::FINALIZER]}});
    let old = uid(&create(&fixture.tenants, &format!("{GROUP}/namespaces/shop/{DEPLOYMENTS}"), body).await);
    for one in [&web, &old] {
        fixture.wait_for("an Application", async || fixture.application(one).await).await;
    }
    fixture.wait_until_settled().await;
    fixture.fake_argocd.stuck(true);
    let spec = json!({"gitopsDeploymentName": "web"});
    fixture.create_resource("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", "now", spec).await;
    fixture
        .wait_for("a sync", async || fixture.application(&web).await.filter(|one| one["operation"].is_object()))
        .await;
    fixture.delete("shop", DEPLOYMENTS, "old").await;
    fixture.wait_for("one row fewer", async || (fixture.all::<Application>().await.len() == 1).then_some(())).await;

    fixture.kill().await;
    let mut file = Vec::new();
    backup::backup(&fixture.ledger, &mut file).await.unwrap();
    let engine = EngineClient::new(fixture.engine.clone());
    backup::restore(&fixture.ledger, &engine, &read_backup(&file)).await.unwrap();
    assert!(fixture.all::<Operation>().await.is_empty());
    fixture.start().await;
    fixture.wait_for("both, once more", async || (fixture.all::<Operation>().await.len() >= 2).then_some(())).await;
    assert!(fixture.deployment("shop", "old").await.is_some(), "it is not released while its Application exists");
    fixture.fake_argocd.stuck(false);
    fixture
        .wait_for("an end", async || {
            let run = fixture.resource("shop", SYNC_RUNS, "now").await?;
            (run["status"]["conditions"][0]["status"] == "False").then_some(())
        })
        .await;
    fixture.wait_for("it to go", async || fixture.deployment("shop", "old").await.is_none().then_some(())).await;
    assert_eq!(fixture.application(&old).await, None, "its resources were deleted first");
    assert_eq!(fixture.cascades(), 1);
}

/// Argo CD instances of two databases on one cluster have objects with the same labels.
async fn instances_of_another_database_are_left_alone(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    fixture.deploy("shop", "web", plain()).await;
    synced(&fixture, "web").await;
    fixture.wait_until_settled().await;
    let mut file = Vec::new();
    backup::backup(&fixture.ledger, &mut file).await.unwrap();
    create(&fixture.engine, "/api/v1/namespaces", json!({"metadata": {"name": "foreign"}})).await;
    let held = json!({"managed-gitops.redhat.com/move": "m", "argocd.argoproj.io/skip-reconcile": "true"});
    let paths = [
        format!("{ARGO}/namespaces/foreign/applications"),
        format!("{ARGO}/namespaces/foreign/appprojects"),
        "/api/v1/namespaces/foreign/secrets".to_string(),
    ];
    let bodies = [
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "spec": {"project": "default"},
            "metadata": {"name": "gitopsdepl-far", "labels": {"databaseID": "far"}, "annotations": held}}),
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "spec": {},
            "metadata": {"name": "app-project-far", "annotations": {"username": "far"}}}),
        json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "managed-env-far", "labels": {"databaseID": "far"}}}),
    ];
    for (path, body) in paths.iter().zip(bodies) {
        create(&fixture.engine, path, body).await;
    }
    let there = async |fixture: &ServiceFixture| {
        let mut all = Vec::new();
        for path in &paths {
            all.push(fixture.list_objects(path).await);
        }
        all
    };
    let before = there(&fixture).await;

    fixture.kill().await;
    let engine = EngineClient::new(fixture.engine.clone());
    let (_, adopted) = backup::restore(&fixture.ledger, &engine, &read_backup(&file)).await.unwrap();
    assert_eq!((adopted.instances, adopted.unproven), (0, vec!["foreign".to_string()]));
    assert_eq!(fixture.all::<EngineInstance>().await.len(), 1);
    fixture.start().await;
    synced(&fixture, "web").await;
    fixture.wait_until_settled().await;
    assert_eq!(there(&fixture).await, before, "nothing was changed");
    fixture.kill().await;

    // After the instance is assigned to this database, the same backup finds it.
    let wanted = InstanceSpec {
        namespace: "foreign",
        limits: switchboard_gitops::instance::InstanceLimits::default(),
        reach: switchboard_gitops::instance::InstanceScope::Namespace,
        create: false,
        force: false,
        cluster_recreated: false,
    };
    engine.set_namespace_owner("foreign", Some("another")).await.unwrap();
    assert!(matches!(fixture.fleet().add(&wanted).await, Err(FleetError::OtherDatabase(of)) if of == "foreign"));
    fixture.fleet().add(&InstanceSpec { force: true, ..wanted }).await.unwrap();
    let (_, adopted) = backup::restore(&fixture.ledger, &engine, &read_backup(&file)).await.unwrap();
    assert_eq!((adopted.instances, adopted.unproven), (1, vec![]));

    // An instance in the backup can have been assigned to another database meanwhile.
    engine.set_namespace_owner(ARGOCD, Some("another")).await.unwrap();
    let rows = fixture.ledger.export().await.unwrap();
    let refused = backup::restore(&fixture.ledger, &engine, &read_backup(&file)).await;
    assert!(matches!(refused, Err(BackupError::OtherDatabase(of)) if of == ARGOCD));
    assert_eq!(fixture.ledger.export().await.unwrap(), rows, "nothing was changed");
}

/// Neither the tenant nor its deployments are in the backup, and another instance has fewer placements.
async fn a_placement_that_is_newer_than_a_backup_keeps_its_instance(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    fixture.add_instance(OTHER).await;
    let mut file = Vec::new();
    backup::backup(&fixture.ledger, &mut file).await.unwrap();
    let (web, at) = crate::fleet::deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.wait_until_settled().await;
    let before = objects(&fixture).await;

    fixture.kill().await;
    let engine = EngineClient::new(fixture.engine.clone());
    backup::restore(&fixture.ledger, &engine, &read_backup(&file)).await.unwrap();
    fixture.fleet().set_state(&at, InstanceState::Cordoned).await.unwrap();
    fixture.start().await;
    fixture.wait_for("its row", async || (fixture.all::<Application>().await.len() == 1).then_some(())).await;
    synced(&fixture, "web").await;
    fixture.wait_until_settled().await;
    assert_eq!(fixture.find_application(&web).await.map(|(at, _)| at), Some(at.clone()));
    assert_eq!(objects(&fixture).await, before, "the very same Application");
    let own = fixture.fleet().instance(&at).await.unwrap();
    assert!(fixture.all::<Placement>().await.iter().all(|one| one.instance == own.id));
}

/// Both copies of an Application are paused, and neither the move nor the Application is in the backup.
async fn a_move_without_a_row_continues_once(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    fixture.add_instance(OTHER).await;
    let mut file = Vec::new();
    backup::backup(&fixture.ledger, &mut file).await.unwrap();
    let (web, at) = crate::fleet::deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.wait_until_settled().await;
    fixture.kill().await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", None).await.unwrap();
    let to = fleet.instance(crate::fleet::elsewhere(&at)).await.unwrap();
    let row = fleet.begin_move(&unit, &to).await.unwrap();
    crate::fleet::advance_to(&fixture, &row, MoveStep::Release).await;
    assert_eq!(objects(&fixture).await.len(), 2);

    let engine = EngineClient::new(fixture.engine.clone());
    backup::restore(&fixture.ledger, &engine, &read_backup(&file)).await.unwrap();
    let left = fixture.list_objects(&format!("{ARGO}/applications")).await;
    assert!(left.len() == 1 && !switchboard_gitops::moves::is_owned_by_move(&left[0]), "{left:?}");
    fixture.start().await;
    synced(&fixture, "web").await;
    fixture.wait_until_settled().await;
    assert!(fixture.find_application(&web).await.is_some());
    assert_eq!(objects(&fixture).await.len(), 1);
    assert_eq!(fixture.cascades(), 0, "no deployed resource was deleted");
}
