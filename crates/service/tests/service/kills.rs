//! The process dies after any commit and any write of any flow; another one goes on, and all is as if nothing had happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures::{StreamExt, stream};
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use switchboard_ledger::rows::*;
use switchboard_service::store::{Gate, When};

use crate::base::Base;
use crate::stage::{
    ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, ENVIRONMENT_SECRET, ENVIRONMENTS, GROUP, SYNC_RUNS,
    Side, Stage, TARGET, kubeconfig, plain, send, uid,
};

/// The Argo CD that a unit moves to.
const OTHER: &str = "argocd-2";

/// More steps than any flow here has.
const MAX_STEPS: i64 = 80;

/// Lets so many steps pass, and nothing after them.
#[derive(Clone)]
struct Fuse(Arc<AtomicI64>);

impl Fuse {
    fn of(steps: i64) -> Fuse {
        Fuse(Arc::new(AtomicI64::new(steps)))
    }

    fn is_burnt(&self) -> bool {
        self.0.load(Ordering::SeqCst) <= 0
    }

    fn step(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn gate(&self) -> Gate {
        let fuse = self.clone();
        Arc::new(move |when| match when {
            When::Before => !fuse.is_burnt(),
            When::After => {
                fuse.step();
                // Nothing is told of what was committed last.
                !fuse.is_burnt()
            }
        })
    }

    /// A client that can write no more when the fuse is burnt.
    fn client(&self, client: &Client) -> Client {
        let (fuse, client) = (self.clone(), client.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (fuse, client) = (fuse.clone(), client.clone());
            async move {
                let is_write = request.method() != Method::GET;
                if is_write && fuse.is_burnt() {
                    return std::future::pending::<Result<Response<Body>, tower::BoxError>>().await;
                }
                let answer = client.send(request).await?;
                if is_write {
                    fuse.step();
                }
                Ok(answer)
            }
        });
        Client::new(service, "default")
    }
}

/// What a flow begins with, what happens in it, and what must hold in the end.
struct Flow {
    before: fn(&Stage) -> Later<'_>,
    change: fn(&Stage) -> Later<'_>,
    holds: fn(&Stage) -> Later<'_>,
}

type Later<'a> = std::pin::Pin<Box<dyn Future<Output = ()> + 'a>>;

/// How many stages a flow runs on at a time: most of it is waiting.
const AT_ONCE: usize = 4;

/// Lets a flow run with a kill of both roles after their first step, after their second, and so on, until it ends without one.
async fn at_every_step(flow: Flow) {
    at_every_step_of(Side::Both, flow).await;
}

/// The same with a kill of one of two processes, while the other goes on.
async fn at_every_step_of(side: Side, flow: Flow) {
    let runs = stream::iter(1..MAX_STEPS).map(|steps| with_a_kill(&flow, side, steps)).buffered(AT_ONCE);
    let mut runs = std::pin::pin!(runs);
    while let Some(lived) = runs.next().await {
        if lived {
            return;
        }
    }
    panic!("a flow had more than {MAX_STEPS} steps");
}

/// Lets a flow run with a kill after so many steps; says whether there were so many.
async fn with_a_kill(flow: &Flow, side: Side, steps: i64) -> bool {
    let mut stage = Stage::set(Base::sqlite(), false).await;
    stage.start().await;
    (flow.before)(&stage).await;
    stage.kill().await;
    let fuse = Fuse::of(steps);
    let (tenants, engine) = (fuse.client(&stage.tenants), fuse.client(&stage.engine));
    (flow.change)(&stage).await;
    let other = match side {
        Side::Both => None,
        Side::Backend => Some(Side::Agent),
        Side::Agent => Some(Side::Backend),
    };
    let (all, none) = ((stage.tenants.clone(), stage.engine.clone()), None);
    if let Some(other) = other {
        stage.start_side(other, none.clone(), all.0.clone(), all.1.clone()).await;
    }
    stage.start_side(side, Some(fuse.gate()), tenants, engine).await;
    let lived = stage.until_burnt(|| fuse.is_burnt()).await;
    stage.kill_side(side).await;
    stage.start_side(side, none, all.0, all.1).await;
    (flow.holds)(&stage).await;
    stage.settled().await;
    clean(&stage).await;
    stage.kill().await;
    lived
}

