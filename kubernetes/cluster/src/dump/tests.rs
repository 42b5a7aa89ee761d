#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use kube::api::{Api, DynamicObject, ListParams, LogParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind as Gvk};
use serde_json::json;

use super::*;

fn object(plural: &str, namespaced: bool, value: Value) -> DumpObject {
    let version = switchboard_object::kind::GroupVersion::parse(value["apiVersion"].as_str().unwrap()).unwrap();
    let kind = version.kind(value["kind"].as_str().unwrap());
    DumpObject { kind, plural: plural.into(), namespaced, value }
}

fn pod() -> DumpObject {
    object(
        "pods",
        true,
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "77", "uid": "u"},
            "spec": {"containers": [{"name": "app"}]}, "status": {"phase": "Running"},
        }),
    )
}

async fn frozen(objects: Vec<DumpObject>, logs: &[(&str, bool, &'static str)]) -> Cluster {
    let log = |(container, previous, text): &(&str, bool, &'static str)| ContainerLog {
        namespace: "shop".into(),
        pod: "web".into(),
        container: container.to_string(),
        previous: *previous,
        text: bytes::Bytes::from_static(text.as_bytes()),
    };
    Cluster::from_dump(AuthKeys::ephemeral().unwrap(), ClockAndRng::system(), objects, logs.iter().map(log).collect())
        .await
}

fn dynamic(cluster: &Cluster, group: &str, version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk_with_plural(&Gvk::gvk(group, version, kind), plural);
    Api::all_with(cluster.client(), &resource)
}

#[tokio::test]
async fn objects_are_served_unchanged() {
    let cluster = frozen(vec![pod()], &[]).await;
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(cluster.client(), "shop");
    let found = pods.get("web").await.unwrap();
    assert_eq!(found.metadata.resource_version.as_deref(), Some("77"));
    assert_eq!(found.metadata.uid.as_deref(), Some("u"));
    assert_eq!(found.status.unwrap().phase.as_deref(), Some("Running"));
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(cluster.client());
    assert!(namespaces.list(&ListParams::default()).await.unwrap().items.is_empty(), "nothing is made up");
}

#[tokio::test]
async fn kinds_without_a_definition_are_served() {
    let goose = json!({"apiVersion": "farm.io/v1", "kind": "Goose", "metadata": {"name": "g"}, "spec": {"any": [1]}});
    let cluster = frozen(vec![object("geese", false, goose)], &[]).await;
    let geese = dynamic(&cluster, "farm.io", "v1", "Goose", "geese");
    assert_eq!(geese.get("g").await.unwrap().data["spec"]["any"][0], 1);
}

#[tokio::test]
async fn writes_are_refused_with_the_reason() {
    let cluster = frozen(vec![pod()], &[]).await;
    let maps: Api<k8s_openapi::api::core::v1::ConfigMap> = Api::namespaced(cluster.client(), "shop");
    let error = maps.create(&PostParams::default(), &Default::default()).await.unwrap_err();
    let kube::Error::Api(status) = error else { panic!("an API error") };
    assert_eq!((status.code, status.message.contains("read-only")), (405, true));
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(cluster.client(), "shop");
    assert!(pods.delete("web", &Default::default()).await.is_err());
}

#[tokio::test]
async fn logs_are_those_of_the_dump() {
    let cluster = frozen(vec![pod()], &[("app", false, "one\ntwo\nthree\n"), ("app", true, "before\n")]).await;
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(cluster.client(), "shop");
    assert_eq!(pods.logs("web", &LogParams::default()).await.unwrap(), "one\ntwo\nthree\n");
    let tail = LogParams { tail_lines: Some(1), ..Default::default() };
    assert_eq!(pods.logs("web", &tail).await.unwrap(), "three\n");
    let previous = LogParams { previous: true, ..Default::default() };
    assert_eq!(pods.logs("web", &previous).await.unwrap(), "before\n");
    let other = LogParams { container: Some("none".into()), ..Default::default() };
    assert!(
        pods.logs("web", &other).await.unwrap_err().to_string().contains("container none is not valid for pod web")
    );
}

#[tokio::test]
async fn kinds_of_the_dumps_crds_have_their_columns() {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "mice.zoo.io"},
        "spec": {"group": "zoo.io", "scope": "Cluster", "names": {"plural": "mice", "kind": "Mouse", "shortNames": ["mo"]},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}},
                "additionalPrinterColumns": [{"name": "Size", "type": "string", "jsonPath": ".spec.size"}]}]},
    });
    let mouse =
        json!({"apiVersion": "zoo.io/v1", "kind": "Mouse", "metadata": {"name": "jerry"}, "spec": {"size": "S"}});
    let objects = vec![object("customresourcedefinitions", false, crd), object("mice", false, mouse)];
    let cluster = frozen(objects, &[]).await;
    let request =
        http::Request::get("/apis/zoo.io/v1/mice").header("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1");
    let table: Value = cluster.client().request(request.body(Vec::new()).unwrap()).await.unwrap();
    assert_eq!(table["columnDefinitions"][1]["name"], "Size");
    assert_eq!(table["rows"][0]["cells"], json!(["jerry", "S"]));
}

