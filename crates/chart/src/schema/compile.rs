//! Reading a schema: every part once, references resolved.

use std::collections::HashMap;

use regex::Regex;
use switchboard_object::{Map, Value};

use super::number::Decimal;
use super::{Additional, Depends, Node, Schema, SchemaError};

const LATEST: u16 = 2020;

pub fn compile(bytes: &[u8]) -> Result<Schema, SchemaError> {
    let root: Value = serde_json::from_slice(bytes).map_err(|error| SchemaError::Json(error.to_string()))?;
    let draft = root.get("$schema").and_then(Value::as_str).map_or(Ok(LATEST), draft)?;
    let mut names = HashMap::new();
    collect_names(&root, draft, String::new(), String::new(), &mut names);
    let mut compiler =
        Compiler { root: &root, draft, names, places: HashMap::new(), nodes: Vec::new(), waiting: vec![] };
    compiler.place(String::new(), String::new());
    while let Some((pointer, base, place)) = compiler.waiting.pop() {
        let schema = root.pointer(&pointer).ok_or_else(|| SchemaError::Pointer(format!("#{pointer}")))?;
        let node = compiler.node(schema, &pointer, base)?;
        compiler.nodes[place] = node;
    }
    Ok(Schema { nodes: compiler.nodes })
}

fn draft(url: &str) -> Result<u16, SchemaError> {
    let name = url.trim_end_matches('#');
    let name = name.strip_prefix("http://").or_else(|| name.strip_prefix("https://")).unwrap_or(name);
    Ok(match name {
        "json-schema.org/schema" | "json-schema.org/draft/2020-12/schema" => 2020,
        "json-schema.org/draft/2019-09/schema" => 2019,
        "json-schema.org/draft-07/schema" => 7,
        "json-schema.org/draft-06/schema" => 6,
        "json-schema.org/draft-04/schema" => 4,
        _ => return Err(SchemaError::Draft(url.to_string())),
    })
}

/// Where the schemas with a name of their own stand: `$id` and anchors, each with its base.
fn collect_names(at: &Value, draft: u16, pointer: String, base: String, names: &mut HashMap<String, (String, String)>) {
    let mut base = base;
    if let Value::Object(map) = at {
        let id = map.get(if draft == 4 { "id" } else { "$id" }).and_then(Value::as_str).unwrap_or_default();
        let (path, anchor) = id.split_once('#').unwrap_or((id, ""));
        if !path.is_empty() {
            base = join(&base, path);
            names.insert(format!("{base}#"), (pointer.clone(), base.clone()));
        }
        let anchors = ["$anchor", "$dynamicAnchor"].map(|name| map.get(name).and_then(Value::as_str).unwrap_or(""));
        for anchor in anchors.into_iter().chain([anchor]).filter(|anchor| !anchor.is_empty()) {
            names.insert(format!("{base}#{anchor}"), (pointer.clone(), base.clone()));
        }
        for (key, value) in map {
            if !matches!(key.as_str(), "enum" | "const" | "default" | "examples") {
                collect_names(value, draft, child(&pointer, key), base.clone(), names);
            }
        }
    } else if let Value::Array(list) = at {
        for (index, value) in list.iter().enumerate() {
            collect_names(value, draft, child(&pointer, &index.to_string()), base.clone(), names);
        }
    }
}

