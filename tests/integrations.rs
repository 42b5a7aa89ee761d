//! The integrations manager on the embedded cluster, and with the feature `real` on kube-apiserver.
#![allow(clippy::unwrap_used)]

#[path = "integrations/defects.rs"]
mod defects;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use switchboard_integrations::annotations::{self, annotate};
use switchboard_integrations::chart::IntegrationsChart;
use switchboard_integrations::desired::{DesiredBuilder, DesiredObjects};
use switchboard_integrations::operator::{DeletionGuard, DesiredStore, IntegrationsOperator};
use switchboard_integrations::settings::{DEFAULT_UPSTREAM, RenderSettings};
use switchboard_integrations::source::Bundle;
use switchboard_kernel::decision::{RunOutcome, WriteResult};
use switchboard_kernel::host::{Host, HostSettings};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::operator::Operator;
use switchboard_kernel::topology::{ClusterName, Topology};

const TIMEOUT: Duration = Duration::from_secs(60);
const SPEC: &str = "resources: {requests: {cpu: 100m, memory: 1024Mi}, limits: {memory: '2000000000'}}";

/// Returns a bundle with two environments and the given integrations.
fn data(namespace: &str, integrations: &[(&str, String)]) -> Bundle {
    data_with(namespace, integrations, "")
}

/// Returns a bundle with additional content in the file of the second account.
fn data_with(namespace: &str, integrations: &[(&str, String)], second: &str) -> Bundle {
    let lean = |name: &str, environment: &str| {
        format!(
            "$schema: /openshift/lean-namespace-1.yml\nname: {name}\ncluster: {{name: target, serverUrl: https://x}}\n\
             environment: {{name: {environment}, parameters: {{IMAGE_TAG: abc, DRY_RUN: --no-dry-run}}}}\n"
        )
    };
    let mut texts = vec![
        ("/stage.yml".to_string(), lean(namespace, "stage")),
        ("/prod.yml".to_string(), lean(&format!("{namespace}-prod"), "prod")),
        ("/aws/1.yml".to_string(), "$schema: /aws/account-1.yml\nname: acc-1\n".to_string()),
        ("/aws/2.yml".to_string(), format!("$schema: /aws/account-1.yml\nname: acc-2\n{second}")),
    ];
    texts.extend(integrations.iter().map(|(name, rest)| {
        let text = format!("$schema: /app-sre/integration-1.yml\nname: {name}\nmanaged:\n{rest}");
        (format!("/i/{name}.yml"), text)
    }));
    Bundle::from_texts(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())))
}

fn integration(file: &str, spec: &str, sharding: &str) -> String {
    let sharding = if sharding.is_empty() { String::new() } else { format!("  sharding: {sharding}\n") };
    format!("- namespace: {{$ref: {file}}}\n  spec: {{{SPEC}{spec}}}\n{sharding}")
}

fn desired(bundle: &Bundle, environment: Option<&str>) -> DesiredObjects {
    let mut settings = RenderSettings::default();
    settings.scope.environment = environment.map(Into::into);
    let desired = DesiredBuilder::new(IntegrationsChart::builtin(), settings).build(bundle);
    assert_eq!(desired.problems(), []);
    desired
}

/// A namespace for one test.
struct ManagerFixture {
    client: Client,
    namespace: String,
}

impl ManagerFixture {
    async fn new(client: Client, namespace: &str) -> Self {
        for name in [namespace.to_string(), format!("{namespace}-prod")] {
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            send(&client, "POST", "/api/v1/namespaces", &body).await;
        }
        Self { client, namespace: namespace.to_string() }
    }

    /// Runs the operator until nothing is left to do, and returns its writes.
    async fn run(&self, desired: DesiredObjects) -> Vec<String> {
        self.run_as("target", desired, false).await
    }

