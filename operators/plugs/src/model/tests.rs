#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;

fn plug(spec: Value) -> Value {
    json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec})
}

#[test]
fn what_is_omitted_has_its_default() {
    let plug = Plug::read(&plug(json!({
        "socket": {"name": "db"},
        "vars": [{"name": "host", "objref": {"kind": "Service", "name": "db", "group": "x.io", "version": "v2"}}],
        "resources": [{"template": {"kind": "ConfigMap"}}, {"do": "delete", "when": ["created"], "stringTemplate": "a"}],
    })))
    .unwrap();
    assert_eq!(plug.socket, Some(("shop".to_string(), "db".to_string())));
    assert_eq!(plug.side.service_account, "default");
    let var = &plug.side.vars[0];
    assert_eq!((var.field_path.as_str(), var.object.api_version.as_str()), ("metadata.name", "x.io/v2"));
    let [first, second] = &plug.side.resources[..] else { panic!("two entries") };
    assert_eq!((first.action, first.when.len(), first.is_removed_when_decoupled()), (ResourceAction::Apply, 2, true));
    assert_eq!(
        (second.action, second.when.len(), second.is_removed_when_decoupled()),
        (ResourceAction::Delete, 1, false)
    );
    assert!(Plug::read(&json!({"metadata": {"name": "bare"}})).unwrap().socket.is_none());
}

#[test]
fn templates_stand_in_the_order_they_are_evaluated_in() {
    let entry =
        json!({"stringTemplates": ["s1"], "stringTemplate": "s0", "templates": [{"n": 1}], "template": {"n": 0}});
    let plug = Plug::read(&plug(json!({"resources": [entry]}))).unwrap();
    let place = |template: &ObjectTemplate| match template {
        ObjectTemplate::Tree { path: place, .. } | ObjectTemplate::Text { path: place, .. } => {
            place.replace("spec.resources[0].", "")
        }
    };
    let places: Vec<String> = plug.side.resources[0].templates.iter().map(place).collect();
    assert_eq!(places, ["template", "templates[0]", "stringTemplate", "stringTemplates[0]"]);
}

#[test]
fn both_spellings_preserve() {
    for spelling in ["preserveWhenDecoupled", "retainWhenDecoupled"] {
        let entry = json!({"template": {"kind": "ConfigMap"}, spelling: true});
        let plug = Plug::read(&plug(json!({"resources": [entry]}))).unwrap();
        assert!(!plug.side.resources[0].is_removed_when_decoupled(), "{spelling}");
    }
}

#[test]
fn what_is_wrong_is_named_by_its_path() {
    let var = |objref: Value| json!({"vars": [{"name": "x", "objref": objref}]});
    let cases = [
        (json!({"socket": {}}), "spec.socket.name is missing: set it to the name of the socket to couple to"),
        (json!({"config": {"port": 8080}}), "spec.config.port must be a string: put the value in quotes"),
        (json!({"config": ["a"]}), "spec.config must be a map"),
        (json!({"configSecretName": 7}), "spec.configSecretName must be a string: put the value in quotes"),
        (var(json!({"name": "a"})), "spec.vars[0].objref.kind is missing: set it to the kind of the object to read"),
        (var(json!({"kind": "Pod"})), "spec.vars[0].objref.name is missing: set name or templateName"),
        (
            json!({"resources": [{"do": "aply", "template": {}}]}),
            "spec.resources[0].do must be one of apply, delete, recreate, not `aply`",
        ),
        (
            json!({"resources": [{"when": ["now"], "template": {}}]}),
            "spec.resources[0].when[0] must be one of created, coupled, updated, decoupled, deleted, not `now`",
        ),
        (
            json!({"resources": [{}]}),
            "spec.resources[0] has no template: set one of template, templates, stringTemplate and stringTemplates",
        ),
        (
            json!({"resources": [{"template": "kind: Pod"}]}),
            "spec.resources[0].template must be an object: write YAML here, or use stringTemplate",
        ),
        (json!({"apparatus": {"idleTimeout": -1}}), "spec.apparatus.idleTimeout must be a non-negative integer"),
        (
            json!({"interface": {"version": "v1"}}),
            "spec.interface.version needs a `name` next to it: set the name of the interface",
        ),
    ];
    for (spec, wanted) in cases {
        assert_eq!(Plug::read(&plug(spec)).unwrap_err().to_string(), wanted);
    }
    let cases = [
        (json!({"limit": "two"}), "spec.limit must be a non-negative integer"),
        (json!({"deletionPolicy": "x"}), "spec.deletionPolicy must be KeepPlugs or DeletePlugs"),
        (
            json!({"validation": {"namespaceBlacklist": ["["]}}),
            "spec.validation.namespaceBlacklist[0] must be a valid regular expression",
        ),
        (
            json!({"interface": {"config": {"plug": {"port": {"type": "int"}}}}}),
            "spec.interface.config.plug.port.type must be one of string, integer, number, boolean, not `int`",
        ),
        (
            json!({"interface": {"config": {"plug": {"port": {"type": "integer", "default": "x"}}}}}),
            "spec.interface.config.plug.port.default must be of type integer",
        ),
    ];
    for (spec, wanted) in cases {
        assert_eq!(Socket::read(&plug(spec)).unwrap_err().to_string(), wanted);
    }
    let deferred = DeferredResource::read(&plug(json!({}))).unwrap_err();
    assert_eq!(deferred.to_string(), "spec.resource is missing: set it to the object to create");
}

#[test]
fn templates_do_not_see_what_the_server_keeps() {
    let object = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "7", "generation": 3, "finalizers": [FINALIZER],
        "resourceVersion": "9", "labels": {"a": "b"}}, "spec": {"config": {"a": "b"}}, "status": {"conditions": []}});
    let plug = Plug::read(&object).unwrap();
    assert!(plug.meta.has_finalizer && plug.meta.generation == 3);
    let seen = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "7", "labels": {"a": "b"}}, "spec": {"config": {"a": "b"}}});
    assert_eq!(plug.manifest, seen);
}

#[test]
fn consent_means_whole_names_and_is_open_when_not_stated() {
    let socket = |spec: Value| Socket::read(&plug(spec)).unwrap().consent;
    let may = |consent: &Consent, namespace: &str, strict: bool| consent.check(namespace, None, "shop", strict).is_ok();
    let open = socket(json!({}));
    assert!(!open.is_stated() && may(&open, "any", false) && !may(&open, "any", true) && may(&open, "shop", true));
    let list = socket(json!({"validation": {"namespaceWhitelist": ["app", "team-.*"]}}));
    assert!(may(&list, "app", true) && may(&list, "team-a", true) && !may(&list, "my-app-evil", false));
    let empty = socket(json!({"validation": {"namespaceWhitelist": []}}));
    assert!(!may(&empty, "shop", false), "an empty list admits no namespace");
    let but = socket(json!({"validation": {"namespaceBlacklist": ["evil"]}}));
    assert!(may(&but, "my-evil-twin", false) && !may(&but, "evil", false));
    let granted =
        socket(json!({"consent": {"namespaces": ["bank"], "namespaceSelector": {"matchLabels": {"tier": "gold"}}}}));
    let labels = json!({"tier": "gold"});
    assert!(granted.needs_labels() && may(&granted, "bank", true) && !may(&granted, "other", false));
    assert!(granted.check("other", labels.as_object(), "shop", true).is_ok());
}
