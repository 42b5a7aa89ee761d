//! Comparison of the built-in chart with qontract-reconcile's for all recorded values. The data is outside of the
//! repository.
#![allow(clippy::unwrap_used)]

#[path = "../../../tests/suite/shared_data.rs"]
mod shared_data;

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use shared_data::shared_data;
use switchboard_integrations::chart::IntegrationsChart;
use switchboard_integrations::model::IntegrationEnvironment;
use switchboard_integrations::render::RenderContext;
use switchboard_integrations::settings::RenderSettings;

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value} is no map") };
    map
}

fn render_objects(
    chart: &IntegrationsChart,
    values: Map<String, Value>,
    parameters: Map<String, Value>,
    compat: bool,
) -> Vec<Value> {
    let mut settings = RenderSettings::default();
    settings.scope.compat = compat;
    let environment = IntegrationEnvironment { name: "recorded".into(), parameters };
    RenderContext { chart, settings: &settings, hash_length: 7 }.values_file(values, &environment).unwrap().objects
}

#[test]
fn the_objects_of_every_recorded_case_match() {
    let Some(data) = shared_data("integrations") else { return };
    let index = json(&data.join("index.json"));
    let chart = IntegrationsChart::builtin();
    for case in index["cases"].as_array().unwrap() {
        let name = case["test"].as_str().unwrap();
        for compat in [true, false] {
            let values = map(json(&data.join(format!("{name}.values.json"))));
            let objects = render_objects(&chart, values, map(index["params"].clone()), compat);
            assert_eq!(Value::from(objects), json(&data.join(format!("{name}.processed.json"))), "{name}");
        }
    }
}

#[test]
fn the_objects_of_the_managers_own_values_match() {
    let Some(data) = shared_data("integrations") else { return };
    let theirs = IntegrationsChart::load(&data.join("chart")).unwrap();
    for name in ["values-manager", "values-manager-fedramp"] {
        let text = fs::read_to_string(data.join(format!("chart/{name}.yaml"))).unwrap();
        let values = switchboard_chart::values::read(&text).unwrap();
        for compat in [true, false] {
            let ours = render_objects(&IntegrationsChart::builtin(), values.clone(), Map::new(), compat);
            assert_eq!(ours, render_objects(&theirs, values.clone(), Map::new(), compat), "{name}");
            assert!(!ours.is_empty());
        }
    }
}
