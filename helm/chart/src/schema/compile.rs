//! Compiler for schemas. Compiles every part once and resolves references.

use std::collections::HashMap;

use switchboard_object::{Map, Value, json};
use switchboard_template::sprig::Regexp;

use super::document::{self, LATEST, MAIN, SchemaDocument, child, join};
use super::number::SchemaNumber;
use super::{AdditionalRule, DependencyRule, MAX_PATTERN_BYTES, SchemaNode, ValuesSchema, ValuesSchemaError};

/// Compiles a chart's schema.
pub fn compile(bytes: &[u8], left: &mut usize) -> Result<ValuesSchema, ValuesSchemaError> {
    let root = read(bytes)?;
    let main = SchemaDocument::new(MAIN, &root)?;
    let draft = main.resource("").draft;
    document::check(draft, &root).map_err(|why| ValuesSchemaError::Invalid(format!("{MAIN}#"), why))?;
    let mut compiler = SchemaCompiler::new(main, false);
    compiler.left = *left;
    let schema = compiler.compile_all();
    *left = compiler.left;
    schema
}

/// Compiles a metaschema, in which formats are checked.
pub fn metaschema(url: &str) -> Result<ValuesSchema, ValuesSchemaError> {
    let (url, root) = document::metaschema(url).ok_or_else(|| document::unknown(url))?;
    SchemaCompiler::new(SchemaDocument::new(url, root)?, true).compile_all()
}

/// Parses JSON, with Go's error text.
fn read(bytes: &[u8]) -> Result<Value, ValuesSchemaError> {
    let text = String::from_utf8_lossy(bytes);
    serde_json::from_str(&text).map_err(|error| {
        let text = match json::read(bytes) {
            Err(error) if error.message == "unexpected end of JSON input" => {
                if bytes.trim_ascii().is_empty() { "EOF" } else { "unexpected EOF" }.to_string()
            }
            Err(error) if error.message.ends_with("after top-level value") => {
                "invalid character after top-level value".to_string()
            }
            Err(error) => error.message,
            Ok(_) => error.to_string(),
        };
        ValuesSchemaError::Json(text)
    })
}

/// Index of a schema's document and the pointer in it.
type SchemaLocation = (usize, String);

struct SchemaCompiler<'a> {
    documents: Vec<SchemaDocument<'a>>,
    /// Whether formats are checked in every draft.
    formats: bool,
    places: HashMap<SchemaLocation, usize>,
    nodes: Vec<SchemaNode>,
    waiting: Vec<(SchemaLocation, usize)>,
    warnings: Vec<String>,
    /// Remaining memory for patterns.
    left: usize,
}

impl<'a> SchemaCompiler<'a> {
    fn new(main: SchemaDocument<'a>, formats: bool) -> Self {
        Self {
            documents: vec![main],
            formats,
            places: HashMap::new(),
            nodes: vec![],
            waiting: vec![],
            warnings: vec![],
            left: MAX_PATTERN_BYTES,
        }
    }

    /// Compiles the first document and everything it refers to.
    fn compile_all(&mut self) -> Result<ValuesSchema, ValuesSchemaError> {
        self.index_of((0, String::new()));
        while let Some((location, place)) = self.waiting.pop() {
            self.nodes[place] = self.node(&location)?;
        }
        Ok(ValuesSchema { nodes: std::mem::take(&mut self.nodes), warnings: std::mem::take(&mut self.warnings) })
    }

    /// Returns the index of a schema, which is compiled later.
    fn index_of(&mut self, location: SchemaLocation) -> usize {
        if let Some(place) = self.places.get(&location) {
            return *place;
        }
        let place = self.nodes.len();
        self.nodes.push(SchemaNode::default());
        self.places.insert(location.clone(), place);
        self.waiting.push((location, place));
        place
    }

