//! Helm's own functions, in addition to sprig's.

use std::sync::{Arc, LazyLock};

use memchr::memmem;
use switchboard_object::json;
use switchboard_template::sprig::system_inputs::random_below;
use switchboard_template::sprig::{self, SprigVersion, SystemInputs};
use switchboard_template::{
    Error, Execution, Functions, JsonNumbers, READ_PART_STEPS, ReflectType, Signature, Str, TemplateSet, Value,
};

use super::state::{MAX_INCLUDES, RenderState};
use super::yaml::{to_json, to_yaml, to_yaml_pretty};
use crate::typed;

/// Marker that `fail` and `required` put before their message, for the formatting of the error.
pub const WARN_START: &str = "HELM_ERR_START";
/// Marker after the message.
pub const WARN_END: &str = "HELM_ERR_END";

const TEXT_OF_ANY: Signature = Signature::new(&[ReflectType::ANY], ReflectType::STRING);
const MAP_OF_TEXT: Signature = Signature::new(&[ReflectType::STRING], ReflectType::MAP);
const LIST_OF_TEXT: Signature = Signature::new(&[ReflectType::STRING], ReflectType::LIST);
const TEXT_OF_TEXT: Signature = Signature::new(&[ReflectType::STRING], ReflectType::STRING);
const TEXT_OF_TEXT_AND_ANY: Signature = Signature::new(&[ReflectType::STRING, ReflectType::ANY], ReflectType::STRING);
const ANY_OF_TEXT_AND_ANY: Signature = Signature::new(&[ReflectType::STRING, ReflectType::ANY], ReflectType::ANY);
const LOOKUP: Signature = Signature::new(
    &[ReflectType::STRING, ReflectType::STRING, ReflectType::STRING, ReflectType::STRING],
    ReflectType::MAP,
);

/// Returns the functions of charts, which are the same for all of them.
pub fn functions() -> Arc<Functions> {
    static TABLE: LazyLock<Arc<Functions>> = LazyLock::new(|| Arc::new(table()));
    TABLE.clone()
}

fn table() -> Functions {
    let mut table = SprigVersion::V3.functions();
    table.remove("env");
    table.remove("expandenv");
    // The resolver is only used if the caller enables it, because a chart must not leak that it is rendered.
    table.add("getHostByName", TEXT_OF_TEXT, host_by_name);
    table.add("include", TEXT_OF_TEXT_AND_ANY, include);
    table.add("tpl", TEXT_OF_TEXT_AND_ANY, tpl);
    table.add("required", ANY_OF_TEXT_AND_ANY, required);
    table.add("fail", TEXT_OF_TEXT, fail);
    table.add("lookup", LOOKUP, lookup);
    add_conversions(&mut table);
    table
}

fn add_conversions(table: &mut Functions) {
    table.add("toYaml", TEXT_OF_ANY, |execution, arguments| {
        execution.charge_traversal(arguments, READ_PART_STEPS)?;
        Ok(to_yaml(&arguments[0]).unwrap_or_default().into())
    });
    table.add("mustToYaml", TEXT_OF_ANY, |execution, arguments| {
        execution.charge_traversal(arguments, READ_PART_STEPS)?;
        to_yaml(&arguments[0])
            .map(Value::String)
            .map_err(|error| Error::call(format!("error marshaling into JSON: {error}")))
    });
    table.add("toYamlPretty", TEXT_OF_ANY, |execution, arguments| {
        execution.charge_traversal(arguments, READ_PART_STEPS)?;
        Ok(to_yaml_pretty(&arguments[0]).unwrap_or_default().into())
    });
    table.add("toJson", TEXT_OF_ANY, |execution, arguments| {
        execution.charge_traversal(arguments, READ_PART_STEPS)?;
        Ok(Value::String(sprig::json::write(&arguments[0], true).map(Str::from).unwrap_or_default()))
    });
    table.add("mustToJson", TEXT_OF_ANY, |execution, arguments| {
        execution.charge_traversal(arguments, READ_PART_STEPS)?;
        sprig::json::write(&arguments[0], true).map(|text| Value::String(text.into())).map_err(Error::call)
    });
    table.add("toToml", TEXT_OF_ANY, |execution, arguments| {
        execution.charge_traversal(arguments, READ_PART_STEPS)?;
        Ok(Value::string(sprig::toml::write(&arguments[0]).unwrap_or_else(String::into_bytes)))
    });
    table.add("mustToToml", TEXT_OF_ANY, |execution, arguments| {
        execution.charge_traversal(arguments, READ_PART_STEPS)?;
        sprig::toml::write(&arguments[0]).map(Value::string).map_err(Error::call)
    });
    reads(table, "fromYaml", MAP_OF_TEXT, |text| {
        let read = read_yaml(text).map(|json| if json.is_null() { Json::Object(Default::default()) } else { json });
        map_or_error(read.and_then(|json| a_map(json, typed::mismatch)))
    });
    reads(table, "fromYamlArray", LIST_OF_TEXT, |text| {
        let read = read_yaml(text).map(|json| if json.is_null() { Json::Array(Vec::new()) } else { json });
        list_or_error(read.and_then(|json| a_list(json, typed::mismatch)))
    });
    reads(table, "fromJson", MAP_OF_TEXT, |text| {
        map_or_error(read_json(text).and_then(|json| a_map(json, typed::json_mismatch)))
    });
    reads(table, "fromJsonArray", LIST_OF_TEXT, |text| {
        list_or_error(read_json(text).and_then(|json| a_list(json, typed::json_mismatch)))
    });
    reads(table, "fromToml", MAP_OF_TEXT, |text| {
        let text = text.as_str().cloned().unwrap_or_default();
        sprig::toml::read(&text).unwrap_or_else(|error| Value::map([("Error", Value::from(error))]))
    });
}

