//! Go types that charts use: values, files, API versions, the cluster.

use std::any::Any;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use switchboard_object::glob::{Glob, GlobOptions};
use switchboard_object::quote::quote;
use switchboard_template::{
    Error, Execution, HostObject, Method, NEW_PART_STEPS, NamedType, READ_PART_STEPS, ReflectType, Signature, Str,
    TypeShape, Value,
};

use super::functions::{json_of, yaml_of};
use crate::capabilities::{Capabilities, HELM_VERSION};

/// `common.Values`: a map with methods.
pub const VALUES: ReflectType = ReflectType(&TypeShape::Named(&NamedType {
    name: "common.Values",
    underlying: ReflectType::MAP,
    methods: &[
        Method::new("AsMap", Signature::new(&[], ReflectType::MAP), as_map),
        Method::new("YAML", Signature::new(&[], ReflectType::STRING), values_yaml),
        Method::new("Table", Signature::new(&[ReflectType::STRING], ReflectType::MAP), values_table),
        Method::new("PathValue", Signature::new(&[ReflectType::STRING], ReflectType::ANY), path_value),
    ],
}));

const FILE_MAP: ReflectType = ReflectType(&TypeShape::Map(ReflectType::STRING, ReflectType::BYTES));

/// `engine.files`: names and contents.
pub const FILES: ReflectType = ReflectType(&TypeShape::Named(&NamedType {
    name: "engine.files",
    underlying: FILE_MAP,
    methods: &[
        Method::new("Get", Signature::new(&[ReflectType::STRING], ReflectType::STRING), files_get),
        Method::new("GetBytes", Signature::new(&[ReflectType::STRING], ReflectType::BYTES), files_bytes),
        Method::new("Glob", Signature::new(&[ReflectType::STRING], FILE_MAP), files_glob),
        Method::new("AsConfig", Signature::new(&[], ReflectType::STRING), files_config),
        Method::new("AsSecrets", Signature::new(&[], ReflectType::STRING), files_secrets),
        Method::new("Lines", Signature::new(&[ReflectType::STRING], ReflectType::STRINGS), files_lines),
    ],
}));

/// `common.VersionSet`: API versions.
const VERSIONS: ReflectType = ReflectType(&TypeShape::Named(&NamedType {
    name: "common.VersionSet",
    underlying: ReflectType::STRINGS,
    methods: &[Method::new("Has", Signature::new(&[ReflectType::STRING], ReflectType::BOOL), versions_has)],
}));

const CAPABILITIES: ReflectType = ReflectType(&TypeShape::Pointer(ReflectType(&TypeShape::Named(&NamedType {
    name: "common.Capabilities",
    underlying: ReflectType(&TypeShape::Struct),
    methods: &[],
}))));

const KUBE_VERSION: ReflectType = ReflectType(&TypeShape::Named(&NamedType {
    name: "common.KubeVersion",
    underlying: ReflectType(&TypeShape::Struct),
    methods: &[
        Method::new("String", Signature::new(&[], ReflectType::STRING), kube_text),
        Method::new("GitVersion", Signature::new(&[], ReflectType::STRING), kube_git),
    ],
}));

const BUILD_INFO: ReflectType = ReflectType(&TypeShape::Named(&NamedType {
    name: "version.BuildInfo",
    underlying: ReflectType(&TypeShape::Struct),
    methods: &[],
}));

type MethodResult = Result<Value, Error>;

fn argument(arguments: &[Value]) -> Str {
    arguments.first().and_then(Value::as_str).cloned().unwrap_or_default()
}

fn as_map(_: &mut Execution<'_>, this: &Value, _: &[Value]) -> MethodResult {
    Ok(match this {
        Value::Map(_, map) if !map.is_empty() => Value::Map(ReflectType::MAP, map.clone()),
        _ => Value::map(Vec::<(Str, Value)>::new()),
    })
}

