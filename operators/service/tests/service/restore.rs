//! A backup that is older than what happened since.

use serde_json::{Value, json};
use switchboard_ledger::ids::{InstanceState, MoveStep};
use switchboard_ledger::rows::fleet::Placement;
use switchboard_ledger::rows::*;
use switchboard_service::backup::{self, BackupError, Kept};
use switchboard_service::fleet::{Engine, FleetError, Wanted};

use crate::base::{Base, on_both};
use crate::stage::{
    ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, GROUP, SYNC_RUNS, Stage, create, plain, uid,
};

on_both! {
    what_is_newer_than_a_backup_is_found_again_and_nothing_goes
    what_only_the_lost_rows_knew_leaves_no_credential_behind
    what_was_under_way_at_a_backup_is_asked_for_again
    what_is_another_databases_is_left_alone
    a_unit_that_is_newer_than_a_backup_stays_where_it_is
    what_was_on_its_way_and_has_no_row_goes_on_once
}

const OTHER: &str = "argocd-2";

async fn synced(stage: &Stage, name: &str) -> String {
    let found = stage
        .until("a status", async || {
            stage.deployment("shop", name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
    uid(&found)
}

/// A backup, read whole.
fn kept(file: &[u8]) -> Kept {
    backup::open(&mut &*file).unwrap()
}

/// Every Application: where it is, and which it is.
async fn objects(stage: &Stage) -> Vec<(Value, Value)> {
    let all = stage.listed(&format!("{ARGO}/applications")).await;
    all.iter().map(|one| (one["metadata"]["namespace"].clone(), one["metadata"]["uid"].clone())).collect()
}

async fn what_is_newer_than_a_backup_is_found_again_and_nothing_goes(base: Base) {
    let mut stage = Stage::new(base).await;
    for name in ["web", "old"] {
        stage.deploy("shop", name, plain()).await;
        synced(&stage, name).await;
    }
    stage.settled().await;
    let mut file = Vec::new();
    assert!(backup::backup(&stage.ledger, &mut file).await.unwrap() > 10);

    // Since then one came, one went, and all of them moved.
    stage.add_instance(OTHER).await;
    stage.deploy("shop", "new", plain()).await;
    synced(&stage, "new").await;
    stage.delete("shop", DEPLOYMENTS, "old").await;
    stage.until("two", async || (stage.all::<Application>().await.len() == 2).then_some(())).await;
    stage.settled().await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", None).await.unwrap();
    let row = fleet.begin(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    fleet.finish(&row.id, |_| ()).await.unwrap();
    stage.settled().await;
    let before = objects(&stage).await;
    let gone = stage.cascades();

    stage.kill().await;
    let engine = Engine::new(stage.engine.clone());
    let (rows, adopted) = backup::restore(&stage.ledger, &engine, &kept(&file)).await.unwrap();
    assert!(rows > 10);
    assert_eq!(
        (adopted.instances, adopted.applications),
        (1, 1),
        "an instance that is newer, and one that is there now"
    );
    stage.start().await;

    stage.until("two again", async || (stage.all::<Application>().await.len() == 2).then_some(())).await;
    for name in ["web", "new"] {
        let uid = synced(&stage, name).await;
        stage
            .until("the label of its new row", async || {
                let rows: Vec<Application> = stage.all().await;
                let row = rows.into_iter().find(|row| row.name == format!("gitopsdepl-{uid}"))?;
                let (at, object) = stage.anywhere(&uid).await?;
                assert_eq!(at, OTHER);
                (object["metadata"]["labels"]["databaseID"] == row.id.as_str()).then_some(())
            })
            .await;
    }
    stage.settled().await;
    assert_eq!(objects(&stage).await, before, "the very same Applications, where they were");
    assert_eq!(stage.cascades(), gone, "and nothing that was deployed went");
    assert!(stage.listed(&format!("{ARGO}/namespaces/{ARGOCD}/applications")).await.is_empty());
    let placements: Vec<Placement> = stage.all().await;
    let other = fleet.instance(OTHER).await.unwrap();
    assert!(placements.iter().all(|one| one.instance == other.id && one.moving.is_none()), "{placements:?}");
}

/// The names of Secrets and projects, sorted: those there are, and those that rows know.
async fn belongings(stage: &Stage) -> (Vec<String>, Vec<String>) {
    let mut objects = stage.secrets_of_argo().await;
    objects.extend(stage.listed(&format!("{ARGO}/appprojects")).await);
    let name = |one: &Value| one["metadata"]["name"].as_str().unwrap().to_string();
    let mut there: Vec<String> = objects.iter().map(name).collect();
    there.sort();
    let credentials: Vec<RepositoryCredentials> = stage.all().await;
    let environments: Vec<ApiToDatabase> = stage.all().await;
    let users: Vec<ClusterUser> = stage.all().await;
    let mut known: Vec<String> = credentials.iter().map(|row| format!("repo-cred-{}", row.id)).collect();
    known.extend(users.iter().map(|row| format!("app-project-{}", row.id)));
    let environments = environments.iter().filter(|row| row.relation.as_str() == "ManagedEnvironment");
    known.extend(environments.map(|row| format!("managed-env-{}", row.relation_key)));
    known.sort();
    (there, known)
}

async fn what_only_the_lost_rows_knew_leaves_no_credential_behind(base: Base) {
    let mut stage = Stage::new(base).await;
    stage.deploy("shop", "web", plain()).await;
    synced(&stage, "web").await;
    stage.settled().await;
    let mut file = Vec::new();
    backup::backup(&stage.ledger, &mut file).await.unwrap();

    // A tenant with an environment and a credential that the backup knows nothing of.
    stage.environment("bank", "stage", "token-one").await;
    stage.secret("bank", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    stage.make("bank", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let mut spec = plain();
    spec["destination"] = json!({"environment": "stage", "namespace": "web"});
    let vault = uid(&stage.deploy("bank", "vault", spec).await);
    stage.until("an Application", async || stage.application(&vault).await).await;
    let complete = async || {
        let (there, known) = belongings(&stage).await;
        (there == known && there.len() == 4).then_some(there)
    };
    let before = stage.until("all of it", complete).await;
    stage.settled().await;

    stage.kill().await;
    let engine = Engine::new(stage.engine.clone());
    backup::restore(&stage.ledger, &engine, &kept(&file)).await.unwrap();
    stage.start().await;
    let after = stage
        .until("all of it, under other names", async || {
            let (there, known) = belongings(&stage).await;
            (there == known && there.len() == 4 && there != before).then_some(there)
        })
        .await;
    stage.settled().await;
    assert_eq!(stage.cascades(), 0, "nothing that was deployed went");
    let application = stage.application(&vault).await.unwrap();
    assert!(after.contains(&application["spec"]["destination"]["name"].as_str().unwrap().to_string()));
}

/// A sync that waits, and a deployment that waits for what it deployed to go: a backup leaves their Operations out.
async fn what_was_under_way_at_a_backup_is_asked_for_again(base: Base) {
    let mut stage = Stage::new(base).await;
    let mut manual = plain();
    manual["type"] = "manual".into();
    let web = uid(&stage.deploy("shop", "web", manual).await);
    let body = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment", "spec": plain(),
        "metadata": {"name": "old", "finalizers": [switchboard_gitops::kinds::deployment::FINALIZER]}});
    let old = uid(&create(&stage.tenants, &format!("{GROUP}/namespaces/shop/{DEPLOYMENTS}"), body).await);
    for one in [&web, &old] {
        stage.until("an Application", async || stage.application(one).await).await;
    }
    stage.settled().await;
    stage.argo.stuck(true);
    let spec = json!({"gitopsDeploymentName": "web"});
    stage.make("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", "now", spec).await;
    stage.until("a sync", async || stage.application(&web).await.filter(|one| one["operation"].is_object())).await;
    stage.delete("shop", DEPLOYMENTS, "old").await;
    stage.until("one row less", async || (stage.all::<Application>().await.len() == 1).then_some(())).await;

    stage.kill().await;
    let mut file = Vec::new();
    backup::backup(&stage.ledger, &mut file).await.unwrap();
    let engine = Engine::new(stage.engine.clone());
    backup::restore(&stage.ledger, &engine, &kept(&file)).await.unwrap();
    assert!(stage.all::<Operation>().await.is_empty());
    stage.start().await;
    stage.until("both, once more", async || (stage.all::<Operation>().await.len() >= 2).then_some(())).await;
    assert!(stage.deployment("shop", "old").await.is_some(), "it is not let go while its Application is there");
    stage.argo.stuck(false);
    stage
        .until("an end", async || {
            let run = stage.resource("shop", SYNC_RUNS, "now").await?;
            (run["status"]["conditions"][0]["status"] == "False").then_some(())
        })
        .await;
    stage.until("it to go", async || stage.deployment("shop", "old").await.is_none().then_some(())).await;
    assert_eq!(stage.application(&old).await, None, "what it deployed went first");
    assert_eq!(stage.cascades(), 1);
}

/// Argo CDs of two databases on one cluster have objects with the same labels.
async fn what_is_another_databases_is_left_alone(base: Base) {
    let mut stage = Stage::new(base).await;
    stage.deploy("shop", "web", plain()).await;
    synced(&stage, "web").await;
    stage.settled().await;
    let mut file = Vec::new();
    backup::backup(&stage.ledger, &mut file).await.unwrap();
    create(&stage.engine, "/api/v1/namespaces", json!({"metadata": {"name": "foreign"}})).await;
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
        create(&stage.engine, path, body).await;
    }
    let there = async |stage: &Stage| {
        let mut all = Vec::new();
        for path in &paths {
            all.push(stage.listed(path).await);
        }
        all
    };
    let before = there(&stage).await;

    stage.kill().await;
    let engine = Engine::new(stage.engine.clone());
    let (_, adopted) = backup::restore(&stage.ledger, &engine, &kept(&file)).await.unwrap();
    assert_eq!((adopted.instances, adopted.unproven), (0, vec!["foreign".to_string()]));
    assert_eq!(stage.all::<EngineInstance>().await.len(), 1);
    stage.start().await;
    synced(&stage, "web").await;
    stage.settled().await;
    assert_eq!(there(&stage).await, before, "nothing of it was touched");
    stage.kill().await;

    // Who is told that it is this database's after all finds it with the same backup.
    let wanted = Wanted {
        namespace: "foreign",
        limits: switchboard_gitops::fleet::setup::Limits::default(),
        reach: switchboard_gitops::fleet::setup::Reach::Namespace,
        create: false,
        force: false,
        anew: false,
    };
    engine.mark("foreign", Some("another")).await.unwrap();
    assert!(matches!(stage.fleet().add(&wanted).await, Err(FleetError::OfAnother(of)) if of == "foreign"));
    stage.fleet().add(&Wanted { force: true, ..wanted }).await.unwrap();
    let (_, adopted) = backup::restore(&stage.ledger, &engine, &kept(&file)).await.unwrap();
    assert_eq!((adopted.instances, adopted.unproven), (1, vec![]));

    // What the backup takes for its own may be another's by now.
    engine.mark(ARGOCD, Some("another")).await.unwrap();
    let rows = stage.ledger.export().await.unwrap();
    let refused = backup::restore(&stage.ledger, &engine, &kept(&file)).await;
    assert!(matches!(refused, Err(BackupError::OfAnother(of)) if of == ARGOCD));
    assert_eq!(stage.ledger.export().await.unwrap(), rows, "all is as it was");
}

/// Neither the tenant nor what it deployed is in the backup, and another instance has less to do.
async fn a_unit_that_is_newer_than_a_backup_stays_where_it_is(base: Base) {
    let mut stage = Stage::new(base).await;
    stage.add_instance(OTHER).await;
    let mut file = Vec::new();
    backup::backup(&stage.ledger, &mut file).await.unwrap();
    let (web, at) = crate::fleet::placed(&stage, "shop", "web", plain()).await;
    stage.settled().await;
    let before = objects(&stage).await;

    stage.kill().await;
    let engine = Engine::new(stage.engine.clone());
    backup::restore(&stage.ledger, &engine, &kept(&file)).await.unwrap();
    stage.fleet().set_state(&at, InstanceState::Cordoned).await.unwrap();
    stage.start().await;
    stage.until("its row", async || (stage.all::<Application>().await.len() == 1).then_some(())).await;
    synced(&stage, "web").await;
    stage.settled().await;
    assert_eq!(stage.anywhere(&web).await.map(|(at, _)| at), Some(at.clone()));
    assert_eq!(objects(&stage).await, before, "the very same Application");
    let own = stage.fleet().instance(&at).await.unwrap();
    assert!(stage.all::<Placement>().await.iter().all(|one| one.instance == own.id));
}

/// Both copies of an Application sleep, and neither the move nor the Application is in the backup.
async fn what_was_on_its_way_and_has_no_row_goes_on_once(base: Base) {
    let mut stage = Stage::new(base).await;
    stage.add_instance(OTHER).await;
    let mut file = Vec::new();
    backup::backup(&stage.ledger, &mut file).await.unwrap();
    let (web, at) = crate::fleet::placed(&stage, "shop", "web", plain()).await;
    stage.settled().await;
    stage.kill().await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", None).await.unwrap();
    let to = fleet.instance(crate::fleet::elsewhere(&at)).await.unwrap();
    let row = fleet.begin(&unit, &to).await.unwrap();
    crate::fleet::until_step(&stage, &row, MoveStep::Release).await;
    assert_eq!(objects(&stage).await.len(), 2);

    let engine = Engine::new(stage.engine.clone());
    backup::restore(&stage.ledger, &engine, &kept(&file)).await.unwrap();
    let left = stage.listed(&format!("{ARGO}/applications")).await;
    assert!(left.len() == 1 && !switchboard_gitops::fleet::moving::is_held(&left[0]), "{left:?}");
    stage.start().await;
    synced(&stage, "web").await;
    stage.settled().await;
    assert!(stage.anywhere(&web).await.is_some());
    assert_eq!(objects(&stage).await.len(), 1);
    assert_eq!(stage.cascades(), 0, "nothing that was deployed went");
}
