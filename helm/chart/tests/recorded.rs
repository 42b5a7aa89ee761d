//! Comparison with recorded results of the real Helm and of the code of `oc`: the integrations chart with all its
//! values, and the cases of Helm's engine. The recordings are next to the checkout.
#![allow(clippy::unwrap_used)]

#[path = "recorded/engine.rs"]
mod engine;
#[path = "recorded/shared_data.rs"]
mod shared_data;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use shared_data::shared_data;
use switchboard_chart::capabilities::KubeVersion;
use switchboard_chart::chart::Chart;
use switchboard_chart::file::ChartFile;
use switchboard_chart::folder::SymlinkPolicy;
use switchboard_chart::openshift::{ExpressionRandom, OpenShiftTemplate, ProcessOptions};
use switchboard_chart::output::{OutputOptions, text};
use switchboard_chart::release::Release;
use switchboard_chart::render::{CompiledChart, RenderRequest};
use switchboard_chart::values;
use switchboard_template::sprig::SystemInputs;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&read(path)).unwrap()
}

#[track_caller]
fn none(failed: &[String], of: usize) {
    assert!(of > 0 && failed.is_empty(), "{} of {of} differ:\n{}", failed.len(), failed.join("\n"));
}

fn integrations(data: &Path) -> CompiledChart {
    CompiledChart::new(Chart::load(&data.join("chart"), SymlinkPolicy::Inside).unwrap())
}

#[test]
fn integrations_chart_renders_as_recorded() {
    let Some(data) = shared_data("integrations") else { return };
    let chart = integrations(&data);
    let index = json(&data.join("index.json"));
    let parameters: BTreeMap<String, String> = serde_json::from_value(index["params"].clone()).unwrap();
    let cases = index["cases"].as_array().unwrap();
    let mut failed = Vec::new();
    for case in cases {
        let name = case["test"].as_str().unwrap();
        let part = |end: &str| data.join(format!("{name}.{end}"));
        let mut request = RenderRequest::new(Release::new("qontract-reconcile", "default"));
        request.values = values::read(&read(&part("values.json"))).unwrap();
        let rendered = chart.render(&request).unwrap();
        if text(&rendered, &OutputOptions::default()).unwrap() != read(&part("rendered.yaml")) {
            failed.push(format!("{name}: rendered"));
        }
        let template = OpenShiftTemplate::from_object(coerced(rendered.sorted.manifests[0].object().unwrap())).unwrap();
        let given =
            ProcessOptions { parameters: parameters.clone(), ignore_unknown: true, ..ProcessOptions::default() };
        let objects = template.process(&given, &mut ExpressionRandom::seeded(1)).unwrap();
        if Value::Array(objects) != json(&part("processed.json")) {
            failed.push(format!("{name}: processed"));
        }
    }
    assert_eq!(cases.len(), 31);
    none(&failed, cases.len());
}

/// Converts a numeric parameter of the fixtures, which `oc` rejects, to text, as in the recorded results.
fn coerced(mut template: Value) -> Value {
    for parameter in template["parameters"].as_array_mut().into_iter().flatten() {
        if let Some(number) = parameter["value"].as_number().map(ToString::to_string) {
            parameter["value"] = Value::String(number);
        }
    }
    template
}

#[test]
fn manager_values_render_as_recorded() {
    let Some(data) = shared_data("integrations") else { return };
    let chart = integrations(&data);
    for (values_file, expected) in manager_files(&data) {
        let mut request = RenderRequest::new(Release::new("qontract-reconcile", "default"));
        request.values = values::read(&read(&values_file)).unwrap();
        let rendered = chart.render(&request).unwrap();
        assert_eq!(text(&rendered, &OutputOptions::default()).unwrap(), read(&expected), "{}", expected.display());
    }
}

