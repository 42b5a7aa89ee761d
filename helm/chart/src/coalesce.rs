//! Merging of a chart's own values, the values of its parents, and the values of the user.
//!
//! The user's values override the chart's, a parent's override its subcharts', and `global` is passed to all subcharts.
//! A null removes the value it overrides. Merging works the same but keeps nulls, for callers that coalesce later.

use switchboard_object::quote::quote;
use switchboard_object::{Map, Value};

use crate::gotext;
use crate::instance::{ChartInstance, MAX_INSTANCES};
use crate::warnings::ChartWarnings;

/// Key of the values that are passed to all subcharts.
pub const GLOBAL: &str = "global";

/// Error of coalescing charts and values.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoalesceError {
    /// A value is not a mapping where a subchart's values are expected. The text is Helm's.
    #[error("type mismatch on {subchart}: {value}")]
    Mismatch {
        /// Name of the subchart.
        subchart: String,
        /// The value, formatted with Go's `%t`.
        value: String,
    },
    /// Subcharts contain each other under too many names.
    #[error("aliases create more than {MAX_INSTANCES} subcharts")]
    TooManyInstances,
}

/// Handling of nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullHandling {
    /// A null removes the value it overrides, and itself.
    Remove,
    /// Nulls are kept.
    Keep,
}

/// Merges the values of the chart and its subcharts under the given values.
///
/// # Errors
/// If a subchart's values are not a mapping.
pub fn coalesce(
    chart: &ChartInstance,
    values: &mut Map,
    nulls: NullHandling,
    warnings: &mut ChartWarnings,
) -> Result<(), CoalesceError> {
    Coalescer { nulls, warnings }.chart(chart, values, "")
}

/// Merges the table `under` into `over`, whose entries take precedence.
pub fn coalesce_tables(over: &mut Map, under: Map, nulls: NullHandling, warnings: &mut ChartWarnings) {
    Coalescer { nulls, warnings }.tables(over, under, "", nulls);
}

struct Coalescer<'a> {
    nulls: NullHandling,
    warnings: &'a mut ChartWarnings,
}

impl Coalescer<'_> {
    fn chart(&mut self, chart: &ChartInstance, values: &mut Map, prefix: &str) -> Result<(), CoalesceError> {
        self.own_values(chart, values, prefix);
        let mut changed = false;
        for child in &chart.children {
            let slot = values.entry(child.name.as_str()).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(inner) = slot else {
                let value = gotext::verb_t(slot);
                return Err(CoalesceError::Mismatch { subchart: child.name.clone(), value });
            };
            let mut inner = std::mem::take(inner);
            let below = joined(prefix, &chart.name);
            self.globals(&mut inner, values.get(GLOBAL), &below);
            let done = self.chart(child, &mut inner, &below);
            changed |= merge_shared_up(values, &mut inner);
            values.insert(child.name.clone(), Value::Object(inner));
            done?;
        }
        if changed {
            merge_shared_down(chart, values);
        }
        Ok(())
    }

    /// Merges the chart's own values under the given ones.
    fn own_values(&mut self, chart: &ChartInstance, values: &mut Map, prefix: &str) {
        let prefix = joined(prefix, &chart.name);
        for (key, under) in chart.values.iter() {
            match values.get_mut(key) {
                Some(Value::Null) if self.nulls == NullHandling::Remove => {
                    values.remove(key);
                }
                Some(Value::Object(over)) => {
                    let Value::Object(under) = under else {
                        if !under.is_null() {
                            self.warnings.add(format!("warning: skipped value for {prefix}.{key}: Not a table."));
                        }
                        continue;
                    };
                    // A subchart's nulls are needed until its own values are coalesced.
                    let child = chart.children.iter().any(|child| child.name == *key);
                    let nulls = if child { NullHandling::Keep } else { self.nulls };
                    let mut under = under.clone();
                    if nulls == NullHandling::Remove {
                        without_nulls(&mut under);
                    }
                    self.tables(over, under, &joined(&prefix, key), nulls);
                }
                Some(_) => {}
                None if under.is_null() && self.nulls == NullHandling::Remove => {}
                None => {
                    let mut under = under.clone();
                    if let (Value::Object(map), NullHandling::Remove) = (&mut under, self.nulls) {
                        without_nulls(map);
                    }
                    values.insert(key.clone(), under);
                }
            }
        }
    }

    fn globals(&mut self, into: &mut Map, from: Option<&Value>, prefix: &str) {
        if into.get(GLOBAL).is_none_or(Value::is_object) && from.is_some_and(|from| !from.is_object()) {
            self.warnings.add("warning: skipping globals because source global is not a table.".to_string());
            return;
        }
        let mut globals = match into.get_mut(GLOBAL) {
            None => Map::new(),
            Some(Value::Object(map)) => std::mem::take(map),
            Some(_) => {
                self.warnings.add("warning: skipping globals because destination global is not a table.".to_string());
                return;
            }
        };
        for (key, value) in from.and_then(Value::as_object).into_iter().flatten() {
            self.global(&mut globals, key, value, prefix);
        }
        into.insert(GLOBAL.to_string(), Value::Object(globals));
    }

    fn global(&mut self, globals: &mut Map, key: &str, value: &Value, prefix: &str) {
        match (value, globals.get_mut(key)) {
            (Value::Object(over), Some(Value::Object(under))) => {
                let (mut over, under) = (over.clone(), std::mem::take(under));
                self.tables(&mut over, under, &joined(prefix, key), NullHandling::Keep);
                globals.insert(key.to_string(), Value::Object(over));
            }
            (Value::Object(_), Some(_)) => {
                self.warnings.add(format!("Conflict: cannot merge map onto non-map for {}. Skipping.", quote(key)));
            }
            (_, Some(Value::Object(_))) => self.warnings.add(format!("key {key} is table. Skipping")),
            (value, _) => {
                globals.insert(key.to_string(), value.clone());
            }
        }
    }

    fn tables(&mut self, over: &mut Map, under: Map, prefix: &str, nulls: NullHandling) {
        for (key, value) in under {
            match over.get_mut(&key) {
                None => {
                    over.insert(key, value);
                }
                Some(Value::Null) => {
                    if nulls == NullHandling::Remove && !value.is_null() {
                        over.remove(&key);
                    }
                }
                Some(Value::Object(inner)) => match value {
                    Value::Object(value) => self.tables(inner, value, &joined(prefix, &key), nulls),
                    Value::Null => {}
                    value => {
                        let (key, value) = (joined(prefix, &key), gotext::verb_v(&value));
                        let text = "is a table. Ignoring non-table value";
                        self.warnings.add(format!("warning: destination for {key} {text} ({value})"));
                    }
                },
                Some(_) => {
                    if value.is_object() {
                        let (key, value) = (joined(prefix, &key), gotext::verb_v(&value));
                        self.warnings
                            .add(format!("warning: cannot overwrite table with non table for {key} ({value})"));
                    }
                }
            }
        }
    }
}