/// Returns a recording server, and its recorded writes.
async fn recording() -> (Cluster, Arc<Mutex<Vec<RecordedWrite>>>) {
    let wishes = Arc::new(Mutex::new(Vec::new()));
    let kept = wishes.clone();
    let keep = Arc::new(move |wish: &RecordedWrite| {
        kept.lock().unwrap().push(wish.clone());
        Ok(())
    });
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "7"}});
    let objects = vec![pod(), object("configmaps", true, map)];
    let (auth_keys, clock_and_rng) = (AuthKeys::ephemeral().unwrap(), ClockAndRng::system());
    (
        Cluster::from_dump_with_recorder(
            auth_keys,
            clock_and_rng,
            objects,
            DumpLogs::default(),
            (vec![], WriteRecorder { controller_header: "controller", keep }),
        )
        .await,
        wishes,
    )
}

async fn send_yaml(cluster: &Cluster, verb: &str, name: &str, body: &str) -> Result<Value, kube::Error> {
    let path = format!("/api/v1/namespaces/shop/configmaps{name}");
    let request = http::Request::builder().method(verb).uri(path).header("Content-Type", "application/yaml");
    cluster.client().request(request.body(body.as_bytes().to_vec()).unwrap()).await
}

#[tokio::test]
async fn yaml_is_recorded_as_json() {
    let (cluster, wishes) = recording().await;
    let made = send_yaml(&cluster, "POST", "", "metadata:\n  name: b\ndata: {a: 'on'}\n").await.unwrap();
    assert_eq!(made["data"]["a"], "on");
    send_yaml(&cluster, "PUT", "/a", "metadata:\n  name: a\ndata: {a: x}\n").await.unwrap();
    send_yaml(&cluster, "DELETE", "/a", "kind: DeleteOptions\napiVersion: v1\npropagationPolicy: Orphan\n")
        .await
        .unwrap();
    send_yaml(&cluster, "DELETE", "/a", "# nothing to say\n").await.unwrap();
    let wishes = wishes.lock().unwrap();
    let verbs: Vec<&str> = wishes.iter().map(|wish| wish.verb).collect();
    assert_eq!(verbs, ["create", "update", "delete", "delete"]);
    for wish in wishes.iter() {
        assert_eq!((&*wish.content_type, &*wish.original_content_type), ("application/json", "application/yaml"));
    }
    let said = |at: usize| serde_json::from_slice::<Value>(&wishes[at].body).unwrap();
    assert_eq!((&said(0)["data"]["a"], &said(1)["data"]["a"]), (&json!("on"), &json!("x")));
    assert_eq!((&said(2)["propagationPolicy"], wishes[3].body.len()), (&json!("Orphan"), 0));
}

#[tokio::test]
async fn a_dry_run_in_yaml_is_detected() {
    let (cluster, wishes) = recording().await;
    send_yaml(&cluster, "DELETE", "/a", "dryRun:\n- All\n").await.unwrap();
    send_yaml(&cluster, "DELETE", "", "dryRun: [All]\n").await.unwrap();
    assert_eq!(wishes.lock().unwrap().len(), 0);
}

/// Checks that the body is recorded as JSON, but validated as sent.
#[tokio::test]
async fn duplicate_keys_in_yaml_are_refused_in_strict_mode() {
    let (cluster, wishes) = recording().await;
    let twice = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  a: one\n  a: two\n";
    let refused = send_yaml(&cluster, "POST", "?fieldValidation=Strict", twice).await.unwrap_err().to_string();
    assert!(refused.contains("already set in map") || refused.contains("duplicate"), "{refused}");
    assert_eq!(wishes.lock().unwrap().len(), 0);
}
