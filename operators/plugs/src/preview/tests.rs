#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn engine() -> TemplateEngine {
    TemplateEngine::new("2026-01-01T00:00:00Z".parse().unwrap(), "seed")
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
    let preview = preview_with_secrets(&plug(), &socket(), &PreviewFiles::new(vec![secret()]), &engine()).unwrap();
    let config = &preview.config.socket;
    assert_eq!(config.get("password").map(String::as_str), Some("hunter2"));
    assert_eq!(config.get("user"), None, "what the interface does not declare is left out");
    let lines: Vec<String> = preview
        .events
        .iter()
        .flat_map(|one| one.actions.iter().map(move |act| (one, act)))
        .map(|(one, act)| {
            format!(
                "{} {} {:?} {}",
                one.event.as_str(),
                one.side.as_str(),
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
    let result = preview
        .events
        .iter()
        .find(|one| one.event == CouplingEvent::Coupled && one.side == CouplingSide::Plug)
        .unwrap();
    assert_eq!(result.actions[1].object["data"]["url"], "db/shop");
}

#[test]
fn what_is_not_among_the_files_is_named() {
    let error = preview(&plug(), &socket(), &PreviewFiles::default(), &engine()).unwrap_err();
    assert_eq!(error.to_string(), "could not compute the config of the socket");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "socket default/db: spec.configSecretName: Secret default/given is not among the files");
}

#[test]
fn results_that_only_a_cluster_has_are_omitted_and_said() {
    let mut plug = plug();
    plug["spec"]["resultVars"] = json!([{"name": "done", "objref": {"apiVersion": "batch/v1", "kind": "Job", "name": "work"},
        "fieldref": {"fieldPath": "status.succeeded"}}]);
    let preview = preview(&plug, &socket(), &PreviewFiles::new(vec![secret()]), &engine()).unwrap();
    assert_eq!(preview.result, None);
    let said = "the results, and the objects that need them: spec.resultVars[0].objref: Job default/work is not among the files";
    assert_eq!(preview.omitted, [said]);
}

/// Returns a pair whose socket has an apparatus that must add `realm` to the config; an object of each side uses it.
fn asked() -> (Value, Value) {
    let (mut plug, mut socket) = (plug(), socket());
    socket["spec"]["apparatus"] = json!({"endpoint": "http://accounts", "containers": []});
    socket["spec"]["interface"]["config"]["socket"]["realm"] = json!({"required": true});
    socket["spec"]["resources"].as_array_mut().unwrap().push(json!({"template": map("{% .socketConfig.realm %}")}));
    let account = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "account"},
        "data": {"realm": "{% .socketConfig.realm %}"}});
    plug["spec"]["resources"].as_array_mut().unwrap().push(json!({"template": account}));
    (plug, socket)
}

