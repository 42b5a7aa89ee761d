//! The same operator code on the embedded cluster, in a replay of a recorded decision, and, with the feature `real`, on
//! kube-apiserver. The fault tests are separate.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_greeter::Greeter;
use switchboard_kernel::decision::DecisionId;
use switchboard_kernel::host::{Handle, Host, HostSettings};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, ServiceAccount, Unit, Units};
use switchboard_kernel::plan::{Mutation, Plan};
use switchboard_kernel::replay::{ReplayComparison, replay};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::state::{Health, OperatorState};
use switchboard_kernel::topology::{ClusterName, ClusterType, Topology};
use switchboard_kernel::view::{Question, View};

const TIMEOUT: Duration = Duration::from_secs(60);
const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const WIDGETS: Resource = Resource::namespaced("kernel.example.com", "v1", "Widget", "widgets");

/// A running kernel for one cluster.
struct RunningKernel {
    handle: Handle,
    host: tokio::task::JoinHandle<()>,
}

fn settings(client: &Client, journal: Journal) -> HostSettings {
    let name = ClusterName::new("main");
    HostSettings {
        clusters: BTreeMap::from([(name.clone(), client.clone())]),
        topology: Topology::standalone(&name),
        global: GlobalLimits { requests_per_second: 1000, ..GlobalLimits::default() },
        journal,
        dry_run: false,
    }
}

impl RunningKernel {
    fn start(client: &Client, operators: Vec<Arc<dyn Operator>>, journal: Journal) -> Self {
        let limits = Limits { debounce: Duration::ZERO, cool_down: Duration::from_millis(5), ..Limits::default() };
        let operators = operators.into_iter().map(|operator| (operator, limits.clone())).collect();
        let (host, handle) = Host::new(settings(client, journal), operators);
        Self { handle, host: tokio::spawn(host.run()) }
    }

    async fn operator(&self, name: &str) -> OperatorState {
        let state = self.handle.state().await.unwrap();
        state.operators.into_iter().find(|operator| operator.name == name).unwrap()
    }

    async fn stop(self) {
        self.handle.stop().await;
        self.host.await.unwrap();
    }
}

async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let end = tokio::time::Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < end, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn send(client: &Client, method: &str, path: &str, body: Value) -> Option<Value> {
    let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", content_type);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    client.request::<Value>(request.body(body).unwrap()).await.ok()
}

async fn get(client: &Client, path: &str) -> Option<Value> {
    send(client, "GET", path, Value::Null).await
}

fn greeted_config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"name": name},
        "metadata": {"name": name, "labels": {"greeter.example.com/greet": "yes"}}})
}

fn greeting_words(words: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"words": words}, "metadata": {"name": "greeting"}})
}

async fn namespace(client: &Client, name: &str) -> String {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    send(client, "POST", "/api/v1/namespaces", body).await.unwrap();
    format!("/api/v1/namespaces/{name}/configmaps")
}

async fn text(client: &Client, path: &str) -> Option<String> {
    get(client, path).await?.pointer("/data/text")?.as_str().map(str::to_string)
}

