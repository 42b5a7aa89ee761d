//! Several Argo CD instances: who is where, and how a unit comes from one to another.

use serde_json::{Value, json};
use switchboard_gitops::fleet::setup::{Limits, Reach};
use switchboard_ledger::Change;
use switchboard_ledger::ids::{InstanceState, MoveStep};
use switchboard_ledger::rows::fleet::{Member, Move, Placement};
use switchboard_ledger::rows::*;
use switchboard_service::fleet::{Advance, FleetError, Wanted};

use crate::base::{Base, on_both};
use crate::moved::deleted_without_an_end;
use crate::stage::{
    ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, ENVIRONMENTS, GROUP, Stage, create, plain, send, uid,
};

pub const OTHER: &str = "argocd-2";

on_both! {
    an_instance_is_prepared_and_registered
    a_namespace_of_a_tenant_is_no_instance
    units_go_to_the_least_loaded_instance_and_are_never_split
    a_unit_moves_and_everything_follows
    what_changes_on_the_way_arrives
    a_move_that_cannot_go_on_goes_back
    a_credential_is_on_every_instance_that_its_tenant_uses
    a_deployment_to_another_environment_goes_to_its_instance
    an_instance_that_is_used_is_not_removed
    an_instance_that_is_lost_is_left_behind
    an_environment_waits_for_the_move_of_what_is_deployed_to_it
    what_a_move_left_asleep_is_woken_or_let_go
    an_instance_that_still_removes_something_is_not_removed
    a_move_to_what_cannot_be_written_to_goes_back
    a_unit_is_called_back
    a_unit_moves_only_to_what_knows_what_it_deployed
}

