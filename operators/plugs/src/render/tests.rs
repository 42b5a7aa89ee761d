#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_template::{JsonNumbers, Value as Root};

use super::*;
use crate::model::CouplingEvent;

fn engine() -> TemplateEngine {
    TemplateEngine::new("2026-01-02T03:04:05Z".parse().unwrap(), "seed")
}

fn root(value: Value) -> Root {
    Root::from_json(&value, JsonNumbers::Float)
}

fn text(template: &str, value: Value) -> Result<String, String> {
    engine().text("spec.configTemplate.x", template, &root(value)).map_err(|error| error.to_string())
}

#[test]
fn templates_are_written_with_percent_signs() {
    assert_eq!(text("{% .plugConfig.a %}-{{ .b }}", json!({"plugConfig": {"a": "1"}})).unwrap(), "1-{{ .b }}");
    assert_eq!(text("{%- if true %} yes {%- endif -%} ", json!({})).unwrap(), " yes");
    assert_eq!(text("{% printf \"chip\" %}{% `q` | quote %}", json!({})).unwrap(), "chip\"q\"");
}

#[test]
fn what_is_missing_is_an_error_that_names_key_and_template() {
    let data = || json!({"plugConfig": {"a": "1", "n": null}});
    let wanted = "spec.configTemplate.x: map has no entry for key \"foo\" in {% .plugConfig.foo %}";
    assert_eq!(text("{% .plugConfig.foo %}", data()).unwrap_err(), wanted);
    for template in
        ["{% .plugConfig.foo.bar %}", "{% printf \"%s\" .plugConfig.foo %}", "{% .plugConfig.foo | quote %}"]
    {
        let error = text(template, data()).unwrap_err();
        assert!(error.contains("map has no entry for key \"foo\""), "{template}: {error}");
    }
    let asked = [
        ("{% .plugConfig.foo | default \"x\" %}", "x"),
        ("{% default \"x\" .plugConfig.foo.bar %}", "x"),
        ("{% if .plugConfig.foo %}y{% else %}n{% end %}", "n"),
        ("{% if hasKey .plugConfig \"foo\" %}y{% else %}n{% end %}", "n"),
        ("{% coalesce .plugConfig.foo .plugConfig.a %}", "1"),
        ("{% with .plugConfig.foo %}y{% end %}", ""),
        ("{% and .plugConfig.foo true | default \"no\" %}", "no"),
    ];
    for (template, wanted) in asked {
        assert_eq!(text(template, data()).unwrap(), wanted, "{template}");
    }
}

#[test]
fn templates_know_nothing_of_the_world_and_give_the_same_again() {
    for name in ["env", "expandenv", "getHostByName"] {
        let error = text(&format!("{{% {name} \"HOME\" %}}"), json!({})).unwrap_err();
        assert!(error.contains("not defined"), "{error}");
    }
    assert_eq!(text("{% now | date \"2006\" %}", json!({})).unwrap(), "2026");
    let password = || text("{% randAlphaNum 12 %}", json!({})).unwrap();
    assert_eq!(password(), password());
    let other = engine().text("spec.configTemplate.y", "{% randAlphaNum 12 %}", &root(json!({}))).unwrap();
    assert_ne!(password(), other, "each template has chances of its own");
}

#[test]
fn functions_of_both_generations_are_there() {
    let data = || json!({"m": {"a": {"b": "c"}}, "y": "a: [1, 2]"});
    assert_eq!(text("{% dig \"a\" \"b\" \"none\" .m %}", data()).unwrap(), "c");
    assert_eq!(text("{% .m | toYaml %}", data()).unwrap(), "a:\n  b: c");
    assert_eq!(text("{% (fromYaml .y).a | toJson %}", data()).unwrap(), "[1,2]");
    assert_eq!(text("{% required \"give b\" .m.a.b %}", data()).unwrap(), "c");
    assert!(text("{% required \"give q\" .m.a.q %}", data()).unwrap_err().contains("give q"));
}