/// Adds a function that parses a text into a value, which uses much more memory than the text.
fn reads(table: &mut Functions, name: &str, signature: Signature, read: fn(&Value) -> Value) {
    table.add(name, signature, move |execution, arguments| {
        let length = arguments[0].as_str().map_or(0, |text| text.len());
        execution.charge(length as u64)?;
        let value = read(&arguments[0]);
        execution.charge_read(&value, length).map(|()| value)
    });
}

type Json = switchboard_object::Value;
type MismatchFn = fn(&Json, &str, &str) -> typed::DecodeError;

fn text(value: &Value) -> String {
    value.as_str().map(|text| text.to_text().into_owned()).unwrap_or_default()
}

fn read_yaml(value: &Value) -> Result<Json, typed::DecodeError> {
    typed::read_bytes(value.as_str().map_or(b"", |text| text))
}

fn read_json(value: &Value) -> Result<Json, typed::DecodeError> {
    let read = json::read_numbers_as_floats(text(value).as_bytes());
    read.map(|document| document.value).map_err(|error| typed::DecodeError(error.to_string()))
}

/// Converts JSON to a map; null becomes the nil map. (The YAML functions return an empty map instead.)
fn a_map(json: Json, mismatch: MismatchFn) -> Result<Value, typed::DecodeError> {
    match json {
        Json::Null => Ok(Value::zero(ReflectType::MAP)),
        Json::Object(_) => Ok(Value::from_json(&json, JsonNumbers::Float)),
        other => Err(mismatch(&other, "Go value", "map[string]interface {}")),
    }
}

fn a_list(json: Json, mismatch: MismatchFn) -> Result<Value, typed::DecodeError> {
    match json {
        Json::Null => Ok(Value::zero(ReflectType::LIST)),
        Json::Array(_) => Ok(Value::from_json(&json, JsonNumbers::Float)),
        other => Err(mismatch(&other, "Go value", "[]interface {}")),
    }
}

fn map_or_error(read: Result<Value, typed::DecodeError>) -> Value {
    read.unwrap_or_else(|error| Value::map([("Error", Value::from(error.to_string()))]))
}

fn list_or_error(read: Result<Value, typed::DecodeError>) -> Value {
    read.unwrap_or_else(|error| Value::list(vec![Value::from(error.to_string())]))
}

fn run<'a>(execution: &Execution<'a>) -> Result<&'a RenderState, Error> {
    execution
        .host::<RenderState>()
        .ok_or_else(|| Error::call("this function is only available while a chart is rendered"))
}

fn include(execution: &mut Execution<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let name = arguments[0].as_str().cloned().unwrap_or_default();
    let run = run(execution)?;
    if !run.enter(&name) {
        let text = format!("rendering template has a nested reference name: {name}: unable to execute template");
        return Err(Error::call(text));
    }
    let rendered = execution.render(&name, &arguments[1]);
    run.leave(&name);
    rendered.map(Value::String)
}