/// Nothing is doubled, and nothing is without what it belongs to.
async fn clean(stage: &Stage) {
    let applications: Vec<Application> = stage.all().await;
    let mappings: Vec<DeploymentToApplication> = stage.all().await;
    let owners: Vec<ApplicationOwner> = stage.all().await;
    assert_eq!(applications.len(), mappings.len());
    assert_eq!(applications.len(), owners.len());
    let objects = stage.listed(&format!("{ARGO}/applications")).await;
    assert_eq!(applications.len(), objects.len(), "{objects:?}");
    let users: Vec<ClusterUser> = stage.all().await;
    assert!(users.len() <= 1, "{users:?}");
    let (environments, credentials) =
        (stage.all::<ManagedEnvironment>().await, stage.all::<ClusterCredentials>().await);
    assert_eq!(environments.len() + 1, credentials.len(), "one is of the engine cluster");
    let secrets = stage.secrets_of_argo().await.len();
    let known: Vec<ApiToDatabase> = stage.all().await;
    let with_secrets = known.iter().filter(|one| one.relation.as_str() != "SyncOperation").count();
    assert_eq!(secrets, with_secrets);
    assert_eq!(stage.all::<SyncOperation>().await.len(), known.len() - with_secrets);
    let own = stage.all::<ClusterCredentials>().await.into_iter().filter(|row| row.own_service_account).count();
    assert_eq!(stage.all::<left::ServiceAccount>().await.len(), own, "nothing of ours is left on a target");
    let projects = stage.listed(&format!("{ARGO}/appprojects")).await;
    assert!(projects.len() <= users.len(), "{projects:?}");
}

async fn synced(stage: &Stage) {
    stage
        .until("a status", async || {
            stage.deployment("shop", "web").await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
}

fn is_synced(stage: &Stage) -> Later<'_> {
    Box::pin(synced(stage))
}

fn nothing(_: &Stage) -> Later<'_> {
    Box::pin(async {})
}

fn deploy(stage: &Stage) -> Later<'_> {
    Box::pin(async { drop(stage.deploy("shop", "web", plain()).await) })
}

fn deployed(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        stage.deploy("shop", "web", plain()).await;
        synced(stage).await;
        stage.settled().await;
    })
}

fn gone(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        let objects = format!("{ARGO}/namespaces/{ARGOCD}/applications");
        stage.until("no Application", async || stage.listed(&objects).await.is_empty().then_some(())).await;
        stage.until("no rows", async || stage.all::<Application>().await.is_empty().then_some(())).await;
        stage.until("no Secrets", async || stage.secrets_of_argo().await.is_empty().then_some(())).await;
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_created() {
    at_every_step(Flow { before: nothing, change: deploy, holds: is_synced }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_removed() {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(stage.delete("shop", DEPLOYMENTS, "web"))
    }
    at_every_step(Flow { before: deployed, change, holds: gone }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_created_while_one_role_dies() {
    for side in [Side::Backend, Side::Agent] {
        at_every_step_of(side, Flow { before: nothing, change: deploy, holds: is_synced }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_removed_while_one_role_dies() {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            deployed(stage).await;
            let path = format!("{GROUP}/namespaces/shop/{DEPLOYMENTS}/web");
            let finalizer = switchboard_gitops::kinds::deployment::FINALIZER;
            send(&stage.tenants, "PATCH", &path, json!({"metadata": {"finalizers": [finalizer]}})).await.unwrap();
        })
    }
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(stage.delete("shop", DEPLOYMENTS, "web"))
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            gone(stage).await;
            let released = async || stage.deployment("shop", "web").await.is_none().then_some(());
            stage.until("no resource", released).await;
        })
    }
    for side in [Side::Backend, Side::Agent] {
        at_every_step_of(side, Flow { before, change, holds }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_goes_to_another_environment() {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            deployed(stage).await;
            stage.environment("shop", "stage", "token-one").await;
        })
    }
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let path = format!("{GROUP}/namespaces/shop/{DEPLOYMENTS}/web");
            let there = json!({"spec": {"source": {"path": "other"},
                "destination": {"environment": "stage", "namespace": "web"}}});
            send(&stage.tenants, "PATCH", &path, there).await.unwrap();
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage
                .until("the other environment", async || {
                    let web = stage.deployment("shop", "web").await?;
                    let there = &stage.application(&uid(&web)).await?["spec"];
                    let is_there = there["destination"]["name"].as_str()?.starts_with("managed-env-");
                    (is_there && there["source"]["path"] == "other").then_some(())
                })
                .await;
            stage.until("its Secret", async || stage.secrets_of_argo().await.pop()).await;
        })
    }
    at_every_step(Flow { before, change, holds }).await;
}

