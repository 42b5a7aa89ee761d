//! A chart as rendered with given values: the enabled subcharts, their names, and their values.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::version_range;
use switchboard_object::{Map, Value};

use crate::chart::Chart;
use crate::coalesce::{CoalesceError, GLOBAL, NullHandling, coalesce, coalesce_tables};
use crate::gotext;
use crate::metadata::Dependency;
use crate::values;
use crate::warnings::ChartWarnings;

/// Maximum number of chart instances in a tree. The largest umbrella charts have a few hundred.
pub const MAX_INSTANCES: usize = 10_000;

/// A chart at its position in the tree of subcharts.
#[derive(Clone, Debug)]
pub struct ChartInstance {
    /// Loaded chart.
    pub chart: Arc<Chart>,
    /// Name of the chart, or the alias in its parent.
    pub name: String,
    /// Enabled dependencies with resolved aliases, or `None` if `Chart.yaml` has none.
    pub dependencies: Option<Vec<Dependency>>,
    /// Values of the chart, including those imported from subcharts.
    pub values: Arc<Map>,
    /// Enabled subcharts.
    pub children: Vec<ChartInstance>,
}

impl ChartInstance {
    /// Creates an instance with everything in `charts/`.
    pub fn with_all_subcharts(chart: &Arc<Chart>) -> Self {
        Self {
            chart: chart.clone(),
            name: chart.name().to_string(),
            dependencies: chart.metadata.dependencies.clone(),
            values: chart.values.clone(),
            children: chart.subcharts.iter().map(Self::with_all_subcharts).collect(),
        }
    }

    /// Creates an instance with the subcharts that the values enable.
    ///
    /// # Errors
    /// If a subchart's values are not a mapping.
    pub fn with_enabled_subcharts(
        chart: &Arc<Chart>,
        values: &Map,
        warnings: &mut ChartWarnings,
    ) -> Result<Self, CoalesceError> {
        let mut instance = Self::with_all_subcharts(chart);
        let mut count = instance.count();
        instance.enable(values, "", &mut count, warnings)?;
        Ok(instance)
    }

    /// Returns the number of instances in this tree.
    fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }

    /// Resolves aliases and removes disabled subcharts. `count` is the number of instances in the whole tree.
    fn enable(
        &mut self,
        given: &Map,
        path: &str,
        count: &mut usize,
        warnings: &mut ChartWarnings,
    ) -> Result<(), CoalesceError> {
        if self.dependencies.is_none() {
            return Ok(());
        }
        self.resolve_aliases(count)?;
        let mut all = restricted(given, path, self);
        coalesce(self, &mut all, NullHandling::Remove, warnings)?;
        let mut dependencies = self.dependencies.take().unwrap_or_default();
        for dependency in &mut dependencies {
            dependency.enabled = by_tags(dependency, &all, warnings);
            if let Some(enabled) = by_condition(dependency, &all, path, warnings) {
                dependency.enabled = enabled;
            }
        }
        let removed: BTreeSet<String> = dependencies.iter().filter(|d| !d.enabled).map(|d| d.name.clone()).collect();
        self.children.retain(|child| !removed.contains(&child.name));
        dependencies.retain(|dependency| !removed.contains(&dependency.name));
        for child in &mut self.children {
            let below = format!("{path}{}.", child.name);
            child.enable(&all, &below, count, warnings)?;
        }
        self.dependencies = (!dependencies.is_empty()).then_some(dependencies);
        Ok(())
    }

    /// Reorders the subcharts: first those that are only in `charts/`, then the dependencies of `Chart.yaml`, once for
    /// every alias.
    fn resolve_aliases(&mut self, count: &mut usize) -> Result<(), CoalesceError> {
        let wanted = self.dependencies.as_deref().unwrap_or_default();
        let named = |child: &ChartInstance, dependency: &Dependency| {
            child.name == dependency.name
                && version_range::satisfies(&dependency.version, &child.chart.metadata.version)
        };
        let unnamed = |child: &&ChartInstance| !wanted.iter().any(|dependency| named(child, dependency));
        let mut children: Vec<ChartInstance> = self.children.iter().filter(unnamed).cloned().collect();
        for dependency in wanted {
            let Some(child) = self.children.iter().find(|child| named(child, dependency)) else { continue };
            *count += child.count();
            if *count > MAX_INSTANCES {
                return Err(CoalesceError::TooManyInstances);
            }
            let name = dependency.effective_name().to_string();
            children.push(ChartInstance { name, ..child.clone() });
        }
        self.children = children;
        for dependency in self.dependencies.iter_mut().flatten() {
            dependency.name = dependency.effective_name().to_string();
        }
        Ok(())
    }

    /// Imports the values that subcharts export to their parents.
    ///
    /// # Errors
    /// If a subchart's values are not a mapping.
    pub fn import(&mut self, warnings: &mut ChartWarnings) -> Result<(), CoalesceError> {
        for child in &mut self.children {
            child.import(warnings)?;
        }
        let Some(mut dependencies) = self.dependencies.take() else { return Ok(()) };
        let mut all = Map::new();
        coalesce(self, &mut all, NullHandling::Keep, warnings)?;
        let mut imported = Map::new();
        for dependency in &mut dependencies {
            let imports = std::mem::take(&mut dependency.import_values);
            for (import, (child, parent)) in imports.iter().filter_map(|import| Some((import, parse_import(import)?))) {
                dependency.import_values.push(serde_json::json!({"child": child, "parent": parent}));
                let path = format!("{}.{child}", dependency.name);
                let Some(table) = values::table(&all, &path) else {
                    let named = import.is_object().then_some(dependency.name.as_str());
                    warnings.add(missing_table(&dependency.name, named, &child, &all));
                    continue;
                };
                coalesce_tables(&mut imported, nested(&parent, table.clone()), NullHandling::Keep, warnings);
            }
        }
        self.dependencies = Some(dependencies);
        coalesce_tables(&mut all, imported, NullHandling::Keep, warnings);
        self.values = Arc::new(all);
        Ok(())
    }

    /// Appends a key that identifies a selection of subcharts: the charts and their names, in order.
    pub fn selection_key(&self, into: &mut Vec<(usize, String)>) {
        into.push((Arc::as_ptr(&self.chart) as usize, self.name.clone()));
        for child in &self.children {
            child.selection_key(into);
        }
        into.push((0, String::new()));
    }
}

