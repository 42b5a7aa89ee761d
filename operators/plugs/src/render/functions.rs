//! Template functions: sprig 2 as in integration-operator, functions added in sprig 3, and no access to the
//! environment.

use std::sync::{Arc, LazyLock};

use switchboard_object::yaml;
use switchboard_template::sprig::SprigVersion;
use switchboard_template::{Error, Functions, JsonNumbers, ReflectType, Signature, Value};

/// Functions that expose the process or the network.
const REMOVED_FUNCTIONS: [&str; 3] = ["env", "expandenv", "getHostByName"];

const TEXT_OF_ANY: Signature = Signature::new(&[ReflectType::ANY], ReflectType::STRING);
const ANY_OF_TEXT: Signature = Signature::new(&[ReflectType::STRING], ReflectType::ANY);
const ANY_OF_TEXT_AND_ANY: Signature = Signature::new(&[ReflectType::STRING, ReflectType::ANY], ReflectType::ANY);

/// Returns the functions of all templates.
pub(super) fn functions() -> Arc<Functions> {
    static TABLE: LazyLock<Arc<Functions>> = LazyLock::new(|| Arc::new(table()));
    TABLE.clone()
}

fn table() -> Functions {
    // Version 3 only adds functions: templates were written for version 2.
    let (mut table, newer) = (SprigVersion::V2.functions(), SprigVersion::V3.functions());
    for name in newer.names() {
        if let Some(function) = newer.get(name).filter(|_| !table.contains(name)) {
            table.insert(name, function.clone());
        }
    }
    REMOVED_FUNCTIONS.iter().for_each(|name| table.remove(name));
    table.add("toYaml", TEXT_OF_ANY, |_, arguments| {
        Ok(Value::string(yaml::to_string(&arguments[0].to_json()).trim_end_matches('\n')))
    });
    table.add("fromYaml", ANY_OF_TEXT, |_, arguments| {
        let text = arguments[0].as_str().map(|text| text.to_text().into_owned()).unwrap_or_default();
        let read = yaml::read(&text).map_err(|error| Error::call(format!("line {}: {}", error.line, error.problem)))?;
        Ok(Value::from_json(&read.value, JsonNumbers::Float))
    });
    table.add("required", ANY_OF_TEXT_AND_ANY, |_, arguments| match &arguments[1] {
        Value::Nil => Err(required_error(&arguments[0])),
        Value::String(text) if text.is_empty() => Err(required_error(&arguments[0])),
        value => Ok(value.clone()),
    });
    table
}

fn required_error(words: &Value) -> Error {
    Error::call(words.as_str().map(|text| text.to_text().into_owned()).unwrap_or_default())
}
