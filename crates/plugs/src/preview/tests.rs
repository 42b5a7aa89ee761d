#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn engine() -> Engine {
    Engine::new("2026-01-01T00:00:00Z".parse().unwrap(), "seed")
}

fn socket() -> Value {
    json!({
        "metadata": {"name": "db"},
        "spec": {
            "configSecretName": "given",
            "config": {"host": "db"},
            "interface": {"config": {"socket": {"host": {}, "password": {"required": true}}}},
            "resources": [
                {"when": ["created"], "template": map("at-created")},
                {"template": map("of-{% .plug.metadata.name %}")},
            ],
            "resultTemplate": {"url": "{% .socketConfig.host %}/{% .plugConfig.name %}"},
        },
    })
}

fn plug() -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "socket": {"name": "db"},
            "config": {"name": "shop"},
            "resources": [{"template": map("settings")}, {"when": ["decoupled"], "do": "delete", "template": map("leftover")}],
            "resultResources": [{"template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "result"},
                "data": {"url": "{% .socketResult.url %}"}}}],
        },
    })
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn secret() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "given"}, "data": {"password": "aHVudGVyMg==", "user": "YWRh"}})
}

#[test]
fn every_event_shows_what_it_makes_and_removes() {
    let preview = preview(&plug(), &socket(), &Files::new(vec![secret()]), &engine()).unwrap();
    let config = &preview.config.socket;
    assert_eq!(config.get("password").map(String::as_str), Some("hunter2"));
    assert_eq!(config.get("user"), None, "what the interface does not declare is left out");
    let lines: Vec<String> = preview
        .events
        .iter()
        .flat_map(|one| one.acts.iter().map(move |act| (one, act)))
        .map(|(one, act)| {
            format!(
                "{} {} {:?} {}",
                one.event.word(),
                one.side.word(),
                act.action,
                act.object["metadata"]["name"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "created socket Apply at-created",
            "coupled plug Apply settings",
            "coupled plug Apply result",
            "coupled socket Apply of-web",
            "updated plug Apply settings",
            "updated plug Apply result",
            "updated socket Apply of-web",
            "decoupled plug Delete leftover",
            "decoupled plug Delete result",
            "decoupled plug Delete settings",
            "decoupled socket Delete of-web",
            "deleted socket Delete at-created",
        ]
    );
    let result = preview.events.iter().find(|one| one.event == Event::Coupled && one.side == Who::Plug).unwrap();
    assert_eq!(result.acts[1].object["data"]["url"], "db/shop");
}

#[test]
fn what_is_not_among_the_files_is_named() {
    let error = preview(&plug(), &socket(), &Files::default(), &engine()).unwrap_err();
    assert_eq!(error.to_string(), "could not make the config of the socket");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "socket default/db: spec.configSecretName: Secret default/given is not among the files");
}

#[test]
fn results_that_only_a_cluster_has_are_left_out_and_said() {
    let mut plug = plug();
    plug["spec"]["resultVars"] = json!([{"name": "done", "objref": {"apiVersion": "batch/v1", "kind": "Job", "name": "work"},
        "fieldref": {"fieldPath": "status.succeeded"}}]);
    let preview = preview(&plug, &socket(), &Files::new(vec![secret()]), &engine()).unwrap();
    assert_eq!(preview.result, None);
    let said =
        "the results, and what is made of them: spec.resultVars[0].objref: Job default/work is not among the files";
    assert_eq!(preview.left_out, [said]);
}
