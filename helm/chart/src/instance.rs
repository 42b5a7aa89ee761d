//! A chart as it is rendered for given values: which subcharts take part, under which names, with which values of their own.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::range;
use switchboard_object::{Map, Value};

use crate::chart::Chart;
use crate::coalesce::{CoalesceError, GLOBAL, Nulls, coalesce, coalesce_tables};
use crate::gotext;
use crate::metadata::Dependency;
use crate::talk::Talk;
use crate::values;

/// How many charts may take part under all their names. The largest umbrellas have a few hundred.
pub const MAX_INSTANCES: usize = 10_000;

/// A chart in its place.
#[derive(Clone, Debug)]
pub struct Instance {
    /// What was loaded.
    pub chart: Arc<Chart>,
    /// The chart's name, or the alias its parent gave it.
    pub name: String,
    /// The dependencies that are enabled, aliases resolved; none when `Chart.yaml` has none.
    pub dependencies: Option<Vec<Dependency>>,
    /// The chart's values, with those imported from subcharts.
    pub values: Arc<Map>,
    /// The subcharts that take part.
    pub children: Vec<Instance>,
}

impl Instance {
    /// The chart with everything in `charts/`.
    pub fn whole(chart: &Arc<Chart>) -> Self {
        Self {
            chart: chart.clone(),
            name: chart.name().to_string(),
            dependencies: chart.metadata.dependencies.clone(),
            values: chart.values.clone(),
            children: chart.subcharts.iter().map(Self::whole).collect(),
        }
    }

    /// The chart with the subcharts the values enable.
    ///
    /// # Errors
    /// When a subchart's values are no mapping.
    pub fn enabled(chart: &Arc<Chart>, values: &Map, talk: &mut Talk) -> Result<Self, CoalesceError> {
        let mut instance = Self::whole(chart);
        let mut count = instance.count();
        instance.enable(values, "", &mut count, talk)?;
        Ok(instance)
    }

    /// How many charts it is, with those below it.
    fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }

    /// `count` is how many charts there are in all.
    fn enable(&mut self, given: &Map, path: &str, count: &mut usize, talk: &mut Talk) -> Result<(), CoalesceError> {
        if self.dependencies.is_none() {
            return Ok(());
        }
        self.resolve_aliases(count)?;
        let mut all = restricted(given, path, self);
        coalesce(self, &mut all, Nulls::Remove, talk)?;
        let mut dependencies = self.dependencies.take().unwrap_or_default();
        for dependency in &mut dependencies {
            dependency.enabled = by_tags(dependency, &all, talk);
            if let Some(enabled) = by_condition(dependency, &all, path, talk) {
                dependency.enabled = enabled;
            }
        }
        let removed: BTreeSet<String> = dependencies.iter().filter(|d| !d.enabled).map(|d| d.name.clone()).collect();
        self.children.retain(|child| !removed.contains(&child.name));
        dependencies.retain(|dependency| !removed.contains(&dependency.name));
        for child in &mut self.children {
            let below = format!("{path}{}.", child.name);
            child.enable(&all, &below, count, talk)?;
        }
        self.dependencies = (!dependencies.is_empty()).then_some(dependencies);
        Ok(())
    }

    /// Puts what `Chart.yaml` names behind what only lies in `charts/`, once for every alias.
    fn resolve_aliases(&mut self, count: &mut usize) -> Result<(), CoalesceError> {
        let wanted = self.dependencies.as_deref().unwrap_or_default();
        let named = |child: &Instance, dependency: &Dependency| {
            child.name == dependency.name && range::satisfies(&dependency.version, &child.chart.metadata.version)
        };
        let unnamed = |child: &&Instance| !wanted.iter().any(|dependency| named(child, dependency));
        let mut children: Vec<Instance> = self.children.iter().filter(unnamed).cloned().collect();
        for dependency in wanted {
            let Some(child) = self.children.iter().find(|child| named(child, dependency)) else { continue };
            *count += child.count();
            if *count > MAX_INSTANCES {
                return Err(CoalesceError::TooManyInstances);
            }
            let name = dependency.known_as().to_string();
            children.push(Instance { name, ..child.clone() });
        }
        self.children = children;
        for dependency in self.dependencies.iter_mut().flatten() {
            dependency.name = dependency.known_as().to_string();
        }
        Ok(())
    }

    /// Gives parents the values their subcharts export.
    ///
    /// # Errors
    /// When a subchart's values are no mapping.
    pub fn import(&mut self, talk: &mut Talk) -> Result<(), CoalesceError> {
        for child in &mut self.children {
            child.import(talk)?;
        }
        let Some(mut dependencies) = self.dependencies.take() else { return Ok(()) };
        let mut all = Map::new();
        coalesce(self, &mut all, Nulls::Keep, talk)?;
        let mut imported = Map::new();
        for dependency in &mut dependencies {
            let asked = std::mem::take(&mut dependency.import_values);
            for (import, (child, parent)) in asked.iter().filter_map(|import| Some((import, import_of(import)?))) {
                dependency.import_values.push(serde_json::json!({"child": child, "parent": parent}));
                let path = format!("{}.{child}", dependency.name);
                let Some(table) = values::table(&all, &path) else {
                    let named = import.is_object().then_some(dependency.name.as_str());
                    talk.say(missing_table(&dependency.name, named, &child, &all));
                    continue;
                };
                coalesce_tables(&mut imported, nested(&parent, table.clone()), Nulls::Keep, talk);
            }
        }
        self.dependencies = Some(dependencies);
        coalesce_tables(&mut all, imported, Nulls::Keep, talk);
        self.values = Arc::new(all);
        Ok(())
    }

    /// What tells two choices of subcharts apart: the charts and their names, in order.
    pub fn shape(&self, into: &mut Vec<(usize, String)>) {
        into.push((Arc::as_ptr(&self.chart) as usize, self.name.clone()));
        for child in &self.children {
            child.shape(into);
        }
        into.push((0, String::new()));
    }
}

/// The part of the values that can say what is enabled below a chart. All of them, for every subchart that has dependencies,
/// would cost the square of what is there.
fn restricted(given: &Map, path: &str, chart: &Instance) -> Map {
    if path.is_empty() {
        return given.clone();
    }
    let first = path.split('.').next().unwrap_or_default();
    let children = chart.children.iter().map(|child| child.name.as_str());
    let keys: BTreeSet<&str> = ["tags", GLOBAL, first].into_iter().chain(children).collect();
    keys.into_iter().filter_map(|key| given.get_key_value(key)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn by_tags(dependency: &Dependency, values: &Map, talk: &mut Talk) -> bool {
    let Some(tags) = values.get("tags").and_then(Value::as_object) else { return true };
    let (mut yes, mut no) = (false, false);
    for tag in &dependency.tags {
        match tags.get(tag) {
            None => {}
            Some(Value::Bool(true)) => yes = true,
            Some(Value::Bool(false)) => no = true,
            Some(_) => talk.say(non_bool("tag", tag, &dependency.name)),
        }
    }
    yes || !no
}

fn by_condition(dependency: &Dependency, values: &Map, path: &str, talk: &mut Talk) -> Option<bool> {
    for condition in dependency.condition.trim().split(',').filter(|condition| !condition.is_empty()) {
        match values::at(values, &format!("{path}{condition}")) {
            None => {}
            Some(Value::Bool(enabled)) => return Some(*enabled),
            Some(_) => talk.say(non_bool("path", condition, &dependency.name)),
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

/// Which of the subchart's tables goes where.
fn import_of(asked: &Value) -> Option<(String, String)> {
    match asked {
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
