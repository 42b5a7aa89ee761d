//! Data of templates: the chart, its files, its values, the release and the cluster.

use std::sync::Arc;

use switchboard_object::{Map, Value as Json};
use switchboard_template::{JsonNumbers, ReflectType, Str, Value};

use super::types::{FILES, VALUES, capabilities};
use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::instance::ChartInstance;
use crate::metadata::{ChartMetadata, Dependency};
use crate::release::Release;

/// Returns the data of all charts of a tree, parents before their subcharts.
pub fn template_data(root: &ChartInstance, values: &Map, release: &Release, cluster: &Capabilities) -> Vec<Value> {
    let shared = SharedData { release: release_of(release), capabilities: capabilities(cluster) };
    let Value::Map(_, map) = Value::from_json_map(values) else { return Vec::new() };
    let mut all = Vec::new();
    chart_data(root, true, Value::Map(VALUES, map), &shared, &mut all);
    all
}

struct SharedData {
    release: Value,
    capabilities: Value,
}

trait FromMap {
    fn from_json_map(map: &Map) -> Value;
}

impl FromMap for Value {
    fn from_json_map(map: &Map) -> Value {
        Value::map(map.iter().map(|(key, value)| (Str::new(key), Value::from_json(value, JsonNumbers::Int64))))
    }
}

fn chart_data(chart: &ChartInstance, root: bool, values: Value, shared: &SharedData, all: &mut Vec<Value>) -> Value {
    let at = all.len();
    all.push(Value::Nil);
    let mut subcharts = Vec::new();
    for child in &chart.children {
        let own = values.as_map().and_then(|map| map.get(child.name.as_bytes()));
        let own = match own {
            Some(Value::Map(_, map)) => Value::Map(VALUES, map),
            _ => Value::typed_map(VALUES, Default::default()),
        };
        subcharts.push((Str::new(&child.name), chart_data(child, false, own, shared, all)));
    }
    let this = Value::map([
        ("Chart", metadata(&chart.chart.metadata, chart, root)),
        ("Files", files(&chart.chart)),
        ("Release", shared.release.clone()),
        ("Capabilities", shared.capabilities.clone()),
        ("Values", values),
        ("Subcharts", Value::map(subcharts)),
    ]);
    let this = match this {
        Value::Map(_, map) => Value::Map(VALUES, map),
        other => other,
    };
    all[at] = this.clone();
    match this {
        Value::Map(_, map) => Value::Map(ReflectType::MAP, map),
        other => other,
    }
}

fn release_of(release: &Release) -> Value {
    Value::map([
        ("Name", Value::string(&release.name)),
        ("Namespace", Value::string(&release.namespace)),
        ("IsUpgrade", Value::Bool(release.is_upgrade)),
        ("IsInstall", Value::Bool(!release.is_upgrade)),
        ("Revision", Value::Int(release.revision)),
        ("Service", Value::string("Helm")),
    ])
}

fn files(chart: &Arc<Chart>) -> Value {
    let entries = chart.texts().iter().map(|(name, data)| (name.clone(), Value::Bytes(data.as_bytes().into())));
    Value::typed_map(FILES, entries.collect())
}

fn texts(list: &[String]) -> Value {
    Value::list(list.iter().map(Value::string).collect())
}

fn metadata(of: &ChartMetadata, chart: &ChartInstance, root: bool) -> Value {
    let text = |text: &String| Value::string(text);
    let maintainers = of.maintainers.iter().flatten().map(|person| {
        Value::map([("Name", text(&person.name)), ("Email", text(&person.email)), ("URL", text(&person.url))])
    });
    let annotations = match &of.annotations {
        Some(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| (Str::new(key), text(value)));
            Value::typed_map(ReflectType::STRING_MAP, pairs.collect())
        }
        None => Value::zero(ReflectType::STRING_MAP),
    };
    let dependencies = chart.dependencies.iter().flatten().map(dependency);
    Value::map([
        ("Name", text(&chart.name)),
        ("Home", text(&of.home)),
        ("Sources", texts(&of.sources)),
        ("Version", text(&of.version)),
        ("Description", text(&of.description)),
        ("Keywords", texts(&of.keywords)),
        ("Maintainers", Value::list(maintainers.collect())),
        ("Icon", text(&of.icon)),
        ("APIVersion", text(&of.api_version)),
        ("Condition", text(&of.condition)),
        ("Tags", text(&of.tags)),
        ("AppVersion", text(&of.app_version)),
        ("Deprecated", Value::Bool(of.deprecated)),
        ("Annotations", annotations),
        ("KubeVersion", text(&of.kube_version)),
        ("Dependencies", Value::list(dependencies.collect())),
        ("Type", text(&of.kind)),
        ("IsRoot", Value::Bool(root)),
    ])
}

fn dependency(of: &Dependency) -> Value {
    let imports = of.import_values.iter().map(|import: &Json| Value::from_json(import, JsonNumbers::Float));
    Value::map([
        ("Name", Value::string(&of.name)),
        ("Version", Value::string(&of.version)),
        ("Repository", Value::string(&of.repository)),
        ("Condition", Value::string(&of.condition)),
        ("Tags", texts(&of.tags)),
        ("Enabled", Value::Bool(of.enabled)),
        ("ImportValues", Value::list(imports.collect())),
        ("Alias", Value::string(&of.alias)),
    ])
}
