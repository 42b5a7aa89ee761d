//! Conformance cases, with their numbers in the specification of integration-operator.

use serde_json::{Value, json};

use crate::fixture::{GROUP, PlugsCluster, condition, config_map};
use switchboard_plugs::plug::PlugOptions;

fn map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn socket() -> Value {
    json!({
        "interface": {"config": {"socket": {"hello": {}}, "plug": {"howdy": {}}},
            "result": {"plug": {"hello": {"required": true}}, "socket": {"world": {"required": true}}}},
        "config": {"hello": "world", "extra": "dropped"},
        "resultTemplate": {"world": "{% printf \"chip\" %}"},
        "resultResources": [{"do": "apply", "templates": [
            map("result-{% .plug.metadata.name %}", json!({"hello": "{% .plugResult.hello %}", "world": "{% .socketResult.world %}"}))]}],
    })
}

fn plug() -> Value {
    json!({
        "socket": {"name": "db", "namespace": "data"},
        "config": {"howdy": "texas"},
        "result": {"hello": "foo"},
        "resources": [{"when": ["coupled", "updated"], "do": "apply", "templates": [
            map("hello-{% .plug.metadata.name %}", json!({"hello": "{% .socketConfig.hello %}", "howdy": "{% .plugConfig.howdy %}"}))]}],
    })
}

fn path(name: &str) -> String {
    format!("{GROUP}/namespaces/shop/plugs/{name}")
}

const SOCKET: &str = "/apis/integration.rock8s.com/v1beta1/namespaces/data/sockets/db";

async fn coupled() -> PlugsCluster {
    let stage = PlugsCluster::new().await;
    stage.socket("db", socket()).await;
    stage.plug("web", plug()).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.until_socket_message("db", "1 plug coupled").await;
    stage
}

