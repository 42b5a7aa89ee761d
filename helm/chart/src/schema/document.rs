//! Documents with schemas: their resources, which have an address or draft of their own, and their anchors.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use switchboard_object::quote::quote;
use switchboard_object::{Map, Value};

use super::{ValuesSchema, ValuesSchemaError, compile, meta};

/// Address of a chart's own schema.
pub const MAIN: &str = "file:///values.schema.json";
/// Draft of a schema that does not specify one.
pub const LATEST: u16 = 2020;

/// Metaschemas by address.
static METASCHEMAS: LazyLock<HashMap<String, Value>> = LazyLock::new(|| meta::schemas().into_iter().collect());

/// Keywords whose value is a schema, a list of schemas, or a map of schemas.
const SCHEMA_KEYWORDS: [&str; 12] = [
    "not",
    "additionalProperties",
    "items",
    "additionalItems",
    "propertyNames",
    "contains",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contentSchema",
];
const SCHEMA_LIST_KEYWORDS: [&str; 5] = ["allOf", "anyOf", "oneOf", "items", "prefixItems"];
const SCHEMA_MAP_KEYWORDS: [&str; 6] =
    ["definitions", "$defs", "properties", "patternProperties", "dependencies", "dependentSchemas"];

/// Returns the metaschema at an address, if there is one.
pub fn metaschema(url: &str) -> Option<(&'static str, &'static Value)> {
    let draft = draft(url).ok().map(address);
    let https = url.strip_prefix("http://").map(|rest| format!("https://{rest}"));
    let keys = [Some(url), draft, https.as_deref()];
    keys.into_iter().flatten().find_map(|key| METASCHEMAS.get_key_value(key)).map(|(key, value)| (key.as_str(), value))
}

/// Checks that a value is a schema of a draft.
///
/// # Errors
/// Description of the problems.
pub fn check(draft: u16, schema: &Value) -> Result<(), String> {
    static COMPILED: LazyLock<HashMap<u16, ValuesSchema>> = LazyLock::new(|| {
        let compiled = |draft: u16| compile::metaschema(address(draft)).expect("the built-in metaschemas are valid");
        [4, 6, 7, 2019, 2020].into_iter().map(|draft| (draft, compiled(draft))).collect()
    });
    let result = COMPILED[&draft].check(schema);
    result.map_err(|problems| format!("jsonschema validation failed with '{}#'\n{problems}", address(draft)))
}

fn address(draft: u16) -> &'static str {
    match draft {
        4 => "http://json-schema.org/draft-04/schema",
        6 => "http://json-schema.org/draft-06/schema",
        7 => "http://json-schema.org/draft-07/schema",
        2019 => "https://json-schema.org/draft/2019-09/schema",
        _ => "https://json-schema.org/draft/2020-12/schema",
    }
}

fn draft(url: &str) -> Result<u16, ValuesSchemaError> {
    let address = url.split('#').next().unwrap_or(url);
    let name = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://")).unwrap_or(address);
    Ok(match name {
        "json-schema.org/schema" | "json-schema.org/draft/2020-12/schema" => 2020,
        "json-schema.org/draft/2019-09/schema" => 2019,
        "json-schema.org/draft-07/schema" => 7,
        "json-schema.org/draft-06/schema" => 6,
        "json-schema.org/draft-04/schema" => 4,
        _ => return Err(unknown(address)),
    })
}

/// Creates the error for an address that is not fetched. If the validator would not fetch it either, the text is the
/// validator's.
pub fn unknown(url: &str) -> ValuesSchemaError {
    let fetched = ["http:", "https:", "file:", "urn:"].iter().any(|scheme| url.starts_with(scheme));
    let why = match fetched {
        true => "remote schemas are not fetched".to_string(),
        false => format!("no URLLoader registered for {}", quote(url)),
    };
    ValuesSchemaError::Remote(url.to_string(), why)
}

/// A part of a document with its own address.
#[derive(Clone)]
pub struct SchemaResource {
    pub pointer: String,
    pub base: String,
    pub draft: u16,
}

/// A file that contains schemas.
pub struct SchemaDocument<'a> {
    pub url: String,
    pub root: &'a Value,
    resources: HashMap<String, SchemaResource>,
    /// Anchors by resource.
    anchors: HashMap<(String, String), String>,
    /// Pointers of the visited schemas.
    visited: HashSet<String>,
}

impl<'a> SchemaDocument<'a> {
    /// Finds the schemas of a document.
    ///
    /// # Errors
    /// If a schema has an unknown draft.
    pub fn new(url: &str, root: &'a Value) -> Result<Self, ValuesSchemaError> {
        let mut document = Self {
            url: url.to_string(),
            root,
            resources: HashMap::new(),
            anchors: HashMap::new(),
            visited: HashSet::new(),
        };
        let top = SchemaResource { pointer: String::new(), base: url.to_string(), draft: LATEST };
        document.collect(root, String::new(), &top)?;
        Ok(document)
    }

    /// Whether the pointer was visited as a schema.
    pub fn is_visited(&self, pointer: &str) -> bool {
        self.visited.contains(pointer)
    }

    /// Visits a schema at an unusual location that a reference points to.
    ///
    /// # Errors
    /// If a schema has an unknown draft.
    pub fn add(&mut self, pointer: &str) -> Result<(), ValuesSchemaError> {
        let Some(value) = self.root.pointer(pointer) else {
            return Err(ValuesSchemaError::Pointer(format!("{}#{pointer}", self.url)));
        };
        let above = self.resource(pointer).clone();
        self.collect(value, pointer.to_string(), &above)
    }

