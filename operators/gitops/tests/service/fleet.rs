//! Several Argo CD instances: placement, and moves between instances.

use serde_json::{Value, json};
use switchboard_gitops::ids::{InstanceState, MoveStep};
use switchboard_gitops::instance::fleet::{FleetError, InstanceSpec, MoveProgress};
use switchboard_gitops::instance::{InstanceLimits, InstanceScope};
use switchboard_gitops::rows::fleet::{Member, Move, Placement};
use switchboard_gitops::rows::*;
use switchboard_sql::RowChange;

use crate::after_moves::delete_without_end;
use crate::database::{TestDatabase, on_both};
use crate::fixture::{
    ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, ENVIRONMENTS, GROUP, ServiceFixture, create, plain,
    send, uid,
};

pub const OTHER: &str = "argocd-2";

on_both! {
    an_instance_is_prepared_and_registered
    a_tenant_namespace_cannot_be_an_instance
    placements_go_to_the_least_loaded_instance_and_are_never_split
    a_move_takes_everything_along
    changes_during_a_move_are_applied
    a_move_that_cannot_continue_is_rolled_back
    a_credential_is_on_every_instance_of_its_tenant
    a_changed_environment_changes_the_instance
    an_instance_in_use_is_not_removed
    a_placement_leaves_a_lost_instance
    an_environment_waits_for_a_move_of_its_placement
    applications_of_a_lost_move_are_resumed_or_released
    an_instance_with_running_removals_is_not_removed
    a_move_to_an_unwritable_target_is_rolled_back
    a_move_is_cancelled
    a_move_requires_the_same_tracking_method
}