fn manager_files(data: &Path) -> Vec<(PathBuf, PathBuf)> {
    let recorded = fs::read_dir(data.join("manager")).unwrap().map(|entry| entry.unwrap().path());
    let pair = |expected: PathBuf| {
        let stem = expected.file_name()?.to_str()?.split('.').next()?.to_string();
        let values = data.join(format!("chart/{stem}.yaml"));
        values.exists().then_some((values, expected))
    };
    let pairs: Vec<_> = recorded.filter_map(pair).collect();
    assert!(!pairs.is_empty());
    pairs
}

/// Cases in which Helm 4 differs from the recorded Helm 3: names of Go types, and the JSON of a chart.
const OF_HELM_3: [&str; 4] = ["kind", "kind#15", "debug_tojson_release", "debug_tojson_release#1"];

fn engine_chart(helpers: &str, template: &str) -> CompiledChart {
    let metadata = "{apiVersion: v2, name: t, version: 1.2.3+b1, appVersion: '4.5', keywords: [k1, k2], type: application, maintainers: [{name: ann, email: a@b}], annotations: {x: y}}";
    let chart = Chart::from_files(vec![
        ChartFile::new("Chart.yaml", metadata.as_bytes()),
        ChartFile::new("config/a.txt", b"l1\nl2\n"),
        ChartFile::new("config/b.json", b"{\"x\": 1}"),
        ChartFile::new("config/sub/c.txt", b"c"),
        ChartFile::new("templates/_helpers.tpl", helpers.as_bytes()),
        ChartFile::new("templates/t.yaml", template.as_bytes()),
    ]);
    CompiledChart::new(chart.unwrap())
}

/// Returns the innermost position of an error: its last `file:line:column`, or `file:line` of a template that cannot be
/// parsed.
fn innermost(error: &str) -> Option<&str> {
    static PLACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"([\w./-]+\.(yaml|tpl|txt)|gotpl):\d+(:\d+)?").expect("a constant"));
    PLACE.find_iter(error).last().map(|found| found.as_str())
}

fn engine_cases(name: &str) {
    let Some(data) = shared_data("templates") else { return };
    let cases = json(&data.join(format!("{name}.cases.json")));
    let expected = json(&data.join(format!("{name}.expected.json")));
    let helpers = cases["helpers"].as_str().unwrap_or_default();
    let mut request = RenderRequest::new(Release::new("rel", "ns"));
    request.values = values::read(cases["values"].as_str().unwrap()).unwrap();
    request.system_inputs = SystemInputs::fixed("2026-11-16T00:00:00Z".parse().unwrap(), b"seed");
    request.capabilities.kube_version = KubeVersion::read("v1.31.2").unwrap();
    let mut failed = Vec::new();
    let all = cases["cases"].as_array().unwrap();
    for case in all {
        let id = case["id"].as_str().unwrap();
        let answer = expected.as_array().unwrap().iter().find(|answer| answer["ID"] == id).unwrap();
        let got = engine_chart(helpers, case["tmpl"].as_str().unwrap()).render_files(&request);
        let problem = match (got, answer["Err"].as_str().unwrap_or_default()) {
            (Ok(files), "") => {
                let got = files["t/templates/t.yaml"].clone();
                (got != answer["Out"].as_str().unwrap()).then(|| format!("{got:?}, not {:?}", answer["Out"]))
            }
            (Ok(files), error) => Some(format!("{files:?}, not the error {error}")),
            (Err(actual), error) if !error.is_empty() => {
                let actual = actual.to_string();
                (innermost(&actual) != innermost(error)).then(|| format!("the error {actual}, not {error}"))
            }
            (Err(error), _) => Some(format!("the error {error}, not {:?}", answer["Out"])),
        };
        let known = OF_HELM_3.contains(&id);
        match problem {
            None if known => failed.push(format!("{id}: is as Helm 3 has it now; take it out of the exceptions")),
            Some(problem) if !known => failed.push(format!("{id}: {problem}")),
            _ => {}
        }
    }
    none(&failed, all.len());
}

#[test]
fn engine_cases_match_helm() {
    engine_cases("helm");
}

#[test]
fn engine_calls_match_helm() {
    engine_cases("helm-calls");
}
