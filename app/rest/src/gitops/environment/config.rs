//! Kubeconfigs in bodies.

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use switchboard_ledger::Secret;
use switchboard_object::yaml;

use crate::problem::{Kind, Problem};

/// A text that is shown to nobody.
pub fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.map(|text| Secret::from(text.as_str())))
}

/// The kubeconfig with nothing but one context of it, if one is named. What it says is never repeated.
pub fn narrowed(text: &str, context: Option<&str>) -> Result<Secret, Problem> {
    let bad = |why: &str| Problem::new(Kind::Invalid, format!("config {why}"));
    let read = yaml::read(text).ok().map(|document| document.value).filter(Value::is_object);
    let mut config = read.ok_or_else(|| bad("is no kubeconfig"))?;
    let Some(context) = context else { return Ok(Secret::from(text)) };
    let kept = entry(&config["contexts"], context).ok_or_else(|| bad("has no such context"))?;
    let (cluster, user) = (kept["context"]["cluster"].clone(), kept["context"]["user"].clone());
    for (list, name) in [("contexts", context), ("clusters", text_of(&cluster)), ("users", text_of(&user))] {
        let of = entry(&config[list], name).ok_or_else(|| bad(&format!("names something that is not in {list}")))?;
        config[list] = json!([of]);
    }
    config["current-context"] = json!(context);
    Ok(Secret::from(yaml::to_string(&config).as_str()))
}

fn entry(list: &Value, name: &str) -> Option<Value> {
    list.as_array()?.iter().find(|entry| entry["name"] == name).cloned()
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