async fn synced(fixture: &ServiceFixture, namespace: &str, name: &str) -> Value {
    fixture
        .wait_for("a status", async || {
            fixture.deployment(namespace, name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await
}

/// Deploys and returns the uid and the instance.
pub async fn deploy_and_find(fixture: &ServiceFixture, namespace: &str, name: &str, spec: Value) -> (String, String) {
    let uid = uid(&fixture.deploy(namespace, name, spec).await);
    let (at, _) = fixture.wait_for("an Application", async || fixture.find_application(&uid).await).await;
    synced(fixture, namespace, name).await;
    (uid, at)
}

pub fn elsewhere(at: &str) -> &'static str {
    if at == ARGOCD { OTHER } else { ARGOCD }
}

/// Lets the agent move a placement of a tenant's own namespace to another instance.
pub async fn move_placement(fixture: &ServiceFixture, tenant: &str, environment: Option<&str>, to: &str) -> Move {
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement(tenant, environment).await.unwrap();
    let begun = fleet.begin_move(&unit, &fleet.instance(to).await.unwrap()).await.unwrap();
    fixture
        .wait_for("an end of the move", async || {
            let rows: Vec<Move> = fixture.all().await;
            rows.into_iter().find(|row| row.id == begun.id && !switchboard_gitops::moves::is_open(row))
        })
        .await
}

/// Read access to an instance's Secrets reveals the credentials of all tenants on it.
async fn a_tenant_namespace_cannot_be_an_instance(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.deploy("shop", "web", plain()).await;
    synced(&fixture, "shop", "web").await;
    fixture.secret("bank", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let spec = json!({"repository": "https://nowhere.example/x", "secret": "other"});
    fixture.create_resource("bank", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let fleet = fixture.fleet();
    let limits = InstanceLimits { max_applications: None, max_environments: None };
    // One tenant has rows; the other can be without rows but has resources.
    for tenant in ["shop", "bank"] {
        let wanted = InstanceSpec {
            namespace: tenant,
            limits,
            reach: InstanceScope::Cluster,
            create: true,
            force: false,
            cluster_recreated: false,
        };
        let reported = fleet.add(&wanted).await.unwrap_err();
        assert!(matches!(&reported, FleetError::TenantNamespace(of) if of == tenant), "{reported}");
        let secret = format!("/api/v1/namespaces/{tenant}/secrets/argocd-secret");
        assert!(send(&fixture.engine, "GET", &secret, Value::Null).await.is_err(), "nothing was created");
        fleet.add(&InstanceSpec { force: true, ..wanted }).await.unwrap();
        // Adding an existing instance again succeeds.
        fleet.add(&wanted).await.unwrap();
    }
}

async fn an_instance_is_prepared_and_registered(database: TestDatabase) {
    let fixture = ServiceFixture::without_roles(database, false).await;
    let fleet = fixture.fleet();
    let wanted = InstanceSpec {
        namespace: "third",
        limits: InstanceLimits { max_applications: Some(7), max_environments: None },
        reach: InstanceScope::Cluster,
        create: false,
        force: false,
        cluster_recreated: false,
    };
    assert!(matches!(fleet.add(&wanted).await, Err(FleetError::NoNamespace(name)) if name == "third"));
    fleet.add(&InstanceSpec { create: true, ..wanted }).await.unwrap();
    let settings =
        send(&fixture.engine, "GET", "/api/v1/namespaces/third/configmaps/argocd-cm", Value::Null).await.unwrap();
    assert_eq!(settings["data"]["application.resourceTrackingMethod"], "annotation+label");
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/third-argocd-application-controller";
    send(&fixture.engine, "GET", path, Value::Null).await.unwrap();
    // Adding an existing instance again changes its limits and keeps manual edits.
    let edit = json!({"data": {"application.resourceTrackingMethod": "annotation"}});
    send(&fixture.engine, "PATCH", "/api/v1/namespaces/third/configmaps/argocd-cm", edit).await.unwrap();
    let more = InstanceLimits { max_applications: None, max_environments: Some(3) };
    fleet.add(&InstanceSpec { limits: more, ..wanted }).await.unwrap();
    let settings =
        send(&fixture.engine, "GET", "/api/v1/namespaces/third/configmaps/argocd-cm", Value::Null).await.unwrap();
    assert_eq!(settings["data"]["application.resourceTrackingMethod"], "annotation");
    let listed = fleet.list().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|entry| entry.candidate.instance.namespace.as_str()).collect();
    assert_eq!(names, [ARGOCD, "third"]);
    let member = listed[1].candidate.member.as_ref().unwrap();
    assert_eq!((member.max_applications, member.max_environments), (7, 3));
    fleet.remove("third", false).await.unwrap();
    assert_eq!(fixture.all::<EngineInstance>().await.len(), 1);
    send(&fixture.engine, "GET", "/api/v1/namespaces/third", Value::Null).await.unwrap();
}

async fn placements_go_to_the_least_loaded_instance_and_are_never_split(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.add_instance(OTHER).await;
    let (_, first) = deploy_and_find(&fixture, "shop", "web", plain()).await;
    let (_, same) = deploy_and_find(&fixture, "shop", "api", plain()).await;
    assert_eq!(same, first, "a tenant's own namespace is one placement");
    let (_, second) = deploy_and_find(&fixture, "bank", "vault", plain()).await;
    assert_eq!(second, elsewhere(&first), "the other one has fewer placements");
    // A cordoned instance keeps its placements and takes no new one, even if it is the emptiest.
    let fleet = fixture.fleet();
    fleet.set_state(&second, InstanceState::Cordoned).await.unwrap();
    create(&fixture.tenants, "/api/v1/namespaces", json!({"metadata": {"name": "late"}})).await;
    assert_eq!(deploy_and_find(&fixture, "late", "web", plain()).await.1, first);
    assert_eq!(deploy_and_find(&fixture, "bank", "door", plain()).await.1, second, "a placement is not split");
    // Without a suitable instance, a placement waits until there is capacity.
    fleet.set_state(&first, InstanceState::Cordoned).await.unwrap();
    create(&fixture.tenants, "/api/v1/namespaces", json!({"metadata": {"name": "later"}})).await;
    let waits = uid(&fixture.deploy("later", "web", plain()).await);
    fixture
        .wait_for("the words", async || {
            fixture.unit_states().await.contains("every Argo CD instance is cordoned").then_some(())
        })
        .await;
    assert!(fixture.find_application(&waits).await.is_none());
    fleet.set_state(&second, InstanceState::Active).await.unwrap();
    assert_eq!(fixture.wait_for("an Application", async || fixture.find_application(&waits).await).await.0, second);
    assert_eq!(fixture.all::<Placement>().await.len(), 4);
}

async fn a_move_takes_everything_along(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.add_instance(OTHER).await;
    let login = json!({"username": "robot", "password": "password-one"});
    fixture.secret("shop", "login", CREDENTIAL_SECRET, login).await;
    let repository = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    fixture.create_resource("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", repository).await;
    fixture.wait_for("a Secret", async || fixture.argocd_secrets().await.pop()).await;
    let (web, from) = deploy_and_find(&fixture, "shop", "web", plain()).await;
    let (api, _) = deploy_and_find(&fixture, "shop", "api", plain()).await;
    fixture.wait_until_settled().await;
    let to = elsewhere(&from);
    let moved = move_placement(&fixture, "shop", None, to).await;
    assert_eq!((moved.step, moved.human_readable_state), (MoveStep::Done, None));
    for one in [&web, &api] {
        let (at, application) = fixture.find_application(one).await.unwrap();
        assert_eq!(
            (at.as_str(), &application["metadata"]["annotations"]),
            (to, &Value::Null),
            "an active Application at the target"
        );
    }
    assert_eq!(fixture.cascades(), 0, "no deployed resource was deleted");
    let rows: Vec<Application> = fixture.all().await;
    let target = fixture.fleet().instance(to).await.unwrap();
    assert!(rows.iter().all(|row| row.instance == target.id && row.spec_field.contains(to)), "{rows:?}");
    let [placement] = &fixture.all::<Placement>().await[..] else { panic!("one placement") };
    assert_eq!((&placement.instance, placement.epoch, &placement.moving), (&target.id, 2, &None));
    // Nothing is left at the source, and the target has everything the placement needs.
    let secrets = fixture.argocd_secrets().await;
    let places: Vec<&str> = secrets.iter().map(|one| one["metadata"]["namespace"].as_str().unwrap()).collect();
    assert_eq!(places, [to], "{secrets:?}");
    let projects = fixture.list_objects(&format!("{ARGO}/appprojects")).await;
    assert_eq!(projects.iter().map(|one| &one["metadata"]["namespace"]).collect::<Vec<_>>(), [to]);
    // Deployment, status and deletion now happen at the target.
    let path = format!("{GROUP}/namespaces/shop/gitopsdeployments/web");
    send(&fixture.tenants, "PATCH", &path, json!({"spec": {"source": {"path": "elsewhere"}}})).await.unwrap();
    fixture
        .wait_for("the new path", async || {
            let (at, application) = fixture.find_application(&web).await?;
            (at == to && application["spec"]["source"]["path"] == "elsewhere").then_some(())
        })
        .await;
    fixture
        .wait_for("what Argo CD says there", async || {
            let reported = fixture.deployment("shop", "web").await?;
            (reported["status"]["reconciledState"]["source"]["path"] == "elsewhere").then_some(())
        })
        .await;
    fixture.wait_until_settled().await;
    for name in ["web", "api"] {
        fixture.delete("shop", DEPLOYMENTS, name).await;
    }
    fixture
        .wait_for("no Applications", async || {
            fixture.list_objects(&format!("{ARGO}/applications")).await.is_empty().then_some(())
        })
        .await;
    fixture.wait_until_settled().await;
}

/// Advances a move by hand to a step.
pub async fn advance_to(fixture: &ServiceFixture, row: &Move, step: MoveStep) {
    let fleet = fixture.fleet();
    fixture
        .wait_for("the step", async || {
            let now: Vec<Move> = fixture.all().await;
            let now = now.into_iter().find(|now| now.id == row.id).unwrap();
            if now.step >= step {
                return Some(());
            }
            assert!(!matches!(fleet.advance_move(&row.id).await.unwrap(), MoveProgress::Over(_)));
            None
        })
        .await;
}

async fn changes_during_a_move_are_applied(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    fixture.add_instance(OTHER).await;
    let (web, from) = deploy_and_find(&fixture, "shop", "web", plain()).await;
    let (api, _) = deploy_and_find(&fixture, "shop", "api", plain()).await;
    fixture.wait_until_settled().await;
    let to = elsewhere(&from);
    // No agent runs while the move is half done, and many changes happen meanwhile.
    fixture.kill().await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", None).await.unwrap();
    let row = fleet.begin_move(&unit, &fleet.instance(to).await.unwrap()).await.unwrap();
    advance_to(&fixture, &row, MoveStep::Pause).await;
    fixture.delete("shop", DEPLOYMENTS, "api").await;
    let path = format!("{GROUP}/namespaces/shop/gitopsdeployments/web");
    send(&fixture.tenants, "PATCH", &path, json!({"spec": {"source": {"path": "elsewhere"}}})).await.unwrap();
    let new = uid(&fixture.deploy("shop", "new", plain()).await);
    fixture.start().await;
    for one in [&web, &new] {
        fixture
            .wait_for("all of it there", async || {
                let (at, application) = fixture.find_application(one).await?;
                let path = &application["spec"]["source"]["path"];
                (at == to && (*one == new || path == "elsewhere")).then_some(())
            })
            .await;
    }
    fixture
        .wait_for("the deleted one gone", async || fixture.find_application(&api).await.is_none().then_some(()))
        .await;
    for name in ["web", "new"] {
        synced(&fixture, "shop", name).await;
    }
    fixture
        .wait_for("the end", async || {
            fixture.all::<Move>().await.iter().all(|row| row.step == MoveStep::Done).then_some(())
        })
        .await;
    fixture.wait_until_settled().await;
    assert_eq!(fixture.all::<Application>().await.len(), 2);
    let rows: Vec<Application> = fixture.all().await;
    let target = fleet.instance(to).await.unwrap();
    assert!(rows.iter().all(|row| row.instance == target.id), "{rows:?}");
}

async fn a_move_that_cannot_continue_is_rolled_back(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.add_instance(OTHER).await;
    let (web, from) = deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.wait_until_settled().await;
    // With such a finalizer, deleting the Application would delete its deployed resources.
    let path = format!("{ARGO}/namespaces/{from}/applications/gitopsdepl-{web}");
    let finalizers = |all: Value| json!({"metadata": {"finalizers": all}});
    send(&fixture.engine, "PATCH", &path, finalizers(json!(["resources-finalizer.argocd.argoproj.io"]))).await.unwrap();
    let moved = move_placement(&fixture, "shop", None, elsewhere(&from)).await;
    assert_eq!(moved.step, MoveStep::RolledBack);
    assert!(moved.human_readable_state.as_deref().unwrap_or_default().contains("has finalizers"), "{moved:?}");
    let (at, application) = fixture.find_application(&web).await.unwrap();
    assert_eq!(
        (at.as_str(), application["metadata"]["annotations"].get("argocd.argoproj.io/skip-reconcile")),
        (from.as_str(), None)
    );
    assert!(fixture.all::<Placement>().await[0].moving.is_none());
    // Nothing of the attempt is left, and the next attempt succeeds.
    let projects = fixture.list_objects(&format!("{ARGO}/appprojects")).await;
    assert_eq!(projects.iter().map(|one| &one["metadata"]["namespace"]).collect::<Vec<_>>(), [from.as_str()]);
    send(&fixture.engine, "PATCH", &path, finalizers(json!([]))).await.unwrap();
    assert_eq!(move_placement(&fixture, "shop", None, elsewhere(&from)).await.step, MoveStep::Done);
    assert_eq!(fixture.find_application(&web).await.unwrap().0, elsewhere(&from));
}

/// Deploys to an environment, which has its own placement.
pub async fn deploy_to_environment(fixture: &ServiceFixture, environment: &str, name: &str) -> (String, String) {
    let mut spec = plain();
    spec["destination"] = json!({"environment": environment, "namespace": "web"});
    deploy_and_find(fixture, "shop", name, spec).await
}

/// Creates a tenant with two placements, each on its own instance.
pub async fn deploy_to_two_instances(fixture: &ServiceFixture) -> [(String, String); 2] {
    fixture.environment("shop", "one", "token-one").await;
    fixture.environment("shop", "two", "token-two").await;
    let first = deploy_to_environment(fixture, "one", "web").await;
    let second = deploy_to_environment(fixture, "two", "api").await;
    assert_ne!(first.1, second.1, "the least loaded one");
    [first, second]
}

async fn a_credential_is_on_every_instance_of_its_tenant(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let repository = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    fixture.create_resource("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", repository).await;
    fixture.wait_for("a Secret", async || fixture.argocd_secrets().await.pop()).await;
    fixture.add_instance(OTHER).await;
    deploy_to_two_instances(&fixture).await;
    let held = async |password: &str| {
        let mut all = fixture.argocd_secrets().await;
        all.retain(|one| one["metadata"]["labels"]["argocd.argoproj.io/secret-type"] == "repository");
        let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, password);
        all.retain(|one| one["data"]["password"] == *encoded);
        let mut places: Vec<String> =
            all.iter().map(|one| one["metadata"]["namespace"].as_str().unwrap().to_string()).collect();
        places.sort();
        places
    };
    fixture.wait_for("it is on both", async || (held("one").await == [ARGOCD, OTHER]).then_some(())).await;
    let secret = "/api/v1/namespaces/shop/secrets/login";
    send(&fixture.tenants, "PATCH", secret, json!({"stringData": {"password": "two"}})).await.unwrap();
    fixture.wait_for("the new one on both", async || (held("two").await == [ARGOCD, OTHER]).then_some(())).await;
    assert!(held("one").await.is_empty());
    fixture.wait_until_settled().await;
    // With the last placement, the credential is removed from an instance that is not its home.
    let row: RepositoryCredentials = fixture.all().await.remove(0);
    let placements: Vec<Placement> = fixture.all().await;
    let guest = placements.iter().find(|one| one.instance != row.instance).unwrap();
    let name: ApiToDatabase = fixture
        .all::<ApiToDatabase>()
        .await
        .into_iter()
        .find(|one| one.relation_key == guest.environment.as_str())
        .unwrap();
    fixture.delete("shop", DEPLOYMENTS, if name.name == "one" { "web" } else { "api" }).await;
    fixture.wait_for("its rows gone", async || (fixture.all::<Application>().await.len() == 1).then_some(())).await;
    fixture.wait_until_settled().await;
    fixture.delete("shop", ENVIRONMENTS, &name.name).await;
    fixture.wait_for("it is on one", async || (held("two").await.len() == 1).then_some(())).await;
    fixture.delete("shop", CREDENTIALS, "git").await;
    fixture.wait_for("it is on none", async || held("two").await.is_empty().then_some(())).await;
}

async fn a_changed_environment_changes_the_instance(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.add_instance(OTHER).await;
    let [(web, first), (_, second)] = deploy_to_two_instances(&fixture).await;
    fixture.wait_until_settled().await;
    let path = format!("{GROUP}/namespaces/shop/gitopsdeployments/web");
    send(&fixture.tenants, "PATCH", &path, json!({"spec": {"destination": {"environment": "two"}}})).await.unwrap();
    fixture
        .wait_for("it is there and not here", async || {
            let all = fixture.list_objects(&format!("{ARGO}/applications")).await;
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
    assert_eq!(fixture.cascades(), 0, "as with one Argo CD: the resources in the other environment stay");
    fixture.wait_until_settled().await;
    let rows: Vec<Application> = fixture.all().await;
    assert!(rows.iter().all(|row| row.instance == rows[0].instance), "{rows:?}");
}

async fn an_instance_in_use_is_not_removed(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.secret("bank", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let repository = json!({"repository": "https://git.example/bank/web.git", "secret": "login"});
    fixture.create_resource("bank", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", repository).await;
    fixture.wait_for("a Secret", async || fixture.argocd_secrets().await.pop()).await;
    deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.wait_until_settled().await;
    let fleet = fixture.fleet();
    assert!(matches!(fleet.remove(ARGOCD, false).await, Err(FleetError::InUse { placements: 1, .. })));
    assert!(matches!(fleet.remove("nowhere", false).await, Err(FleetError::NoInstance(_))));
    fixture.add_instance(OTHER).await;
    move_placement(&fixture, "shop", None, OTHER).await;
    // The bank has only a credential there, which moves to a remaining instance.
    fleet.remove(ARGOCD, false).await.unwrap();
    assert_eq!(fixture.all::<EngineInstance>().await.len(), 1);
    assert_eq!(fixture.all::<Member>().await.len(), 1);
    fixture
        .wait_for("the credential at the other one", async || {
            let all = fixture.argocd_secrets().await;
            (all.len() == 1 && all[0]["metadata"]["namespace"] == OTHER).then_some(())
        })
        .await;
    assert_eq!(deploy_and_find(&fixture, "bank", "vault", plain()).await.1, OTHER);
}

async fn a_placement_leaves_a_lost_instance(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    fixture.add_instance(OTHER).await;
    let (web, from) = deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.wait_until_settled().await;
    // No role runs that would recreate the Application.
    fixture.kill().await;
    send(&fixture.engine, "DELETE", &format!("/api/v1/namespaces/{from}"), Value::Null).await.unwrap();
    let applications = format!("{ARGO}/namespaces/{from}/applications");
    fixture
        .wait_for("nothing there", async || fixture.list_objects(&applications).await.is_empty().then_some(()))
        .await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", None).await.unwrap();
    let row = fleet.begin_move(&unit, &fleet.instance(elsewhere(&from)).await.unwrap()).await.unwrap();
    assert_eq!(fleet.finish_move(&row.id, |_| ()).await.unwrap().step, MoveStep::Done);
    fixture.start().await;
    assert_eq!(
        fixture.wait_for("an Application", async || fixture.find_application(&web).await).await.0,
        elsewhere(&from)
    );
    synced(&fixture, "shop", "web").await;
}

/// Deleting the environment's rows would delete the move's row, and with it the record of the Applications that the
/// move owns.
async fn an_environment_waits_for_a_move_of_its_placement(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.drives_moves = false;
    fixture.start().await;
    fixture.add_instance(OTHER).await;
    fixture.environment("shop", "one", "token-one").await;
    let (_, from) = deploy_to_environment(&fixture, "one", "web").await;
    fixture.wait_until_settled().await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", Some("one")).await.unwrap();
    let row = fleet.begin_move(&unit, &fleet.instance(elsewhere(&from)).await.unwrap()).await.unwrap();
    advance_to(&fixture, &row, MoveStep::Release).await;
    fixture.delete("shop", ENVIRONMENTS, "one").await;
    fixture
        .wait_for("the words", async || {
            fixture.unit_states().await.contains("its deployments to be deleted").then_some(())
        })
        .await;
    assert_eq!(fixture.all::<Move>().await.len(), 1);
    fleet.finish_move(&row.id, |_| ()).await.unwrap();
    fixture.wait_for("its rows to go", async || fixture.all::<Placement>().await.is_empty().then_some(())).await;
    fixture.wait_for("no Secret", async || fixture.argocd_secrets().await.is_empty().then_some(())).await;
    fixture.wait_until_settled().await;
    let left = fixture.list_objects(&format!("{ARGO}/applications")).await;
    assert!(!left.iter().any(switchboard_gitops::moves::is_owned_by_move), "{left:?}");
    assert_eq!(fixture.cascades(), 0);
}

/// A move without a row owns no Applications, regardless of the cause.
async fn applications_of_a_lost_move_are_resumed_or_released(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.drives_moves = false;
    fixture.orphan_grace = std::time::Duration::from_secs(1);
    fixture.start().await;
    fixture.add_instance(OTHER).await;
    let (web, from) = deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.wait_until_settled().await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", None).await.unwrap();
    let row = fleet.begin_move(&unit, &fleet.instance(elsewhere(&from)).await.unwrap()).await.unwrap();
    advance_to(&fixture, &row, MoveStep::Release).await;
    fixture.kill().await;
    let all = fixture.list_objects(&format!("{ARGO}/applications")).await;
    assert!(all.len() == 2 && all.iter().all(switchboard_gitops::moves::is_owned_by_move), "{all:?}");
    let [placement] = &fixture.all::<Placement>().await[..] else { panic!("one placement") };
    let free = Placement { moving: None, ..placement.clone() };
    let row: Move = fixture.all().await.remove(0);
    fixture.ledger.commit(&[RowChange::update(placement, &free), RowChange::delete(&row)]).await.unwrap();
    fixture.start().await;
    fixture
        .wait_for("one active Application, where its row has it", async || {
            let all = fixture.list_objects(&format!("{ARGO}/applications")).await;
            let awake = all.iter().filter(|one| !switchboard_gitops::moves::is_owned_by_move(one)).count();
            (all.len() == 1 && awake == 1).then_some(())
        })
        .await;
    assert_eq!(fixture.find_application(&web).await.map(|(at, _)| at), Some(from.clone()));
    // A copy at an instance without a row for it is deleted, even if no move owns it.
    let mut copy = fixture.find_application(&web).await.unwrap().1;
    let meta = json!({"name": copy["metadata"]["name"], "labels": copy["metadata"]["labels"],
        "finalizers": ["resources-finalizer.argocd.argoproj.io"]});
    copy["metadata"] = meta;
    let path = format!("{ARGO}/namespaces/{}/applications", elsewhere(&from));
    create(&fixture.engine, &path, copy).await;
    fixture.wait_for("it to go", async || fixture.list_objects(&path).await.is_empty().then_some(())).await;
    fixture.wait_until_settled().await;
    assert_eq!(fixture.find_application(&web).await.map(|(at, _)| at), Some(from));
    assert_eq!(fixture.cascades(), 0, "no deployed resource was deleted");
}

/// The instance's agent carries out the removals; without it the deployed resources would stay.
async fn an_instance_with_running_removals_is_not_removed(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let (web, _) = deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.wait_until_settled().await;
    fixture.add_instance(OTHER).await;
    delete_without_end(&fixture, "web", &web).await;
    // The result does not depend on the placement: the deployment has no row any more.
    let units: Vec<Placement> = fixture.all().await;
    let gone: Vec<RowChange> = units.iter().map(RowChange::delete).collect();
    fixture.ledger.commit(&gone).await.unwrap();
    let fleet = fixture.fleet();
    let refused = fleet.remove(ARGOCD, false).await.unwrap_err();
    assert!(matches!(&refused, FleetError::Removing { .. }), "{refused}");
    assert!(!fixture.all::<Operation>().await.is_empty());
    fixture.fake_argocd.stuck(false);
    fixture.wait_for("it to go", async || fixture.application(&web).await.is_none().then_some(())).await;
    fixture.wait_until_settled().await;
    assert_eq!(fixture.cascades(), 1, "with what it deployed");
    fleet.remove(ARGOCD, false).await.unwrap();
}

/// The namespace of the target is deleted, so nothing can be prepared there.
async fn a_move_to_an_unwritable_target_is_rolled_back(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.drives_moves = false;
    fixture.start().await;
    let (web, from) = deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.add_instance(OTHER).await;
    fixture.wait_until_settled().await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", None).await.unwrap();
    let row = fleet.begin_move(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    send(&fixture.engine, "DELETE", &format!("/api/v1/namespaces/{OTHER}"), Value::Null).await.unwrap();
    let path = format!("/api/v1/namespaces/{OTHER}");
    let is_gone = async || send(&fixture.engine, "GET", &path, Value::Null).await.is_err().then_some(());
    fixture.wait_for("no such namespace", is_gone).await;
    let refused = fixture.wait_for("a refusal", async || fleet.advance_move(&row.id).await.err()).await;
    assert!(matches!(refused, FleetError::Engine(_)), "{refused}");
    assert!(fleet.advance_move(&row.id).await.is_err(), "it is retried for a while");
    let hasty = fleet.clone().with_stall_timeout(0);
    let moved = hasty.finish_move(&row.id, |_| ()).await.unwrap();
    assert_eq!(moved.step, MoveStep::RolledBack);
    assert!(moved.human_readable_state.as_deref().unwrap_or_default().contains("could not create"), "{moved:?}");
    assert!(fixture.all::<Placement>().await[0].moving.is_none(), "and it is no longer paused");
    assert_eq!(fixture.find_application(&web).await.map(|(at, _)| at), Some(from));
    // The list distinguishes moving placements from settled ones.
    fixture.wait_until_settled().await;
    fleet.remove(OTHER, false).await.unwrap();
}

async fn a_move_is_cancelled(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.drives_moves = false;
    fixture.start().await;
    let (web, from) = deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.add_instance(OTHER).await;
    fixture.wait_until_settled().await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", None).await.unwrap();
    assert!(matches!(fleet.cancel_move(&unit).await, Err(FleetError::NotMoving)));
    let row = fleet.begin_move(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    advance_to(&fixture, &row, MoveStep::Release).await;
    let refused = fleet.remove(OTHER, false).await.unwrap_err();
    assert!(matches!(&refused, FleetError::PlacementsMoving { placements: 1, .. }), "{refused}");
    assert_eq!(fleet.cancel_move(&unit).await.unwrap(), row.id);
    assert_eq!(fleet.cancel_move(&unit).await.unwrap(), row.id, "it is moving back again");
    assert_eq!(fleet.finish_move(&row.id, |_| ()).await.unwrap().step, MoveStep::RolledBack);
    assert_eq!(fixture.find_application(&web).await.map(|(at, _)| at), Some(from));
    assert_eq!(fixture.cascades(), 0);
}

async fn a_move_requires_the_same_tracking_method(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let (_, from) = deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.add_instance(OTHER).await;
    fixture.wait_until_settled().await;
    let settings = |method: &str, id: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm"},
            "data": {"application.resourceTrackingMethod": method, "installationID": id}})
    };
    let path = |at: &str| format!("/api/v1/namespaces/{at}/configmaps");
    create(&fixture.engine, &path(&from), settings("label", "")).await;
    create(&fixture.engine, &path(OTHER), settings("annotation+label", "")).await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", None).await.unwrap();
    let to = fleet.instance(OTHER).await.unwrap();
    let reported = fleet.begin_move(&unit, &to).await.unwrap_err().to_string();
    assert!(reported.contains("Method: annotation+label`") && reported.contains("Method: label`"), "{reported}");
    assert_eq!(fleet.setting_differences(OTHER).await.unwrap(), Vec::<String>::new());
    let differences = fleet.setting_differences(&from).await.unwrap();
    assert!(differences.len() == 1 && differences[0].contains("resourceTrackingMethod: label`"), "{differences:?}");
    let one = format!("{}/argocd-cm", path(&from));
    send(&fixture.engine, "PATCH", &one, settings("annotation+label", "mine")).await.unwrap();
    let reported = fleet.begin_move(&unit, &to).await.unwrap_err().to_string();
    assert!(reported.contains("installationID: mine`"), "{reported}");
    assert!(fixture.all::<Move>().await.is_empty());
    send(&fixture.engine, "PATCH", &one, settings("annotation+label", "")).await.unwrap();
    assert_eq!(move_placement(&fixture, "shop", None, OTHER).await.step, MoveStep::Done);
}
