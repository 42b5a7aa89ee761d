//! Console with many objects: response times of its pages with 10,000 plugs and 10,000 applications.
//!
//! `cargo bench --bench console`; `OBJECTS=1000` for fewer objects. Fails if the overview or the map takes longer than
//! [`PAGE_GOAL`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use kube::Client;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_console::{Console, ConsoleSettings, ConsoleSource};
use switchboard_kernel::host::{Handle, Host};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_kernel::view::View;
use switchboard_plugs::model::{PLUGS, SOCKETS};

/// Number of plugs, and number of applications.
const OBJECTS: usize = 10_000;
/// Number of plugs per socket.
const PLUGS_A_SOCKET: usize = 40;
/// Number of concurrent requests while objects are created.
const AT_ONCE: usize = 32;
/// Number of requests per page.
const TIMES: usize = 20;
/// Maximum response time of the overview and the map.
const PAGE_GOAL: Duration = Duration::from_secs(1);
/// Maximum age of a page's cached data: requests in between are served from the cache.
const CACHE_EXPIRY: Duration = Duration::from_millis(350);
const TIMEOUT: Duration = Duration::from_secs(600);

const APPLICATIONS: Resource = Resource::namespaced("argoproj.io", "v1alpha1", "Application", "applications");

/// Reads everything, so that everything is cached, and writes nothing.
struct CachingOperator;

impl Operator for CachingOperator {
    fn name(&self) -> &str {
        "reader"
    }

    fn declaration(&self) -> Declaration {
        let inputs = [&PLUGS, &SOCKETS, &APPLICATIONS].into_iter().map(AccessRule::every).collect();
        Declaration { inputs, outputs: BTreeSet::new(), service_account: None, units: Units::Whole }
    }

    fn decide(&self, _: &Unit, view: &View) -> Result<Plan, DecideError> {
        for kind in [&PLUGS, &SOCKETS, &APPLICATIONS] {
            view.list(kind, &Selection::all())?;
        }
        Ok(Plan::nothing())
    }
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let most = std::env::var("OBJECTS").ok().and_then(|count| count.parse().ok()).unwrap_or(OBJECTS);
    runtime.block_on(measure(most));
}

async fn measure(most: usize) {
    let cluster = Cluster::ephemeral().await;
    let client = cluster.client();
    fill(&client, most).await;
    let name = ClusterName::new("main");
    let settings = switchboard_kernel::host::HostSettings {
        clusters: BTreeMap::from([(name.clone(), client.clone())]),
        topology: Topology::standalone(&name),
        global: GlobalLimits::default(),
        journal: Journal::in_memory(JournalLimits::default()),
        dry_run: false,
    };
    let reviews = client;
    let (host, handle) = Host::new(settings, vec![(Arc::new(CachingOperator), Limits::default())]);
    tokio::spawn(host.run());
    cached(&handle, 2 * most).await;
    let console =
        Console::bind(ConsoleSettings { address: Some(([127, 0, 0, 1], 0).into()), ..ConsoleSettings::default() });
    let console = console.await.expect("a free port can be had");
    let url = console.url();
    let _serving = console.serve(ConsoleSource::new(handle, name), reviews, Vec::new());
    println!("{most} plugs and {most} applications\n\n| page | median | worst | bytes |\n|---|---|---|---|");
    let pages = [
        "/",
        "/map",
        "/map?page=2&near=plug%2Fdefault%2Fplug-00007",
        "/fleet",
        "/fleet?page=100",
        "/search?q=plug-00777",
        "/decisions",
    ];
    for page in pages {
        let worst = page_times(&url, page).await;
        let bound = !matches!(page, "/" | "/map") || worst <= PAGE_GOAL;
        assert!(bound, "{page} took {worst:?}, longer than {PAGE_GOAL:?}");
    }
}

async fn page_times(url: &str, page: &str) -> Duration {
    let mut times = Vec::new();
    let mut bytes = 0;
    for _ in 0..TIMES {
        tokio::time::sleep(CACHE_EXPIRY).await;
        let begun = Instant::now();
        bytes = get(url, page).await;
        times.push(begun.elapsed());
    }
    times.sort();
    let worst = times.last().copied().unwrap_or_default();
    println!("| `{page}` | {:.0?} | {worst:.0?} | {bytes} |", times[times.len() / 2]);
    worst
}

async fn get(url: &str, page: &str) -> usize {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let stream = tokio::net::TcpStream::connect(host).await.expect("the console listens");
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("it speaks HTTP");
    tokio::spawn(connection);
    let request = http::Request::get(page).header("Host", host).body(Empty::<bytes::Bytes>::new());
    let response = sender.send_request(request.expect("a request can be made")).await.expect("it answers");
    assert_eq!(response.status(), 200, "{page}");
    response.into_body().collect().await.expect("the page is whole").to_bytes().len()
}

async fn cached(handle: &Handle, least: usize) {
    let begun = Instant::now();
    loop {
        let state = handle.state().await.expect("the kernel works");
        if state.tables.iter().map(|table| table.objects).sum::<usize>() >= least {
            return;
        }
        assert!(begun.elapsed() < TIMEOUT, "not everything was read in time");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn fill(client: &Client, most: usize) {
    for definition in switchboard_plugs::crds::crds() {
        send(client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    }
    let names = json!({"plural": "applications", "singular": "application", "kind": "Application", "listKind": "ApplicationList"});
    let open = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = json!({"name": "v1alpha1", "served": true, "storage": true, "schema": open});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "applications.argoproj.io"},
        "spec": {"group": "argoproj.io", "scope": "Namespaced", "names": names, "versions": [version]}});
    send(client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    let sockets = (0..most.div_ceil(PLUGS_A_SOCKET)).map(|at| {
        let socket = json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Socket", "metadata": {"name": format!("socket-{at:05}")}, "spec": {}});
        (SOCKETS.path("default"), socket)
    });
    let plugs = (0..most).map(|at| {
        let socket = format!("socket-{:05}", at / PLUGS_A_SOCKET);
        let plug = json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Plug", "metadata": {"name": format!("plug-{at:05}")},
            "spec": {"socket": {"name": socket}, "config": {"database": "orders"}}});
        (PLUGS.path("default"), plug)
    });
    let applications = (0..most).map(|at| {
        let application = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": format!("application-{at:05}")},
            "spec": {"source": {"repoURL": "https://git.example.com/shop.git", "path": "deploy", "targetRevision": "main"}, "destination": {"name": "in-cluster", "namespace": "shop"}},
            "status": {"sync": {"status": if at % 7 == 0 { "OutOfSync" } else { "Synced" }}, "health": {"status": if at % 50 == 0 { "Degraded" } else { "Healthy" }}}});
        (APPLICATIONS.path("default"), application)
    });
    let all: Vec<(String, Value)> = sockets.chain(plugs).chain(applications).collect();
    stream::iter(all)
        .for_each_concurrent(AT_ONCE, |(path, object)| async move { send(client, &path, object).await })
        .await;
}

/// Creates an object, with retries, because a new kind is served after a short delay.
async fn send(client: &Client, path: &str, object: Value) {
    let begun = Instant::now();
    loop {
        let request = http::Request::post(path).header("Content-Type", "application/json");
        let request = request.body(object.to_string().into_bytes()).expect("a request can be made");
        match client.request::<Value>(request).await {
            Ok(_) => return,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(10), "{path}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