fn joined(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_string() } else { format!("{prefix}.{key}") }
}

/// Calls `shared` with the chart's and the subchart's version of every table that they share. Helm copies `global.a`
/// for each chart, but `global.a.b` is the same map in all of them.
fn each_shared(ours: &mut Map, theirs: &mut Map, mut shared: impl FnMut(&mut Value, &mut Value)) {
    let (Some(Value::Object(ours)), Some(Value::Object(theirs))) = (ours.get_mut(GLOBAL), theirs.get_mut(GLOBAL))
    else {
        return;
    };
    for (key, ours) in ours.iter_mut() {
        let (Value::Object(ours), Some(Value::Object(theirs))) = (ours, theirs.get_mut(key)) else { continue };
        for (key, ours) in ours.iter_mut().filter(|(_, value)| value.is_object()) {
            match theirs.get_mut(key) {
                Some(theirs) if theirs.is_object() && theirs != ours => shared(ours, theirs),
                _ => {}
            }
        }
    }
}

/// Copies a subchart's changes to shared tables back to the chart. Returns whether there were any.
fn merge_shared_up(values: &mut Map, inner: &mut Map) -> bool {
    let mut changed = false;
    each_shared(values, inner, |ours, theirs| {
        ours.clone_from(theirs);
        changed = true;
    });
    changed
}

/// Copies changes to shared tables from the chart to all subcharts.
fn merge_shared_down(chart: &ChartInstance, values: &mut Map) {
    for child in &chart.children {
        let Some(Value::Object(inner)) = values.get_mut(&child.name) else { continue };
        let mut inner = std::mem::take(inner);
        each_shared(values, &mut inner, |ours, theirs| theirs.clone_from(ours));
        merge_shared_down(child, &mut inner);
        values.insert(child.name.clone(), Value::Object(inner));
    }
}

/// Removes all nulls at every depth of mappings.
fn without_nulls(map: &mut Map) {
    map.retain(|_, value| match value {
        Value::Null => false,
        Value::Object(inner) => {
            without_nulls(inner);
            true
        }
        _ => true,
    });
}