fn child(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// A URL seen from another one; enough of RFC 3986 for schemas.
fn join(base: &str, url: &str) -> String {
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

struct Compiler<'a> {
    root: &'a Value,
    draft: u16,
    names: HashMap<String, (String, String)>,
    places: HashMap<String, usize>,
    nodes: Vec<Node>,
    waiting: Vec<(String, String, usize)>,
}

impl Compiler<'_> {
    /// The place of the schema at a pointer, which is compiled later.
    fn place(&mut self, pointer: String, base: String) -> usize {
        if let Some(place) = self.places.get(&pointer) {
            return *place;
        }
        let place = self.nodes.len();
        self.nodes.push(Node::default());
        self.places.insert(pointer.clone(), place);
        self.waiting.push((pointer, base, place));
        place
    }

    fn node(&mut self, schema: &Value, pointer: &str, base: String) -> Result<Node, SchemaError> {
        let mut node = Node { draft: self.draft, ..Node::default() };
        let Value::Object(map) = schema else {
            node.always = schema.as_bool();
            return Ok(node);
        };
        let id = map.get(if self.draft == 4 { "id" } else { "$id" }).and_then(Value::as_str).unwrap_or_default();
        let id = id.split('#').next().unwrap_or_default();
        let base = if id.is_empty() { base } else { join(&base, id) };
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = map.get(keyword).and_then(Value::as_str)
                && (keyword == "$ref" || self.draft >= 2019)
            {
                node.reference = Some(self.resolve(reference, &base)?);
                if self.draft < 2019 {
                    return Ok(node);
                }
            }
        }
        let mut part = Part { compiler: self, map, pointer, base };
        part.applicators(&mut node)?;
        part.assertions(&mut node)?;
        Ok(node)
    }

    fn resolve(&mut self, reference: &str, base: &str) -> Result<usize, SchemaError> {
        let (path, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_decoded(fragment);
        let target = if path.is_empty() { base.to_string() } else { join(base, path) };
        let known = self.names.get(&format!("{target}#")).cloned();
        let (top, base) = match known {
            Some(found) => found,
            None if target.is_empty() || target == base => (String::new(), base.to_string()),
            None if target.starts_with("urn:") => {
                self.nodes.push(Node { always: Some(true), ..Node::default() });
                return Ok(self.nodes.len() - 1);
            }
            None => return Err(SchemaError::Remote(target)),
        };
        if fragment.is_empty() || fragment.starts_with('/') {
            let pointer = format!("{top}{fragment}");
            if self.root.pointer(&pointer).is_none() {
                return Err(SchemaError::Pointer(format!("#{pointer}")));
            }
            return Ok(self.place(pointer, base));
        }
        match self.names.get(&format!("{target}#{fragment}")).cloned() {
            Some((pointer, base)) => Ok(self.place(pointer, base)),
            None => Err(SchemaError::Pointer(format!("#{fragment}"))),
        }
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match hex.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One schema while it is read.
struct Part<'a, 'b> {
    compiler: &'a mut Compiler<'b>,
    map: &'a Map,
    pointer: &'a str,
    base: String,
}

impl Part<'_, '_> {
    fn at(&mut self, keys: &[&str]) -> usize {
        let pointer = keys.iter().fold(self.pointer.to_string(), |pointer, key| child(&pointer, key));
        self.compiler.place(pointer, self.base.clone())
    }

    fn one(&mut self, key: &str) -> Option<usize> {
        self.map.get(key)?;
        Some(self.at(&[key]))
    }

    fn list(&mut self, key: &str) -> Vec<usize> {
        let count = self.map.get(key).and_then(Value::as_array).map_or(0, Vec::len);
        (0..count).map(|index| self.at(&[key, &index.to_string()])).collect()
    }

    fn named(&mut self, key: &str) -> Vec<(String, usize)> {
        let Some(Value::Object(map)) = self.map.get(key) else { return Vec::new() };
        map.keys().map(|name| (name.clone(), self.at(&[key, name]))).collect()
    }

    fn additional(&mut self, key: &str) -> Option<Additional> {
        match self.map.get(key)? {
            Value::Bool(allowed) => Some(Additional::Allowed(*allowed)),
            _ => Some(Additional::Fits(self.at(&[key]))),
        }
    }

    fn applicators(&mut self, node: &mut Node) -> Result<(), SchemaError> {
        let draft = node.draft;
        node.all_of = self.list("allOf");
        node.any_of = self.list("anyOf");
        node.one_of = self.list("oneOf");
        node.not = self.one("not");
        node.properties = self.named("properties");
        for (pattern, place) in self.named("patternProperties") {
            node.pattern_properties.push((regex(&pattern)?, place));
        }
        node.additional_properties = self.additional("additionalProperties");
        if let Some(Value::Object(map)) = self.map.get("dependencies") {
            for (name, depends) in map {
                let depends = match depends {
                    Value::Array(list) => Depends::On(texts(list)),
                    _ => Depends::Fits(self.at(&["dependencies", name])),
                };
                node.dependencies.push((name.clone(), depends));
            }
        }
        if draft >= 2020 {
            node.item_list = self.map.contains_key("prefixItems").then(|| self.list("prefixItems"));
            node.items = self.one("items");
        } else if self.map.get("items").is_some_and(Value::is_array) {
            node.item_list = Some(self.list("items"));
            node.additional_items = self.additional("additionalItems");
        } else {
            node.items = self.one("items");
        }
        if draft >= 6 {
            node.contains = self.one("contains");
            node.property_names = self.one("propertyNames");
        }
        if draft >= 7
            && let Some(condition) = self.one("if")
        {
            node.condition = Some((condition, self.one("then"), self.one("else")));
        }
        if draft >= 2019 {
            node.dependent_schemas = self.named("dependentSchemas");
            node.unevaluated_items = self.one("unevaluatedItems");
            node.unevaluated_properties = self.one("unevaluatedProperties");
        }
        Ok(())
    }

    fn count(&self, key: &str) -> Option<usize> {
        let number = self.map.get(key)?.as_f64()?;
        (number >= 0.0).then_some(number as usize)
    }

    fn number(&self, key: &str) -> Option<Decimal> {
        Decimal::of(self.map.get(key)?)
    }

    fn assertions(&mut self, node: &mut Node) -> Result<(), SchemaError> {
        let map = self.map;
        node.types = match map.get("type") {
            Some(Value::String(one)) => Some(vec![one.clone()]),
            Some(Value::Array(list)) => Some(in_order(&texts(list))),
            _ => None,
        };
        node.values = map.get("enum").and_then(Value::as_array).cloned();
        if node.draft >= 6 {
            node.constant = map.get("const").cloned();
        }
        if node.draft < 2019 {
            node.format = map.get("format").and_then(Value::as_str).map(str::to_string);
        }
        node.multiple_of = self.number("multipleOf");
        (node.maximum, node.exclusive_maximum) = self.bound("maximum", "exclusiveMaximum");
        (node.minimum, node.exclusive_minimum) = self.bound("minimum", "exclusiveMinimum");
        node.min_length = self.count("minLength");
        node.max_length = self.count("maxLength");
        if let Some(pattern) = map.get("pattern").and_then(Value::as_str) {
            node.pattern = Some((pattern.to_string(), regex(pattern)?));
        }
        node.min_items = self.count("minItems");
        node.max_items = self.count("maxItems");
        node.unique_items = map.get("uniqueItems") == Some(&Value::Bool(true));
        node.min_properties = self.count("minProperties");
        node.max_properties = self.count("maxProperties");
        node.required = map.get("required").and_then(Value::as_array).map_or_else(Vec::new, |list| texts(list));
        if node.draft >= 2019 {
            node.min_contains = self.count("minContains");
            node.max_contains = self.count("maxContains");
            if let Some(Value::Object(map)) = map.get("dependentRequired") {
                let lists = map.iter().filter_map(|(name, list)| Some((name.clone(), texts(list.as_array()?))));
                node.dependent_required = lists.collect();
            }
        }
        Ok(())
    }

    /// A bound and its exclusive form; draft 4 makes one the other with `true`.
    fn bound(&self, key: &str, exclusive: &str) -> (Option<Decimal>, Option<Decimal>) {
        match self.map.get(exclusive) {
            Some(Value::Bool(true)) => (None, self.number(key)),
            _ => (self.number(key), self.number(exclusive)),
        }
    }
}

/// The names of types in the order the validator lists them.
fn in_order(types: &[String]) -> Vec<String> {
    let order = ["null", "boolean", "number", "integer", "string", "array", "object"];
    order.iter().filter(|name| types.iter().any(|t| t == *name)).map(ToString::to_string).collect()
}

fn texts(list: &[Value]) -> Vec<String> {
    list.iter().filter_map(Value::as_str).map(str::to_string).collect()
}

fn regex(pattern: &str) -> Result<Regex, SchemaError> {
    Regex::new(pattern).map_err(|error| SchemaError::Regex(pattern.to_string(), error.to_string()))
}
