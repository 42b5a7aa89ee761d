//! Reading a schema: every part once, references resolved.

use std::collections::HashMap;

use switchboard_object::{Map, Value, json};
use switchboard_template::sprig::Regexp;

use super::document::{self, Document, LATEST, MAIN, child, join};
use super::number::Decimal;
use super::{Additional, Depends, MAX_PATTERN_BYTES, Node, Schema, SchemaError};

/// Reads a chart's schema.
pub fn compile(bytes: &[u8], left: &mut usize) -> Result<Schema, SchemaError> {
    let root = read(bytes)?;
    let main = Document::new(MAIN, &root)?;
    let draft = main.resource("").draft;
    document::check(draft, &root).map_err(|why| SchemaError::NotOne(format!("{MAIN}#"), why))?;
    let mut compiler = Compiler::new(main, false);
    compiler.left = *left;
    let schema = compiler.whole();
    *left = compiler.left;
    schema
}

/// Reads one of the schemas that say what a schema is. In these, formats count.
pub fn metaschema(url: &str) -> Result<Schema, SchemaError> {
    let (url, root) = document::metaschema(url).ok_or_else(|| document::unknown(url))?;
    Compiler::new(Document::new(url, root)?, true).whole()
}

/// JSON, with Go's words for what is none.
fn read(bytes: &[u8]) -> Result<Value, SchemaError> {
    let text = String::from_utf8_lossy(bytes);
    serde_json::from_str(&text).map_err(|error| {
        let told = match json::read(bytes) {
            Err(error) if error.message == "unexpected end of JSON input" => {
                if bytes.trim_ascii().is_empty() { "EOF" } else { "unexpected EOF" }.to_string()
            }
            Err(error) if error.message.ends_with("after top-level value") => {
                "invalid character after top-level value".to_string()
            }
            Err(error) => error.message,
            Ok(_) => error.to_string(),
        };
        SchemaError::Json(told)
    })
}

/// A schema's document, by its place among those read, and its pointer.
type Spot = (usize, String);

struct Compiler<'a> {
    documents: Vec<Document<'a>>,
    /// Whether formats count in every draft.
    formats: bool,
    places: HashMap<Spot, usize>,
    nodes: Vec<Node>,
    waiting: Vec<(Spot, usize)>,
    warnings: Vec<String>,
    /// What patterns may still take.
    left: usize,
}

impl<'a> Compiler<'a> {
    fn new(main: Document<'a>, formats: bool) -> Self {
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

    /// Compiles the first document and all it refers to.
    fn whole(&mut self) -> Result<Schema, SchemaError> {
        self.place((0, String::new()));
        while let Some((spot, place)) = self.waiting.pop() {
            self.nodes[place] = self.node(&spot)?;
        }
        Ok(Schema { nodes: std::mem::take(&mut self.nodes), warnings: std::mem::take(&mut self.warnings) })
    }

    /// The place of a schema, which is compiled later.
    fn place(&mut self, spot: Spot) -> usize {
        if let Some(place) = self.places.get(&spot) {
            return *place;
        }
        let place = self.nodes.len();
        self.nodes.push(Node::default());
        self.places.insert(spot.clone(), place);
        self.waiting.push((spot, place));
        place
    }

    fn node(&mut self, spot: &Spot) -> Result<Node, SchemaError> {
        let (number, pointer) = (spot.0, spot.1.as_str());
        let document = &mut self.documents[number];
        if !document.has_seen(pointer) {
            document.add(pointer)?;
            let part = document.root.pointer(pointer).unwrap_or(&Value::Null);
            let wrong = |why| SchemaError::NotOne(format!("{}#{pointer}", document.url), why);
            document::check(document.resource(pointer).draft, part).map_err(wrong)?;
        }
        let root: &'a Value = document.root;
        let schema =
            root.pointer(pointer).ok_or_else(|| SchemaError::Pointer(format!("{}#{pointer}", document.url)))?;
        let draft = document.resource(pointer).draft;
        let location = format!("{}#{pointer}", document.url);
        let mut node = Node { draft, location, ..Node::default() };
        let Value::Object(map) = schema else {
            node.always = schema.as_bool();
            return Ok(node);
        };
        for (keyword, since) in [("$ref", 0), ("$dynamicRef", 2020), ("$recursiveRef", 2019)] {
            if let Some(reference) = map.get(keyword).and_then(Value::as_str).filter(|_| draft >= since) {
                node.reference = Some((self.resolve(reference, spot)?, keyword));
                if draft < 2019 {
                    return Ok(node);
                }
            }
        }
        let mut part = Part { compiler: self, map, spot };
        part.applicators(&mut node)?;
        part.assertions(&mut node)?;
        Ok(node)
    }

    fn resolve(&mut self, reference: &str, spot: &Spot) -> Result<usize, SchemaError> {
        let (path, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_decoded(fragment);
        let document = &self.documents[spot.0];
        let base = &document.resource(&spot.1).base;
        let target = if path.is_empty() { base.clone() } else { join(base, path) };
        if let Some(resource) = document.at(&target) {
            let pointer = document.fragment(resource, &fragment)?;
            return Ok(self.place((spot.0, pointer)));
        }
        if target.starts_with("urn:") {
            self.warnings.push(format!(
                "level=WARN msg=\"unresolved URN reference ignored; using permissive schema\" urn={target}"
            ));
            self.nodes.push(Node { always: Some(true), draft: LATEST, ..Node::default() });
            return Ok(self.nodes.len() - 1);
        }
        let number = self.other(&target)?;
        let document = &self.documents[number];
        let pointer = document.fragment(document.resource(""), &fragment)?;
        Ok(self.place((number, pointer)))
    }

    /// The number of another document. There are those that say what a schema is, and no others.
    fn other(&mut self, url: &str) -> Result<usize, SchemaError> {
        let (url, root) = document::metaschema(url).ok_or_else(|| document::unknown(url))?;
        if let Some(known) = self.documents.iter().position(|document| document.url == url) {
            return Ok(known);
        }
        self.documents.push(Document::new(url, root)?);
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

/// One schema while it is read.
struct Part<'a, 'b> {
    compiler: &'a mut Compiler<'b>,
    map: &'a Map,
    spot: &'a Spot,
}

impl Part<'_, '_> {
    fn at(&mut self, keys: &[&str]) -> usize {
        let pointer = keys.iter().fold(self.spot.1.clone(), |pointer, key| child(&pointer, key));
        self.compiler.place((self.spot.0, pointer))
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
            node.pattern_properties.push((self.regex(&pattern)?, place));
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

    fn regex(&mut self, pattern: &str) -> Result<Regexp, SchemaError> {
        let read = Regexp::within(pattern.as_bytes(), &mut self.compiler.left);
        read.map_err(|error| SchemaError::Regex(pattern.to_string(), error))
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
