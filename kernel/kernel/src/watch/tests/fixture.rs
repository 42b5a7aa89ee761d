//! A watch of an embedded cluster through a connection that fails as told.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_object::selector::LabelSelector;
use tokio::sync::mpsc;

use crate::cache::{Cache, Observed};
use crate::gate::Gate;
use crate::object::Object;
use crate::place::ClusterName;
use crate::resource::{Query, Resource, Selection, TableKey};
use crate::view::Picture;
use crate::watch::{Pace, Told, Watch};

pub const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
pub const WIDGETS: Resource = Resource::namespaced("example.com", "v1", "Widget", "widgets");
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Nothing here takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What happens to one request.
pub enum Fault {
    /// The answer breaks off after so many bytes.
    Cut(usize),
    /// The server refuses.
    Status(u16),
    /// No connection.
    Broken,
    /// An answer that never goes on.
    Silent,
    /// An answer that is no JSON.
    Garbage,
    /// Nothing ever comes back.
    BlackHole,
}

type Script = Arc<Mutex<VecDeque<Fault>>>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

fn full(bytes: impl Into<Bytes>) -> UnsyncBoxBody<Bytes, BoxError> {
    Full::new(bytes.into()).map_err(Into::into).boxed_unsync()
}

async fn pass(client: Client, fault: Option<Fault>, request: Request<Body>) -> Result<Answer, BoxError> {
    match fault {
        None => Ok(client.send(request).await?.map(|body| body.map_err(Into::into).boxed_unsync())),
        Some(Fault::Cut(bytes)) => {
            let answer = client.send(request).await?;
            Ok(answer.map(|body| Limited::new(body, bytes).boxed_unsync()))
        }
        Some(Fault::Status(code)) => {
            let status = json!({ "kind": "Status", "code": code, "message": "not now" });
            Ok(Response::builder().status(code).body(full(status.to_string()))?)
        }
        Some(Fault::Broken) => Err("connection refused".into()),
        Some(Fault::Silent) => {
            let never = futures::stream::pending::<Result<Frame<Bytes>, BoxError>>();
            Ok(Response::new(StreamBody::new(never).boxed_unsync()))
        }
        Some(Fault::BlackHole) => std::future::pending().await,
        Some(Fault::Garbage) => Ok(Response::new(full("<html>\n"))),
    }
}

pub struct Fixture {
    client: Client,
    flaky: Client,
    script: Script,
    requests: Arc<AtomicUsize>,
    sender: Option<mpsc::Sender<(TableKey, Told)>>,
    receiver: mpsc::Receiver<(TableKey, Told)>,
    running: Option<Watch>,
    pub pace: Pace,
    pub gate: Gate,
    pub table: TableKey,
    pub cache: Cache,
    pub lists_begun: usize,
    pub lost: Vec<String>,
}

impl Fixture {
    pub fn new(cluster: &Cluster) -> Self {
        let (client, script, requests) = (cluster.client(), Script::default(), Arc::new(AtomicUsize::new(0)));
        let (inner, faults, counter) = (client.clone(), script.clone(), requests.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            counter.fetch_add(1, Ordering::SeqCst);
            pass(inner.clone(), faults.lock().unwrap().pop_front(), request)
        });
        let flaky = Client::new(service, "default");
        let (sender, receiver) = mpsc::channel(4);
        let short = Duration::from_millis(5);
        let (retry_min, retry_max, unserved_retry) = (short, short * 4, short * 4);
        let (silence, answer, life) = (Duration::from_secs(30), Duration::from_secs(30), Duration::from_secs(60));
        let pace = Pace { retry_min, retry_max, unserved_retry, silence, answer, life, custom_life: life };
        let table = TableKey { cluster: ClusterName::new("home"), resource: Arc::new(CONFIG_MAPS) };
        let (cache, sender) = (Cache::default(), Some(sender));
        let (running, gate, lists_begun, lost) = (None, Gate::open(), 0, Vec::new());
        Self { client, flaky, script, requests, sender, receiver, running, pace, gate, table, cache, lists_begun, lost }
    }

    /// What happens to the next requests; those after pass.
    pub fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        *self.script.lock().unwrap() = faults.into_iter().collect();
    }

    pub fn watch(&mut self, resource: &Resource) {
        self.table.resource = Arc::new(resource.clone());
        let sender = self.sender.take().unwrap();
        self.running = Some(Watch::start(self.flaky.clone(), self.table.clone(), sender, self.pace, self.gate.clone()));
    }

    pub fn stop(&mut self) {
        self.running = None;
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Takes in what is told until it is so.
    pub async fn until(&mut self, so: impl Fn(&Self) -> bool) {
        let end = tokio::time::Instant::now() + PATIENCE;
        while !so(self) {
            let told = tokio::time::timeout_at(end, self.receiver.recv()).await;
            let (table, told) = told.expect("it happens in time").expect("the watch goes on");
            assert_eq!(table, self.table);
            match told {
                Told::Lost { message } => self.lost.push(message),
                Told::Observed(observed) => {
                    self.lists_begun += usize::from(matches!(observed, Observed::Begin));
                    self.cache.observe(&table, observed).unwrap();
                }
            }
        }
    }

    pub async fn until_holds(&mut self, names: &[&str]) {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        self.until(|f| f.objects().is_some_and(|held| held.iter().map(|o| &*o.key.name).eq(names.iter()))).await;
    }

    pub async fn until_ended(&mut self) {
        let ended = async { while self.receiver.recv().await.is_some() {} };
        tokio::time::timeout(PATIENCE, ended).await.expect("it ends in time");
    }

    /// The objects made here; a controller of the cluster puts one of its own into every namespace.
    fn objects(&self) -> Option<Vec<Object>> {
        let query = Query { table: self.table.clone(), selection: Selection::namespace("shop") };
        let mut objects = self.cache.snapshot().list(&query, &LabelSelector::everything())?;
        objects.retain(|object| &*object.key.name != "kube-root-ca.crt");
        Some(objects)
    }

    pub fn kinds(&self) -> Vec<String> {
        let kinds = self.objects().unwrap().into_iter().map(|o| o.value()["kind"].as_str().unwrap().to_string());
        kinds.collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub async fn create(&self, names: &[&str]) {
        let resource = &self.table.resource;
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } });
        let _there_already = self.send("POST", "/api/v1/namespaces", &namespace).await;
        for name in names {
            let object =
                json!({ "apiVersion": resource.api_version(), "kind": resource.kind, "metadata": { "name": name } });
            self.send("POST", &resource.path("shop"), &object).await.unwrap();
        }
    }

    pub async fn delete(&self, name: &str) {
        let path = format!("{}/{name}", self.table.resource.path("shop"));
        self.send("DELETE", &path, &json!({})).await.unwrap();
    }

    pub async fn define_widgets(&self) {
        let schema = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
        let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
        let names = json!({ "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" });
        let spec = json!({ "group": "example.com", "scope": "Namespaced", "names": names, "versions": [version] });
        let metadata = json!({ "name": "widgets.example.com" });
        let kind = "CustomResourceDefinition";
        let body = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec });
        self.send("POST", DEFINITIONS, &body).await.unwrap();
    }

    pub async fn drop_widgets(&self) {
        self.send("DELETE", &format!("{DEFINITIONS}/widgets.example.com"), &json!({})).await.unwrap();
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> kube::Result<Value> {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        self.client.request(request.body(serde_json::to_vec(body).unwrap()).unwrap()).await
    }
}
