//! Secret values stay redacted, and write access to Secrets grants no further rights.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchboard_plugs::coupling::{
    AppliedObject, CouplingRecord, CouplingSnapshot, ObjectIdentity, RECORD_TYPE, SOCKET_LABEL, to_secret,
};
use switchboard_plugs::model::PlugMeta;
use switchboard_plugs::render::{PerSide, Values};

use crate::fixture::{GROUP, PlugsCluster, config_map};

const SECRETS: &str = "/api/v1/namespaces/shop/secrets";

fn map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// Returns the record that an attacker would forge: objects applied and deleted as a service account of another
/// namespace.
fn forged() -> CouplingRecord {
    let of = |namespace: &str, name: &str, uid: &str| ObjectIdentity {
        namespace: namespace.into(),
        name: name.into(),
        uid: uid.into(),
    };
    let victim = AppliedObject {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: "kube-system".into(),
        name: "victim".into(),
        account: ("kube-system".into(), "strong".into()),
        removed_when_decoupled: true,
        path: String::new(),
    };
    let made = json!({"when": ["decoupled"], "template": map("planted", json!({"by": "a writer of Secrets"}))});
    let socket = json!({"metadata": {"name": "db", "namespace": "kube-system", "uid": "s"},
        "spec": {"serviceAccountName": "strong", "resources": [made]}});
    let plug = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "p"}, "spec": {}});
    let meta = PlugMeta { name: "web".into(), namespace: "shop".into(), uid: "p".into(), ..PlugMeta::default() };
    CouplingRecord {
        created: true,
        coupled: true,
        socket: Some(of("kube-system", "db", "s")),
        inventory: PerSide { plug: vec![victim.clone()], socket: vec![victim] },
        snapshot: Some(CouplingSnapshot { plug, socket }),
        config: PerSide { plug: Values::new(), socket: Values::new() },
        ..CouplingRecord::new(&meta, "2026-01-01T00:00:00Z")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_record_makes_and_removes_nothing() {
    let stage = PlugsCluster::new().await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let binding = json!({"metadata": {"name": "strong"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "strong", "namespace": "kube-system"}]});
    stage.create(&format!("{rbac}/clusterrolebindings"), binding).await;
    stage.create("/api/v1/namespaces/kube-system/configmaps", map("victim", json!({}))).await;
    stage.socket("db", json!({})).await;
    // Under the legacy name of records, and under their current name.
    for name in ["coupling.web", "coupling.shop.web"] {
        let mut secret = to_secret(&forged(), None, "shop");
        secret["metadata"]["name"] = name.into();
        secret["metadata"]["finalizers"] = json!(["integration.rock8s.com/finalizer"]);
        stage.create(SECRETS, secret).await;
    }
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.until_deleted(&format!("{SECRETS}/coupling.web")).await;
    assert!(stage.events("shop", "web").await.contains(&"RecordNotBelieved".to_string()));
    stage.delete(&format!("{GROUP}/namespaces/shop/plugs/web")).await;
    stage.until_deleted(&format!("{GROUP}/namespaces/shop/plugs/web")).await;
    stage.until_idle().await;
    assert!(stage.get(&config_map("kube-system", "victim")).await.is_some(), "the plug must not remove it");
    assert!(stage.get(&config_map("kube-system", "planted")).await.is_none(), "nor was anything to be made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_with_the_label_of_a_record_holds_no_socket() {
    let stage = PlugsCluster::new().await;
    stage.socket("db", json!({"limit": 1})).await;
    let socket = stage.until_socket_message("db", "0 plugs coupled").await;
    let labels = json!({SOCKET_LABEL: socket["metadata"]["uid"]});
    stage.create(SECRETS, json!({"metadata": {"name": "foreign", "labels": labels}, "type": RECORD_TYPE})).await;
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.delete(&format!("{GROUP}/namespaces/data/sockets/db")).await;
    stage.until_deleted(&format!("{GROUP}/namespaces/data/sockets/db")).await;
}

/// Returns the socket's result from the status.
async fn shown_result(stage: &PlugsCluster) -> Value {
    let plug = stage.until_plug_reason("web", "CouplingSucceeded").await;
    plug["status"]["coupledResult"]["socket"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_depends_on_a_secret_is_not_shown_however_it_was_made() {
    let stage = PlugsCluster::new().await;
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"password": "hunter2-and-more", "pin": "12"}});
    stage.create("/api/v1/namespaces/data/secrets", secret).await;
    let templates = json!({
        "loud": "{% .socketConfig.password | upper %}",
        "pin": "{% .socketConfig.pin %}",
        "length": "{% len .socketConfig.password %}",
        "first": "{% index (splitList \"-\" .socketConfig.password) 1 %}",
        "host": "{% .socketConfig.host %}",
    });
    stage.socket("db", json!({"configSecretName": "s", "config": {"host": "db"}, "resultTemplate": templates})).await;
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}})).await;
    let wanted =
        json!({"loud": "<redacted>", "pin": "<redacted>", "length": "<redacted>", "first": "<redacted>", "host": "db"});
    assert_eq!(shown_result(&stage).await, wanted);
    let binding = stage.get(&format!("{SECRETS}/web-binding")).await.unwrap();
    let pin = STANDARD.decode(binding["data"]["pin"].as_str().unwrap()).unwrap();
    assert_eq!(pin, b"12", "readers of Secrets find it there");
    // If no result is redacted, the Secret is deleted.
    stage.patch(&format!("{GROUP}/namespaces/data/sockets/db"), json!({"spec": {"resultTemplate": null}})).await;
    stage.until_deleted(&format!("{SECRETS}/web-binding")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marked_value_is_not_shown_by_another_name() {
    let stage = PlugsCluster::new().await;
    let interface = json!({"config": {"socket": {"pin": {"secret": true, "type": "integer"}}}});
    let templates =
        json!({"copied": "{% .socketConfig.pin %}", "written": "{% .socket.spec.config.pin %}", "open": "yes"});
    stage.socket("db", json!({"interface": interface, "config": {"pin": "7"}, "resultTemplate": templates})).await;
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}})).await;
    assert_eq!(shown_result(&stage).await, json!({"copied": "<redacted>", "written": "<redacted>", "open": "yes"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_somebody_elses_is_no_binding() {
    let stage = PlugsCluster::new().await;
    stage.create(SECRETS, json!({"metadata": {"name": "web-binding"}, "stringData": {"own": "1"}})).await;
    let interface = json!({"result": {"socket": {"key": {"secret": true}}}});
    stage.socket("db", json!({"interface": interface, "result": {"key": "k"}})).await;
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}})).await;
    let plug = stage.until_plug_reason("web", "Error").await;
    assert!(plug["status"].to_string().contains("web-binding"), "{}", plug["status"]);
    let secret = stage.get(&format!("{SECRETS}/web-binding")).await.unwrap();
    assert!(secret["metadata"]["ownerReferences"].is_null() && secret["data"]["key"].is_null(), "{secret}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_was_tampered_with_is_told_or_put_right() {
    let stage = PlugsCluster::new().await;
    stage.socket("db", json!({})).await;
    let made =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "made"}, "stringData": {"key": "right"}});
    let resources = json!([{"template": made, "force": true}]);
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}, "resources": resources})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    let path = format!("{SECRETS}/made");
    stage.patch(&path, json!({"stringData": {"key": "wrong"}})).await;
    let right = STANDARD.encode("right");
    stage
        .until(&path, "put right", |secret| secret.is_some_and(|secret| secret["data"]["key"] == right.as_str()))
        .await;
}
