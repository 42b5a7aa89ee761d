//! The integrations chart with all its values, and the engine's cases, with the answers of the real Helm and of the code
//! `oc` is made of. They lie beside the checkout, in `../shared/data`.
#![allow(clippy::unwrap_used)]

#[path = "recorded/engine.rs"]
mod engine;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use switchboard_chart::capabilities::KubeVersion;
use switchboard_chart::chart::Chart;
use switchboard_chart::file::File;
use switchboard_chart::folder::Links;
use switchboard_chart::openshift::{Chance, Given, Template};
use switchboard_chart::output::{Wanted, text};
use switchboard_chart::release::Release;
use switchboard_chart::render::{Compiled, Request};
use switchboard_chart::values;
use switchboard_template::sprig::Ambient;

fn data(part: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(part);
    assert!(path.exists(), "{} is not there: the cases of others lie beside the checkout", path.display());
    path
}

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

fn integrations() -> Compiled {
    Compiled::new(Chart::load(&data("integrations/chart"), Links::Inside).unwrap())
}

#[test]
fn the_integrations_chart_renders_and_processes_as_recorded() {
    let chart = integrations();
    let index = json(&data("integrations/index.json"));
    let parameters: BTreeMap<String, String> = serde_json::from_value(index["params"].clone()).unwrap();
    let cases = index["cases"].as_array().unwrap();
    let mut failed = Vec::new();
    for case in cases {
        let name = case["test"].as_str().unwrap();
        let part = |end: &str| data("integrations").join(format!("{name}.{end}"));
        let mut request = Request::new(Release::new("qontract-reconcile", "default"));
        request.values = values::read(&read(&part("values.json"))).unwrap();
        let rendered = chart.render(&request).unwrap();
        if text(&rendered, &Wanted::default()).unwrap() != read(&part("rendered.yaml")) {
            failed.push(format!("{name}: rendered"));
        }
        let template = Template::of(coerced(rendered.sorted.manifests[0].object().unwrap())).unwrap();
        let given = Given { parameters: parameters.clone(), ignore_unknown: true, ..Given::default() };
        let objects = template.process(&given, &mut Chance::seeded(1)).unwrap();
        if Value::Array(objects) != json(&part("processed.json")) {
            failed.push(format!("{name}: processed"));
        }
    }
    assert_eq!(cases.len(), 31);
    none(&failed, cases.len());
}

/// The fixtures hold a parameter that is a number, which `oc` refuses; the recorded answers took it as text.
fn coerced(mut template: Value) -> Value {
    for parameter in template["parameters"].as_array_mut().into_iter().flatten() {
        if let Some(number) = parameter["value"].as_number().map(ToString::to_string) {
            parameter["value"] = Value::String(number);
        }
    }
    template
}

#[test]
fn the_manager_s_own_values_render_as_recorded() {
    let chart = integrations();
    for (values_file, expected) in manager_files() {
        let mut request = Request::new(Release::new("qontract-reconcile", "default"));
        request.values = values::read(&read(&values_file)).unwrap();
        let rendered = chart.render(&request).unwrap();
        assert_eq!(text(&rendered, &Wanted::default()).unwrap(), read(&expected), "{}", expected.display());
    }
}

fn manager_files() -> Vec<(PathBuf, PathBuf)> {
    let recorded = fs::read_dir(data("integrations/manager")).unwrap().map(|entry| entry.unwrap().path());
    let pair = |expected: PathBuf| {
        let stem = expected.file_name()?.to_str()?.split('.').next()?.to_string();
        let values = data("integrations/chart").join(format!("{stem}.yaml"));
        values.exists().then_some((values, expected))
    };
    let pairs: Vec<_> = recorded.filter_map(pair).collect();
    assert!(!pairs.is_empty());
    pairs
}

/// What these cases ask of Go's types and of Helm 3, where Helm 4 answers otherwise: names of types, and what a chart is as
/// JSON.
const OF_HELM_3: [&str; 4] = ["kind", "kind#15", "debug_tojson_release", "debug_tojson_release#1"];

fn engine_chart(helpers: &str, template: &str) -> Compiled {
    let metadata = "{apiVersion: v2, name: t, version: 1.2.3+b1, appVersion: '4.5', keywords: [k1, k2], type: application, maintainers: [{name: ann, email: a@b}], annotations: {x: y}}";
    let chart = Chart::from_files(vec![
        File::new("Chart.yaml", metadata.as_bytes()),
        File::new("config/a.txt", b"l1\nl2\n"),
        File::new("config/b.json", b"{\"x\": 1}"),
        File::new("config/sub/c.txt", b"c"),
        File::new("templates/_helpers.tpl", helpers.as_bytes()),
        File::new("templates/t.yaml", template.as_bytes()),
    ]);
    Compiled::new(chart.unwrap())
}

/// The place deepest inside an error: the last `file:line:column` of it, or `file:line` of a template that is none.
fn innermost(error: &str) -> Option<&str> {
    static PLACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"([\w./-]+\.(yaml|tpl|txt)|gotpl):\d+(:\d+)?").expect("a constant"));
    PLACE.find_iter(error).last().map(|found| found.as_str())
}

fn engine_cases(name: &str) {
    let cases = json(&data(&format!("templates/{name}.cases.json")));
    let expected = json(&data(&format!("templates/{name}.expected.json")));
    let helpers = cases["helpers"].as_str().unwrap_or_default();
    let mut request = Request::new(Release::new("rel", "ns"));
    request.values = values::read(cases["values"].as_str().unwrap()).unwrap();
    request.ambient = Ambient::fixed("2026-11-16T00:00:00Z".parse().unwrap(), b"seed");
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
            (Err(told), error) if !error.is_empty() => {
                let told = told.to_string();
                (innermost(&told) != innermost(error)).then(|| format!("the error {told}, not {error}"))
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
fn the_engine_s_cases_have_helm_s_answers() {
    engine_cases("helm");
}

#[test]
fn the_engine_s_calls_have_helm_s_answers() {
    engine_cases("helm-calls");
}