fn made(preview: &CouplingPreview, event: CouplingEvent) -> Vec<String> {
    let of = preview.events.iter().filter(|one| one.event == event).flat_map(|one| &one.actions);
    of.map(|act| act.object["metadata"]["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn what_needs_an_answer_that_is_not_given_is_omitted_and_said_and_all_else_is_there() {
    let (plug, socket) = asked();
    let preview = preview(&plug, &socket, &PreviewFiles::new(vec![secret()]), &engine()).unwrap();
    assert_eq!(preview.unanswered, [CouplingSide::Socket]);
    assert_eq!(
        preview.omitted,
        [
            "the values that the apparatus of the socket adds to its config, and the objects that need them",
            "socket config property 'realm', which is required and which its apparatus may add",
            "an object of the plug: spec.resources[2].template.data.realm: map has no entry for key \"realm\" in \
             {% .socketConfig.realm %}",
            "an object of the socket: spec.resources[2].template.metadata.name: map has no entry for key \"realm\" in \
             {% .socketConfig.realm %}",
        ]
    );
    assert_eq!(preview.config.socket.get("host").map(String::as_str), Some("db"));
    assert_eq!(preview.result.as_ref().unwrap().socket["url"], "db/shop");
    assert_eq!(made(&preview, CouplingEvent::Coupled), ["settings", "result", "of-web"]);
    assert_eq!(made(&preview, CouplingEvent::Decoupled), ["leftover", "result", "settings", "of-web"]);
}

#[test]
fn a_result_that_needs_the_answer_is_omitted_with_what_is_made_of_it() {
    let (plug, mut socket) = asked();
    socket["spec"]["resultTemplate"] = json!({"url": "{% .socketConfig.realm %}"});
    let preview = preview(&plug, &socket, &PreviewFiles::new(vec![secret()]), &engine()).unwrap();
    assert_eq!(preview.result, None);
    assert!(preview.omitted[2].starts_with("the results, and the objects that need them: "), "{:?}", preview.omitted);
    assert_eq!(made(&preview, CouplingEvent::Coupled), ["settings", "of-web"]);
}

#[test]
fn an_answer_that_is_given_is_as_good_as_the_program() {
    let (plug, socket) = asked();
    let realm = |realm: &str| Values::from([("realm".to_string(), realm.to_string())]);
    let files = PreviewFiles::new(vec![secret()]).with_answer(CouplingSide::Socket, realm("example"));
    let preview = preview(&plug, &socket, &files, &engine()).unwrap();
    assert_eq!((preview.unanswered.len(), preview.omitted.len()), (0, 0), "{:?}", preview.omitted);
    assert_eq!(made(&preview, CouplingEvent::Coupled), ["settings", "account", "result", "of-web", "example"]);
    // The interface applies to answers as well.
    let empty = PreviewFiles::new(vec![secret()]).with_answer(CouplingSide::Socket, realm(""));
    let error = super::preview(&plug, &socket, &empty, &engine()).unwrap_err();
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "socket config property 'realm' is required");
}

#[test]
fn what_is_wrong_without_any_answer_is_wrong() {
    let (plug, mut socket) = asked();
    let none = PreviewFiles::new(vec![secret()]).with_answer(CouplingSide::Plug, Values::new());
    let error = preview(&plug, &socket, &none, &engine()).unwrap_err().to_string();
    assert!(error.starts_with("the plug has no apparatus"), "{error}");
    // At `created`, no config is known.
    socket["spec"]["resources"][0]["template"]["metadata"]["name"] = json!("{% .socketConfig.realm %}");
    let error = preview(&plug, &socket, &PreviewFiles::new(vec![secret()]), &engine()).unwrap_err();
    assert_eq!(error.to_string(), "could not compute the objects of the socket at created");
}

/// Returns a pair whose objects and results hold a marked value and a value of a Secret in many forms.
fn pair_with_secrets() -> (Value, Value) {
    let (mut plug, mut socket) = (plug(), socket());
    socket["spec"]["interface"]["config"]["socket"]["token"] = json!({"secret": true});
    socket["spec"]["config"]["token"] = json!("inline-canary");
    socket["spec"]["resultTemplate"]["short"] = json!("{% .socketConfig.token | trunc 9 %}");
    plug["spec"]["resources"][0]["template"]["data"] = json!({
        "host": "{% .socketConfig.host %}",
        "url": "db://{% .socketConfig.password %}@{% .socketConfig.host %}",
        "upper": "{% .socketConfig.token | upper %}",
        "base64": "{% .socketConfig.password | b64enc %}",
        "whole": "{% .socket.spec.config.token %}",
        "{% .socketConfig.token %}": "a key",
    });
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "made"}, "stringData": {"fixed": "fixed-canary"}});
    plug["spec"]["resources"].as_array_mut().unwrap().extend([
        json!({"template": secret}),
        json!({"stringTemplate": "{% if contains \"hunter\" .socketConfig.password %}{apiVersion: v1, kind: ConfigMap, metadata: {name: chosen-by-secret}}{% end %}"}),
    ]);
    (plug, socket)
}

const SECRET_FORMS: [&str; 8] = [
    "hunter2",
    "aHVudGVyMg==",
    "inline-canary",
    "inline-ca",
    "INLINE-CANARY",
    "aW5saW5lLWNhbmFyeQ==",
    "fixed-canary",
    "chosen-by-secret",
];

#[test]
fn secret_values_are_redacted_in_every_form() {
    let (plug, socket) = pair_with_secrets();
    let shown = preview(&plug, &socket, &PreviewFiles::new(vec![secret()]), &engine()).unwrap();
    let text = serde_json::to_string_pretty(&shown).unwrap();
    for form in SECRET_FORMS {
        assert!(!text.contains(form), "{form} in\n{text}");
    }
    assert_eq!(shown.config.socket["host"], "db", "other values are shown");
    assert_eq!(shown.config.socket["password"], "<redacted>");
    assert_eq!(shown.result.as_ref().unwrap().socket["url"], "db/shop");
    let coupled = shown.events.iter().find(|one| one.event == CouplingEvent::Coupled).unwrap();
    let settings = &coupled.actions[0].object;
    assert_eq!(settings["metadata"]["name"], "settings");
    assert_eq!(settings["data"]["host"], "db");
    assert_eq!(settings["data"]["url"], "db://<redacted>@db", "the rest of a text is shown");
    assert_eq!(coupled.actions[1].object["stringData"], json!({"fixed": "<redacted>"}));
}

#[test]
fn secret_values_are_shown_on_request() {
    let (plug, socket) = pair_with_secrets();
    let shown = preview_with_secrets(&plug, &socket, &PreviewFiles::new(vec![secret()]), &engine()).unwrap();
    let text = serde_json::to_string(&shown).unwrap();
    assert!(SECRET_FORMS.iter().filter(|form| text.contains(**form)).count() >= 7, "{text}");
}

#[test]
fn errors_contain_no_secret_values() {
    let (plug, mut socket) = pair_with_secrets();
    socket["spec"]["resources"][1]["template"]["metadata"]["name"] = json!("{% fail .socketConfig.password %}");
    let error = preview(&plug, &socket, &PreviewFiles::new(vec![secret()]), &engine()).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(!cause.contains("hunter2"), "{cause}");
}