fn tpl(execution: &mut Execution<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let template = arguments[0].as_str().cloned().unwrap_or_default();
    // A text without an action is its own output. `tpl` is slow because it parses every value of a chart.
    if memmem::find(&template, b"{{").is_none() {
        return Ok(Value::String(without_no_value(template)));
    }
    let run = run(execution)?;
    let quoted = || switchboard_object::quote::quote_bytes(&template);
    let set = run.template(execution.set(), &template);
    let set = set.map_err(|error| Error::call(format!("cannot parse template {}: {error}", quoted())))?;
    if !run.enter_tpl() {
        return Err(Error::call(format!("tpl is nested deeper than {MAX_INCLUDES} levels")));
    }
    let name = set.name().clone();
    let rendered = execution.render_in(&set, &name, &arguments[1]);
    run.leave_tpl();
    match rendered {
        Ok(text) => Ok(Value::String(without_no_value(text))),
        Err(error) => Err(Error::call(format!("error during tpl function execution for {}: {error}", quoted()))),
    }
}

fn host_by_name(execution: &mut Execution<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let resolver = execution.host::<SystemInputs>().and_then(|inputs| Some((inputs.resolver.as_ref()?, inputs)));
    let Some((resolver, inputs)) = resolver else { return Ok(Value::String(Str::EMPTY)) };
    let addresses = resolver.addresses(&text(&arguments[0]));
    match (addresses.len() as u64, &inputs.entropy) {
        (0, _) => Err(Error::call("invalid argument to Intn")),
        (1, _) | (_, None) => Ok(Value::string(&addresses[0])),
        (many, Some(entropy)) => Ok(Value::string(&addresses[random_below(&**entropy, many) as usize])),
    }
}

fn required(execution: &mut Execution<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let missing = match &arguments[1] {
        Value::Nil => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    match (missing, run(execution)?.lint) {
        (false, _) => Ok(arguments[1].clone()),
        (true, true) => Ok(Value::String(Str::EMPTY)),
        (true, false) => Err(warning(&arguments[0])),
    }
}

fn fail(execution: &mut Execution<'_>, arguments: &[Value]) -> Result<Value, Error> {
    if run(execution)?.lint {
        return Ok(Value::String(Str::EMPTY));
    }
    Err(warning(&arguments[0]))
}

fn warning(words: &Value) -> Error {
    Error::call(format!("{WARN_START}{}{WARN_END}", text(words)))
}

fn lookup(execution: &mut Execution<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let empty = || Value::map(Vec::<(Str, Value)>::new());
    let run = run(execution)?;
    let Some(view) = run.lookup.as_ref().filter(|_| !run.lint) else { return Ok(empty()) };
    let part = |index: usize| text(&arguments[index]);
    let found = view.lookup(&part(0), &part(1), &part(2), &part(3)).map_err(Error::call)?;
    Ok(found.map_or_else(empty, |object| Value::from_json(&object, JsonNumbers::Int64)))
}

/// Removes Go's text for a missing value, which charts render as nothing.
pub fn without_no_value(text: Str) -> Str {
    match cut_no_value(&text) {
        Some(cut) => Str::from(cut),
        None => text,
    }
}

/// Returns the text without Go's text for a missing value, or `None` if it does not occur.
pub fn cut_no_value(text: &[u8]) -> Option<Vec<u8>> {
    const NO_VALUE: &[u8] = b"<no value>";
    let mut found = memmem::find_iter(text, NO_VALUE).peekable();
    found.peek()?;
    let mut out = Vec::with_capacity(text.len());
    let mut kept = 0;
    for at in found {
        out.extend_from_slice(&text[kept..at]);
        kept = at + NO_VALUE.len();
    }
    out.extend_from_slice(&text[kept..]);
    Some(out)
}

/// Converts a value to JSON, for conversion methods.
pub fn json_of(value: &Value) -> Json {
    to_json(value).unwrap_or(Json::Null)
}

/// Returns the YAML of a map of texts, as for `.Files.AsConfig`.
pub fn yaml_of(value: &Value) -> Value {
    Value::String(to_yaml(value).unwrap_or_default())
}

/// Parses a text for `tpl` in a layer on top of the existing templates.
///
/// # Errors
/// If the text is not a valid template.
pub fn layer(below: &Arc<TemplateSet>, text: &Str) -> Result<Arc<TemplateSet>, Error> {
    let mut set = TemplateSet::layer(below);
    set.parse_new(below.name(), text)?;
    Ok(Arc::new(set))
}
