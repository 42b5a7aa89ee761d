//! A `kube::Client` over a must-gather: reads come from the dump, and writes are recorded as a mutation directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use serde_json::json;
use switchboard_cluster::Cluster;
use switchboard_cluster::auth::filters::AuthKeys;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::dump::{DumpLogs, DumpObject, RecordedWrite, WritableKind, WriteRecorder};
use switchboard_gather::contract::{ContractRules, ResourceType};
use switchboard_gather::must_gather::MustGather;
use switchboard_gather::mutation::{Action, Mutation, Naming, read_directory};
use switchboard_gather::record::{CONTROLLER_HEADER, MutationRecorder, MutationRequest, to_mutation};

const TIMEOUT: Duration = Duration::from_secs(20);

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn dump(root: &Path) {
    let maps = "{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: a, namespace: shop, resourceVersion: '7', uid: u-a}, data: {k: v}}, {metadata: {name: b, namespace: shop, resourceVersion: '8', uid: u-b}}]}";
    let web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, resourceVersion: '9', uid: u-w}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}";
    let ingress = "{apiVersion: config.openshift.io/v1, kind: Ingress, metadata: {name: cluster, resourceVersion: '10', uid: u-i}, spec: {domain: example.com}}";
    write(root, "namespaces/shop/shop.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: u-s}}");
    write(root, "namespaces/shop/core/configmaps.yaml", maps);
    write(root, "namespaces/shop/apps/deployments/web.yaml", web);
    write(
        root,
        "cluster-scoped-resources/config.openshift.io/ingresses.yaml",
        &format!("{{apiVersion: config.openshift.io/v1, kind: IngressList, items: [{ingress}]}}"),
    );
}

/// Returns the clients and the recorder of a program that runs kube-rs code over a dump.
async fn clients_over(dump: &Path, out: &Path) -> (Cluster, Arc<MutationRecorder>) {
    let read = MustGather::open(dump).unwrap();
    assert_eq!(read.problems(), []);
    let kinds = read.discovery().types().map(|(of, served)| WritableKind {
        kind: served.kind.clone(),
        plural: of.resource.clone(),
        namespaced: served.namespaced,
    });
    let kinds: Vec<WritableKind> = kinds.collect();
    let objects = read.into_objects().into_iter().map(|o| DumpObject {
        kind: o.kind,
        plural: o.plural,
        namespaced: o.namespaced,
        value: o.value,
    });
    let recorder = Arc::new(MutationRecorder::create(out, None, Naming::default()).unwrap());
    let keeper = recorder.clone();
    let keep = move |wish: &RecordedWrite| {
        let request = MutationRequest {
            verb: wish.verb,
            of: ResourceType::new(&wish.kind.group, &wish.kind.version, &wish.plural),
            kind: &wish.kind.kind,
            subresource: &wish.subresource,
            namespace: &wish.namespace,
            name: &wish.name,
            content_type: &wish.content_type,
            query: &wish.query,
            body: &wish.body,
            controller: &wish.controller,
        };
        let mutation = to_mutation(&request, ContractRules::Native).map_err(|error| error.to_string())?;
        keeper.record(&mutation).map_err(|error| error.to_string())
    };
    let (gate, ambient) = (AuthKeys::ephemeral().unwrap(), ClockAndRng::system());
    let cluster = Cluster::from_dump_with_recorder(
        gate,
        ambient,
        objects.collect(),
        DumpLogs::default(),
        (kinds, WriteRecorder { controller_header: CONTROLLER_HEADER, keep: Arc::new(keep) }),
    )
    .await;
    (cluster, recorder)
}

struct DumpFixture {
    cluster: Cluster,
    recorder: Arc<MutationRecorder>,
    folder: tempfile::TempDir,
}

impl DumpFixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        dump(&folder.path().join("dump"));
        let (cluster, recorder) = clients_over(&folder.path().join("dump"), &folder.path().join("out")).await;
        Self { cluster, recorder, folder }
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.cluster.client(), "shop")
    }

    /// Returns the recorded mutations, read from the directory.
    fn recorded(&self) -> Vec<Mutation> {
        let read = read_directory(&self.folder.path().join("out")).unwrap();
        assert_eq!(read.problems, []);
        assert!(read.ordered);
        assert_eq!(read.mutations.len(), self.recorder.count());
        read.mutations
    }
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "namespace": "shop"}, "data": {"x": "y"}})).unwrap()
}