/// Lifecycle of a greeting: waiting, created, updated, repaired after a change by another writer, kept across a
/// restart, and deleted.
async fn check_greeting_lifecycle(client: Client, dir: &Path) {
    let maps = namespace(&client, "greets").await;
    let greeting = format!("{maps}/ada-greeting");
    let kernel =
        RunningKernel::start(&client, vec![Arc::new(Greeter)], Journal::open(dir, JournalLimits::default()).unwrap());
    send(&client, "POST", &maps, greeted_config_map("ada")).await.unwrap();
    eventually("it waits for the words", async || {
        let operator = kernel.operator("greeter").await;
        (operator.health == Health::Waiting && operator.reason == "ConfigMap greeting to appear").then_some(())
    })
    .await;
    send(&client, "POST", &maps, greeting_words("Good day")).await.unwrap();
    let says = async |wanted: &str| (text(&client, &greeting).await.as_deref() == Some(wanted)).then_some(());
    eventually("the first greeting", || says("Good day, ada!")).await;
    send(&client, "PATCH", &format!("{maps}/greeting"), json!({"data": {"words": "Hi"}})).await.unwrap();
    eventually("the changed greeting", || says("Hi, ada!")).await;
    kernel.stop().await;

    send(&client, "PATCH", &format!("{maps}/greeting"), json!({"data": {"words": "Hello"}})).await.unwrap();
    let kernel =
        RunningKernel::start(&client, vec![Arc::new(Greeter)], Journal::open(dir, JournalLimits::default()).unwrap());
    eventually("a change while the kernel was stopped", || says("Hello, ada!")).await;
    eventually("all is well", async || (kernel.operator("greeter").await.health == Health::Ready).then_some(())).await;
    let writes = kernel.operator("greeter").await.writes;
    assert_eq!(writes, 1, "one change, one write");
    send(&client, "DELETE", &format!("{maps}/ada"), Value::Null).await.unwrap();
    eventually("all units are removed", async || (kernel.operator("greeter").await.units_total == 0).then_some(()))
        .await;
    eventually("the greeting goes with its owner", async || get(&client, &greeting).await.is_none().then_some(()))
        .await;
    kernel.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_runs_on_the_embedded_cluster_and_its_decisions_can_be_replayed() {
    let dir = tempfile::tempdir().unwrap();
    check_greeting_lifecycle(Cluster::ephemeral().await.client(), dir.path()).await;
    let journal = Journal::read(dir.path()).unwrap();
    let mut replayed = 0;
    for id in 1..journal.next_id().0 {
        if journal.get(DecisionId(id)).is_some() {
            assert_eq!(replay(&Greeter, &journal, DecisionId(id), &[]), ReplayComparison::Same, "decision {id}");
            replayed += 1;
        }
    }
    assert!(replayed >= 5, "{replayed} decisions");
}

/// Counts widgets into a ConfigMap, as a service account.
struct WidgetCounter;

impl Operator for WidgetCounter {
    fn name(&self) -> &str {
        "counter"
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::from([AccessRule::every(&WIDGETS)]),
            outputs: BTreeSet::from([AccessRule::every(&CONFIG_MAPS).on(ClusterType::Configuration)]),
            service_account: Some(ServiceAccount { namespace: "default".into(), name: "counter".into() }),
            units: Units::Whole,
        }
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let count = view.list(&WIDGETS, &Selection::namespace("default"))?.len();
        let mut plan = Plan::nothing();
        let body = json!({"metadata": {"name": "count", "namespace": "default"}, "data": {"count": count.to_string()}});
        plan.push(Mutation::apply(&CONFIG_MAPS, body));
        Ok(plan)
    }
}

