//! What the original's chart and `oc process` make of the original's own test values, to the byte and to the hash. The data
//! lies beside the checkout, in `../shared/data/integrations`.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use switchboard_integrations::chart::Chart;
use switchboard_integrations::hash::hash;
use switchboard_integrations::model::Environment;
use switchboard_integrations::render::Context;
use switchboard_integrations::settings::Settings;

fn data(part: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/integrations").join(part);
    assert!(path.exists(), "{} is missing: these tests run beside the shared data", path.display());
    path
}

fn text(part: &str) -> String {
    fs::read_to_string(data(part)).unwrap()
}

fn json(part: &str) -> Value {
    serde_json::from_str(&text(part)).unwrap()
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value} is no map") };
    map
}

#[test]
fn every_recorded_case_is_the_same_to_the_byte_and_to_the_hash() {
    let chart = Chart::load(&data("chart")).unwrap();
    let index = json("index.json");
    let environment = Environment { name: "golden".into(), parameters: map(index["params"].clone()) };
    for compat in [true, false] {
        let mut settings = Settings::default();
        settings.scope.compat = compat;
        let context = Context { chart: &chart, settings: &settings, hash_length: 7 };
        let cases = index["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 31);
        for case in cases {
            let name = case["test"].as_str().unwrap();
            let values = map(json(&format!("{name}.values.json")));
            assert_eq!(chart.printed(values.clone()).unwrap(), text(&format!("{name}.rendered.yaml")), "{name}");
            let made = context.given(values, &environment).unwrap();
            assert_eq!(Value::from(made.objects.clone()), json(&format!("{name}.processed.json")), "{name}");
            let objects = case["objects"].as_array().unwrap();
            assert_eq!(objects.len(), made.objects.len(), "{name}");
            for (object, wanted) in made.objects.iter().zip(objects) {
                let found = [object["kind"].clone(), object["metadata"]["name"].clone(), hash(object).into()];
                assert_eq!(Value::from(found.to_vec()), *wanted, "{name}");
            }
        }
    }
}

#[test]
fn the_managers_own_deployment_is_the_same_to_the_byte() {
    let chart = Chart::load(&data("chart")).unwrap();
    for name in ["values-manager", "values-manager-fedramp"] {
        let values = switchboard_chart::values::read(&text(&format!("chart/{name}.yaml"))).unwrap();
        let printed = chart.printed(values).unwrap();
        assert_eq!(printed, text(&format!("manager/{name}.rendered.yaml")), "{name}");
    }
}

/// Spec 8.3, 11: what the API would refuse, a volume that stands twice, is not in what is written.
#[test]
fn the_fedramp_deployment_has_each_volume_once() {
    let chart = Chart::load(&data("chart")).unwrap();
    let values = switchboard_chart::values::read(&text("chart/values-manager-fedramp.yaml")).unwrap();
    let settings = Settings::default();
    let environment = Environment { name: "x".into(), parameters: Map::new() };
    let context = Context { chart: &chart, settings: &settings, hash_length: 7 };
    for object in context.given(values, &environment).unwrap().objects {
        let volumes = object.pointer("/spec/template/spec/volumes").and_then(Value::as_array).cloned();
        let mut names: Vec<String> = volumes.into_iter().flatten().map(|volume| volume["name"].to_string()).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