#[tokio::test]
async fn reflectors_sync_from_a_dump() {
    let setting = DumpFixture::new().await;
    let (reader, writer) = reflector::store();
    let mut events = watcher(setting.maps(), watcher::Config::default()).default_backoff().reflect(writer).boxed();
    let synced = async {
        while reader.state().len() < 2 {
            events.next().await.unwrap().unwrap();
        }
    };
    tokio::time::timeout(TIMEOUT, synced).await.unwrap();
    // A kind without objects in the dump: an informer must still sync.
    let operators = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("config.openshift.io", "v1", "ClusterOperator"),
        "clusteroperators",
    );
    let operators: Api<DynamicObject> = Api::all_with(setting.cluster.client(), &operators);
    assert_eq!(operators.list(&ListParams::default()).await.unwrap().items.len(), 0);
    let elsewhere: Api<Secret> = Api::namespaced(setting.cluster.client(), "not-there");
    assert_eq!(elsewhere.list(&ListParams::default()).await.unwrap().items.len(), 0);
    let one = setting.maps().list(&ListParams::default().fields("metadata.name=b")).await.unwrap();
    assert_eq!(one.items.len(), 1);
}

#[tokio::test]
async fn every_write_is_recorded_and_none_is_made() {
    let setting = DumpFixture::new().await;
    let maps = setting.maps();
    let made = maps.create(&PostParams::default(), &config_map("new")).await.unwrap();
    assert!(made.metadata.uid.is_some(), "the answer reads like a server's");
    let generated = json!({"metadata": {"generateName": "run-", "namespace": "shop"}});
    let generated = maps.create(&PostParams::default(), &serde_json::from_value(generated).unwrap()).await.unwrap();
    assert!(generated.metadata.name.unwrap().starts_with("run-"));
    let mut read = maps.get("a").await.unwrap();
    read.data = Some(BTreeMap::from([("k".to_string(), "w".to_string())]));
    maps.replace("a", &PostParams::default(), &read).await.unwrap();
    maps.patch("a", &PatchParams::default(), &Patch::Merge(json!({"data": {"k": "m"}}))).await.unwrap();
    maps.patch("a", &PatchParams::default(), &Patch::Strategic(json!({"data": {"k": "s"}}))).await.unwrap();
    let apply = PatchParams::apply("me").force();
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"z": "1"}});
    maps.patch("c", &apply, &Patch::Apply(&applied)).await.unwrap();
    maps.delete("b", &DeleteParams::foreground()).await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(setting.cluster.client(), "shop");
    // The Deployment in the dump lacks server-side defaults, which must not fail the request.
    deployments
        .patch_scale("web", &PatchParams::default(), &Patch::Merge(json!({"spec": {"replicas": 3}})))
        .await
        .unwrap();
    let status = json!({"apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 1}});
    deployments.patch_status("web", &apply, &Patch::Apply(&status)).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(setting.cluster.client());
    namespaces
        .patch("shop", &PatchParams::default(), &Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}})))
        .await
        .unwrap();
    maps.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();

    let recorded: Vec<String> = setting.recorded().iter().map(ToString::to_string).collect();
    let expected = [
        "Create configmaps/shop/new",
        "Create configmaps/shop/run-",
        "Update configmaps/shop/a",
        "Patch configmaps/shop/a",
        "Patch configmaps/shop/a",
        "Apply configmaps/shop/c",
        "Delete configmaps/shop/b",
        "Patch deployments.apps/shop/web scale",
        "ApplyStatus deployments.apps/shop/web",
        "Patch namespaces/shop",
        "Delete configmaps/shop/a",
        "Delete configmaps/shop/b",
    ];
    assert_eq!(recorded, expected);
    let left: Vec<String> =
        maps.list(&ListParams::default()).await.unwrap().items.into_iter().map(|m| m.metadata.name.unwrap()).collect();
    assert_eq!(left, ["a", "b"], "reads go on showing the dump");
}