    fn node(&mut self, at: &SchemaLocation) -> Result<SchemaNode, ValuesSchemaError> {
        let (number, pointer) = (at.0, at.1.as_str());
        let document = &mut self.documents[number];
        if !document.is_visited(pointer) {
            document.add(pointer)?;
            let part = document.root.pointer(pointer).unwrap_or(&Value::Null);
            let wrong = |why| ValuesSchemaError::Invalid(format!("{}#{pointer}", document.url), why);
            document::check(document.resource(pointer).draft, part).map_err(wrong)?;
        }
        let root: &'a Value = document.root;
        let schema =
            root.pointer(pointer).ok_or_else(|| ValuesSchemaError::Pointer(format!("{}#{pointer}", document.url)))?;
        let draft = document.resource(pointer).draft;
        let location = format!("{}#{pointer}", document.url);
        let mut node = SchemaNode { draft, location, ..SchemaNode::default() };
        let Value::Object(map) = schema else {
            node.always = schema.as_bool();
            return Ok(node);
        };
        for (keyword, since) in [("$ref", 0), ("$dynamicRef", 2020), ("$recursiveRef", 2019)] {
            if let Some(reference) = map.get(keyword).and_then(Value::as_str).filter(|_| draft >= since) {
                node.reference = Some((self.resolve(reference, at)?, keyword));
                if draft < 2019 {
                    return Ok(node);
                }
            }
        }
        let mut part = SchemaPart { compiler: self, map, location: at };
        part.applicators(&mut node)?;
        part.assertions(&mut node)?;
        Ok(node)
    }

