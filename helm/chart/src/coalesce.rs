//! How a chart's own values, those of its parents and those a user gives become one.
//!
//! What a user gives lies over what a chart says, a parent over its subcharts, and `global` goes down to all. A null takes
//! away what lies under it. Merging is the same but keeps the nulls, for those who coalesce later.

use switchboard_object::quote::quote;
use switchboard_object::{Map, Value};

use crate::gotext;
use crate::instance::{Instance, MAX_INSTANCES};
use crate::talk::Talk;

/// Values that go down to all subcharts.
pub const GLOBAL: &str = "global";

/// Why charts and values do not come together.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoalesceError {
    /// A value where a subchart's values should be, in Helm's words.
    #[error("type mismatch on {subchart}: {value}")]
    Mismatch {
        /// The subchart.
        subchart: String,
        /// What is there, as Go names its type.
        value: String,
    },
    /// Subcharts that contain each other under more and more names.
    #[error("aliases make more than {MAX_INSTANCES} subcharts")]
    TooManyInstances,
}

/// What becomes of nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// They take away what lies under them, and themselves.
    Remove,
    /// They stay.
    Keep,
}

/// Lays the values over those of the chart and of its subcharts.
///
/// # Errors
/// When a subchart's values are no mapping.
pub fn coalesce(chart: &Instance, values: &mut Map, nulls: Nulls, talk: &mut Talk) -> Result<(), CoalesceError> {
    Coalescing { nulls, talk }.chart(chart, values, "")
}

/// Lays tables over others that may be changed no more.
pub fn coalesce_tables(over: &mut Map, under: Map, nulls: Nulls, talk: &mut Talk) {
    Coalescing { nulls, talk }.tables(over, under, "", nulls);
}

struct Coalescing<'a> {
    nulls: Nulls,
    talk: &'a mut Talk,
}

impl Coalescing<'_> {
    fn chart(&mut self, chart: &Instance, values: &mut Map, prefix: &str) -> Result<(), CoalesceError> {
        self.own(chart, values, prefix);
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
            changed |= take_back(values, &mut inner);
            values.insert(child.name.clone(), Value::Object(inner));
            done?;
        }
        if changed {
            hand_down(chart, values);
        }
        Ok(())
    }

    /// The chart's own values under those given.
    fn own(&mut self, chart: &Instance, values: &mut Map, prefix: &str) {
        let prefix = joined(prefix, &chart.name);
        for (key, under) in chart.values.iter() {
            match values.get_mut(key) {
                Some(Value::Null) if self.nulls == Nulls::Remove => {
                    values.remove(key);
                }
                Some(Value::Object(over)) => {
                    let Value::Object(under) = under else {
                        if !under.is_null() {
                            self.talk.say(format!("warning: skipped value for {prefix}.{key}: Not a table."));
                        }
                        continue;
                    };
                    // A subchart's nulls are needed until its own values are coalesced.
                    let child = chart.children.iter().any(|child| child.name == *key);
                    let nulls = if child { Nulls::Keep } else { self.nulls };
                    let mut under = under.clone();
                    if nulls == Nulls::Remove {
                        without_nulls(&mut under);
                    }
                    self.tables(over, under, &joined(&prefix, key), nulls);
                }
                Some(_) => {}
                None if under.is_null() && self.nulls == Nulls::Remove => {}
                None => {
                    let mut under = under.clone();
                    if let (Value::Object(map), Nulls::Remove) = (&mut under, self.nulls) {
                        without_nulls(map);
                    }
                    values.insert(key.clone(), under);
                }
            }
        }
    }

    fn globals(&mut self, into: &mut Map, from: Option<&Value>, prefix: &str) {
        if into.get(GLOBAL).is_none_or(Value::is_object) && from.is_some_and(|from| !from.is_object()) {
            self.talk.say("warning: skipping globals because source global is not a table.".to_string());
            return;
        }
        let mut globals = match into.get_mut(GLOBAL) {
            None => Map::new(),
            Some(Value::Object(map)) => std::mem::take(map),
            Some(_) => {
                self.talk.say("warning: skipping globals because destination global is not a table.".to_string());
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
                self.tables(&mut over, under, &joined(prefix, key), Nulls::Keep);
                globals.insert(key.to_string(), Value::Object(over));
            }
            (Value::Object(_), Some(_)) => {
                self.talk.say(format!("Conflict: cannot merge map onto non-map for {}. Skipping.", quote(key)));
            }
            (_, Some(Value::Object(_))) => self.talk.say(format!("key {key} is table. Skipping")),
            (value, _) => {
                globals.insert(key.to_string(), value.clone());
            }
        }
    }

    fn tables(&mut self, over: &mut Map, under: Map, prefix: &str, nulls: Nulls) {
        for (key, value) in under {
            match over.get_mut(&key) {
                None => {
                    over.insert(key, value);
                }
                Some(Value::Null) => {
                    if nulls == Nulls::Remove && !value.is_null() {
                        over.remove(&key);
                    }
                }
                Some(Value::Object(inner)) => match value {
                    Value::Object(value) => self.tables(inner, value, &joined(prefix, &key), nulls),
                    Value::Null => {}
                    value => {
                        let (key, value) = (joined(prefix, &key), gotext::verb_v(&value));
                        let text = "is a table. Ignoring non-table value";
                        self.talk.say(format!("warning: destination for {key} {text} ({value})"));
                    }
                },
                Some(_) => {
                    if value.is_object() {
                        let (key, value) = (joined(prefix, &key), gotext::verb_v(&value));
                        self.talk.say(format!("warning: cannot overwrite table with non table for {key} ({value})"));
                    }
                }
            }
        }
    }
}

fn joined(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_string() } else { format!("{prefix}.{key}") }
}

/// The tables that a chart shares with its subcharts: Helm copies `global.a` for each, but `global.a.b` is the same map in
/// all of them. Each `shared` gets the chart's table and the subchart's.
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

/// Gives a chart what a subchart did to the tables they share; answers whether that was anything.
fn take_back(values: &mut Map, inner: &mut Map) -> bool {
    let mut changed = false;
    each_shared(values, inner, |ours, theirs| {
        ours.clone_from(theirs);
        changed = true;
    });
    changed
}

/// Gives all subcharts what others did to the tables they share.
fn hand_down(chart: &Instance, values: &mut Map) {
    for child in &chart.children {
        let Some(Value::Object(inner)) = values.get_mut(&child.name) else { continue };
        let mut inner = std::mem::take(inner);
        each_shared(values, &mut inner, |ours, theirs| theirs.clone_from(ours));
        hand_down(child, &mut inner);
        values.insert(child.name.clone(), Value::Object(inner));
    }
}

/// Takes away all nulls, at every depth of mappings.
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
