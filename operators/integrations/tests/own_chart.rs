//! The project's own chart makes what the original's does, of all values that are recorded. They lie beside the checkout.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use switchboard_integrations::chart::Chart;
use switchboard_integrations::model::Environment;
use switchboard_integrations::render::Context;
use switchboard_integrations::settings::Settings;

fn data(part: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/integrations").join(part);
    assert!(path.exists(), "{} is missing: these tests run beside the shared data", path.display());
    path
}

fn json(part: &str) -> Value {
    serde_json::from_slice(&fs::read(data(part)).unwrap()).unwrap()
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value} is no map") };
    map
}

fn made(chart: &Chart, values: Map<String, Value>, parameters: Map<String, Value>, compat: bool) -> Vec<Value> {
    let mut settings = Settings::default();
    settings.scope.compat = compat;
    let environment = Environment { name: "recorded".into(), parameters };
    Context { chart, settings: &settings, hash_length: 7 }.given(values, &environment).unwrap().objects
}

#[test]
fn of_every_recorded_case_the_objects_are_the_same() {
    let index = json("index.json");
    let chart = Chart::own();
    for case in index["cases"].as_array().unwrap() {
        let name = case["test"].as_str().unwrap();
        for compat in [true, false] {
            let values = map(json(&format!("{name}.values.json")));
            let objects = made(&chart, values, map(index["params"].clone()), compat);
            assert_eq!(Value::from(objects), json(&format!("{name}.processed.json")), "{name}");
        }
    }
}

#[test]
fn of_the_managers_own_values_the_objects_are_the_same() {
    let theirs = Chart::load(&data("chart")).unwrap();
    for name in ["values-manager", "values-manager-fedramp"] {
        let text = fs::read_to_string(data(&format!("chart/{name}.yaml"))).unwrap();
        let values = switchboard_chart::values::read(&text).unwrap();
        for compat in [true, false] {
            let ours = made(&Chart::own(), values.clone(), Map::new(), compat);
            assert_eq!(ours, made(&theirs, values.clone(), Map::new(), compat), "{name}");
            assert!(!ours.is_empty());
        }
    }
}