    fn resolve(&mut self, reference: &str, location: &SchemaLocation) -> Result<usize, ValuesSchemaError> {
        let (path, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_decoded(fragment);
        let document = &self.documents[location.0];
        let base = &document.resource(&location.1).base;
        let target = if path.is_empty() { base.clone() } else { join(base, path) };
        if let Some(resource) = document.at(&target) {
            let pointer = document.fragment(resource, &fragment)?;
            return Ok(self.index_of((location.0, pointer)));
        }
        if target.starts_with("urn:") {
            self.warnings.push(format!(
                "level=WARN msg=\"unresolved URN reference ignored; using permissive schema\" urn={target}"
            ));
            self.nodes.push(SchemaNode { always: Some(true), draft: LATEST, ..SchemaNode::default() });
            return Ok(self.nodes.len() - 1);
        }
        let number = self.document_index(&target)?;
        let document = &self.documents[number];
        let pointer = document.fragment(document.resource(""), &fragment)?;
        Ok(self.index_of((number, pointer)))
    }

    /// Returns the index of another document. Only metaschemas are available.
    fn document_index(&mut self, url: &str) -> Result<usize, ValuesSchemaError> {
        let (url, root) = document::metaschema(url).ok_or_else(|| document::unknown(url))?;
        if let Some(known) = self.documents.iter().position(|document| document.url == url) {
            return Ok(known);
        }
        self.documents.push(SchemaDocument::new(url, root)?);
        Ok(self.documents.len() - 1)
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

/// A schema that is being compiled.
struct SchemaPart<'a, 'b> {
    compiler: &'a mut SchemaCompiler<'b>,
    map: &'a Map,
    location: &'a SchemaLocation,
}

impl SchemaPart<'_, '_> {
    fn at(&mut self, keys: &[&str]) -> usize {
        let pointer = keys.iter().fold(self.location.1.clone(), |pointer, key| child(&pointer, key));
        self.compiler.index_of((self.location.0, pointer))
    }

    fn subschema(&mut self, key: &str) -> Option<usize> {
        self.map.get(key)?;
        Some(self.at(&[key]))
    }

    fn subschemas(&mut self, key: &str) -> Vec<usize> {
        let count = self.map.get(key).and_then(Value::as_array).map_or(0, Vec::len);
        (0..count).map(|index| self.at(&[key, &index.to_string()])).collect()
    }

    fn subschemas_by_name(&mut self, key: &str) -> Vec<(String, usize)> {
        let Some(Value::Object(map)) = self.map.get(key) else { return Vec::new() };
        map.keys().map(|name| (name.clone(), self.at(&[key, name]))).collect()
    }

    fn additional(&mut self, key: &str) -> Option<AdditionalRule> {
        match self.map.get(key)? {
            Value::Bool(allowed) => Some(AdditionalRule::Allowed(*allowed)),
            _ => Some(AdditionalRule::Schema(self.at(&[key]))),
        }
    }

    fn applicators(&mut self, node: &mut SchemaNode) -> Result<(), ValuesSchemaError> {
        let draft = node.draft;
        node.all_of = self.subschemas("allOf");
        node.any_of = self.subschemas("anyOf");
        node.one_of = self.subschemas("oneOf");
        node.not = self.subschema("not");
        node.properties = self.subschemas_by_name("properties");
        for (pattern, place) in self.subschemas_by_name("patternProperties") {
            node.pattern_properties.push((self.regex(&pattern)?, place));
        }
        node.additional_properties = self.additional("additionalProperties");
        if let Some(Value::Object(map)) = self.map.get("dependencies") {
            for (name, depends) in map {
                let depends = match depends {
                    Value::Array(list) => DependencyRule::Names(texts(list)),
                    _ => DependencyRule::Schema(self.at(&["dependencies", name])),
                };
                node.dependencies.push((name.clone(), depends));
            }
        }
        if draft >= 2020 {
            node.item_list = self.map.contains_key("prefixItems").then(|| self.subschemas("prefixItems"));
            node.items = self.subschema("items");
        } else if self.map.get("items").is_some_and(Value::is_array) {
            node.item_list = Some(self.subschemas("items"));
            node.additional_items = self.additional("additionalItems");
        } else {
            node.items = self.subschema("items");
        }
        if draft >= 6 {
            node.contains = self.subschema("contains");
            node.property_names = self.subschema("propertyNames");
        }
        if draft >= 7
            && let Some(condition) = self.subschema("if")
        {
            node.condition = Some((condition, self.subschema("then"), self.subschema("else")));
        }
        if draft >= 2019 {
            node.dependent_schemas = self.subschemas_by_name("dependentSchemas");
            node.unevaluated_items = self.subschema("unevaluatedItems");
            node.unevaluated_properties = self.subschema("unevaluatedProperties");
        }
        Ok(())
    }

    fn regex(&mut self, pattern: &str) -> Result<Regexp, ValuesSchemaError> {
        let read = Regexp::compile_within(pattern.as_bytes(), &mut self.compiler.left);
        read.map_err(|error| ValuesSchemaError::Regex(pattern.to_string(), error))
    }

    fn count(&self, key: &str) -> Option<usize> {
        let number = self.map.get(key)?.as_f64()?;
        (number >= 0.0).then_some(number as usize)
    }

    fn number(&self, key: &str) -> Option<SchemaNumber> {
        SchemaNumber::of(self.map.get(key)?)
    }

    fn assertions(&mut self, node: &mut SchemaNode) -> Result<(), ValuesSchemaError> {
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
        if node.draft < 2019 || self.compiler.formats {
            node.format = map.get("format").and_then(Value::as_str).map(str::to_string);
        }
        node.multiple_of = self.number("multipleOf");
        (node.maximum, node.exclusive_maximum) = self.bound("maximum", "exclusiveMaximum");
        (node.minimum, node.exclusive_minimum) = self.bound("minimum", "exclusiveMinimum");
        node.min_length = self.count("minLength");
        node.max_length = self.count("maxLength");
        if let Some(pattern) = map.get("pattern").and_then(Value::as_str) {
            node.pattern = Some((pattern.to_string(), self.regex(pattern)?));
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

    /// Returns a bound and its exclusive form. In draft 4, `true` turns one into the other.
    fn bound(&self, key: &str, exclusive: &str) -> (Option<SchemaNumber>, Option<SchemaNumber>) {
        match self.map.get(exclusive) {
            Some(Value::Bool(true)) => (None, self.number(key)),
            _ => (self.number(key), self.number(exclusive)),
        }
    }
}

/// Returns the names of types in the validator's order.
fn in_order(types: &[String]) -> Vec<String> {
    let order = ["null", "boolean", "number", "integer", "string", "array", "object"];
    order.iter().filter(|name| types.iter().any(|t| t == *name)).map(ToString::to_string).collect()
}

fn texts(list: &[Value]) -> Vec<String> {
    list.iter().filter_map(Value::as_str).map(str::to_string).collect()
}