/// Returns the part of the values that can enable subcharts of a chart. Passing all values to every subchart with
/// dependencies would take quadratic time.
fn restricted(given: &Map, path: &str, chart: &ChartInstance) -> Map {
    if path.is_empty() {
        return given.clone();
    }
    let first = path.split('.').next().unwrap_or_default();
    let children = chart.children.iter().map(|child| child.name.as_str());
    let keys: BTreeSet<&str> = ["tags", GLOBAL, first].into_iter().chain(children).collect();
    keys.into_iter().filter_map(|key| given.get_key_value(key)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn by_tags(dependency: &Dependency, values: &Map, warnings: &mut ChartWarnings) -> bool {
    let Some(tags) = values.get("tags").and_then(Value::as_object) else { return true };
    let (mut yes, mut no) = (false, false);
    for tag in &dependency.tags {
        match tags.get(tag) {
            None => {}
            Some(Value::Bool(true)) => yes = true,
            Some(Value::Bool(false)) => no = true,
            Some(_) => warnings.add(non_bool("tag", tag, &dependency.name)),
        }
    }
    yes || !no
}

fn by_condition(dependency: &Dependency, values: &Map, path: &str, warnings: &mut ChartWarnings) -> Option<bool> {
    for condition in dependency.condition.trim().split(',').filter(|condition| !condition.is_empty()) {
        match values::value_at(values, &format!("{path}{condition}")) {
            None => {}
            Some(Value::Bool(enabled)) => return Some(*enabled),
            Some(_) => warnings.add(non_bool("path", condition, &dependency.name)),
        }
    }
    None
}

fn non_bool(what: &str, which: &str, chart: &str) -> String {
    format!("level=WARN msg=\"returned non-bool value\" {what}={which} chart={chart}")
}

fn missing_table(chart: &str, named: Option<&str>, child: &str, values: &Map) -> String {
    let mut table = values.get(chart).and_then(Value::as_object);
    let missing = child.split('.').find(|part| {
        table = table.and_then(|map| map.get(*part)).and_then(Value::as_object);
        table.is_none()
    });
    let key = missing.unwrap_or(chart);
    let from = named.map_or("\"".to_string(), |chart| format!(" from chart\" chart={chart}"));
    format!("level=WARN msg=\"ImportValues missing table{from} error=\"\\\"{key}\\\" is not a table\"")
}

/// Returns the paths of the subchart's table and of the parent's table.
fn parse_import(imports: &Value) -> Option<(String, String)> {
    match imports {
        Value::String(name) => Some((format!("exports.{name}"), ".".to_string())),
        Value::Object(map) => {
            let part = |name| gotext::verb_v(map.get(name).unwrap_or(&Value::Null));
            Some((part("child"), part("parent")))
        }
        _ => None,
    }
}

fn nested(path: &str, table: Map) -> Map {
    if path == "." {
        return table;
    }
    path.rsplit('.').fold(table, |inner, part| Map::from_iter([(part.to_string(), Value::Object(inner))]))
}