#[test]
fn a_value_never_becomes_structure() {
    let evil = json!({"plugConfig": {"v": "x\",\"evil\":\"y\n{% .other %}"}});
    let tree = json!({"data": {"{% `k` %}": "{% .plugConfig.v %}", "n": 3, "list": ["{% `a` %}", true]}});
    let rendered = engine().tree("t", &tree, &root(evil)).unwrap();
    let wanted = json!({"data": {"k": "x\",\"evil\":\"y\n{% .other %}", "n": 3, "list": ["a", true]}});
    assert_eq!(rendered, wanted);
    let error = engine().tree("t", &json!({"a": [{"b": "{% .x %}"}]}), &root(json!({}))).unwrap_err();
    assert_eq!(error.path, "t.a[0].b");
}

fn plug(spec: Value) -> Plug {
    Plug::read(&json!({"metadata": {"name": "web", "namespace": "shop", "uid": "p"}, "spec": spec})).unwrap()
}

fn socket(spec: Value) -> Socket {
    Socket::read(&json!({"metadata": {"name": "db", "namespace": "data", "uid": "s"}, "spec": spec})).unwrap()
}

/// Source with Secrets, ConfigMaps and objects by name.
struct FakeSource;

impl ValueSource for FakeSource {
    fn config_map(&self, _: CouplingSide, _: &str, name: &str) -> Result<Values, ComputeError> {
        Ok(Values::from([("from".into(), format!("map {name}")), ("map".into(), "m".into())]))
    }

    fn secret(&self, _: CouplingSide, _: &str, name: &str) -> Result<Values, ComputeError> {
        Ok(Values::from([("from".into(), format!("secret {name}")), ("secret".into(), "s".into())]))
    }