fn values_yaml(execution: &mut Execution<'_>, this: &Value, _: &[Value]) -> MethodResult {
    execution.charge_traversal(std::slice::from_ref(this), READ_PART_STEPS)?;
    Ok(Value::string(switchboard_object::yaml::to_string(&json_of(this))))
}

fn table_at(this: &Value, path: &str) -> Result<Value, String> {
    let mut table = this.clone();
    for part in path.split('.') {
        let next = table.as_map().and_then(|map| map.get(part.as_bytes()));
        match next {
            Some(Value::Map(_, map)) => table = Value::Map(VALUES, map),
            _ => return Err(part.to_string()),
        }
    }
    Ok(table)
}

fn values_table(_: &mut Execution<'_>, this: &Value, arguments: &[Value]) -> MethodResult {
    let path = argument(arguments);
    table_at(this, &path.to_text()).map_err(|key| Error::call(format!("{} is not a table", quote(&key))))
}

fn path_value(_: &mut Execution<'_>, this: &Value, arguments: &[Value]) -> MethodResult {
    let path = argument(arguments).to_text().into_owned();
    if path.is_empty() {
        return Err(Error::call("YAML path cannot be empty"));
    }
    let (table, key) = match path.rsplit_once('.') {
        Some((parents, key)) => (table_at(this, parents).ok(), key),
        None => (Some(this.clone()), path.as_str()),
    };
    let found = table.and_then(|table| table.as_map()?.get(key.as_bytes()));
    match found {
        Some(value) if value.as_map().is_none() => Ok(value),
        _ => Err(Error::call(format!("{} is not a value", quote(key)))),
    }
}

