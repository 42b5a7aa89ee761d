//! Operators on one cluster share its watches; the requests are counted at the embedded cluster.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_kernel::host::{Host, HostSettings};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_kernel::view::View;
use tokio::sync::mpsc;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");
const NAMESPACES: Resource = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");
/// Ten times longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Operator that reads three kinds, and reports the number of ConfigMaps in the namespace `shop`.
struct CountingReader {
    name: String,
    told: mpsc::UnboundedSender<(String, usize)>,
}

impl Operator for CountingReader {
    fn name(&self) -> &str {
        &self.name
    }

    fn declaration(&self) -> Declaration {
        let inputs = [CONFIG_MAPS, SECRETS, NAMESPACES].iter().map(AccessRule::every).collect();
        Declaration { inputs, outputs: BTreeSet::new(), service_account: None, units: Units::Whole }
    }

    fn decide(&self, _: &Unit, view: &View) -> Result<Plan, DecideError> {
        view.get(&NAMESPACES, "", "shop")?;
        view.list(&SECRETS, &Selection::all())?;
        let seen = view.list(&CONFIG_MAPS, &Selection::namespace("shop").with_labels("app=web"))?.len();
        // At the end of the test the receiver is dropped.
        let _ = self.told.send((self.name.clone(), seen));
        Ok(Plan::nothing())
    }
}

type RequestCounts = Arc<Mutex<BTreeMap<String, usize>>>;

/// Returns a client that counts its requests, as `GET /api/v1/pods watch`.
fn counting(inner: Client) -> (Client, RequestCounts) {
    let asked = RequestCounts::default();
    let counts = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let what = format!("{} {}{}", request.method(), request.uri().path(), if watch { " watch" } else { "" });
        *counts.lock().unwrap().entry(what).or_default() += 1;
        let inner = inner.clone();
        async move { inner.send(request).await }
    });
    (Client::new(service, "default"), asked)
}

async fn create(client: &Client, path: &str, object: &Value) {
    let request = Request::builder().method(Method::POST).uri(path).header("content-type", "application/json");
    let _: Value = client.request(request.body(serde_json::to_vec(object).unwrap()).unwrap()).await.unwrap();
}

async fn create_config_map(client: &Client, name: &str) {
    let object = json!({ "metadata": { "name": name, "labels": { "app": "web" } } });
    create(client, &CONFIG_MAPS.path("shop"), &object).await;
}

/// Runs this many operators until all have seen a change, and returns the counted requests.
async fn hosted(operators: usize) -> BTreeMap<String, usize> {
    let cluster = Cluster::ephemeral().await;
    create(&cluster.client(), &NAMESPACES.path(""), &json!({ "metadata": { "name": "shop" } })).await;
    create_config_map(&cluster.client(), "one").await;
    let (client, asked) = counting(cluster.client());
    let (told, mut tellings) = mpsc::unbounded_channel();
    let readers = (0..operators).map(|number| {
        let reader = CountingReader { name: format!("operator-{number}"), told: told.clone() };
        (Arc::new(reader) as Arc<dyn Operator>, Limits::none())
    });
    let home = ClusterName::new("home");
    let settings = HostSettings {
        topology: Topology::standalone(&home),
        clusters: BTreeMap::from([(home, client)]),
        global: GlobalLimits::default(),
        journal: Journal::in_memory(JournalLimits::default()),
        dry_run: false,
    };
    let (host, handle) = Host::new(settings, readers.collect());
    let running = tokio::spawn(host.run());
    for seen in [1, 2] {
        let mut all = BTreeSet::new();
        while all.len() < operators {
            let telling = tokio::time::timeout(PATIENCE, tellings.recv()).await;
            let (name, count) = telling.expect("every operator decides in time").unwrap();
            if count == seen {
                all.insert(name);
            }
        }
        if seen == 1 {
            create_config_map(&cluster.client(), "two").await;
        }
    }
    handle.stop().await;
    running.await.unwrap();
    asked.lock().unwrap().clone()
}

/// Requirement 2: one watch per kind in total, and none for the eleventh operator.
#[tokio::test]
async fn ten_operators_open_one_watch_per_kind_and_the_eleventh_none() {
    let ten = hosted(10).await;
    let one_each = ["configmaps", "namespaces", "secrets"].map(|kind| (format!("GET /api/v1/{kind} watch"), 1));
    assert_eq!(ten, BTreeMap::from(one_each));
    assert_eq!(hosted(11).await, ten);
}
