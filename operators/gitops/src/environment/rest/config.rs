//! Kubeconfigs in request bodies.

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use switchboard_http::problem::{ProblemDetails, ProblemKind};
use switchboard_object::yaml;
use switchboard_sql::SecretString;

/// Deserializes a text that is redacted in debug output.
pub fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SecretString>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.map(|text| SecretString::from(text.as_str())))
}

/// Reduces the kubeconfig to the named context, if there is one. Errors never quote the kubeconfig.
pub fn select_context(text: &str, context: Option<&str>) -> Result<SecretString, ProblemDetails> {
    let bad = |why: &str| ProblemDetails::new(ProblemKind::Invalid, format!("config {why}"));
    let read = yaml::read(text).ok().map(|document| document.value).filter(Value::is_object);
    let mut config = read.ok_or_else(|| bad("is not a kubeconfig"))?;
    let Some(context) = context else { return Ok(SecretString::from(text)) };
    let kept = entry(&config["contexts"], context).ok_or_else(|| bad("does not have this context"))?;
    let (cluster, user) = (kept["context"]["cluster"].clone(), kept["context"]["user"].clone());
    for (list, name) in [("contexts", context), ("clusters", text_of(&cluster)), ("users", text_of(&user))] {
        let of = entry(&config[list], name).ok_or_else(|| bad(&format!("refers to a missing entry of {list}")))?;
        config[list] = json!([of]);
    }
    config["current-context"] = json!(context);
    Ok(SecretString::from(yaml::to_string(&config).as_str()))
}

fn entry(list: &Value, name: &str) -> Option<Value> {
    list.as_array()?.iter().find(|entry| entry["name"] == name).cloned()
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