    fn object(&self, _: CouplingSide, wanted: &ObjectQuery<'_>) -> Result<Value, ComputeError> {
        Ok(json!({"metadata": {"name": wanted.name}, "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80}]}}))
    }
}

fn values(pairs: &[(&str, &str)]) -> Values {
    pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

#[test]
fn later_sources_win() {
    let plug = plug(
        json!({"config": {"from": "inline", "inline": "i"}, "configTemplate": {"from": "template", "t": "{% .plugData.d %}"},
        "configConfigMapName": "c", "configSecretName": "s", "data": {"d": "1", "from": "inline"}, "dataSecretName": "ds",
        "dataConfigMapName": "dc"}),
    );
    let socket = socket(json!({}));
    let pair = CouplingPair { plug: &plug, socket: &socket };
    let data = data(&FakeSource, pair).unwrap();
    assert_eq!(data.plug["from"], "map dc", "Secret < inline < ConfigMap");
    let config = |apparatus_values: Option<&Values>| {
        config(&FakeSource, &engine(), pair, CouplingSide::Plug, &data, &Values::new(), apparatus_values).unwrap()
    };
    let wanted = values(&[("from", "map c"), ("inline", "i"), ("map", "m"), ("secret", "s"), ("t", "1")]);
    assert_eq!(config(None), wanted);
    assert_eq!(config(Some(&values(&[("from", "apparatus")])))["from"], "apparatus");
}

#[test]
fn results_know_configs_and_result_vars_on_both_sides() {
    let var = json!([{"name": "ip", "objref": {"kind": "Service", "templateName": "{% .plug.metadata.name %}-svc"},
        "fieldref": {"fieldPath": "spec.clusterIP"}}]);
    let plug = plug(
        json!({"resultVars": var, "resultTemplate": {"foo": "{% .plugConfig.foo %}", "ip": "{% .resultVars.ip %}"}}),
    );
    let socket = socket(
        json!({"resultVars": var, "resultTemplate": {"a": "{% .resultVars.ip %}", "b": "{% .vars.ip %}", "c": "{% .socketConfig.c %}"}}),
    );
    let pair = CouplingPair { plug: &plug, socket: &socket };
    let config = PerSide { plug: values(&[("foo", "1")]), socket: values(&[("c", "2")]) };
    let of = |side| result(&FakeSource, &engine(), pair, side, &PerSide::default(), &config).unwrap();
    assert_eq!(of(CouplingSide::Plug), values(&[("foo", "1"), ("ip", "10.0.0.1")]));
    assert_eq!(of(CouplingSide::Socket), values(&[("a", "10.0.0.1"), ("b", "10.0.0.1"), ("c", "2")]));
}

#[test]
fn vars_stay_in_the_namespace_of_their_owner_and_miss_what_is_not_there() {
    let var = |more: Value| {
        let mut var =
            json!({"name": "v", "objref": {"kind": "Service", "name": "db"}, "fieldref": {"fieldPath": "spec.none"}});
        var.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let plug = plug(json!({"vars": [var]}));
        let socket = socket(json!({}));
        let pair = CouplingPair { plug: &plug, socket: &socket };
        vars(&FakeSource, &engine(), pair, CouplingSide::Plug, &plug.side.vars).map_err(|error| error.to_string())
    };
    assert_eq!(
        var(json!({})).unwrap_err(),
        "spec.vars[0].fieldref.fieldPath: var 'v': Service db has no field spec.none"
    );
    assert_eq!(var(json!({"default": "d"})).unwrap()["v"], "d");
    assert_eq!(var(json!({"fieldref": {"fieldPath": "spec.ports.0.port"}})).unwrap()["v"], "80");
    assert_eq!(var(json!({"fieldref": {}})).unwrap()["v"], "db", "kustomize's default");
    let elsewhere = json!({"objref": {"kind": "Service", "name": "db", "namespace": "data"}});
    assert_eq!(var(elsewhere).unwrap_err(), "spec.vars[0].objref.namespace: var objRef namespace data must be shop");
}

#[test]
fn the_interface_lets_through_what_is_declared() {
    let socket = socket(
        json!({"interface": {"config": {"plug": {"need": {"required": true}, "has": {"default": "d"}, "free": {},
        "port": {"type": "integer", "enum": ["80", "443"]}, "name": {"pattern": "[a-z]+"}}}}}),
    );
    let interface = socket.interface.as_ref();
    let of = |side, pairs: &[(&str, &str)]| {
        apply_interface(interface, side, "config", values(pairs)).map_err(|error| error.to_string())
    };
    assert_eq!(of(CouplingSide::Plug, &[]).unwrap_err(), "plug config property 'need' is required");
    assert_eq!(
        of(CouplingSide::Plug, &[("need", "")]).unwrap_err(),
        "plug config property 'need' is required",
        "empty is none"
    );
    assert_eq!(
        of(CouplingSide::Plug, &[("need", "1"), ("extra", "x")]).unwrap(),
        values(&[("has", "d"), ("need", "1")])
    );
    assert_eq!(
        of(CouplingSide::Socket, &[("any", "x")]).unwrap(),
        values(&[("any", "x")]),
        "a side without declarations passes"
    );
    assert_eq!(
        of(CouplingSide::Plug, &[("need", "1"), ("port", "x")]).unwrap_err(),
        "plug config property 'port' must be of type integer"
    );
    assert_eq!(
        of(CouplingSide::Plug, &[("need", "1"), ("port", "8")]).unwrap_err(),
        "plug config property 'port' must be one of 80, 443"
    );
    assert_eq!(
        of(CouplingSide::Plug, &[("need", "1"), ("name", "a1")]).unwrap_err(),
        "plug config property 'name' must match [a-z]+"
    );
    assert_eq!(
        apply_interface(None, CouplingSide::Plug, "config", values(&[("a", "b")])).unwrap(),
        values(&[("a", "b")])
    );
    let late = json!({"interface": {"result": {"socket": {"r": {"required": true}}}}});
    let late = Socket::read(&json!({"metadata": {"name": "x"}, "spec": late})).unwrap();
    let missing = apply_interface(late.interface.as_ref(), CouplingSide::Socket, "result", Values::new()).unwrap_err();
    assert_eq!(
        missing,
        ComputeError::Missing("socket result property 'r' is required".into()),
        "a result may come later"
    );
}

#[test]
fn an_empty_text_is_as_good_as_none_on_all_four() {
    let both = json!({"plug": {"a": {"required": true}, "b": {"default": "d"}}, "socket": {"a": {"required": true}, "b": {"default": "d"}}});
    let socket = socket(json!({"interface": {"config": both, "result": both}}));
    for side in CouplingSide::BOTH {
        for what in ["config", "result"] {
            let of = |pairs: &[(&str, &str)]| {
                apply_interface(socket.interface.as_ref(), side, what, values(pairs)).map_err(|error| error.to_string())
            };
            let words = format!("{} {what} property 'a' is required", side.as_str());
            assert_eq!((of(&[]), of(&[("a", "")])), (Err(words.clone()), Err(words)));
            assert_eq!(of(&[("a", "1"), ("b", "")]).unwrap(), values(&[("a", "1"), ("b", "d")]));
        }
    }
}

#[test]
fn a_mongo_plug_does_not_fit_a_postgres_socket() {
    let fits = |wanted: Value, offered: Value| {
        let plug = plug(json!({"interface": wanted}));
        let socket = socket(json!({"interface": offered}));
        check_interface(CouplingPair { plug: &plug, socket: &socket })
    };
    assert_eq!(
        fits(json!({"name": "mongo"}), json!({"name": "postgres", "version": "v1"})).unwrap_err(),
        "spec.interface: plug requires the interface mongo, and the socket has postgres v1; couple to another socket"
    );
    assert!(fits(json!({"name": "mongo"}), json!({"name": "mongo", "version": "v1"})).is_ok());
    assert!(fits(json!({"name": "mongo", "version": "v2"}), json!({"name": "mongo", "version": "v1"})).is_err());
    assert!(fits(json!(null), json!({"name": "mongo"})).is_ok());
    assert!(fits(json!({"name": "mongo"}), json!(null)).is_err());
}

fn rendered(entry: Value) -> Result<Vec<RenderedObject>, String> {
    let plug = plug(json!({"resources": [entry]}));
    let root = root(json!({"plugConfig": {"on": "", "name": "n"}}));
    objects(&engine(), &plug.meta, &plug.side.resources, |entry| entry.when.contains(&CouplingEvent::Coupled), &root)
        .map_err(|error| error.to_string())
}

#[test]
fn string_templates_may_give_nothing_or_several() {
    let one = |text: &str| rendered(json!({"stringTemplate": text}));
    assert_eq!(one("{%- if .plugConfig.on %}\nkind: ConfigMap\n{%- end %}\n").unwrap(), []);
    assert_eq!(one("").unwrap(), []);
    let two = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{% .plugConfig.name %}'}\n";
    let all = one(two).unwrap();
    let names: Vec<&Value> = all.iter().map(|one| &one.object["metadata"]["name"]).collect();
    assert_eq!(names, ["a", "n"]);
    assert_eq!(all[0].object["metadata"]["namespace"], "shop");
    assert!(one("a: [").unwrap_err().contains("renders to invalid YAML"), "without what was rendered");
}

#[test]
fn objects_stay_in_their_owners_namespace_and_have_a_name() {
    let map = |metadata: Value| {
        rendered(json!({"template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}}))
    };
    assert_eq!(
        map(json!({"name": "a", "namespace": "data"})).unwrap_err(),
        "spec.resources[0].template: resource namespace data must be shop"
    );
    assert_eq!(
        map(json!({"generateName": "a"})).unwrap_err(),
        "spec.resources[0].template: the object has no metadata.name"
    );
    assert_eq!(
        rendered(json!({"template": {"kind": "ConfigMap"}})).unwrap_err(),
        "spec.resources[0].template: the object has no apiVersion"
    );
}