fn file(this: &Value, name: &Str) -> Option<Rc<[u8]>> {
    match this.as_map()?.get(name)? {
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

fn files_get(execution: &mut Execution<'_>, this: &Value, arguments: &[Value]) -> MethodResult {
    let Some(bytes) = file(this, &argument(arguments)) else { return Ok(Value::String(Str::EMPTY)) };
    execution.charge_bytes(bytes.len())?;
    Ok(Value::string(&bytes))
}

fn files_bytes(_: &mut Execution<'_>, this: &Value, arguments: &[Value]) -> MethodResult {
    Ok(Value::Bytes(file(this, &argument(arguments)).unwrap_or_default()))
}

fn files_glob(execution: &mut Execution<'_>, this: &Value, arguments: &[Value]) -> MethodResult {
    let text = argument(arguments);
    let all = this.as_map().map(|map| map.snapshot()).unwrap_or_default();
    execution.charge(NEW_PART_STEPS + (all.len() as u64).saturating_mul(1 + text.len() as u64))?;
    // As in Helm, a malformed pattern matches every name.
    let glob = Glob::new(&text.to_text(), GlobOptions::GOBWAS_PATH).ok();
    let matching = all.into_iter().filter(|(name, _)| glob.as_ref().is_none_or(|glob| glob.matches(&name.to_text())));
    Ok(Value::typed_map(FILES, matching.collect()))
}

fn base(name: &Str) -> Str {
    let text = name.to_text();
    Str::new(text.rsplit('/').next().unwrap_or(&text))
}

fn files_config(execution: &mut Execution<'_>, this: &Value, _: &[Value]) -> MethodResult {
    execution.charge_traversal(std::slice::from_ref(this), READ_PART_STEPS)?;
    flattened(this, |bytes| Value::string(bytes))
}

fn files_secrets(execution: &mut Execution<'_>, this: &Value, _: &[Value]) -> MethodResult {
    execution.charge_traversal(std::slice::from_ref(this), READ_PART_STEPS)?;
    flattened(this, |bytes| Value::string(STANDARD.encode(bytes)))
}

fn flattened(this: &Value, text: impl Fn(&[u8]) -> Value) -> MethodResult {
    let all = this.as_map().map(|map| map.snapshot()).unwrap_or_default();
    let entries = all.into_iter().filter_map(|(name, bytes)| match bytes {
        Value::Bytes(bytes) => Some((base(&name), text(&bytes))),
        _ => None,
    });
    Ok(yaml_of(&Value::map(entries)))
}

fn files_lines(execution: &mut Execution<'_>, this: &Value, arguments: &[Value]) -> MethodResult {
    let Some(data) = file(this, &argument(arguments)) else { return Ok(Value::strings(Vec::<Str>::new())) };
    if data.is_empty() {
        return Err(Error::call("runtime error: index out of range [-1]"));
    }
    let text = data.strip_suffix(b"\n").unwrap_or(&data);
    execution.charge(text.len() as u64)?;
    execution.charge_memory(text.len())?;
    Ok(Value::strings(text.split(|byte| *byte == b'\n')))
}

fn versions_has(execution: &mut Execution<'_>, this: &Value, arguments: &[Value]) -> MethodResult {
    let wanted = argument(arguments);
    execution.charge(this.as_list().map_or(0, |list| list.len() as u64 / 64))?;
    let known = this.as_list().is_some_and(|list| list.iter().any(|item| item.as_str() == Some(&wanted)));
    Ok(Value::Bool(known))
}

/// Creates the value of `.Capabilities`.
pub fn capabilities(of: &Capabilities) -> Value {
    let versions = of.api_versions.iter().map(Value::string).collect();
    let version = &of.kube_version;
    Value::from_object(StructObject {
        go_type: CAPABILITIES,
        fields: vec![
            ("KubeVersion", kube_version(version)),
            ("APIVersions", Value::typed_list(VERSIONS, versions)),
            ("HelmVersion", build_info(version)),
        ],
        json: None,
    })
}

fn kube_version(version: &crate::capabilities::KubeVersion) -> Value {
    Value::from_object(StructObject {
        go_type: KUBE_VERSION,
        fields: vec![
            ("Version", Value::string(&version.version)),
            ("normalizedVersion", Value::string(&version.normalized)),
            ("Major", Value::string(&version.major)),
            ("Minor", Value::string(&version.minor)),
        ],
        json: Some(format!(
            "{{\"Version\":{:?},\"Major\":{:?},\"Minor\":{:?}}}",
            version.version, version.major, version.minor
        )),
    })
}

fn build_info(_: &crate::capabilities::KubeVersion) -> Value {
    let (go, client) = ("go1.26.8", "v1.36");
    Value::from_object(StructObject {
        go_type: BUILD_INFO,
        fields: vec![
            ("Version", Value::string(HELM_VERSION)),
            ("GitCommit", Value::string("")),
            ("GitTreeState", Value::string("")),
            ("GoVersion", Value::string(go)),
            ("KubeClientVersion", Value::string(client)),
        ],
        json: Some(format!(
            "{{\"version\":\"{HELM_VERSION}\",\"go_version\":\"{go}\",\"kube_client_version\":\"{client}\"}}"
        )),
    })
}

fn kube_field(this: &Value, name: &str) -> MethodResult {
    Ok(this.object::<StructObject>().and_then(|object| object.field(name)).unwrap_or_default())
}

fn kube_text(_: &mut Execution<'_>, this: &Value, _: &[Value]) -> MethodResult {
    kube_field(this, "normalizedVersion")
}

fn kube_git(_: &mut Execution<'_>, this: &Value, _: &[Value]) -> MethodResult {
    kube_field(this, "Version")
}

/// A Go struct with its fields in order.
struct StructObject {
    go_type: ReflectType,
    fields: Vec<(&'static str, Value)>,
    json: Option<String>,
}

impl HostObject for StructObject {
    fn go_type(&self) -> ReflectType {
        self.go_type
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        self.fields.clone()
    }

    fn text(&self) -> Option<Str> {
        (self.go_type == KUBE_VERSION).then(|| self.field("normalizedVersion")?.as_str().cloned()).flatten()
    }

    fn json(&self) -> Option<String> {
        self.json.clone()
    }
}