fn definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.kernel.example.com"},
        "spec": {"group": "kernel.example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

/// Tests a kind that is defined later, and a service account that gets its rights later.
async fn check_late_kind(client: Client) {
    let kernel =
        RunningKernel::start(&client, vec![Arc::new(WidgetCounter)], Journal::in_memory(JournalLimits::default()));
    let refused = eventually("it may not write", async || {
        Some(kernel.operator("counter").await).filter(|operator| operator.health == Health::Failing)
    })
    .await;
    let whose = "system:serviceaccount:default:counter";
    assert!(refused.failures > 0, "a write that fails is a run that fails");
    assert!(refused.reason.contains(whose) && refused.reason.contains("forbidden"), "{}", refused.reason);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "counter"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "counter", "namespace": "default"}]});
    send(&client, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", role).await.unwrap();
    let count = "/api/v1/namespaces/default/configmaps/count";
    let is = async |wanted: &str| {
        let found = get(&client, count).await?.pointer("/data/count")?.as_str().map(str::to_string);
        (found.as_deref() == Some(wanted)).then_some(())
    };
    eventually("nothing to count", || is("0")).await;
    send(&client, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition()).await.unwrap();
    let widgets = "/apis/kernel.example.com/v1/namespaces/default/widgets";
    let widget = json!({"apiVersion": "kernel.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
    eventually("the kind is served", async || send(&client, "POST", widgets, widget.clone()).await.map(drop)).await;
    eventually("one is counted", || is("1")).await;
    kernel.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_may_come_later_and_writes_are_the_service_accounts() {
    check_late_kind(Cluster::ephemeral().await.client()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_writes_nothing_and_tells_what_it_would() {
    let client = Cluster::ephemeral().await.client();
    let maps = namespace(&client, "pretend").await;
    send(&client, "POST", &maps, greeted_config_map("ada")).await.unwrap();
    send(&client, "POST", &maps, greeting_words("Good day")).await.unwrap();
    let settings = HostSettings { dry_run: true, ..settings(&client, Journal::in_memory(JournalLimits::default())) };
    let (host, _handle) = Host::new(settings, vec![(Arc::new(Greeter), Limits::none())]);
    let closed = host.run_until_settled(TIMEOUT).await.unwrap();
    let wanted: Vec<String> =
        closed.iter().flat_map(|one| &one.executed).map(|one| one.write.mutation.to_string()).collect();
    assert_eq!(wanted, ["apply configmaps/pretend/ada-greeting"]);
    assert!(get(&client, &format!("{maps}/ada-greeting")).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_object_of_a_burst_is_lost() {
    const BURST: usize = 1500;
    let client = Cluster::ephemeral().await.client();
    let maps = namespace(&client, "burst").await;
    for number in 0..BURST {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{number}")}});
        send(&client, "POST", &maps, body).await.unwrap();
    }
    let all = async || get(&client, "/api/v1/configmaps").await.unwrap()["items"].as_array().unwrap().len();
    let kernel = RunningKernel::start(&client, vec![Arc::new(Greeter)], Journal::in_memory(JournalLimits::default()));
    let cached = async || {
        let state = kernel.handle.state().await.unwrap();
        state.tables.iter().find(|table| table.synced).map(|table| table.objects)
    };
    let first = eventually("the kind is known", cached).await;
    assert_eq!(first, all().await);
    send(&client, "DELETE", &maps, Value::Null).await.unwrap();
    eventually("all that went is gone", async || (cached().await? == all().await).then_some(())).await;
    kernel.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_change_nothing_cost_no_budget() {
    const CONFIG_MAP_COUNT: usize = 12;
    let client = Cluster::ephemeral().await.client();
    let maps = namespace(&client, "budget").await;
    send(&client, "POST", &maps, greeting_words("Good day")).await.unwrap();
    for number in 0..CONFIG_MAP_COUNT {
        send(&client, "POST", &maps, greeted_config_map(&format!("g{number}"))).await.unwrap();
    }
    let settle = async |limits: Limits, runs: u64| {
        let settings = settings(&client, Journal::in_memory(JournalLimits::default()));
        let (host, handle) = Host::new(settings, vec![(Arc::new(Greeter), limits)]);
        let kernel = RunningKernel { handle, host: tokio::spawn(host.run()) };
        eventually("all have run", async || (kernel.operator("greeter").await.runs >= runs).then_some(())).await;
        kernel
    };
    let first = settle(Limits::none(), CONFIG_MAP_COUNT as u64).await;
    // One unit may run twice before another one runs at all.
    let greeted = async || (first.operator("greeter").await.writes >= CONFIG_MAP_COUNT as u64).then_some(());
    eventually("all are greeted", greeted).await;
    first.stop().await;
    let tight = Limits { writes_per_second: 2, writes_per_minute: 2, max_concurrent: 1, ..Limits::none() };
    let kernel = settle(tight, CONFIG_MAP_COUNT as u64).await;
    assert_eq!(kernel.operator("greeter").await.writes, 0);
    kernel.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_not_selected_any_more_is_no_unit() {
    let client = Cluster::ephemeral().await.client();
    let maps = namespace(&client, "label").await;
    send(&client, "POST", &maps, greeting_words("Good day")).await.unwrap();
    send(&client, "POST", &maps, greeted_config_map("ada")).await.unwrap();
    let kernel = RunningKernel::start(&client, vec![Arc::new(Greeter)], Journal::in_memory(JournalLimits::default()));
    eventually("greeted", async || text(&client, &format!("{maps}/ada-greeting")).await).await;
    let bare = json!({"metadata": {"labels": {"greeter.example.com/greet": null}}});
    send(&client, "PATCH", &format!("{maps}/ada"), bare).await.unwrap();
    eventually("all units are removed", async || (kernel.operator("greeter").await.units_total == 0).then_some(()))
        .await;
    kernel.stop().await;
}

/// Asks for the weather of a city, and counts the answers.
struct WeatherOperator(Arc<AtomicUsize>);

#[derive(serde::Serialize)]
struct WeatherQuestion {
    city: Value,
}

impl Question for WeatherQuestion {
    type Answer = String;
    const KIND: &'static str = "weather";
}

impl Operator for WeatherOperator {
    fn name(&self) -> &str {
        "weather"
    }

    fn declaration(&self) -> Declaration {
        let config_maps = BTreeSet::from([AccessRule::every(&CONFIG_MAPS)]);
        Declaration { inputs: config_maps.clone(), outputs: config_maps, service_account: None, units: Units::Whole }
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let Some(place) = view.get(&CONFIG_MAPS, "default", "place")? else { return Ok(Plan::nothing()) };
        let question = WeatherQuestion { city: place.value()["data"]["city"].clone() };
        let weather = view.ask(question, |question| {
            self.0.fetch_add(1, Ordering::Relaxed);
            if question.city == "Atlantis" { Err("no such city".to_string()) } else { Ok("rain".to_string()) }
        });
        let weather = weather.map_err(DecideError::failed)?;
        let mut plan = Plan::nothing();
        let body = json!({"metadata": {"name": "weather", "namespace": "default"}, "data": {"now": weather}});
        plan.push(Mutation::apply(&CONFIG_MAPS, body));
        Ok(plan)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_from_outside_is_recorded_and_not_asked_again() {
    let (client, dir, asked) = (Cluster::ephemeral().await.client(), tempfile::tempdir().unwrap(), Arc::default());
    let operator: Arc<dyn Operator> = Arc::new(WeatherOperator(Arc::clone(&asked)));
    let kernel = RunningKernel::start(
        &client,
        vec![operator.clone()],
        Journal::open(dir.path(), JournalLimits::default()).unwrap(),
    );
    let maps = "/api/v1/namespaces/default/configmaps";
    let place =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"city": "Bergen"}, "metadata": {"name": "place"}});
    send(&client, "POST", maps, place).await.unwrap();
    let weather = format!("{maps}/weather");
    eventually("the weather", async || get(&client, &weather).await.filter(|w| w["data"]["now"] == "rain")).await;
    send(&client, "PATCH", &format!("{maps}/place"), json!({"data": {"city": "Atlantis"}})).await.unwrap();
    let failing = eventually("it fails", async || {
        Some(kernel.operator("weather").await).filter(|operator| operator.health == Health::Failing)
    })
    .await;
    assert_eq!(failing.reason, "no such city");
    kernel.stop().await;

    let before = asked.load(Ordering::Relaxed);
    let journal = Journal::read(dir.path()).unwrap();
    let outside = |id: &u64| journal.get(DecisionId(*id)).is_some_and(|decision| !decision.external_queries.is_empty());
    let ids: Vec<u64> = (1..journal.next_id().0).filter(outside).collect();
    assert!(ids.len() >= 2, "{ids:?}");
    for id in ids {
        assert_eq!(replay(&*operator, &journal, DecisionId(id), &[]), ReplayComparison::Same, "decision {id}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), before, "a replay sends no query");
}

#[cfg(feature = "real")]
mod real_cluster {
    use switchboard_suite::real::RealCluster;
    use switchboard_suite::target::TestTarget;

    #[tokio::test(flavor = "multi_thread")]
    async fn the_same_operators_run_on_a_real_kube_apiserver() {
        let real = RealCluster::start().unwrap();
        let target = TestTarget::open(&real.kubeconfig()).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        super::check_greeting_lifecycle(target.admin.clone(), dir.path()).await;
        super::check_late_kind(target.admin.clone()).await;
    }
}