    /// Returns the resource that contains the pointer.
    pub fn resource(&self, pointer: &str) -> &SchemaResource {
        let mut at = pointer;
        loop {
            if let Some(found) = self.resources.get(at) {
                return found;
            }
            at = at.rfind('/').map_or("", |slash| &at[..slash]);
        }
    }

    /// Returns the resource at an address.
    pub fn at(&self, url: &str) -> Option<&SchemaResource> {
        match url == self.url {
            true => self.resources.get(""),
            false => self.resources.values().find(|resource| resource.base == url),
        }
    }

    /// Resolves a fragment of a resource to a pointer.
    ///
    /// # Errors
    /// If the fragment is an unknown anchor.
    pub fn fragment(&self, resource: &SchemaResource, fragment: &str) -> Result<String, ValuesSchemaError> {
        if fragment.is_empty() || fragment.starts_with('/') {
            return Ok(format!("{}{fragment}", resource.pointer));
        }
        let found = self.anchors.get(&(resource.pointer.clone(), fragment.to_string())).cloned();
        found.ok_or_else(|| ValuesSchemaError::Anchor(format!("{}#{fragment}", resource.base), self.url.clone()))
    }

    fn collect(&mut self, value: &Value, pointer: String, above: &SchemaResource) -> Result<(), ValuesSchemaError> {
        if !self.visited.insert(pointer.clone()) {
            return Ok(());
        }
        let Value::Object(map) = value else {
            if pointer.is_empty() {
                self.resources.insert(pointer, above.clone());
            }
            return Ok(());
        };
        let text = |name: &str| map.get(name).and_then(Value::as_str);
        let mut own = text("$schema").map_or(Ok(above.draft), draft)?;
        let mut id = id_of(map, own);
        if id.is_empty() && !pointer.is_empty() {
            own = above.draft;
            id = id_of(map, own);
        }
        let mut resource = above.clone();
        if !id.is_empty() || pointer.is_empty() {
            let base = if id.is_empty() { above.base.clone() } else { join(&above.base, id) };
            if let Some(other) = self.resources.values().find(|other| other.base == base) {
                return Err(self.duplicate("id", &base, &pointer, &other.pointer));
            }
            resource = SchemaResource { pointer: pointer.clone(), base, draft: own };
            self.resources.insert(pointer.clone(), resource.clone());
        }
        self.note_anchors(map, &pointer, &resource)?;
        for (name, part) in parts(map) {
            self.collect(part, format!("{pointer}{name}"), &resource)?;
        }
        Ok(())
    }

    fn note_anchors(&mut self, map: &Map, pointer: &str, resource: &SchemaResource) -> Result<(), ValuesSchemaError> {
        let text = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default();
        let old = resource.draft < 2019 && !map.contains_key("$ref");
        let id = text(id_name(resource.draft)).split_once('#').map_or("", |(_, fragment)| fragment);
        let anchors = [
            (old && !id.starts_with('/'), id),
            (resource.draft >= 2019, text("$anchor")),
            (resource.draft >= 2020, text("$dynamicAnchor")),
        ];
        for (_, anchor) in anchors.iter().filter(|(counts, anchor)| *counts && !anchor.is_empty()) {
            let key = (resource.pointer.clone(), (*anchor).to_string());
            let known = self.anchors.entry(key).or_insert_with(|| pointer.to_string()).clone();
            if known != pointer {
                return Err(self.duplicate("anchor", anchor, &known, pointer));
            }
        }
        Ok(())
    }

    fn duplicate(&self, what: &'static str, name: &str, first: &str, second: &str) -> ValuesSchemaError {
        ValuesSchemaError::Duplicate {
            what,
            name: name.to_string(),
            url: self.url.clone(),
            first: first.to_string(),
            second: second.to_string(),
        }
    }
}

/// Returns the direct subschemas with their relative pointers.
fn parts(map: &Map) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for name in SCHEMA_KEYWORDS {
        found.extend(map.get(name).filter(|value| !value.is_array()).map(|value| (child("", name), value)));
    }
    for name in SCHEMA_LIST_KEYWORDS {
        for (index, value) in map.get(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
            found.push((child(&child("", name), &index.to_string()), value));
        }
    }
    for name in SCHEMA_MAP_KEYWORDS {
        for (key, value) in map.get(name).and_then(Value::as_object).into_iter().flatten() {
            found.push((child(&child("", name), key), value));
        }
    }
    found
}

fn id_name(draft: u16) -> &'static str {
    if draft == 4 { "id" } else { "$id" }
}

fn id_of(map: &Map, draft: u16) -> &str {
    if draft < 2019 && map.contains_key("$ref") {
        return "";
    }
    let id = map.get(id_name(draft)).and_then(Value::as_str).unwrap_or_default();
    id.split('#').next().unwrap_or_default()
}

/// Extends a pointer by one segment.
pub fn child(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Resolves a URL against a base. Supports the subset of RFC 3986 that schemas need.
pub fn join(base: &str, url: &str) -> String {
    if url.contains("://") || url.starts_with("urn:") || base.is_empty() {
        return url.to_string();
    }
    let host_end = base.find("://").map_or(0, |at| base[at + 3..].find('/').map_or(base.len(), |end| at + 3 + end));
    if url.starts_with('/') {
        return format!("{}{url}", &base[..host_end]);
    }
    let folder = base.rfind('/').filter(|at| *at >= host_end).map_or(base, |at| &base[..at]);
    format!("{folder}/{url}")
}
