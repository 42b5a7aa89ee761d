//! The document that says what is answered: OpenAPI 3.1, put together from the areas' parts.
//!
//! Parts are written by hand, beside the handlers they describe, and held to them by tests: every answer the suite sees is checked
//! against the document, every path of it is asked, and a fuzzer that reads it finds no other answer.

use serde_json::{Map, Value, json};

use crate::PREFIX;
use crate::page::{DEFAULT_LIMIT, MAX_CONTINUE_CHARS, MAX_LIMIT};
use crate::problem::{Kind, MEDIA_TYPE};

/// What a tenant's name looks like: a DNS-1123 label.
pub const TENANT_PATTERN: &str = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";

/// What the name of a resource looks like: a DNS-1123 subdomain.
pub const NAME_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// The longest name of a resource.
pub const MAX_NAME_CHARS: usize = 253;

/// What an id looks like: both, with a dot between.
pub const ID_PATTERN: &str =
    "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// What one area says.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Paths below the prefix, with their operations.
    pub paths: Map<String, Value>,
    /// Schemas by name.
    pub schemas: Map<String, Value>,
}

/// An operation of a path. Built field by field, so that none of the answers all operations have is forgotten.
#[derive(Clone, Debug)]
pub struct Operation(Value);

impl Operation {
    /// A protected operation: who asks must be known, and is counted.
    pub fn new(id: &str, tag: &str, summary: &str) -> Operation {
        let operation = json!({
            "operationId": id, "tags": [tag], "summary": summary, "parameters": [], "responses": {},
            "security": [{ "bearer": [] }],
        });
        Operation(operation).problems(&[Kind::Unauthenticated, Kind::Forbidden, Kind::TooMany, Kind::Unavailable])
    }

    /// An operation that is open to everybody.
    pub fn open(id: &str, tag: &str, summary: &str) -> Operation {
        Operation(json!({
            "operationId": id, "tags": [tag], "summary": summary, "parameters": [], "responses": {}, "security": [],
        }))
    }

    /// More about it.
    pub fn text(mut self, text: &str) -> Operation {
        self.0["description"] = json!(text);
        self
    }

    /// With a parameter of the components, by name.
    pub fn parameter(self, name: &str) -> Operation {
        self.own_parameter(json!({ "$ref": format!("#/components/parameters/{name}") }))
    }

    /// With a parameter of its own.
    pub fn own_parameter(mut self, parameter: Value) -> Operation {
        if let Some(all) = self.0["parameters"].as_array_mut() {
            all.push(parameter);
        }
        self
    }

    /// With a body of this schema.
    pub fn body(mut self, schema: &str) -> Operation {
        self.0["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": reference(schema) } } });
        self.problems(&[Kind::Malformed, Kind::TooLarge, Kind::UnsupportedMediaType, Kind::Invalid])
    }

    /// What goes well answers this schema; empty is no body.
    pub fn answers(mut self, status: u16, schema: &str, text: &str) -> Operation {
        let mut answer = json!({ "description": text });
        if !schema.is_empty() {
            answer["content"] = json!({ "application/json": { "schema": reference(schema) } });
        }
        self.0["responses"][status.to_string()] = answer;
        self
    }

    /// With a header of what goes well.
    pub fn header(mut self, status: u16, name: &str, text: &str) -> Operation {
        self.0["responses"][status.to_string()]["headers"][name] =
            json!({ "description": text, "schema": { "type": "string" } });
        self
    }

    /// What may go wrong.
    pub fn problems(mut self, kinds: &[Kind]) -> Operation {
        for kind in kinds {
            let name = format!("#/components/responses/{}", kind.word());
            self.0["responses"][kind.status().as_str()] = json!({ "$ref": name });
        }
        self
    }

    /// A list in pieces.
    pub fn paged(self) -> Operation {
        let paged = self.parameter("tenant").parameter("limit").parameter("continue");
        paged.problems(&[Kind::Malformed, Kind::NotFound, Kind::Expired])
    }
}

impl Part {
    /// With an operation at a path below the prefix.
    pub fn operation(mut self, path: &str, method: &str, operation: Operation) -> Part {
        let entry = self.paths.entry(path.to_string()).or_insert_with(|| json!({}));
        entry[method] = operation.0;
        self
    }

    /// With a schema.
    pub fn schema(mut self, name: &str, schema: Value) -> Part {
        self.schemas.insert(name.to_string(), schema);
        self
    }