#[tokio::test(flavor = "multi_thread")]
async fn case_1_and_2_a_pair_couples_in_either_order() {
    for plug_first in [false, true] {
        let stage = PlugsCluster::new().await;
        if plug_first {
            stage.plug("web", plug()).await;
            let waiting = stage.until_plug_reason("web", "SocketNotCreated").await;
            assert_eq!(condition(&waiting, "Coupled")["message"], "waiting for socket to be created");
            stage.socket("db", socket()).await;
        } else {
            stage.socket("db", socket()).await;
            stage.until_socket_message("db", "0 plugs coupled").await;
            stage.plug("web", plug()).await;
        }
        let plug = stage.until_plug_reason("web", "CouplingSucceeded").await;
        let wanted = json!({"plug": {"hello": "foo"}, "socket": {"world": "chip"}, "observedGeneration": 1});
        assert_eq!(plug["status"]["coupledResult"], wanted);
        assert_eq!(plug["status"]["coupledSocket"]["name"], "db");
        stage.until_data("shop", "hello-web", json!({"hello": "world", "howdy": "texas"})).await;
        stage.until_data("data", "result-web", json!({"hello": "foo", "world": "chip"})).await;
        let socket = stage.until_socket_message("db", "1 plug coupled").await;
        assert_eq!(socket["status"]["coupledPlugs"][0]["uid"], plug["metadata"]["uid"]);
        assert_eq!(stage.events("shop", "web").await, ["PlugCreated", "PlugCoupled"]);
        let events = stage.events("data", "db").await;
        let events: Vec<&str> =
            events.iter().map(String::as_str).filter(|reason| reason.starts_with("Socket")).collect();
        assert_eq!(events, ["SocketCreated", "SocketCoupled"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_3_a_change_of_the_socket_reaches_every_plug_and_no_spec() {
    let stage = coupled().await;
    stage.plug("api", plug()).await;
    stage.until_plug_reason("api", "CouplingSucceeded").await;
    let before = stage.get(&path("web")).await.unwrap();
    stage.patch(SOCKET, json!({"spec": {"config": {"hello": "mars"}}})).await;
    for name in ["web", "api"] {
        stage.until_data("shop", &format!("hello-{name}"), json!({"hello": "mars", "howdy": "texas"})).await;
    }
    stage.until_idle().await;
    for name in ["web", "api"] {
        assert_eq!(stage.events("shop", name).await, ["PlugCreated", "PlugCoupled", "PlugUpdated"]);
        stage.until_plug_reason(name, "CouplingSucceeded").await;
    }
    let after = stage.get(&path("web")).await.unwrap();
    assert_eq!(
        (&before["spec"], &before["metadata"]["generation"]),
        (&after["spec"], &after["metadata"]["generation"])
    );
}

/// Case 4.
#[tokio::test(flavor = "multi_thread")]
async fn guarantees_a_restart_tells_nothing() {
    let mut stage = coupled().await;
    stage.until_idle().await;
    stage.stop().await;
    stage.start();
    stage.until_idle().await;
    assert_eq!(stage.writes().await, 0, "{}", stage.unit_messages().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_5_what_was_read_is_watched() {
    let stage = PlugsCluster::new().await;
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"password": "hunter2-first"}});
    stage.create("/api/v1/namespaces/shop/secrets", secret).await;
    stage.create("/api/v1/namespaces/shop/configmaps", map("c", json!({"from": "one"}))).await;
    stage.create("/api/v1/namespaces/shop/configmaps", map("target", json!({"field": "one"}))).await;
    stage.socket("db", json!({})).await;
    let var = json!({"name": "v", "objref": {"kind": "ConfigMap", "name": "target"}, "fieldref": {"fieldPath": "data.field"}});
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}, "configSecretName": "s", "configConfigMapName": "c",
        "vars": [var], "configTemplate": {"var": "{% .vars.v %}"},
        "resources": [{"template": map("made", json!({"p": "{% .plugConfig.password %}", "c": "{% .plugConfig.from %}", "v": "{% .plugConfig.var %}"}))}]})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.until_data("shop", "made", json!({"p": "hunter2-first", "c": "one", "v": "one"})).await;
    stage.patch("/api/v1/namespaces/shop/secrets/s", json!({"stringData": {"password": "hunter2-second"}})).await;
    stage.until_data("shop", "made", json!({"p": "hunter2-second", "c": "one", "v": "one"})).await;
    stage.patch(&config_map("shop", "c"), json!({"data": {"from": "two"}})).await;
    stage.until_data("shop", "made", json!({"p": "hunter2-second", "c": "two", "v": "one"})).await;
    stage.patch(&config_map("shop", "target"), json!({"data": {"field": "two"}})).await;
    stage.until_data("shop", "made", json!({"p": "hunter2-second", "c": "two", "v": "two"})).await;
    stage.until_idle().await;
    let updates = |all: Vec<String>| all.iter().filter(|reason| *reason == "PlugUpdated").count();
    assert_eq!(updates(stage.events("shop", "web").await), 3);
    stage.delete(&config_map("shop", "made")).await;
    stage.until_data("shop", "made", json!({"p": "hunter2-second", "c": "two", "v": "two"})).await;
    stage.until_idle().await;
    assert_eq!(updates(stage.events("shop", "web").await), 3, "mending is no event");
    stage.patch(&config_map("shop", "made"), json!({"data": {"c": "of another writer"}})).await;
    let conflict = stage.until_plug_reason("web", "Error").await;
    assert!(
        condition(&conflict, "Conflict")["message"].as_str().unwrap().contains(".data.c"),
        "who changes a field manages it"
    );
    let plug = stage.get(&path("web")).await.unwrap().to_string();
    assert!(!plug.contains("hunter2"), "{plug}");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_6_7_and_9_what_is_missing_is_told_and_mended_without_a_touch() {
    let stage = PlugsCluster::new().await;
    stage
        .socket(
            "db",
            json!({"interface": {"config": {"plug": {"need": {"required": true}, "has": {"default": "d"}}}},
        "config": {"free": "passes"}}),
        )
        .await;
    let template = map("made", json!({"has": "{% .plugConfig.has %}", "free": "{% .socketConfig.free %}"}));
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}, "config": {"extra": "x"}, "resources": [{"template": template}]})).await;
    let failed = stage.until_plug_reason("web", "Error").await;
    assert_eq!(condition(&failed, "Coupled")["message"], "coupling failed");
    assert_eq!(condition(&failed, "Failed")["message"], "plug config property 'need' is required");
    let socket = stage
        .until(SOCKET, "one fails", |socket| socket.is_some_and(|socket| socket["status"]["plugs"]["failing"] == 1))
        .await;
    assert_eq!(condition(&socket.unwrap(), "Failed"), Value::Null, "the socket itself is well");
    stage.patch(&path("web"), json!({"spec": {"config": {"need": "n"}}})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.until_data("shop", "made", json!({"has": "d", "free": "passes"})).await;
    stage
        .patch(
            &path("web"),
            json!({"spec": {"resources": [{"template": map("made", json!({"e": "{% .plugConfig.extra %}"}))}]}}),
        )
        .await;
    let failed = stage.until_plug_reason("web", "Error").await;
    let wanted = "spec.resources[0].template.data.e: map has no entry for key \"extra\" in {% .plugConfig.extra %}";
    assert_eq!(condition(&failed, "Failed")["message"], wanted);
    stage.until_data("shop", "made", json!({"has": "d", "free": "passes"})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_10_and_14_objects_are_pruned_retained_and_removed() {
    let stage = PlugsCluster::new().await;
    stage.socket("db", json!({"resources": [{"template": map("of-socket", json!({}))}, {"when": ["created"], "template": map("at-birth", json!({}))}],
        "resultResources": [{"template": map("of-result", json!({}))}]})).await;
    stage.until_data("data", "at-birth", Value::Null).await;
    stage.create("/api/v1/namespaces/shop/configmaps", map("to-delete", json!({}))).await;
    stage.create("/api/v1/namespaces/shop/configmaps", map("not-yet", json!({}))).await;
    let resources = json!([
        {"template": map("plain", json!({}))},
        {"template": map("kept", json!({})), "preserveWhenDecoupled": true},
        {"template": map("kept-too", json!({})), "retainWhenDecoupled": true},
        {"template": map("at-the-end", json!({"c": "{% .plugConfig.c %}"})), "when": ["decoupled"]},
        {"template": map("to-delete", json!({})), "do": "delete"},
        {"template": map("not-yet", json!({})), "do": "delete", "when": ["decoupled"]},
        {"template": map("born", json!({})), "when": ["created"]},
        {"stringTemplate": "{% if eq .plugConfig.c \"1\" %}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n{% endif %}"},
    ]);
    stage
        .plug(
            "web",
            json!({"socket": {"name": "db", "namespace": "data"}, "config": {"c": "1"}, "resources": resources}),
        )
        .await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    for name in ["plain", "kept", "kept-too", "born", "one", "two", "not-yet"] {
        stage.until_data("shop", name, Value::Null).await;
    }
    stage.until_deleted(&config_map("shop", "to-delete")).await;
    stage.patch(&path("web"), json!({"spec": {"config": {"c": "2"}}})).await;
    stage.until_deleted(&config_map("shop", "one")).await;
    stage.until_deleted(&config_map("shop", "two")).await;
    stage.delete(&path("web")).await;
    stage.until_deleted(&path("web")).await;
    for name in ["plain", "born", "not-yet"] {
        stage.until_deleted(&config_map("shop", name)).await;
    }
    for name in ["of-socket", "of-result"] {
        stage.until_deleted(&config_map("data", name)).await;
    }
    stage.until_data("shop", "at-the-end", json!({"c": "2"})).await;
    for name in ["kept", "kept-too"] {
        stage.until_data("shop", name, Value::Null).await;
    }
    stage.until_data("data", "at-birth", Value::Null).await;
    stage.until_deleted("/api/v1/namespaces/kube-system/secrets/coupling.shop.web").await;
    assert_eq!(
        stage.events("shop", "web").await,
        ["PlugCreated", "PlugCoupled", "PlugUpdated", "PlugDecoupled", "PlugDeleted"]
    );
    stage.delete(SOCKET).await;
    stage.until_deleted(SOCKET).await;
    stage.until_deleted(&config_map("data", "at-birth")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_15_another_socket_parts_from_the_one_before() {
    let stage = coupled().await;
    stage.socket("other", socket()).await;
    stage
        .patch(&format!("{GROUP}/namespaces/data/sockets/other"), json!({"spec": {"config": {"hello": "other"}}}))
        .await;
    stage.patch(&path("web"), json!({"spec": {"socket": {"name": "other"}}})).await;
    stage.until_data("shop", "hello-web", json!({"hello": "other", "howdy": "texas"})).await;
    stage.until_socket_message("db", "0 plugs coupled").await;
    let other = stage.until_socket_message("other", "1 plug coupled").await;
    let plug = stage.until_plug_reason("web", "CouplingSucceeded").await;
    assert_eq!(plug["status"]["coupledSocket"]["uid"], other["metadata"]["uid"]);
    assert_eq!(stage.events("shop", "web").await, ["PlugCreated", "PlugCoupled", "PlugDecoupled", "PlugCoupled"]);
    stage.delete(SOCKET).await;
    stage.until_deleted(SOCKET).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_16_and_17_a_socket_that_goes_decouples_all_its_plugs_first() {
    let stage = coupled().await;
    for number in 0..29 {
        stage.plug(&format!("p{number}"), plug()).await;
    }
    stage.until_socket_message("db", "30 plugs coupled").await;
    stage.delete(SOCKET).await;
    stage.until_deleted(SOCKET).await;
    for number in 0..29 {
        let name = format!("p{number}");
        stage.until_plug_reason(&name, "SocketNotCreated").await;
        stage.until_deleted(&config_map("data", &format!("result-{name}"))).await;
        assert_eq!(stage.events("shop", &name).await, ["PlugCreated", "PlugCoupled", "PlugDecoupled"]);
    }
    let events = stage.events("data", "db").await;
    let count = |word: &str| events.iter().filter(|reason| *reason == word).count();
    assert_eq!((count("SocketCoupled"), count("SocketDecoupled"), count("SocketDeleted")), (30, 30, 1));
    assert_eq!(events.last().unwrap(), "SocketDeleted");
    stage.socket("db", socket()).await;
    stage.until_socket_message("db", "30 plugs coupled").await;
    for number in 0..6 {
        stage.delete(&path(&format!("p{number}"))).await;
    }
    stage.until_socket_message("db", "24 plugs coupled").await;
    for number in 0..6 {
        stage.until_deleted(&path(&format!("p{number}"))).await;
        stage.plug(&format!("p{number}"), plug()).await;
    }
    let socket = stage.until_socket_message("db", "30 plugs coupled").await;
    assert_eq!(socket["status"]["coupledPlugs"].as_array().unwrap().len(), 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_18_a_limit_is_kept_and_a_free_place_is_given() {
    let stage = PlugsCluster::new().await;
    stage.socket("db", json!({"limit": 2})).await;
    let plug = json!({"socket": {"name": "db", "namespace": "data"}});
    for name in ["a", "b"] {
        stage.plug(name, plug.clone()).await;
        stage.until_plug_reason(name, "CouplingSucceeded").await;
    }
    stage.plug("c", plug).await;
    let third = stage.until_plug_reason("c", "LimitReached").await;
    assert_eq!(condition(&third, "Coupled")["message"], "the socket's limit of 2 plugs is reached");
    stage.delete(&path("a")).await;
    stage.until_plug_reason("c", "CouplingSucceeded").await;
    stage.until_socket_message("db", "2 plugs coupled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_19_consent_is_asked_for_and_can_be_withdrawn() {
    let stage = PlugsCluster::new().await;
    let invalid = json!({"metadata": {"name": "bad"}, "spec": {"validation": {"namespaceBlacklist": ["["]}}});
    let refused = stage.send("POST", &format!("{GROUP}/namespaces/data/sockets"), invalid).await.unwrap_err();
    assert!(refused.contains("spec.validation.namespaceBlacklist[0]"), "{refused}");
    stage.socket("db", json!({"validation": {"namespaceWhitelist": ["sho"]}})).await;
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}})).await;
    let refused = stage.until_plug_reason("web", "NotAllowed").await;
    assert_eq!(
        condition(&refused, "Coupled")["message"],
        "namespace shop may not use the socket: the owner of the socket must allow the namespace in spec.consent"
    );
    stage
        .patch(
            SOCKET,
            json!({"spec": {"validation": null, "consent": {"namespaceSelector": {"matchLabels": {"tier": "gold"}}}}}),
        )
        .await;
    stage.patch("/api/v1/namespaces/shop", json!({"metadata": {"labels": {"tier": "gold"}}})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.patch("/api/v1/namespaces/shop", json!({"metadata": {"labels": {"tier": null}}})).await;
    stage.until_plug_reason("web", "NotAllowed").await;
    stage.until_socket_message("db", "0 plugs coupled").await;
    assert_eq!(stage.events("shop", "web").await, ["PlugCreated", "PlugCoupled", "PlugDecoupled"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_states_no_consent_is_closed_in_strict_mode() {
    let stage = PlugsCluster::with(PlugOptions { strict: true, ..PlugOptions::default() }).await;
    stage.socket("db", json!({})).await;
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}})).await;
    stage.until_plug_reason("web", "NotAllowed").await;
    stage.until_socket_message("db", "0 plugs coupled").await;
    assert!(stage.events("data", "db").await.contains(&"ClosedSocket".to_string()));
    stage.patch(SOCKET, json!({"spec": {"consent": {"namespaces": ["shop"]}}})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_20_and_29_deletion_needs_neither_secret_nor_role() {
    let stage = PlugsCluster::new().await;
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"password": "hunter2-first"}});
    stage.create("/api/v1/namespaces/shop/secrets", secret).await;
    stage.socket("db", json!({"resources": [{"template": map("of-socket", json!({}))}]})).await;
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}, "configSecretName": "s",
        "resources": [{"template": map("plain", json!({}))}, {"when": ["decoupled"], "template": map("last", json!({"p": "{% .plugConfig.password %}"}))}]})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.delete("/api/v1/namespaces/shop/secrets/s").await;
    let failed = stage.until_plug_reason("web", "Error").await;
    assert_eq!(
        condition(&failed, "Failed")["message"],
        "spec.configSecretName: secrets \"s\" not found; create it, or reference another"
    );
    stage.delete("/apis/rbac.authorization.k8s.io/v1/namespaces/data/rolebindings/all").await;
    stage.delete(&path("web")).await;
    stage.until_deleted(&path("web")).await;
    stage.until_data("shop", "last", json!({"p": "hunter2-first"})).await;
    stage.until_deleted(&config_map("shop", "plain")).await;
    assert!(stage.events("shop", "web").await.contains(&"TeardownIncomplete".to_string()));
    stage.until_data("data", "of-socket", Value::Null).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_28_a_conflict_names_manager_and_field_and_can_be_forced() {
    let stage = PlugsCluster::new().await;
    let mine = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}, "data": {"a": "mine"}});
    let request = http::Request::builder()
        .method("PATCH")
        .uri(format!("{}?fieldManager=me", config_map("shop", "made")))
        .header("Content-Type", "application/apply-patch+yaml")
        .body(mine.to_string().into_bytes())
        .unwrap();
    stage.client.request::<Value>(request).await.unwrap();
    stage.socket("db", json!({})).await;
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}, "resources": [{"template": map("made", json!({"a": "plug's"}))}]})).await;
    let failed = stage.until_plug_reason("web", "Error").await;
    let words = condition(&failed, "Conflict")["message"].as_str().unwrap().to_string();
    assert!(words.contains("conflict with \"me\"") && words.contains(".data.a"), "{words}");
    stage.until_data("shop", "made", json!({"a": "mine"})).await;
    stage
        .patch(
            &path("web"),
            json!({"spec": {"resources": [{"force": true, "template": map("made", json!({"a": "plug's"}))}]}}),
        )
        .await;
    stage.until_data("shop", "made", json!({"a": "plug's"})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_29_what_the_account_may_not_do_is_told_verbatim_and_done_once_it_may() {
    let stage = PlugsCluster::new().await;
    stage.delete("/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings/all").await;
    stage.delete("/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/all").await;
    stage
        .create(
            "/api/v1/namespaces/shop/secrets",
            json!({"metadata": {"name": "s"}, "stringData": {"password": "hunter2-first"}}),
        )
        .await;
    stage.socket("db", json!({})).await;
    stage
        .plug(
            "web",
            json!({"socket": {"name": "db", "namespace": "data"}, "resources": [{"template": map("made", json!({}))}]}),
        )
        .await;
    stage.plug("api", json!({"socket": {"name": "db", "namespace": "data"}, "configSecretName": "s"})).await;
    let user = "User \"system:serviceaccount:shop:default\"";
    let failed = stage.until_plug_reason("web", "Error").await;
    let words = condition(&failed, "Failed")["message"].as_str().unwrap().to_string();
    assert!(words.contains(user) && words.contains("cannot patch resource \"configmaps\""), "{words}");
    let failed = stage.until_plug_reason("api", "Error").await;
    let wanted = format!(
        "secrets \"s\" is forbidden: {user} cannot get resource \"secrets\" in API group \"\" in the namespace \"shop\""
    );
    let words = condition(&failed, "Failed")["message"].as_str().unwrap().to_string();
    assert!(words.starts_with("spec.configSecretName: ") && words.contains(&wanted), "{words}");
    stage.allow("shop", &["configmaps", "secrets"]).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.until_plug_reason("api", "CouplingSucceeded").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_26_a_result_may_come_late() {
    let stage = PlugsCluster::new().await;
    stage.socket("db", json!({"interface": {"result": {"plug": {"done": {"required": true}}}}})).await;
    let var =
        json!({"name": "done", "objref": {"kind": "ConfigMap", "name": "job"}, "fieldref": {"fieldPath": "data.done"}});
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}, "resultVars": [var], "resultTemplate": {"done": "{% .resultVars.done %}"},
        "resultResources": [{"template": map("after", json!({"done": "{% .result.done %}"}))}]})).await;
    let words = "spec.resultVars[0].objref: configmaps \"job\" not found; create it, or reference another";
    let waits = |plug: Option<&Value>| plug.is_some_and(|plug| condition(plug, "Waiting")["message"] == words);
    let waiting = stage.until(&path("web"), words, waits).await.unwrap();
    assert_eq!(condition(&waiting, "Coupled")["reason"], "CouplingInProcess");
    stage.create("/api/v1/namespaces/shop/configmaps", map("job", json!({}))).await;
    stage.until_idle().await;
    stage.patch(&config_map("shop", "job"), json!({"data": {"done": "yes"}})).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    stage.until_data("shop", "after", json!({"done": "yes"})).await;
    assert_eq!(stage.events("shop", "web").await, ["PlugCreated", "PlugCoupled"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_13_recreate_waits_until_the_old_one_is_gone() {
    let stage = PlugsCluster::new().await;
    stage.socket("db", json!({})).await;
    let spec = |word: &str| {
        json!({"socket": {"name": "db", "namespace": "data"}, "config": {"c": word},
        "resources": [{"do": "recreate", "template": map("made", json!({"c": "{% .plugConfig.c %}"}))}]})
    };
    stage.plug("web", spec("1")).await;
    stage.until_plug_reason("web", "CouplingSucceeded").await;
    let uid = async || stage.get(&config_map("shop", "made")).await.unwrap()["metadata"]["uid"].clone();
    let mut last = uid().await;
    // Another finalizer keeps the old object for a while.
    stage.patch(&config_map("shop", "made"), json!({"metadata": {"finalizers": ["example.com/wait"]}})).await;
    stage.patch(&path("web"), json!({"spec": {"config": {"c": "2"}}})).await;
    stage.until_plug_reason("web", "UpdatingInProcess").await;
    assert_eq!(uid().await, last);
    stage.patch(&config_map("shop", "made"), json!({"metadata": {"finalizers": null}})).await;
    for word in ["2", "3"] {
        stage.patch(&path("web"), json!({"spec": {"config": {"c": word}}})).await;
        stage.until_data("shop", "made", json!({"c": word})).await;
        stage.until_plug_reason("web", "CouplingSucceeded").await;
        let now = uid().await;
        assert_ne!(now, last);
        last = now;
    }
    assert_eq!(stage.events("shop", "web").await, ["PlugCreated", "PlugCoupled", "PlugUpdated", "PlugUpdated"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_27_deferred_resources_wait_are_made_once_and_go() {
    let stage = PlugsCluster::new().await;
    let all = format!("{GROUP}/namespaces/shop/deferredresources");
    let refused = stage.send("POST", &all, json!({"metadata": {"name": "bad"}, "spec": {}})).await.unwrap_err();
    assert!(refused.contains("spec.resource"), "{refused}");
    let body = json!({"metadata": {"name": "later"}, "spec": {"timeout": 1, "waitFor": [{"kind": "ConfigMap", "name": "first"}], "resource": map("made", json!({"a": "1"}))}});
    stage.create(&all, body).await;
    let path = format!("{all}/later");
    let shows = async |message: &str| {
        let test =
            |found: Option<&Value>| found.is_some_and(|found| condition(found, "Resolved")["message"] == message);
        stage.until(&path, message, test).await.unwrap()
    };
    shows("waiting for timeout").await;
    shows("waiting for resource").await;
    stage.create("/api/v1/namespaces/shop/configmaps", map("first", json!({}))).await;
    let done = shows("success").await;
    assert_eq!(done["status"]["ownerReferences"]["name"], "made");
    stage.until_data("shop", "made", json!({"a": "1"})).await;
    stage.until_idle().await;
    let writes = stage.writes().await;
    assert!(writes <= 6, "{writes} writes");
    stage.delete(&path).await;
    stage.until_deleted(&path).await;
    stage.until_deleted(&config_map("shop", "made")).await;
    stage.create("/api/v1/namespaces/shop/configmaps", map("there", json!({"a": "1"}))).await;
    stage
        .create(&all, json!({"metadata": {"name": "later"}, "spec": {"resource": map("there", json!({"a": "1"}))}}))
        .await;
    shows("success").await;
    stage.delete(&path).await;
    stage.until_deleted(&path).await;
    stage.until_data("shop", "there", json!({"a": "1"})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secret_results_are_not_shown() {
    let stage = PlugsCluster::new().await;
    stage
        .create("/api/v1/namespaces/data/secrets", json!({"metadata": {"name": "s"}, "stringData": {"pw": "abc"}}))
        .await;
    stage.socket("db", json!({"resultSecretName": "s", "interface": {"result": {"socket": {"pw": {}, "open": {}, "key": {"secret": true}}}},
        "result": {"open": "yes", "key": "k"}})).await;
    stage.plug("web", json!({"socket": {"name": "db", "namespace": "data"}})).await;
    let plug = stage.until_plug_reason("web", "CouplingSucceeded").await;
    let wanted = json!({"open": "yes", "key": "<redacted>", "pw": "<redacted>"});
    assert_eq!(plug["status"]["coupledResult"]["socket"], wanted);
    assert_eq!(plug["status"]["binding"]["name"], "web-binding");
    let binding = stage.get("/api/v1/namespaces/shop/secrets/web-binding").await.unwrap();
    assert_eq!(binding["data"], json!({"open": "eWVz", "key": "aw==", "pw": "YWJj"}));
    stage.delete(SOCKET).await;
    stage.until_deleted(SOCKET).await;
    stage.until_deleted("/api/v1/namespaces/shop/secrets/web-binding").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_12_wrong_words_are_refused_at_admission() {
    let stage = PlugsCluster::new().await;
    let plugs = format!("{GROUP}/namespaces/shop/plugs");
    let cases = [
        (json!({"resources": [{"do": "aply", "template": {}}]}), "spec.resources[0].do"),
        (json!({"resources": [{"when": ["now"], "template": {}}]}), "spec.resources[0].when[0]"),
        (json!({"resources": [{}]}), "spec.resources[0]"),
        (json!({"config": {"port": 8080}}), "spec.config.port"),
        (json!({"socket": {}}), "spec.socket.name"),
        (json!({"vars": [{"name": "x", "objref": {}}]}), "spec.vars[0].objref.kind"),
        (json!({"apparatus": {"idleTimeout": -1}}), "spec.apparatus.idleTimeout"),
    ];
    for (spec, field) in cases {
        let refused = stage.send("POST", &plugs, json!({"metadata": {"name": "x"}, "spec": spec})).await.unwrap_err();
        assert!(refused.contains(field), "{field}: {refused}");
    }
    let bare = stage
        .create(
            &plugs,
            json!({"metadata": {"name": "bare"}, "spec": {"resources": [{"template": map("m", json!({}))}]}}),
        )
        .await;
    let entry = &bare["spec"]["resources"][0];
    assert_eq!((&entry["do"], &entry["when"]), (&json!("apply"), &json!(["coupled", "updated"])));
    let failed = stage.until_plug_reason("bare", "Error").await;
    assert_eq!(condition(&failed, "Failed")["message"], "spec.socket is missing: set it to the socket to couple to");
}