    /// Runs the operator for a cluster with the given name in the bundle.
    async fn run_as(&self, name: &str, desired: DesiredObjects, compat: bool) -> Vec<String> {
        let shelf = Arc::new(DesiredStore::new(DeletionGuard::default(), compat, false));
        shelf.replace(Arc::new(desired));
        let cluster = ClusterName::new(name);
        let settings = HostSettings {
            clusters: BTreeMap::from([(cluster.clone(), self.client.clone())]),
            topology: Topology::standalone(&ClusterName::new("elsewhere")),
            global: GlobalLimits { requests_per_second: u32::MAX, ..GlobalLimits::default() },
            journal: Journal::in_memory(JournalLimits::default()),
            dry_run: false,
        };
        let operator: Arc<dyn Operator> = Arc::new(IntegrationsOperator::new(name, shelf).on_named_cluster());
        let (host, _handle) = Host::new(settings, vec![(operator, Limits::none())]);
        let mut written = Vec::new();
        for closed in host.run_until_settled(TIMEOUT).await.unwrap() {
            match &closed.decision.outcome {
                RunOutcome::Decided { writes, .. } => {
                    for write in writes {
                        match &write.result {
                            WriteResult::Written { .. } => written.push(write.mutation.to_string()),
                            WriteResult::Failed { message } => panic!("{}: {message}", write.mutation),
                            _ => {}
                        }
                    }
                }
                RunOutcome::Failed { message } => panic!("{message}"),
                RunOutcome::NotCached { .. } => {}
            }
        }
        written.sort();
        written.into_iter().map(|text| text.replace(&self.namespace, "NS")).collect()
    }

    fn path(&self, kind: &str, name: &str) -> String {
        let group = match kind {
            "services" => "/api/v1",
            "cronjobs" => "/apis/batch/v1",
            _ => "/apis/apps/v1",
        };
        format!("{group}/namespaces/{}/{kind}/{name}", self.namespace)
    }

    async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let request = http::Request::get(self.path(kind, name)).body(Vec::new()).unwrap();
        self.client.request(request).await.ok()
    }

    async fn create(&self, kind: &str, object: &Value) {
        send(&self.client, "POST", self.path(kind, "").trim_end_matches('/'), object).await;
    }
}

async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Value {
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", "application/json");
    client.request(request.body(body.to_string().into_bytes()).unwrap()).await.unwrap()
}