    /// With the schema of a page of another schema.
    pub fn page_of(self, name: &str) -> Part {
        let schema = json!({
            "type": "object",
            "required": ["entries"],
            "additionalProperties": false,
            "properties": {
                "entries": { "type": "array", "maxItems": MAX_LIMIT, "items": reference(name) },
                "continue": { "type": "string", "description": "Send it as `continue` for the next page; absent at the end." },
            },
        });
        self.schema(&format!("{name}Page"), schema)
    }
}

/// A reference to a schema.
pub fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// What the document says of itself.
pub(crate) fn own() -> Part {
    let operation = Operation::open("getDocument", "document", "This document").answers(200, "Document", "OpenAPI 3.1");
    let schema = json!({
        "type": "object",
        "required": ["openapi", "info", "paths"],
        "properties": { "openapi": { "type": "string" }, "info": { "type": "object" }, "paths": { "type": "object" } },
    });
    Part::default().operation("/openapi.json", "get", operation).schema("Document", schema)
}

/// The whole document.
pub fn document(parts: Vec<Part>) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for part in parts {
        paths.extend(part.paths.into_iter().map(|(path, operations)| (format!("{PREFIX}{path}"), operations)));
        schemas.extend(part.schemas);
    }
    schemas.insert("Problem".to_string(), problem_schema());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Switchboard",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Who asks is told by a token of Kubernetes, what they may by its rights. A tenant is a namespace.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "parameters": parameters(),
            "responses": responses(),
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "A token of Kubernetes: `kubectl create token NAME`." },
            },
        },
    })
}

fn parameters() -> Value {
    json!({
        "tenant": {
            "name": "tenant", "in": "query", "required": false,
            "description": "Only what belongs to this tenant. Without it all tenants', for whoever may list in all namespaces.",
            "schema": { "type": "string", "pattern": TENANT_PATTERN, "minLength": 1, "maxLength": 63 },
        },
        "limit": {
            "name": "limit", "in": "query", "required": false, "description": "At most so many entries.",
            "schema": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT },
        },
        "continue": {
            "name": "continue", "in": "query", "required": false, "description": "What the page before ended with.",
            "schema": { "type": "string", "pattern": "^[-A-Za-z0-9_.=:/+]+$", "minLength": 1, "maxLength": MAX_CONTINUE_CHARS },
        },
        "id": {
            "name": "id", "in": "path", "required": true, "description": "TENANT.NAME",
            "schema": { "type": "string", "pattern": ID_PATTERN, "minLength": 3, "maxLength": 317 },
            "example": "shop.web",
        },
        "row": {
            "name": "id", "in": "path", "required": true, "description": "An id as a list says it.",
            "schema": { "type": "string", "pattern": "^[-a-zA-Z0-9]+$", "minLength": 1, "maxLength": 48 },
        },
        "if-match": {
            "name": "If-Match", "in": "header", "required": false,
            "description": "Only if it still is of this version, as the header ETag named it.",
            "schema": { "type": "string", "pattern": "^(\\*|\"[0-9]+\")$" },
        },
    })
}

fn responses() -> Value {
    let mut responses = Map::new();
    for kind in Kind::ALL {
        let mut response = json!({
            "description": kind.title(),
            "content": { MEDIA_TYPE: { "schema": reference("Problem") } },
        });
        let seconds = json!({ "description": "After how many seconds to ask again.", "schema": { "type": "integer", "minimum": 1 } });
        match kind {
            Kind::TooMany | Kind::Unavailable => response["headers"] = json!({ "Retry-After": seconds }),
            Kind::Unauthenticated => {
                response["headers"] = json!({ "WWW-Authenticate": { "schema": { "type": "string" } } });
            }
            _ => {}
        }
        responses.insert(kind.word().to_string(), response);
    }
    Value::Object(responses)
}

fn problem_schema() -> Value {
    let words: Vec<String> = Kind::ALL.iter().map(|kind| format!("urn:switchboard:problem:{}", kind.word())).collect();
    json!({
        "type": "object",
        "description": "RFC 9457.",
        "required": ["type", "title", "status", "detail", "hint"],
        "additionalProperties": false,
        "properties": {
            "type": { "type": "string", "enum": words },
            "title": { "type": "string" },
            "status": { "type": "integer", "minimum": 400, "maximum": 599 },
            "detail": { "type": "string", "description": "What failed this time." },
            "hint": { "type": "string", "description": "What helps." },
        },
    })
}
