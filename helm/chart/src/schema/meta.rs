//! Metaschemas: the keywords of each draft of JSON Schema and their allowed values, as schemas that validate schemas.
//!
//! The addresses, names of parts and order of the vocabularies are those of the standard: charts refer to them, and the
//! validator's messages depend on them. A recursive or dynamic reference points to the draft's own schema.

use serde_json::json;
use switchboard_object::{Map, Value};

/// Allowed value of a keyword.
#[derive(Clone, Copy)]
enum KeywordRule {
    Anything,
    Schema,
    /// A schema or a bool. From draft 6 on, bools are schemas too.
    SchemaOrBool,
    Schemas,
    OneOrMore,
    /// Schemas by name or by pattern.
    SchemasByName,
    ByPattern,
    /// Lists of names or schemas, by name.
    Dependencies,
    Text,
    Address,
    Reference,
    Anchor,
    OwnAddress,
    Regex,
    Bool,
    Number,
    /// A number greater than zero.
    PositiveNumber,
    Count,
    CountOrNone,
    Names,
    NamesByName,
    Type,
    List,
    /// A list with at least one item and no duplicates.
    UniqueList,
    Vocabularies,
}

use KeywordRule::*;

/// A rule and its keywords, separated by spaces.
type KeywordRow = (KeywordRule, &'static str);

/// Keywords common to drafts 4, 6 and 7.
const COMMON: &[KeywordRow] = &[
    (Address, "$schema"),
    (Text, "title description format"),
    (Anything, "default"),
    (PositiveNumber, "multipleOf"),
    (Number, "maximum minimum"),
    (Count, "maxLength maxItems maxProperties"),
    (CountOrNone, "minLength minItems minProperties"),
    (Regex, "pattern"),
    (SchemaOrBool, "additionalItems additionalProperties"),
    (OneOrMore, "items"),
    (Bool, "uniqueItems"),
    (Names, "required"),
    (SchemasByName, "definitions properties"),
    (Dependencies, "dependencies"),
    (UniqueList, "enum"),
    (Type, "type"),
    (Schemas, "allOf anyOf oneOf"),
    (Schema, "not"),
];
const DRAFT_4: &[KeywordRow] = &[
    (OwnAddress, "id"),
    (Text, "$ref"),
    (Bool, "exclusiveMaximum exclusiveMinimum"),
    (SchemasByName, "patternProperties"),
];
const DRAFT_6: &[KeywordRow] = &[
    (Reference, "$id $ref"),
    (Anything, "const"),
    (Number, "exclusiveMaximum exclusiveMinimum"),
    (Schema, "contains propertyNames"),
];
const BEFORE_7: &[KeywordRow] = &[(SchemasByName, "patternProperties")];
const DRAFT_7: &[KeywordRow] = &[
    (ByPattern, "patternProperties"),
    (Text, "$comment contentMediaType contentEncoding"),
    (Bool, "readOnly writeOnly"),
    (List, "examples"),
    (Schema, "if then else"),
];

/// Vocabularies of the drafts since 2019.
const APPLICATOR: &[KeywordRow] = &[
    (Schema, "additionalProperties contains if then else not propertyNames"),
    (Schemas, "allOf anyOf oneOf"),
    (SchemasByName, "properties dependentSchemas"),
    (ByPattern, "patternProperties"),
];
const APPLICATOR_2019: &[KeywordRow] =
    &[(Schema, "additionalItems unevaluatedItems unevaluatedProperties"), (OneOrMore, "items")];
const APPLICATOR_2020: &[KeywordRow] = &[(Schema, "items"), (Schemas, "prefixItems")];
const UNEVALUATED: &[KeywordRow] = &[(Schema, "unevaluatedItems unevaluatedProperties")];
const CORE: &[KeywordRow] = &[
    (OwnAddress, "$id"),
    (Address, "$schema"),
    (Reference, "$ref"),
    (Anchor, "$anchor"),
    (Text, "$comment"),
    (SchemasByName, "$defs"),
    (Vocabularies, "$vocabulary"),
];
const CORE_2019: &[KeywordRow] = &[(Reference, "$recursiveRef"), (Bool, "$recursiveAnchor")];
const CORE_2020: &[KeywordRow] = &[(Reference, "$dynamicRef"), (Anchor, "$dynamicAnchor")];
const VALIDATION: &[KeywordRow] = &[
    (Anything, "const"),
    (NamesByName, "dependentRequired"),
    (List, "enum"),
    (Number, "maximum exclusiveMaximum minimum exclusiveMinimum"),
    (Count, "maxContains minContains maxItems maxLength maxProperties"),
    (CountOrNone, "minItems minLength minProperties"),
    (PositiveNumber, "multipleOf"),
    (Regex, "pattern"),
    (Names, "required"),
    (Type, "type"),
    (Bool, "uniqueItems"),
];
const META_DATA: &[KeywordRow] =
    &[(Text, "title description"), (Anything, "default"), (Bool, "deprecated readOnly writeOnly"), (List, "examples")];
const FORMAT: &[KeywordRow] = &[(Text, "format")];
const CONTENT: &[KeywordRow] = &[(Text, "contentMediaType contentEncoding"), (Schema, "contentSchema")];
/// Keywords of earlier drafts that the drafts since 2019 still accept.
const FORMER: &[KeywordRow] = &[(SchemasByName, "definitions"), (Dependencies, "dependencies")];
const FORMER_2020: &[KeywordRow] = &[(Anchor, "$recursiveAnchor"), (Reference, "$recursiveRef")];

/// Returns all metaschemas by address.
pub fn schemas() -> Vec<(String, Value)> {
    let mut all = vec![
        Draft(4).alone(&[COMMON, DRAFT_4]),
        Draft(6).alone(&[COMMON, DRAFT_6, BEFORE_7]),
        Draft(7).alone(&[COMMON, DRAFT_6, DRAFT_7]),
    ];
    let shared = [("content", CONTENT), ("meta-data", META_DATA), ("validation", VALIDATION)];
    for draft in [Draft(2019), Draft(2020)] {
        all.extend(shared.map(|(name, rows)| draft.vocabulary(name, &[rows])));
    }
    all.extend([
        Draft(2019).vocabulary("applicator", &[APPLICATOR, APPLICATOR_2019]),
        Draft(2019).vocabulary("core", &[CORE, CORE_2019]),
        Draft(2019).vocabulary("format", &[FORMAT]),
        Draft(2019).top(&["core", "applicator", "validation", "meta-data", "format", "content"], &[FORMER]),
        Draft(2020).vocabulary("applicator", &[APPLICATOR, APPLICATOR_2020]),
        Draft(2020).vocabulary("core", &[CORE, CORE_2020]),
        Draft(2020).vocabulary("format-annotation", &[FORMAT]),
        Draft(2020).vocabulary("format-assertion", &[FORMAT]),
        Draft(2020).vocabulary("unevaluated", &[UNEVALUATED]),
        Draft(2020).top(
            &["core", "applicator", "unevaluated", "validation", "meta-data", "format-annotation", "content"],
            &[FORMER, FORMER_2020],
        ),
    ]);
    all
}

#[derive(Clone, Copy)]
struct Draft(u16);

impl Draft {
    /// Returns the folder of a draft's schemas.
    fn folder(self) -> &'static str {
        match self.0 {
            4 => "http://json-schema.org/draft-04",
            6 => "http://json-schema.org/draft-06",
            7 => "http://json-schema.org/draft-07",
            2019 => "https://json-schema.org/draft/2019-09",
            _ => "https://json-schema.org/draft/2020-12",
        }
    }

    fn address(self) -> String {
        format!("{}/schema", self.folder())
    }

    /// Creates a single schema with all keywords of a draft.
    fn alone(self, rows: &[&[KeywordRow]]) -> (String, Value) {
        let address = self.address();
        let mut schema = self.schema(&format!("{address}#"), rows);
        schema.insert("$schema".into(), json!(format!("{address}#")));
        schema.insert("definitions".into(), Value::Object(self.definitions()));
        if self.0 == 4 {
            // The schema has no address of its own, so references resolve against the address where it was found.
            schema.remove("$id");
            schema.insert("type".into(), json!("object"));
            let needs = json!({"exclusiveMaximum": ["maximum"], "exclusiveMinimum": ["minimum"]});
            schema.insert("dependencies".into(), needs);
        }
        (address, Value::Object(schema))
    }

    /// Creates a schema with the keywords of one vocabulary.
    fn vocabulary(self, name: &str, rows: &[&[KeywordRow]]) -> (String, Value) {
        let address = format!("{}/meta/{name}", self.folder());
        let mut schema = self.schema(&address, rows);
        schema.insert("$defs".into(), Value::Object(self.definitions()));
        (address, Value::Object(schema))
    }

    /// Creates a schema that combines vocabularies.
    fn top(self, vocabularies: &[&str], rows: &[&[KeywordRow]]) -> (String, Value) {
        let mut schema = self.schema(&self.address(), rows);
        let all: Vec<Value> = vocabularies.iter().map(|name| refer(&format!("meta/{name}"))).collect();
        schema.insert("allOf".into(), Value::Array(all));
        // The vocabularies define the values of former keywords.
        schema.insert("$defs".into(), Value::Object(self.definitions()));
        (self.address(), Value::Object(schema))
    }

    fn schema(self, address: &str, rows: &[&[KeywordRow]]) -> Map {
        let mut keywords = Map::new();
        for (rule, names) in rows.iter().copied().flatten() {
            keywords.extend(names.split(' ').map(|name| (name.to_string(), self.rule(*rule))));
        }
        let schema = json!({
            "$id": address, "$schema": self.address(), "type": ["object", "boolean"], "properties": keywords,
        });
        if let Value::Object(schema) = schema { schema } else { Map::new() }
    }

    /// Creates a reference to a definition in the same file.
    fn defined(self, name: &str) -> Value {
        refer(&format!("#/{}/{name}", if self.0 < 2019 { "definitions" } else { "$defs" }))
    }

    /// Returns the name of the definition for counts.
    fn count(self) -> &'static str {
        if self.0 == 4 { "positiveInteger" } else { "nonNegativeInteger" }
    }

    fn any_schema(self) -> Value {
        if self.0 < 2019 { refer("#") } else { refer(&self.address()) }
    }

    fn rule(self, rule: KeywordRule) -> Value {
        let old = self.0 < 2019;
        match rule {
            Anything => json!({}),
            SchemaOrBool if self.0 == 4 => json!({"anyOf": [{"type": "boolean"}, self.any_schema()]}),
            Schema | SchemaOrBool => self.any_schema(),
            Schemas => self.defined("schemaArray"),
            OneOrMore => json!({"anyOf": [self.any_schema(), self.defined("schemaArray")]}),
            SchemasByName => json!({"type": "object", "additionalProperties": self.any_schema()}),
            ByPattern => json!({
                "type": "object", "additionalProperties": self.any_schema(), "propertyNames": {"format": "regex"},
            }),
            Dependencies => {
                let either = json!([self.any_schema(), self.defined("stringArray")]);
                json!({"type": "object", "additionalProperties": {"anyOf": either}})
            }
            Text => json!({"type": "string"}),
            Address if self.0 == 2020 => self.defined("uriString"),
            Address => json!({"type": "string", "format": "uri"}),
            OwnAddress if old => json!({"type": "string"}),
            OwnAddress => {
                let mut own = self.rule(Reference);
                own["pattern"] = json!("^[^#]*#?$");
                own
            }
            Reference if self.0 == 2020 => self.defined("uriReferenceString"),
            Reference => json!({"type": "string", "format": "uri-reference"}),
            Anchor if self.0 == 2020 => self.defined("anchorString"),
            Anchor => json!({"type": "string", "pattern": "^[A-Za-z][-A-Za-z0-9.:_]*$"}),
            Regex => json!({"type": "string", "format": "regex"}),
            Bool => json!({"type": "boolean"}),
            Number => json!({"type": "number"}),
            PositiveNumber if self.0 == 4 => json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
            PositiveNumber => json!({"type": "number", "exclusiveMinimum": 0}),
            Count => self.defined(self.count()),
            CountOrNone => self.defined(&format!("{}Default0", self.count())),
            Names => self.defined("stringArray"),
            NamesByName => json!({"type": "object", "additionalProperties": self.defined("stringArray")}),
            Type => {
                let one = self.defined("simpleTypes");
                json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "uniqueItems": true}]})
            }
            List => json!({"type": "array"}),
            UniqueList => json!({"type": "array", "minItems": 1, "uniqueItems": true}),
            Vocabularies => json!({
                "type": "object",
                "propertyNames": self.rule(Address),
                "additionalProperties": {"type": "boolean"},
            }),
        }
    }

    /// Returns the definitions that rules refer to by name.
    fn definitions(self) -> Map {
        let mut names = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true});
        if self.0 == 4 {
            names["minItems"] = json!(1);
        }
        let count = self.defined(self.count());
        let or_none = if self.0 < 2019 { json!({"allOf": [count]}) } else { count };
        let mut map = Map::new();
        map.insert(self.count().into(), json!({"type": "integer", "minimum": 0}));
        map.insert(format!("{}Default0", self.count()), or_none);
        map.insert("schemaArray".into(), json!({"type": "array", "minItems": 1, "items": self.any_schema()}));
        let types = ["array", "boolean", "integer", "null", "number", "object", "string"];
        map.insert("simpleTypes".into(), json!({"enum": types}));
        map.insert("stringArray".into(), names);
        if self.0 == 2020 {
            map.insert("anchorString".into(), json!({"type": "string", "pattern": "^[A-Za-z_][-A-Za-z0-9._]*$"}));
            map.insert("uriString".into(), json!({"type": "string", "format": "uri"}));
            map.insert("uriReferenceString".into(), json!({"type": "string", "format": "uri-reference"}));
        }
        map
    }
}

fn refer(to: &str) -> Value {
    json!({"$ref": to})
}

#[cfg(test)]
mod tests;
