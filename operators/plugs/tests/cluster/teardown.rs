//! Deletion never blocks, leaves no object behind, and deletes no object of other owners.

use serde_json::{Value, json};

use crate::fixture::{GROUP, PlugsCluster, condition, config_map};

fn map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}})
}

fn plug_path(name: &str) -> String {
    format!("{GROUP}/namespaces/shop/plugs/{name}")
}

const SOCKET: &str = "/apis/integration.rock8s.com/v1beta1/namespaces/data/sockets/db";

fn at_db() -> Value {
    json!({"name": "db", "namespace": "data"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_with_a_lone_socket_can_be_deleted() {
    let stage = PlugsCluster::new().await;
    let last = json!({"when": ["deleted"], "template": map("farewell", json!({}))});
    stage.socket("db", json!({"resources": [last]})).await;
    stage.until_socket_message("db", "0 plugs coupled").await;
    stage.delete("/api/v1/namespaces/data").await;
    stage.until_deleted("/api/v1/namespaces/data").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_with_a_socket_can_be_deleted_while_a_plug_elsewhere_is_coupled() {
    let stage = PlugsCluster::new().await;
    let made = json!({"template": map("of-{% .plug.metadata.name %}", json!({}))});
    let last = json!({"when": ["decoupled"], "template": map("farewell", json!({}))});
    stage.socket("db", json!({"resources": [made, last]})).await;
    stage.plug("web", json!({"socket": at_db(), "resources": [{"template": map("mine", json!({}))}]})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.delete("/api/v1/namespaces/data").await;
    stage.until_deleted("/api/v1/namespaces/data").await;
    stage.until_plug_reason("web", "SocketNotCreated").await;
    stage.until_deleted(&config_map("shop", "mine")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_says_what_was_refused_at_its_beginning_and_is_told_of_once_it_is_not() {
    let stage = PlugsCluster::new().await;
    stage.socket("db", json!({"resources": [{"when": ["created"], "template": service("front")}]})).await;
    let socket = stage.until_socket_message("db", "coupling failed").await;
    let words = condition(&socket, "Failed")["message"].as_str().unwrap().to_string();
    assert!(words.starts_with("spec.resources[0]:") && words.contains("is forbidden"), "{words}");
    let told = |events: Vec<String>| events.iter().filter(|reason| *reason == "SocketCreated").count();
    assert_eq!(told(stage.events("data", "db").await), 0);
    stage.delete("/apis/rbac.authorization.k8s.io/v1/namespaces/data/rolebindings/all").await;
    stage.delete("/apis/rbac.authorization.k8s.io/v1/namespaces/data/roles/all").await;
    stage.allow("data", &["services"]).await;
    stage.until_socket_message("db", "0 plugs coupled").await;
    assert!(stage.get("/api/v1/namespaces/data/services/front").await.is_some());
    assert_eq!(told(stage.events("data", "db").await), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_whose_template_was_wrong_is_told_of_once_it_is_mended() {
    let stage = PlugsCluster::new().await;
    let wrong =
        json!([{"when": ["created"], "template": map("born", json!({"x": "{% .socket.spec.nothing.more %}"}))}]);
    stage.socket("db", json!({"resources": wrong})).await;
    stage.until_socket_message("db", "coupling failed").await;
    stage.plug("web", json!({"socket": at_db()})).await;
    let waits = stage.until_plug_reason("web", "Error").await;
    let words = condition(&waits, "Failed")["message"].as_str().unwrap().to_string();
    assert!(words.starts_with("socket data/db: spec.resources[0]"), "{words}");
    let right = json!([{"when": ["created"], "template": map("born", json!({"x": "1"}))}]);
    stage.patch(SOCKET, json!({"spec": {"resources": right}})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.until_data("data", "born", json!({"x": "1"})).await;
    assert!(stage.events("data", "db").await.contains(&"SocketCreated".to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_never_coupled_is_not_decoupled() {
    let stage = PlugsCluster::new().await;
    stage.socket("db", json!({})).await;
    stage.plug("web", json!({"socket": at_db(), "resources": [{"template": service("front")}]})).await;
    stage.until_plug_reason("web", "Error").await;
    stage.delete(&plug_path("web")).await;
    stage.until_deleted(&plug_path("web")).await;
    let told = stage.events("shop", "web").await;
    assert!(!told.iter().any(|reason| reason == "PlugDecoupled" || reason == "PlugCoupled"), "{told:?}");
    assert!(!stage.events("data", "db").await.contains(&"SocketDecoupled".to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_object_that_a_socket_may_not_remove_leaves_no_other_behind() {
    let stage = PlugsCluster::new().await;
    let born = |template: Value| json!({"when": ["created"], "template": template});
    stage.delete("/apis/rbac.authorization.k8s.io/v1/namespaces/data/rolebindings/all").await;
    stage.delete("/apis/rbac.authorization.k8s.io/v1/namespaces/data/roles/all").await;
    stage.allow("data", &["services", "configmaps"]).await;
    stage
        .socket(
            "db",
            json!({"resources": [born(map("one", json!({}))), born(service("front")), born(map("two", json!({})))]}),
        )
        .await;
    stage.until_socket_message("db", "0 plugs coupled").await;
    let rules = json!({"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]});
    stage.patch("/apis/rbac.authorization.k8s.io/v1/namespaces/data/roles/all", rules).await;
    stage.delete(SOCKET).await;
    stage.until_deleted(SOCKET).await;
    for name in ["one", "two"] {
        assert!(stage.get(&config_map("data", name)).await.is_none(), "{name} is left");
    }
    assert!(stage.get("/api/v1/namespaces/data/services/front").await.is_some());
    assert!(stage.events("data", "db").await.contains(&"TeardownIncomplete".to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_keeps_no_plug() {
    let stage = PlugsCluster::new().await;
    stage.socket("db", json!({})).await;
    stage.plug("web", json!({"socket": at_db()})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    let record = "/api/v1/namespaces/kube-system/secrets/coupling.shop.web";
    stage.patch(record, json!({"data": {"record": "e30="}})).await;
    stage.until_plug_reason("web", "Error").await;
    stage.delete(&plug_path("web")).await;
    stage.until_deleted(&plug_path("web")).await;
    stage.until_deleted(record).await;
    assert!(stage.events("shop", "web").await.contains(&"TeardownIncomplete".to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_recreated_at_the_beginning_and_the_parting_is_another_object_then() {
    let stage = PlugsCluster::new().await;
    let uid = |object: Value| object["metadata"]["uid"].clone();
    let mut before = Vec::new();
    for (namespace, name) in [("shop", "begin"), ("shop", "part"), ("shop", "end"), ("data", "born")] {
        let made = stage.create(&format!("/api/v1/namespaces/{namespace}/configmaps"), map(name, json!({}))).await;
        before.push((namespace, name, uid(made)));
    }
    let recreated =
        |when: &str, name: &str| json!({"do": "recreate", "when": [when], "template": map(name, json!({"at": when}))});
    stage.socket("db", json!({"resources": [recreated("created", "born")]})).await;
    let all = [recreated("created", "begin"), recreated("decoupled", "part"), recreated("deleted", "end")];
    stage.plug("web", json!({"socket": at_db(), "resources": all})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.until_data("shop", "begin", json!({"at": "created"})).await;
    let begin = uid(stage.get(&config_map("shop", "begin")).await.unwrap());
    assert_ne!(begin, before[0].2);
    stage.delete(&plug_path("web")).await;
    stage.until_deleted(&plug_path("web")).await;
    for (namespace, name, old) in &before[1..] {
        let now = uid(stage.get(&config_map(namespace, name)).await.unwrap());
        assert_ne!(now, *old, "{name} is still the one that was there");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_plugs_make_stays_until_both_are_gone() {
    let stage = PlugsCluster::new().await;
    stage.socket("db", json!({})).await;
    for name in ["web", "api"] {
        stage
            .plug(name, json!({"socket": at_db(), "resources": [{"template": map("shared", json!({"a": "1"}))}]}))
            .await;
        stage.until_plug_reason(name, "CouplingSucceeded").await;
    }
    stage.delete(&plug_path("web")).await;
    stage.until_deleted(&plug_path("web")).await;
    stage.until_data("shop", "shared", json!({"a": "1"})).await;
    stage.delete(&plug_path("api")).await;
    stage.until_deleted(&plug_path("api")).await;
    assert!(stage.get(&config_map("shop", "shared")).await.is_none());
}

async fn deferred(stage: &PlugsCluster, name: &str, resource: Value) {
    let path = format!("{GROUP}/namespaces/shop/deferredresources");
    stage.create(&path, json!({"metadata": {"name": name}, "spec": {"resource": resource}})).await;
    let path = format!("{path}/{name}");
    let done = |object: Option<&Value>| object.is_some_and(|object| condition(object, "Resolved")["status"] == "True");
    stage.until(&path, "resolved", done).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deferred_resource_takes_along_what_it_made_and_nothing_else() {
    let stage = PlugsCluster::new().await;
    stage.create("/api/v1/namespaces/shop/configmaps", map("theirs", json!({"a": "1"}))).await;
    deferred(&stage, "later", map("first", json!({"a": "1"}))).await;
    let path = format!("{GROUP}/namespaces/shop/deferredresources/later");
    stage.patch(&path, json!({"spec": {"resource": {"metadata": {"name": "theirs"}}}})).await;
    stage.until_deleted(&config_map("shop", "first")).await;
    stage.until_idle().await;
    stage.delete(&path).await;
    stage.until_deleted(&path).await;
    assert!(stage.get(&config_map("shop", "theirs")).await.is_some(), "it was there before");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_none_is_refused_as_one() {
    let stage = PlugsCluster::new().await;
    stage.socket("db", json!({})).await;
    let made = map("{% .plugConfig.name %}", json!({}));
    stage
        .plug("web", json!({"socket": at_db(), "config": {"name": "../secrets"}, "resources": [{"template": made}]}))
        .await;
    let plug = stage.until_plug_reason("web", "Error").await;
    let words = condition(&plug, "Failed")["message"].as_str().unwrap().to_string();
    assert!(
        words.contains("spec.resources[0].template") && words.contains("metadata.name must be a valid object name"),
        "{words}"
    );
}