/// A deployment to an environment with a service account of ours.
fn with_own_account(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        let config = json!({"kubeconfig": kubeconfig("admin-token")});
        stage.secret("shop", "stage-secret", ENVIRONMENT_SECRET, config).await;
        let spec = json!({"apiURL": TARGET, "credentialsSecret": "stage-secret", "allowInsecureSkipTLSVerify": false,
            "createNewServiceAccount": true});
        stage.make("shop", ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", "stage", spec).await;
        let mut spec = plain();
        spec["destination"] = json!({"environment": "stage", "namespace": "web"});
        stage.deploy("shop", "web", spec).await;
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_of_ours_is_made_and_goes_with_its_environment() {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            with_own_account(stage).await;
            synced(stage).await;
            stage.settled().await;
        })
    }
    fn deleted(stage: &Stage) -> Later<'_> {
        Box::pin(stage.delete("shop", ENVIRONMENTS, "stage"))
    }
    fn toggled(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let path = format!("{GROUP}/namespaces/shop/{ENVIRONMENTS}/stage");
            send(&stage.tenants, "PATCH", &path, json!({"spec": {"createNewServiceAccount": false}})).await.unwrap();
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let left = async || stage.all::<left::ServiceAccount>().await.is_empty().then_some(());
            stage.until("no account", left).await;
            let asked = async || {
                let resource = stage.resource("shop", ENVIRONMENTS, "stage").await;
                let secrets = stage.secrets_of_argo().await;
                (resource.is_some() == (secrets.len() == 1)).then_some(())
            };
            stage.until("a Secret as long as there is an environment", asked).await;
        })
    }
    at_every_step(Flow { before: nothing, change: with_own_account, holds: is_synced }).await;
    for change in [deleted as fn(&Stage) -> Later<'_>, toggled] {
        at_every_step(Flow { before, change, holds }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_runs() {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let mut spec = plain();
            spec["type"] = "manual".into();
            let web = uid(&stage.deploy("shop", "web", spec).await);
            stage.until("an Application", async || stage.application(&web).await).await;
            synced(stage).await;
            stage.settled().await;
        })
    }
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let spec = json!({"gitopsDeploymentName": "web"});
            stage.make("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", "now", spec).await;
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage
                .until("an end", async || {
                    let run = stage.resource("shop", SYNC_RUNS, "now").await?;
                    Some(run).filter(|run| run["status"]["conditions"][0]["status"] == "False")
                })
                .await;
        })
    }
    at_every_step(Flow { before, change, holds }).await;
}

fn in_environment(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        stage.environment("shop", "stage", "token-one").await;
        let mut spec = plain();
        spec["destination"] = json!({"environment": "stage", "namespace": "web"});
        stage.deploy("shop", "web", spec).await;
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_environment_is_created() {
    at_every_step(Flow { before: nothing, change: in_environment, holds: is_synced }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_environment_is_removed() {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            in_environment(stage).await;
            synced(stage).await;
            stage.settled().await;
        })
    }
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage.delete("shop", ENVIRONMENTS, "stage").await;
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage.until("no Secrets", async || stage.secrets_of_argo().await.is_empty().then_some(())).await;
            stage
                .until("an error", async || {
                    let found = stage.deployment("shop", "web").await?;
                    let conditions = found["status"]["conditions"].as_array()?.clone();
                    conditions.into_iter().find(|one| one["type"] == "ErrorOccurred" && one["status"] == "True")
                })
                .await;
        })
    }
    at_every_step(Flow { before, change, holds }).await;
}

fn credential(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        let login = json!({"username": "robot", "password": "password-one"});
        stage.secret("shop", "login", CREDENTIAL_SECRET, login).await;
        let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
        stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    })
}

fn credential_told(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        stage.until("a Secret", async || stage.secrets_of_argo().await.pop()).await;
        stage
            .until("conditions", async || {
                let found: Value = stage.resource("shop", CREDENTIALS, "git").await?;
                Some(()).filter(|()| found["status"]["conditions"][2]["status"] == "True")
            })
            .await;
        stage.settled().await;
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_is_created() {
    at_every_step(Flow { before: nothing, change: credential, holds: credential_told }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_is_removed() {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            credential(stage).await;
            credential_told(stage).await;
        })
    }
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(stage.delete("shop", CREDENTIALS, "git"))
    }
    at_every_step(Flow { before, change, holds: gone }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_is_moved() {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            credential(stage).await;
            credential_told(stage).await;
            deployed(stage).await;
            stage.add_instance(OTHER).await;
        })
    }
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let fleet = stage.fleet();
            let (unit, _) = fleet.unit("shop", None).await.unwrap();
            fleet.begin(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage
                .until("the end of the move", async || {
                    let rows: Vec<fleet::Move> = stage.all().await;
                    rows.iter().all(|row| row.step.as_str() == "done").then_some(())
                })
                .await;
            let web = stage.deployment("shop", "web").await.unwrap();
            let (at, application) = stage.anywhere(&uid(&web)).await.unwrap();
            assert_eq!((at.as_str(), &application["metadata"]["annotations"]), (OTHER, &Value::Null));
            assert_eq!(stage.cascades(), 0, "nothing that was deployed went");
            let placements: Vec<fleet::Placement> = stage.all().await;
            assert!(placements.iter().all(|one| one.moving.is_none() && one.epoch == 2), "{placements:?}");
            let left = stage.listed(&format!("{ARGO}/namespaces/{ARGOCD}/appprojects")).await;
            assert!(left.is_empty(), "{left:?}");
            synced(stage).await;
        })
    }
    at_every_step(Flow { before, change, holds }).await;
}