#[tokio::test]
async fn what_the_dump_lacks_is_no_reason_to_refuse() {
    let setting = DumpFixture::new().await;
    let elsewhere: Api<ConfigMap> = Api::namespaced(setting.cluster.client(), "not-in-the-dump");
    elsewhere
        .create(&PostParams::default(), &serde_json::from_value(json!({"metadata": {"name": "x"}})).unwrap())
        .await
        .unwrap();
    let gone = setting.maps().replace("gone", &PostParams::default(), &config_map("gone")).await.unwrap();
    assert_eq!(gone.data.unwrap()["x"], "y");
    setting.maps().patch("gone", &PatchParams::default(), &Patch::Merge(json!({"data": {"k": "m"}}))).await.unwrap();
    setting.maps().delete("gone", &DeleteParams::default()).await.unwrap();
    let gates = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("config.openshift.io", "v1", "FeatureGate"),
        "featuregates",
    );
    let gates: Api<DynamicObject> = Api::all_with(setting.cluster.client(), &gates);
    let gate = DynamicObject::new(
        "new-item",
        &ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk("config.openshift.io", "v1", "FeatureGate"),
            "featuregates",
        ),
    );
    gates.create(&PostParams::default(), &gate).await.unwrap();
    gates.replace_status("new-item", &PostParams::default(), &gate).await.unwrap();
    let recorded: Vec<Action> = setting.recorded().iter().map(|mutation| mutation.action).collect();
    assert_eq!(
        recorded,
        [Action::Create, Action::Update, Action::Patch, Action::Delete, Action::Create, Action::UpdateStatus]
    );
}

#[tokio::test]
async fn what_a_server_refuses_is_refused_and_not_recorded() {
    let setting = DumpFixture::new().await;
    let twice = setting.maps().create(&PostParams::default(), &config_map("a")).await.unwrap_err();
    assert!(twice.to_string().contains("already exists"), "{twice}");
    let mut stale = setting.maps().get("a").await.unwrap();
    stale.metadata.resource_version = Some("3".into());
    assert!(
        setting.maps().replace("a", &PostParams::default(), &stale).await.unwrap_err().to_string().contains("modified")
    );
    setting.maps().create(&PostParams { dry_run: true, ..PostParams::default() }, &config_map("new")).await.unwrap();
    // Deletions specify a dry run in the body, like kubectl.
    let pretend = DeleteParams { dry_run: true, ..DeleteParams::default() };
    setting.maps().delete("a", &pretend).await.unwrap();
    setting.maps().delete_collection(&pretend, &ListParams::default()).await.unwrap();
    assert_eq!(setting.recorder.count(), 0);
}

#[tokio::test]
async fn a_request_says_its_controller() {
    let setting = DumpFixture::new().await;
    let request =
        http::Request::delete("/api/v1/namespaces/shop/configmaps/a").header("Switchboard-Controller", "Demo");
    let answer: serde_json::Value = setting.cluster.client().request(request.body(Vec::new()).unwrap()).await.unwrap();
    assert_eq!(answer["status"], "Success");
    assert_eq!(setting.recorded()[0].controller_instance_name, "Demo");
}

/// Deleted objects stay in the dump, but kubectl waits until the returned uid does not exist any more.
#[tokio::test]
async fn whoever_deletes_is_told_of_nobody_to_wait_for() {
    let setting = DumpFixture::new().await;
    assert!(setting.maps().get("a").await.unwrap().metadata.uid.is_some());
    let request = http::Request::delete("/api/v1/namespaces/shop/configmaps/a").body(Vec::new()).unwrap();
    let answer: serde_json::Value = setting.cluster.client().request(request).await.unwrap();
    assert_eq!((&answer["status"], &answer["details"]["name"]), (&json!("Success"), &json!("a")), "{answer}");
    // Not an empty uid, because objects of a dump may have none.
    assert_eq!(answer["details"]["uid"], "00000000-0000-0000-0000-000000000000", "{answer}");
    assert!(setting.maps().get("a").await.is_ok(), "it stays");
}