async fn synced(stage: &Stage, namespace: &str, name: &str) -> Value {
    stage
        .until("a status", async || {
            stage.deployment(namespace, name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await
}

/// Deploys, and says where it is.
pub async fn placed(stage: &Stage, namespace: &str, name: &str, spec: Value) -> (String, String) {
    let uid = uid(&stage.deploy(namespace, name, spec).await);
    let (at, _) = stage.until("an Application", async || stage.anywhere(&uid).await).await;
    synced(stage, namespace, name).await;
    (uid, at)
}

pub fn elsewhere(at: &str) -> &'static str {
    if at == ARGOCD { OTHER } else { ARGOCD }
}

/// Lets the agent carry a unit of a tenant's own namespace to another instance.
pub async fn carried(stage: &Stage, tenant: &str, environment: Option<&str>, to: &str) -> Move {
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit(tenant, environment).await.unwrap();
    let begun = fleet.begin(&unit, &fleet.instance(to).await.unwrap()).await.unwrap();
    stage
        .until("an end of the move", async || {
            let rows: Vec<Move> = stage.all().await;
            rows.into_iter().find(|row| row.id == begun.id && !switchboard_gitops::fleet::moving::is_open(row))
        })
        .await
}

/// Whoever may read the Secrets of an instance has what all tenants on it deploy with.
async fn a_namespace_of_a_tenant_is_no_instance(base: Base) {
    let stage = Stage::new(base).await;
    stage.deploy("shop", "web", plain()).await;
    synced(&stage, "shop", "web").await;
    stage.secret("bank", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let spec = json!({"repository": "https://nowhere.example/x", "secret": "other"});
    stage.make("bank", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let fleet = stage.fleet();
    let limits = Limits { max_applications: None, max_environments: None };
    // One has rows; of the other there may be none, but it has resources.
    for tenant in ["shop", "bank"] {
        let wanted =
            Wanted { namespace: tenant, limits, reach: Reach::Cluster, create: true, force: false, anew: false };
        let told = fleet.add(&wanted).await.unwrap_err();
        assert!(matches!(&told, FleetError::IsTenant(of) if of == tenant), "{told}");
        let secret = format!("/api/v1/namespaces/{tenant}/secrets/argocd-secret");
        assert!(send(&stage.engine, "GET", &secret, Value::Null).await.is_err(), "nothing was made");
        fleet.add(&Wanted { force: true, ..wanted }).await.unwrap();
        // What it is already it stays.
        fleet.add(&wanted).await.unwrap();
    }
}

async fn an_instance_is_prepared_and_registered(base: Base) {
    let stage = Stage::set(base, false).await;
    let fleet = stage.fleet();
    let wanted = Wanted {
        namespace: "third",
        limits: Limits { max_applications: Some(7), max_environments: None },
        reach: Reach::Cluster,
        create: false,
        force: false,
        anew: false,
    };
    assert!(matches!(fleet.add(&wanted).await, Err(FleetError::NoNamespace(name)) if name == "third"));
    fleet.add(&Wanted { create: true, ..wanted }).await.unwrap();
    let settings =
        send(&stage.engine, "GET", "/api/v1/namespaces/third/configmaps/argocd-cm", Value::Null).await.unwrap();
    assert_eq!(settings["data"]["application.resourceTrackingMethod"], "annotation+label");
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/third-argocd-application-controller";
    send(&stage.engine, "GET", path, Value::Null).await.unwrap();
    // Again, it changes limits and leaves the rest as somebody has it.
    let edit = json!({"data": {"application.resourceTrackingMethod": "annotation"}});
    send(&stage.engine, "PATCH", "/api/v1/namespaces/third/configmaps/argocd-cm", edit).await.unwrap();
    let more = Limits { max_applications: None, max_environments: Some(3) };
    fleet.add(&Wanted { limits: more, ..wanted }).await.unwrap();
    let settings =
        send(&stage.engine, "GET", "/api/v1/namespaces/third/configmaps/argocd-cm", Value::Null).await.unwrap();
    assert_eq!(settings["data"]["application.resourceTrackingMethod"], "annotation");
    let listed = fleet.list().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|entry| entry.candidate.instance.namespace.as_str()).collect();
    assert_eq!(names, [ARGOCD, "third"]);
    let member = listed[1].candidate.member.as_ref().unwrap();
    assert_eq!((member.max_applications, member.max_environments), (7, 3));
    fleet.remove("third", false).await.unwrap();
    assert_eq!(stage.all::<EngineInstance>().await.len(), 1);
    send(&stage.engine, "GET", "/api/v1/namespaces/third", Value::Null).await.unwrap();
}

async fn units_go_to_the_least_loaded_instance_and_are_never_split(base: Base) {
    let stage = Stage::new(base).await;
    stage.add_instance(OTHER).await;
    let (_, first) = placed(&stage, "shop", "web", plain()).await;
    let (_, same) = placed(&stage, "shop", "api", plain()).await;
    assert_eq!(same, first, "a tenant's own namespace is one unit");
    let (_, second) = placed(&stage, "bank", "vault", plain()).await;
    assert_eq!(second, elsewhere(&first), "the other one has less to do");
    // A cordoned instance keeps what it has and is given nothing new, were it the emptiest.
    let fleet = stage.fleet();
    fleet.set_state(&second, InstanceState::Cordoned).await.unwrap();
    create(&stage.tenants, "/api/v1/namespaces", json!({"metadata": {"name": "late"}})).await;
    assert_eq!(placed(&stage, "late", "web", plain()).await.1, first);
    assert_eq!(placed(&stage, "bank", "door", plain()).await.1, second, "what belongs together stays together");
    // With none to take it, a unit waits, and goes on when there is room.
    fleet.set_state(&first, InstanceState::Cordoned).await.unwrap();
    create(&stage.tenants, "/api/v1/namespaces", json!({"metadata": {"name": "later"}})).await;
    let waits = uid(&stage.deploy("later", "web", plain()).await);
    stage
        .until("the words", async || stage.told().await.contains("every Argo CD instance is cordoned").then_some(()))
        .await;
    assert!(stage.anywhere(&waits).await.is_none());
    fleet.set_state(&second, InstanceState::Active).await.unwrap();
    assert_eq!(stage.until("an Application", async || stage.anywhere(&waits).await).await.0, second);
    assert_eq!(stage.all::<Placement>().await.len(), 4);
}

async fn a_unit_moves_and_everything_follows(base: Base) {
    let stage = Stage::new(base).await;
    stage.add_instance(OTHER).await;
    let login = json!({"username": "robot", "password": "password-one"});
    stage.secret("shop", "login", CREDENTIAL_SECRET, login).await;
    let repository = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", repository).await;
    stage.until("a Secret", async || stage.secrets_of_argo().await.pop()).await;
    let (web, from) = placed(&stage, "shop", "web", plain()).await;
    let (api, _) = placed(&stage, "shop", "api", plain()).await;
    stage.settled().await;
    let to = elsewhere(&from);
    let moved = carried(&stage, "shop", None, to).await;
    assert_eq!((moved.step, moved.human_readable_state), (MoveStep::Done, None));
    for one in [&web, &api] {
        let (at, application) = stage.anywhere(one).await.unwrap();
        assert_eq!((at.as_str(), &application["metadata"]["annotations"]), (to, &Value::Null), "there, and awake");
    }
    assert_eq!(stage.cascades(), 0, "nothing that was deployed went");
    let rows: Vec<Application> = stage.all().await;
    let target = stage.fleet().instance(to).await.unwrap();
    assert!(rows.iter().all(|row| row.instance == target.id && row.spec_field.contains(to)), "{rows:?}");
    let [placement] = &stage.all::<Placement>().await[..] else { panic!("one unit") };
    assert_eq!((&placement.instance, placement.epoch, &placement.moving), (&target.id, 2, &None));
    // Nothing is left where it was, and what it needs is where it is.
    let secrets = stage.secrets_of_argo().await;
    let places: Vec<&str> = secrets.iter().map(|one| one["metadata"]["namespace"].as_str().unwrap()).collect();
    assert_eq!(places, [to], "{secrets:?}");
    let projects = stage.listed(&format!("{ARGO}/appprojects")).await;
    assert_eq!(projects.iter().map(|one| &one["metadata"]["namespace"]).collect::<Vec<_>>(), [to]);
    // It is deployed from there, told of from there, and removed there.
    let path = format!("{GROUP}/namespaces/shop/gitopsdeployments/web");
    send(&stage.tenants, "PATCH", &path, json!({"spec": {"source": {"path": "elsewhere"}}})).await.unwrap();
    stage
        .until("the new path", async || {
            let (at, application) = stage.anywhere(&web).await?;
            (at == to && application["spec"]["source"]["path"] == "elsewhere").then_some(())
        })
        .await;
    stage
        .until("what Argo CD says there", async || {
            let told = stage.deployment("shop", "web").await?;
            (told["status"]["reconciledState"]["source"]["path"] == "elsewhere").then_some(())
        })
        .await;
    stage.settled().await;
    for name in ["web", "api"] {
        stage.delete("shop", DEPLOYMENTS, name).await;
    }
    stage
        .until("no Applications", async || stage.listed(&format!("{ARGO}/applications")).await.is_empty().then_some(()))
        .await;
    stage.settled().await;
}

/// Advances a move by hand until it stands at a step.
pub async fn until_step(stage: &Stage, row: &Move, step: MoveStep) {
    let fleet = stage.fleet();
    stage
        .until("the step", async || {
            let now: Vec<Move> = stage.all().await;
            let now = now.into_iter().find(|now| now.id == row.id).unwrap();
            if now.step >= step {
                return Some(());
            }
            assert!(!matches!(fleet.advance(&row.id).await.unwrap(), Advance::Over(_)));
            None
        })
        .await;
}

async fn what_changes_on_the_way_arrives(base: Base) {
    let mut stage = Stage::new(base).await;
    stage.add_instance(OTHER).await;
    let (web, from) = placed(&stage, "shop", "web", plain()).await;
    let (api, _) = placed(&stage, "shop", "api", plain()).await;
    stage.settled().await;
    let to = elsewhere(&from);
    // No agent is there while the move is half done, and much happens meanwhile.
    stage.kill().await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", None).await.unwrap();
    let row = fleet.begin(&unit, &fleet.instance(to).await.unwrap()).await.unwrap();
    until_step(&stage, &row, MoveStep::Pause).await;
    stage.delete("shop", DEPLOYMENTS, "api").await;
    let path = format!("{GROUP}/namespaces/shop/gitopsdeployments/web");
    send(&stage.tenants, "PATCH", &path, json!({"spec": {"source": {"path": "elsewhere"}}})).await.unwrap();
    let new = uid(&stage.deploy("shop", "new", plain()).await);
    stage.start().await;
    for one in [&web, &new] {
        stage
            .until("all of it there", async || {
                let (at, application) = stage.anywhere(one).await?;
                let path = &application["spec"]["source"]["path"];
                (at == to && (*one == new || path == "elsewhere")).then_some(())
            })
            .await;
    }
    stage.until("the deleted one gone", async || stage.anywhere(&api).await.is_none().then_some(())).await;
    for name in ["web", "new"] {
        synced(&stage, "shop", name).await;
    }
    stage
        .until("the end", async || stage.all::<Move>().await.iter().all(|row| row.step == MoveStep::Done).then_some(()))
        .await;
    stage.settled().await;
    assert_eq!(stage.all::<Application>().await.len(), 2);
    let rows: Vec<Application> = stage.all().await;
    let target = fleet.instance(to).await.unwrap();
    assert!(rows.iter().all(|row| row.instance == target.id), "{rows:?}");
}

async fn a_move_that_cannot_go_on_goes_back(base: Base) {
    let stage = Stage::new(base).await;
    stage.add_instance(OTHER).await;
    let (web, from) = placed(&stage, "shop", "web", plain()).await;
    stage.settled().await;
    // With such a finalizer would go what was deployed.
    let path = format!("{ARGO}/namespaces/{from}/applications/gitopsdepl-{web}");
    let finalizers = |all: Value| json!({"metadata": {"finalizers": all}});
    send(&stage.engine, "PATCH", &path, finalizers(json!(["resources-finalizer.argocd.argoproj.io"]))).await.unwrap();
    let moved = carried(&stage, "shop", None, elsewhere(&from)).await;
    assert_eq!(moved.step, MoveStep::Returned);
    assert!(moved.human_readable_state.as_deref().unwrap_or_default().contains("has finalizers"), "{moved:?}");
    let (at, application) = stage.anywhere(&web).await.unwrap();
    assert_eq!(
        (at.as_str(), application["metadata"]["annotations"].get("argocd.argoproj.io/skip-reconcile")),
        (from.as_str(), None)
    );
    assert!(stage.all::<Placement>().await[0].moving.is_none());
    // Nothing of the attempt is left, and the next one arrives.
    let projects = stage.listed(&format!("{ARGO}/appprojects")).await;
    assert_eq!(projects.iter().map(|one| &one["metadata"]["namespace"]).collect::<Vec<_>>(), [from.as_str()]);
    send(&stage.engine, "PATCH", &path, finalizers(json!([]))).await.unwrap();
    assert_eq!(carried(&stage, "shop", None, elsewhere(&from)).await.step, MoveStep::Done);
    assert_eq!(stage.anywhere(&web).await.unwrap().0, elsewhere(&from));
}

/// Deploys to an environment, which is a unit of its own.
pub async fn to_environment(stage: &Stage, environment: &str, name: &str) -> (String, String) {
    let mut spec = plain();
    spec["destination"] = json!({"environment": environment, "namespace": "web"});
    placed(stage, "shop", name, spec).await
}

/// A tenant with two units, on an instance each.
pub async fn on_two(stage: &Stage) -> [(String, String); 2] {
    stage.environment("shop", "one", "token-one").await;
    stage.environment("shop", "two", "token-two").await;
    let first = to_environment(stage, "one", "web").await;
    let second = to_environment(stage, "two", "api").await;
    assert_ne!(first.1, second.1, "the least loaded one");
    [first, second]
}

async fn a_credential_is_on_every_instance_that_its_tenant_uses(base: Base) {
    let stage = Stage::new(base).await;
    stage.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let repository = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", repository).await;
    stage.until("a Secret", async || stage.secrets_of_argo().await.pop()).await;
    stage.add_instance(OTHER).await;
    on_two(&stage).await;
    let held = async |password: &str| {
        let mut all = stage.secrets_of_argo().await;
        all.retain(|one| one["metadata"]["labels"]["argocd.argoproj.io/secret-type"] == "repository");
        let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, password);
        all.retain(|one| one["data"]["password"] == *encoded);
        let mut places: Vec<String> =
            all.iter().map(|one| one["metadata"]["namespace"].as_str().unwrap().to_string()).collect();
        places.sort();
        places
    };
    stage.until("it is on both", async || (held("one").await == [ARGOCD, OTHER]).then_some(())).await;
    let secret = "/api/v1/namespaces/shop/secrets/login";
    send(&stage.tenants, "PATCH", secret, json!({"stringData": {"password": "two"}})).await.unwrap();
    stage.until("the new one on both", async || (held("two").await == [ARGOCD, OTHER]).then_some(())).await;
    assert!(held("one").await.is_empty());
    stage.settled().await;
    // With the last unit it goes from an instance that is not its own.
    let row: RepositoryCredentials = stage.all().await.remove(0);
    let placements: Vec<Placement> = stage.all().await;
    let guest = placements.iter().find(|one| one.instance != row.instance).unwrap();
    let name: ApiToDatabase = stage
        .all::<ApiToDatabase>()
        .await
        .into_iter()
        .find(|one| one.relation_key == guest.environment.as_str())
        .unwrap();
    stage.delete("shop", DEPLOYMENTS, if name.name == "one" { "web" } else { "api" }).await;
    stage.until("its rows gone", async || (stage.all::<Application>().await.len() == 1).then_some(())).await;
    stage.settled().await;
    stage.delete("shop", ENVIRONMENTS, &name.name).await;
    stage.until("it is on one", async || (held("two").await.len() == 1).then_some(())).await;
    stage.delete("shop", CREDENTIALS, "git").await;
    stage.until("it is on none", async || held("two").await.is_empty().then_some(())).await;
}

async fn a_deployment_to_another_environment_goes_to_its_instance(base: Base) {
    let stage = Stage::new(base).await;
    stage.add_instance(OTHER).await;
    let [(web, first), (_, second)] = on_two(&stage).await;
    stage.settled().await;
    let path = format!("{GROUP}/namespaces/shop/gitopsdeployments/web");
    send(&stage.tenants, "PATCH", &path, json!({"spec": {"destination": {"environment": "two"}}})).await.unwrap();
    stage
        .until("it is there and not here", async || {
            let all = stage.listed(&format!("{ARGO}/applications")).await;
            let name = format!("gitopsdepl-{web}");
            let at: Vec<&Value> = all
                .iter()
                .filter(|one| one["metadata"]["name"] == *name)
                .map(|one| &one["metadata"]["namespace"])
                .collect();
            (at == [second.as_str()]).then_some(())
        })
        .await;
    assert_ne!(first, second);
    assert_eq!(stage.cascades(), 0, "as with one Argo CD: what was deployed to the other environment stays");
    stage.settled().await;
    let rows: Vec<Application> = stage.all().await;
    assert!(rows.iter().all(|row| row.instance == rows[0].instance), "{rows:?}");
}

async fn an_instance_that_is_used_is_not_removed(base: Base) {
    let stage = Stage::new(base).await;
    stage.secret("bank", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let repository = json!({"repository": "https://git.example/bank/web.git", "secret": "login"});
    stage.make("bank", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", repository).await;
    stage.until("a Secret", async || stage.secrets_of_argo().await.pop()).await;
    placed(&stage, "shop", "web", plain()).await;
    stage.settled().await;
    let fleet = stage.fleet();
    assert!(matches!(fleet.remove(ARGOCD, false).await, Err(FleetError::InUse { units: 1, .. })));
    assert!(matches!(fleet.remove("nowhere", false).await, Err(FleetError::NoInstance(_))));
    stage.add_instance(OTHER).await;
    carried(&stage, "shop", None, OTHER).await;
    // The bank has nothing there but a credential: that goes to whoever is left.
    fleet.remove(ARGOCD, false).await.unwrap();
    assert_eq!(stage.all::<EngineInstance>().await.len(), 1);
    assert_eq!(stage.all::<Member>().await.len(), 1);
    stage
        .until("the credential at the other one", async || {
            let all = stage.secrets_of_argo().await;
            (all.len() == 1 && all[0]["metadata"]["namespace"] == OTHER).then_some(())
        })
        .await;
    assert_eq!(placed(&stage, "bank", "vault", plain()).await.1, OTHER);
}

async fn an_instance_that_is_lost_is_left_behind(base: Base) {
    let mut stage = Stage::new(base).await;
    stage.add_instance(OTHER).await;
    let (web, from) = placed(&stage, "shop", "web", plain()).await;
    stage.settled().await;
    // Whoever would make it again is away, too.
    stage.kill().await;
    send(&stage.engine, "DELETE", &format!("/api/v1/namespaces/{from}"), Value::Null).await.unwrap();
    let applications = format!("{ARGO}/namespaces/{from}/applications");
    stage.until("nothing there", async || stage.listed(&applications).await.is_empty().then_some(())).await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", None).await.unwrap();
    let row = fleet.begin(&unit, &fleet.instance(elsewhere(&from)).await.unwrap()).await.unwrap();
    assert_eq!(fleet.finish(&row.id, |_| ()).await.unwrap().step, MoveStep::Done);
    stage.start().await;
    assert_eq!(stage.until("an Application", async || stage.anywhere(&web).await).await.0, elsewhere(&from));
    synced(&stage, "shop", "web").await;
}

/// The move's row goes with the environment: whoever carries it would not know any more what it holds.
async fn an_environment_waits_for_the_move_of_what_is_deployed_to_it(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.carries = false;
    stage.start().await;
    stage.add_instance(OTHER).await;
    stage.environment("shop", "one", "token-one").await;
    let (_, from) = to_environment(&stage, "one", "web").await;
    stage.settled().await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", Some("one")).await.unwrap();
    let row = fleet.begin(&unit, &fleet.instance(elsewhere(&from)).await.unwrap()).await.unwrap();
    until_step(&stage, &row, MoveStep::Release).await;
    stage.delete("shop", ENVIRONMENTS, "one").await;
    stage.until("the words", async || stage.told().await.contains("what is deployed to it to go").then_some(())).await;
    assert_eq!(stage.all::<Move>().await.len(), 1);
    fleet.finish(&row.id, |_| ()).await.unwrap();
    stage.until("its rows to go", async || stage.all::<Placement>().await.is_empty().then_some(())).await;
    stage.until("no Secret", async || stage.secrets_of_argo().await.is_empty().then_some(())).await;
    stage.settled().await;
    let left = stage.listed(&format!("{ARGO}/applications")).await;
    assert!(!left.iter().any(switchboard_gitops::fleet::moving::is_held), "{left:?}");
    assert_eq!(stage.cascades(), 0);
}

/// A move whose row is gone holds nothing any more, whoever made it go.
async fn what_a_move_left_asleep_is_woken_or_let_go(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.carries = false;
    stage.orphan_grace = std::time::Duration::from_secs(1);
    stage.start().await;
    stage.add_instance(OTHER).await;
    let (web, from) = placed(&stage, "shop", "web", plain()).await;
    stage.settled().await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", None).await.unwrap();
    let row = fleet.begin(&unit, &fleet.instance(elsewhere(&from)).await.unwrap()).await.unwrap();
    until_step(&stage, &row, MoveStep::Release).await;
    stage.kill().await;
    let all = stage.listed(&format!("{ARGO}/applications")).await;
    assert!(all.len() == 2 && all.iter().all(switchboard_gitops::fleet::moving::is_held), "{all:?}");
    let [placement] = &stage.all::<Placement>().await[..] else { panic!("one unit") };
    let free = Placement { moving: None, ..placement.clone() };
    let row: Move = stage.all().await.remove(0);
    stage.ledger.commit(&[Change::update(placement, &free), Change::delete(&row)]).await.unwrap();
    stage.start().await;
    stage
        .until("one that is awake, where its row has it", async || {
            let all = stage.listed(&format!("{ARGO}/applications")).await;
            let awake = all.iter().filter(|one| !switchboard_gitops::fleet::moving::is_held(one)).count();
            (all.len() == 1 && awake == 1).then_some(())
        })
        .await;
    assert_eq!(stage.anywhere(&web).await.map(|(at, _)| at), Some(from.clone()));
    // Nor is one deployed from where no row has it, though nothing holds it.
    let mut copy = stage.anywhere(&web).await.unwrap().1;
    let meta = json!({"name": copy["metadata"]["name"], "labels": copy["metadata"]["labels"],
        "finalizers": ["resources-finalizer.argocd.argoproj.io"]});
    copy["metadata"] = meta;
    let path = format!("{ARGO}/namespaces/{}/applications", elsewhere(&from));
    create(&stage.engine, &path, copy).await;
    stage.until("it to go", async || stage.listed(&path).await.is_empty().then_some(())).await;
    stage.settled().await;
    assert_eq!(stage.anywhere(&web).await.map(|(at, _)| at), Some(from));
    assert_eq!(stage.cascades(), 0, "nothing that was deployed went");
}

/// With the instance would go who removes it, and what was deployed would stay.
async fn an_instance_that_still_removes_something_is_not_removed(base: Base) {
    let stage = Stage::new(base).await;
    let (web, _) = placed(&stage, "shop", "web", plain()).await;
    stage.settled().await;
    stage.add_instance(OTHER).await;
    deleted_without_an_end(&stage, "web", &web).await;
    // Its unit may be there or not: nothing of it has a row any more.
    let units: Vec<Placement> = stage.all().await;
    let gone: Vec<Change> = units.iter().map(Change::delete).collect();
    stage.ledger.commit(&gone).await.unwrap();
    let fleet = stage.fleet();
    let refused = fleet.remove(ARGOCD, false).await.unwrap_err();
    assert!(matches!(&refused, FleetError::Removing { .. }), "{refused}");
    assert!(!stage.all::<Operation>().await.is_empty());
    stage.argo.stuck(false);
    stage.until("it to go", async || stage.application(&web).await.is_none().then_some(())).await;
    stage.settled().await;
    assert_eq!(stage.cascades(), 1, "with what it deployed");
    fleet.remove(ARGOCD, false).await.unwrap();
}

/// The namespace of the target is gone, and nothing can be prepared there.
async fn a_move_to_what_cannot_be_written_to_goes_back(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.carries = false;
    stage.start().await;
    let (web, from) = placed(&stage, "shop", "web", plain()).await;
    stage.add_instance(OTHER).await;
    stage.settled().await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", None).await.unwrap();
    let row = fleet.begin(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    send(&stage.engine, "DELETE", &format!("/api/v1/namespaces/{OTHER}"), Value::Null).await.unwrap();
    let path = format!("/api/v1/namespaces/{OTHER}");
    let is_gone = async || send(&stage.engine, "GET", &path, Value::Null).await.is_err().then_some(());
    stage.until("no such namespace", is_gone).await;
    let refused = stage.until("a refusal", async || fleet.advance(&row.id).await.err()).await;
    assert!(matches!(refused, FleetError::Engine(_)), "{refused}");
    assert!(fleet.advance(&row.id).await.is_err(), "it is tried for a while");
    let hasty = fleet.clone().stalling(0);
    let moved = hasty.finish(&row.id, |_| ()).await.unwrap();
    assert_eq!(moved.step, MoveStep::Returned);
    assert!(moved.human_readable_state.as_deref().unwrap_or_default().contains("could not create"), "{moved:?}");
    assert!(stage.all::<Placement>().await[0].moving.is_none(), "and it is frozen no longer");
    assert_eq!(stage.anywhere(&web).await.map(|(at, _)| at), Some(from));
    // What is on its way is told from what is there.
    stage.settled().await;
    fleet.remove(OTHER, false).await.unwrap();
}

async fn a_unit_is_called_back(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.carries = false;
    stage.start().await;
    let (web, from) = placed(&stage, "shop", "web", plain()).await;
    stage.add_instance(OTHER).await;
    stage.settled().await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", None).await.unwrap();
    assert!(matches!(fleet.call_back(&unit).await, Err(FleetError::NotMoving)));
    let row = fleet.begin(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    until_step(&stage, &row, MoveStep::Release).await;
    let refused = fleet.remove(OTHER, false).await.unwrap_err();
    assert!(matches!(&refused, FleetError::OnTheirWay { units: 1, .. }), "{refused}");
    assert_eq!(fleet.call_back(&unit).await.unwrap(), row.id);
    assert_eq!(fleet.call_back(&unit).await.unwrap(), row.id, "again, it is on its way back");
    assert_eq!(fleet.finish(&row.id, |_| ()).await.unwrap().step, MoveStep::Returned);
    assert_eq!(stage.anywhere(&web).await.map(|(at, _)| at), Some(from));
    assert_eq!(stage.cascades(), 0);
}

async fn a_unit_moves_only_to_what_knows_what_it_deployed(base: Base) {
    let stage = Stage::new(base).await;
    let (_, from) = placed(&stage, "shop", "web", plain()).await;
    stage.add_instance(OTHER).await;
    stage.settled().await;
    let settings = |method: &str, id: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm"},
            "data": {"application.resourceTrackingMethod": method, "installationID": id}})
    };
    let path = |at: &str| format!("/api/v1/namespaces/{at}/configmaps");
    create(&stage.engine, &path(&from), settings("label", "")).await;
    create(&stage.engine, &path(OTHER), settings("annotation+label", "")).await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", None).await.unwrap();
    let to = fleet.instance(OTHER).await.unwrap();
    let told = fleet.begin(&unit, &to).await.unwrap_err().to_string();
    assert!(told.contains("Method: annotation+label`") && told.contains("Method: label`"), "{told}");
    assert_eq!(fleet.differences(OTHER).await.unwrap(), Vec::<String>::new());
    let differences = fleet.differences(&from).await.unwrap();
    assert!(differences.len() == 1 && differences[0].contains("resourceTrackingMethod: label`"), "{differences:?}");
    let one = format!("{}/argocd-cm", path(&from));
    send(&stage.engine, "PATCH", &one, settings("annotation+label", "mine")).await.unwrap();
    let told = fleet.begin(&unit, &to).await.unwrap_err().to_string();
    assert!(told.contains("installationID: mine`"), "{told}");
    assert!(stage.all::<Move>().await.is_empty());
    send(&stage.engine, "PATCH", &one, settings("annotation+label", "")).await.unwrap();
    assert_eq!(carried(&stage, "shop", None, OTHER).await.step, MoveStep::Done);
}
