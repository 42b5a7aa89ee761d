//! Watch of an embedded cluster through a connection with scripted faults.

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

use crate::cache::{Cache, TableEvent};
use crate::object::Object;
use crate::rate_limiter::RateLimiter;
use crate::resource::{ListQuery, Resource, Selection, TableKey};
use crate::topology::ClusterName;
use crate::view::Reader;
use crate::watch::{TableWatch, WatchTimeouts, WatchUpdate};

pub const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
pub const WIDGETS: Resource = Resource::namespaced("example.com", "v1", "Widget", "widgets");
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Ten times longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fault of one request.
pub enum ResponseFault {
    /// The response is cut off after this number of bytes.
    Cut(usize),
    /// The server returns an error.
    Status(u16),
    /// The connection fails.
    Broken,
    /// The response never continues.
    Silent,
    /// The response is not JSON.
    Garbage,
    /// There is no response.
    BlackHole,
}

type FaultScript = Arc<Mutex<VecDeque<ResponseFault>>>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

type BoxedResponse = Response<UnsyncBoxBody<Bytes, BoxError>>;

fn full(bytes: impl Into<Bytes>) -> UnsyncBoxBody<Bytes, BoxError> {
    Full::new(bytes.into()).map_err(Into::into).boxed_unsync()
}

async fn pass(client: Client, fault: Option<ResponseFault>, request: Request<Body>) -> Result<BoxedResponse, BoxError> {
    match fault {
        None => Ok(client.send(request).await?.map(|body| body.map_err(Into::into).boxed_unsync())),
        Some(ResponseFault::Cut(bytes)) => {
            let answer = client.send(request).await?;
            Ok(answer.map(|body| Limited::new(body, bytes).boxed_unsync()))
        }
        Some(ResponseFault::Status(code)) => {
            let status = json!({ "kind": "Status", "code": code, "message": "not now" });
            Ok(Response::builder().status(code).body(full(status.to_string()))?)
        }
        Some(ResponseFault::Broken) => Err("connection refused".into()),
        Some(ResponseFault::Silent) => {
            let never = futures::stream::pending::<Result<Frame<Bytes>, BoxError>>();
            Ok(Response::new(StreamBody::new(never).boxed_unsync()))
        }
        Some(ResponseFault::BlackHole) => std::future::pending().await,
        Some(ResponseFault::Garbage) => Ok(Response::new(full("<html>\n"))),
    }
}

pub struct WatchFixture {
    client: Client,
    flaky: Client,
    script: FaultScript,
    requests: Arc<AtomicUsize>,
    sender: Option<mpsc::Sender<(TableKey, WatchUpdate)>>,
    receiver: mpsc::Receiver<(TableKey, WatchUpdate)>,
    running: Option<TableWatch>,
    pub timeouts: WatchTimeouts,
    pub rate_limiter: RateLimiter,
    pub table: TableKey,
    pub cache: Cache,
    pub lists_begun: usize,
    pub lost: Vec<String>,
}

impl WatchFixture {
    pub fn new(cluster: &Cluster) -> Self {
        let (client, script, requests) = (cluster.client(), FaultScript::default(), Arc::new(AtomicUsize::new(0)));
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
        let timeouts = WatchTimeouts {
            retry_min,
            retry_max,
            unserved_retry,
            silence,
            response: answer,
            duration: life,
            custom_duration: life,
        };
        let table = TableKey { cluster: ClusterName::new("home"), resource: Arc::new(CONFIG_MAPS) };
        let (cache, sender) = (Cache::default(), Some(sender));
        let (running, rate_limiter, lists_begun, lost) = (None, RateLimiter::unlimited(), 0, Vec::new());
        Self {
            client,
            flaky,
            script,
            requests,
            sender,
            receiver,
            running,
            timeouts,
            rate_limiter,
            table,
            cache,
            lists_begun,
            lost,
        }
    }

    /// Sets the faults of the next requests; later ones have none.
    pub fn script(&self, faults: impl IntoIterator<Item = ResponseFault>) {
        *self.script.lock().unwrap() = faults.into_iter().collect();
    }

    pub fn watch(&mut self, resource: &Resource) {
        self.table.resource = Arc::new(resource.clone());
        let sender = self.sender.take().unwrap();
        self.running = Some(TableWatch::start(
            self.flaky.clone(),
            self.table.clone(),
            sender,
            self.timeouts,
            self.rate_limiter.clone(),
        ));
    }

    pub fn stop(&mut self) {
        self.running = None;
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Applies updates until a condition holds.
    pub async fn until(&mut self, so: impl Fn(&Self) -> bool) {
        let end = tokio::time::Instant::now() + PATIENCE;
        while !so(self) {
            let told = tokio::time::timeout_at(end, self.receiver.recv()).await;
            let (table, told) = told.expect("it happens in time").expect("the watch goes on");
            assert_eq!(table, self.table);
            match told {
                WatchUpdate::Failed { message } => self.lost.push(message),
                WatchUpdate::Event(observed) => {
                    self.lists_begun += usize::from(matches!(observed, TableEvent::Begin));
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

    /// Returns the objects created here; a controller of the cluster adds one to every namespace.
    fn objects(&self) -> Option<Vec<Object>> {
        let query = ListQuery { table: self.table.clone(), selection: Selection::namespace("shop") };
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