/// Guarantees: creation, no-op, a changed image, a removed shard, foreign objects, a feature flag, an environment, and
/// the manager itself.
async fn check_lifecycle(client: Client) {
    let world = ManagerFixture::new(client, "life").await;
    let foreign = |name: &str, marks: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "annotations": marks}, "spec": {
            "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    };
    world.create("deployments", &foreign("by-hand", json!({}))).await;
    let theirs = annotate(&foreign("theirs", json!({})), "https://else", None);
    world.create("deployments", &theirs).await;

    let per_account =
        |over: &str| integration("/stage.yml", ", cron: ''", &format!("{{strategy: per-aws-account{over}}}"));
    let all = |over: &str, more: &[(&str, String)]| {
        let mut all = vec![
            ("terraform-resources", per_account(over)),
            ("one", integration("/stage.yml", "", "{strategy: static, shards: 2}")),
        ];
        all.extend(more.iter().map(|(name, text)| (*name, text.clone())));
        data("life", &all)
    };
    let manager = ("integrations-manager", integration("/stage.yml", ", environmentAware: true", ""));
    let times = ("at-times", integration("/stage.yml", ", cron: '*/5 * * * *', imageRef: x", ""));
    let store = ("with-cache", integration("/stage.yml", ", cache: true", ""));
    let prod = ("only-prod", integration("/prod.yml", "", ""));
    let more = [manager, times, store, prod];

    let made = world.run(desired(&all("", &more), Some("stage"))).await;
    assert_eq!(
        made,
        [
            "create cronjobs.batch/NS/qontract-reconcile-at-times",
            "create deployments.apps/NS/qontract-reconcile-integrations-manager",
            "create deployments.apps/NS/qontract-reconcile-one-0",
            "create deployments.apps/NS/qontract-reconcile-one-1",
            "create deployments.apps/NS/qontract-reconcile-terraform-resources-acc-1",
            "create deployments.apps/NS/qontract-reconcile-terraform-resources-acc-2",
            "create services/NS/qontract-reconcile",
            "create statefulsets.apps/NS/qontract-reconcile-with-cache",
        ]
    );
    let live = world.get("deployments", "qontract-reconcile-integrations-manager").await.unwrap();
    assert_eq!(live["metadata"]["annotations"][annotations::CALLER], DEFAULT_UPSTREAM);
    let env = live["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
    assert!(env.iter().any(|one| one["name"] == "MANAGER_DRY_RUN"), "{env:?}");

    assert_eq!(world.run(desired(&all("", &more), Some("stage"))).await, Vec::<String>::new());

    let image = ", shardSpecOverrides: [{shard: {$ref: /aws/2.yml}, imageRef: superdangerous}]";
    let touched = world.run(desired(&all(image, &more), Some("stage"))).await;
    assert_eq!(touched, ["update deployments.apps/NS/qontract-reconcile-terraform-resources-acc-2"]);

    let off = ", shardSpecOverrides: [{shard: {$ref: /aws/2.yml}, disabled: true}]";
    let touched = world.run(desired(&all(off, &more), Some("stage"))).await;
    assert_eq!(touched, ["update deployments.apps/NS/qontract-reconcile-terraform-resources-acc-2"]);
    let stopped = world.get("deployments", "qontract-reconcile-terraform-resources-acc-2").await.unwrap();
    assert_eq!(stopped["spec"]["replicas"], 0);

    // Without one shard: an account disables the integration.
    let without = data_with(
        "life",
        &[
            ("terraform-resources", per_account("")),
            ("one", integration("/stage.yml", "", "{strategy: static, shards: 2}")),
            more[0].clone(),
            more[1].clone(),
            more[2].clone(),
        ],
        "disable: {integrations: [terraform-resources]}\n",
    );
    let gone = world.run(desired(&without, Some("stage"))).await;
    assert_eq!(gone, ["delete deployments.apps/NS/qontract-reconcile-terraform-resources-acc-2"]);

    let fewer = data(
        "life",
        &[
            ("one", integration("/stage.yml", "", "{strategy: static, shards: 2}")),
            more[0].clone(),
            more[1].clone(),
            more[2].clone(),
        ],
    );
    let gone = world.run(desired(&fewer, Some("stage"))).await;
    assert_eq!(gone, ["delete deployments.apps/NS/qontract-reconcile-terraform-resources-acc-1"]);
    for name in ["by-hand", "theirs"] {
        assert!(world.get("deployments", name).await.is_some(), "{name} is not ours");
    }
    // All environments: only the new objects are created.
    let made = world.run(desired(&all(off, &more), None)).await;
    assert!(made.contains(&"create deployments.apps/NS-prod/qontract-reconcile-only-prod".to_string()), "{made:?}");
}

/// Tests existing objects, created by qontract-reconcile or by hand.
async fn check_existing_objects(client: Client) {
    let world = ManagerFixture::new(client, "before").await;
    let bundle = data(
        "before",
        &[("one", integration("/stage.yml", "", "")), ("two", integration("/stage.yml", ", cache: true", ""))],
    );
    let wanted = desired(&bundle, None);
    let target = wanted.namespaces.values().next().unwrap();
    for object in target.objects() {
        let mut body = wanted.annotated(object);
        body["metadata"]["annotations"][annotations::UPDATE] = "2020-01-01T00:00:00Z".into();
        body["metadata"]["annotations"][annotations::LAST_APPLIED] = object.body.to_string().into();
        world.create(&object.kind.plural, &body).await;
    }
    assert_eq!(world.run(wanted).await, Vec::<String>::new(), "objects of qontract-reconcile are left as they are");

    let by_hand = ManagerFixture::new(world.client.clone(), "by-hand").await;
    let bundle = data("by-hand", &[("one", integration("/stage.yml", "", ""))]);
    let wanted = desired(&bundle, None);
    for object in wanted.namespaces.values().next().unwrap().objects() {
        by_hand.create(&object.kind.plural, &object.body).await;
    }
    let before = by_hand.get("deployments", "qontract-reconcile-one").await.unwrap();
    let adopted = by_hand.run(wanted.clone()).await;
    assert_eq!(adopted, ["patch deployments.apps/NS/qontract-reconcile-one", "patch services/NS/qontract-reconcile"]);
    let after = by_hand.get("deployments", "qontract-reconcile-one").await.unwrap();
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(by_hand.run(wanted).await, Vec::<String>::new());
}

/// The first run in compatibility mode changes nothing in the objects that qontract-reconcile created from the example.
async fn check_upstream_objects(client: Client) {
    let world = ManagerFixture::new(client, "integrations").await;
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/integrations");
    let mut settings = RenderSettings::default();
    settings.scope.compat = true;
    settings.scope.environment = Some("stage".to_string());
    let bundle = switchboard_integrations::source::bundle::read(&example.join("bundle.json")).unwrap();
    let mut wanted = DesiredBuilder::new(IntegrationsChart::builtin(), settings).build(&bundle);
    // qontract-reconcile cannot read other namespaces.
    wanted.namespaces.retain(|(cluster, namespace), _| **cluster == *"stage-01" && **namespace == *"integrations");
    (wanted.empty, wanted.disabled) = (Vec::new(), Vec::new());
    let expected = std::fs::read(example.join("expected/all/stage-01/integrations.json")).unwrap();
    let expected: Vec<Value> = serde_json::from_slice(&expected).unwrap();
    assert_eq!(wanted.len(), expected.len());
    for mut object in expected {
        let plural =
            switchboard_integrations::desired::resource(object["kind"].as_str().unwrap()).unwrap().plural.clone();
        let applied = object.to_string();
        object["metadata"]["annotations"][annotations::UPDATE] = "2020-01-01T00:00:00Z".into();
        object["metadata"]["annotations"][annotations::LAST_APPLIED] = applied.into();
        world.create(&plural, &object).await;
    }
    assert_eq!(world.run_as("stage-01", wanted.clone(), true).await, Vec::<String>::new());
    // The object is read nevertheless.
    let name = "qontract-reconcile-aws-ami-share";
    let mut live = world.get("deployments", name).await.unwrap();
    live["spec"]["replicas"] = 3.into();
    send(&world.client, "PUT", &world.path("deployments", name), &live).await;
    let written = world.run_as("stage-01", wanted, true).await;
    assert_eq!(written, [format!("update deployments.apps/NS/{name}")]);
}

/// An unreachable cluster does not affect other clusters.
#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_cluster_does_not_hold_up_the_others() {
    let world = ManagerFixture::new(switchboard_cluster::Cluster::ephemeral().await.client(), "near").await;
    let mut wanted = desired(&data("near", &[("one", integration("/stage.yml", "", ""))]), Some("stage"));
    let far = wanted.namespaces.values().next().unwrap().clone();
    wanted.namespaces.insert(("far".into(), "near".into()), far);
    let shelf = Arc::new(DesiredStore::new(DeletionGuard::default(), false, false));
    shelf.replace(Arc::new(wanted));
    let settings = HostSettings {
        clusters: BTreeMap::from([(ClusterName::new("target"), world.client.clone())]),
        topology: Topology::standalone(&ClusterName::new("elsewhere")),
        global: GlobalLimits::default(),
        journal: Journal::in_memory(JournalLimits::default()),
        dry_run: false,
    };
    let operator = |cluster: &str| -> (Arc<dyn Operator>, Limits) {
        (Arc::new(IntegrationsOperator::new(cluster, shelf.clone()).on_named_cluster()), Limits::none())
    };
    let (host, handle) = Host::new(settings, vec![operator("target"), operator("far")]);
    let host = tokio::spawn(host.run());
    let end = tokio::time::Instant::now() + TIMEOUT;
    while world.get("deployments", "qontract-reconcile-one").await.is_none() {
        assert!(tokio::time::Instant::now() < end, "the cluster that can be reached is looked after");
        tokio::task::yield_now().await;
    }
    let state = handle.state().await.unwrap();
    let far = state.operators.iter().find(|one| one.name == "integrations@far").unwrap();
    assert_eq!(far.health, switchboard_kernel::state::Health::Waiting, "{}", far.reason);
    handle.stop().await;
    host.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_cluster_holds_the_whole_life() {
    check_lifecycle(switchboard_cluster::Cluster::ephemeral().await.client()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_cluster_holds_what_was_there_before() {
    check_existing_objects(switchboard_cluster::Cluster::ephemeral().await.client()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_cluster_keeps_upstream_objects() {
    check_upstream_objects(switchboard_cluster::Cluster::ephemeral().await.client()).await;
}

#[cfg(feature = "real")]
#[tokio::test(flavor = "multi_thread")]
async fn the_real_cluster_holds_the_same() {
    let real = switchboard_suite::real::RealCluster::start().unwrap();
    let client = switchboard_suite::process::client(&real.kubeconfig()).await.unwrap();
    check_lifecycle(client.clone()).await;
    check_existing_objects(client.clone()).await;
    check_upstream_objects(client).await;
}
