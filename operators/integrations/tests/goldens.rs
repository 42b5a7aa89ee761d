//! Comparison with the output of qontract-reconcile's chart and `oc process` for qontract-reconcile's own test values,
//! including hashes. The data is outside of the repository, see [`shared_data()`].
#![allow(clippy::unwrap_used)]

#[path = "../../../tests/suite/shared_data.rs"]
mod shared_data;

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use shared_data::shared_data;
use switchboard_integrations::chart::IntegrationsChart;
use switchboard_integrations::hash::hash;
use switchboard_integrations::model::IntegrationEnvironment;
use switchboard_integrations::render::RenderContext;
use switchboard_integrations::settings::RenderSettings;

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&text(path)).unwrap()
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value} is no map") };
    map
}

#[test]
fn every_recorded_case_matches_byte_for_byte() {
    let Some(data) = shared_data("integrations") else { return };
    let chart = IntegrationsChart::load(&data.join("chart")).unwrap();
    let index = json(&data.join("index.json"));
    let environment = IntegrationEnvironment { name: "golden".into(), parameters: map(index["params"].clone()) };
    for compat in [true, false] {
        let mut settings = RenderSettings::default();
        settings.scope.compat = compat;
        let context = RenderContext { chart: &chart, settings: &settings, hash_length: 7 };
        let cases = index["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 31);
        for case in cases {
            let name = case["test"].as_str().unwrap();
            let values = map(json(&data.join(format!("{name}.values.json"))));
            assert_eq!(
                chart.render_text(values.clone()).unwrap(),
                text(&data.join(format!("{name}.rendered.yaml"))),
                "{name}"
            );
            let made = context.values_file(values, &environment).unwrap();
            assert_eq!(Value::from(made.objects.clone()), json(&data.join(format!("{name}.processed.json"))), "{name}");
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
fn the_managers_own_deployment_matches_byte_for_byte() {
    let Some(data) = shared_data("integrations") else { return };
    let chart = IntegrationsChart::load(&data.join("chart")).unwrap();
    for name in ["values-manager", "values-manager-fedramp"] {
        let values = switchboard_chart::values::read(&text(&data.join(format!("chart/{name}.yaml")))).unwrap();
        let printed = chart.render_text(values).unwrap();
        assert_eq!(printed, text(&data.join(format!("manager/{name}.rendered.yaml"))), "{name}");
    }
}

/// Spec 8.3, 11: a duplicate volume, which the API server rejects, is removed.
#[test]
fn the_fedramp_deployment_has_each_volume_once() {
    let Some(data) = shared_data("integrations") else { return };
    let chart = IntegrationsChart::load(&data.join("chart")).unwrap();
    let values = switchboard_chart::values::read(&text(&data.join("chart/values-manager-fedramp.yaml"))).unwrap();
    let settings = RenderSettings::default();
    let environment = IntegrationEnvironment { name: "x".into(), parameters: Map::new() };
    let context = RenderContext { chart: &chart, settings: &settings, hash_length: 7 };
    for object in context.values_file(values, &environment).unwrap().objects {
        let volumes = object.pointer("/spec/template/spec/volumes").and_then(Value::as_array).cloned();
        let mut names: Vec<String> = volumes.into_iter().flatten().map(|volume| volume["name"].to_string()).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
