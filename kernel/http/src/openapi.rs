//! OpenAPI 3.1 document of the API, combined from the descriptions of the sections.
//!
//! The descriptions are written by hand beside the handlers. Tests keep them accurate: the suite checks every response
//! against the document and requests every path in it, and a fuzzer that reads the document finds no other response.

use serde_json::{Map, Value, json};

use crate::PREFIX;
use crate::page::{DEFAULT_LIMIT, MAX_CONTINUE_CHARS, MAX_LIMIT};
use crate::problem::{MEDIA_TYPE, ProblemKind};

/// Pattern of a tenant's name: a DNS-1123 label.
pub const TENANT_PATTERN: &str = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";

/// Pattern of a resource's name: a DNS-1123 subdomain.
pub const NAME_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// Maximum length of a resource's name.
pub const MAX_NAME_CHARS: usize = 253;

/// Pattern of an ID: both names, separated by a dot.
pub const ID_PATTERN: &str =
    "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// OpenAPI description of one section.
#[derive(Clone, Debug, Default)]
pub struct OpenApiPart {
    /// Paths below the prefix, with their operations.
    pub paths: Map<String, Value>,
    /// Schemas by name.
    pub schemas: Map<String, Value>,
}

/// OpenAPI operation of a path. The builder adds the responses that all operations share.
#[derive(Clone, Debug)]
pub struct OpenApiOperation(Value);

impl OpenApiOperation {
    /// Creates an operation that requires authentication and counts against the rate limit.
    pub fn new(id: &str, tag: &str, summary: &str) -> OpenApiOperation {
        let operation = json!({
            "operationId": id, "tags": [tag], "summary": summary, "parameters": [], "responses": {},
            "security": [{ "bearer": [] }],
        });
        OpenApiOperation(operation).problems(&[
            ProblemKind::Unauthenticated,
            ProblemKind::Forbidden,
            ProblemKind::TooMany,
            ProblemKind::Unavailable,
        ])
    }

    /// Creates an operation without authentication.
    pub fn open(id: &str, tag: &str, summary: &str) -> OpenApiOperation {
        OpenApiOperation(json!({
            "operationId": id, "tags": [tag], "summary": summary, "parameters": [], "responses": {}, "security": [],
        }))
    }

    /// Adds a description.
    pub fn text(mut self, text: &str) -> OpenApiOperation {
        self.0["description"] = json!(text);
        self
    }

    /// Adds a parameter of the components, by name.
    pub fn parameter(self, name: &str) -> OpenApiOperation {
        self.inline_parameter(json!({ "$ref": format!("#/components/parameters/{name}") }))
    }

    /// Adds an inline parameter.
    pub fn inline_parameter(mut self, parameter: Value) -> OpenApiOperation {
        if let Some(all) = self.0["parameters"].as_array_mut() {
            all.push(parameter);
        }
        self
    }

    /// Adds a request body of this schema.
    pub fn body(mut self, schema: &str) -> OpenApiOperation {
        self.0["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": reference(schema) } } });
        self.problems(&[
            ProblemKind::Malformed,
            ProblemKind::TooLarge,
            ProblemKind::UnsupportedMediaType,
            ProblemKind::Invalid,
        ])
    }

    /// Adds the response of success with this schema; an empty schema means no body.
    pub fn response(mut self, status: u16, schema: &str, text: &str) -> OpenApiOperation {
        let mut answer = json!({ "description": text });
        if !schema.is_empty() {
            answer["content"] = json!({ "application/json": { "schema": reference(schema) } });
        }
        self.0["responses"][status.to_string()] = answer;
        self
    }

    /// Adds a header to the response of success.
    pub fn header(mut self, status: u16, name: &str, text: &str) -> OpenApiOperation {
        self.0["responses"][status.to_string()]["headers"][name] =
            json!({ "description": text, "schema": { "type": "string" } });
        self
    }

    /// Adds problem responses.
    pub fn problems(mut self, kinds: &[ProblemKind]) -> OpenApiOperation {
        for kind in kinds {
            let name = format!("#/components/responses/{}", kind.code());
            self.0["responses"][kind.status().as_str()] = json!({ "$ref": name });
        }
        self
    }

    /// Adds the parameters and responses of a paged list.
    pub fn paged(self) -> OpenApiOperation {
        let paged = self.parameter("tenant").parameter("limit").parameter("continue");
        paged.problems(&[ProblemKind::Malformed, ProblemKind::NotFound, ProblemKind::Expired])
    }
}

impl OpenApiPart {
    /// Adds an operation at a path below the prefix.
    pub fn operation(mut self, path: &str, method: &str, operation: OpenApiOperation) -> OpenApiPart {
        let entry = self.paths.entry(path.to_string()).or_insert_with(|| json!({}));
        entry[method] = operation.0;
        self
    }

    /// Adds a schema.
    pub fn schema(mut self, name: &str, schema: Value) -> OpenApiPart {
        self.schemas.insert(name.to_string(), schema);
        self
    }

    /// Adds the schema of a page of another schema.
    pub fn page_of(self, name: &str) -> OpenApiPart {
        let schema = json!({
            "type": "object",
            "required": ["entries"],
            "additionalProperties": false,
            "properties": {
                "entries": { "type": "array", "maxItems": MAX_LIMIT, "items": reference(name) },
                "continue": { "type": "string", "description": "Value of `continue` for the next page; absent on the last page." },
            },
        });
        self.schema(&format!("{name}Page"), schema)
    }
}

/// Reference to a schema.
pub fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// OpenAPI description of the document's own path.
pub(crate) fn document_part() -> OpenApiPart {
    let operation = OpenApiOperation::open("getDocument", "document", "Read this document").response(
        200,
        "Document",
        "OpenAPI 3.1",
    );
    let schema = json!({
        "type": "object",
        "required": ["openapi", "info", "paths"],
        "properties": { "openapi": { "type": "string" }, "info": { "type": "object" }, "paths": { "type": "object" } },
    });
    OpenApiPart::default().operation("/openapi.json", "get", operation).schema("Document", schema)
}

/// Combines descriptions into the document.
pub fn document(parts: Vec<OpenApiPart>) -> Value {
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
            "description": "A Kubernetes token authenticates the caller, and Kubernetes RBAC authorizes the request. A tenant is a namespace.",
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
                "bearer": { "type": "http", "scheme": "bearer", "description": "Kubernetes token, for example from `kubectl create token NAME`." },
            },
        },
    })
}

fn parameters() -> Value {
    json!({
        "tenant": {
            "name": "tenant", "in": "query", "required": false,
            "description": "Limits the list to one tenant. Without it, the list covers all tenants and requires permission to list in all namespaces.",
            "schema": { "type": "string", "pattern": TENANT_PATTERN, "minLength": 1, "maxLength": 63 },
        },
        "limit": {
            "name": "limit", "in": "query", "required": false, "description": "Maximum number of entries.",
            "schema": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT },
        },
        "continue": {
            "name": "continue", "in": "query", "required": false, "description": "Value of `continue` from the previous page.",
            "schema": { "type": "string", "pattern": "^[-A-Za-z0-9_.=:/+]+$", "minLength": 1, "maxLength": MAX_CONTINUE_CHARS },
        },
        "id": {
            "name": "id", "in": "path", "required": true, "description": "TENANT.NAME",
            "schema": { "type": "string", "pattern": ID_PATTERN, "minLength": 3, "maxLength": 317 },
            "example": "shop.web",
        },
        "row": {
            "name": "id", "in": "path", "required": true, "description": "Id from a list.",
            "schema": { "type": "string", "pattern": "^[-a-zA-Z0-9]+$", "minLength": 1, "maxLength": 48 },
        },
        "if-match": {
            "name": "If-Match", "in": "header", "required": false,
            "description": "Version from the ETag header; the request fails if the object has changed.",
            "schema": { "type": "string", "pattern": "^(\\*|\"[0-9]+\")$" },
        },
    })
}

fn responses() -> Value {
    let mut responses = Map::new();
    for kind in ProblemKind::ALL {
        let mut response = json!({
            "description": kind.title(),
            "content": { MEDIA_TYPE: { "schema": reference("Problem") } },
        });
        let seconds = json!({ "description": "Seconds until the request can be retried.", "schema": { "type": "integer", "minimum": 1 } });
        match kind {
            ProblemKind::TooMany | ProblemKind::Unavailable => response["headers"] = json!({ "Retry-After": seconds }),
            ProblemKind::Unauthenticated => {
                response["headers"] = json!({ "WWW-Authenticate": { "schema": { "type": "string" } } });
            }
            _ => {}
        }
        responses.insert(kind.code().to_string(), response);
    }
    Value::Object(responses)
}

fn problem_schema() -> Value {
    let words: Vec<String> =
        ProblemKind::ALL.iter().map(|kind| format!("urn:switchboard:problem:{}", kind.code())).collect();
    json!({
        "type": "object",
        "description": "RFC 9457.",
        "required": ["type", "title", "status", "detail", "hint"],
        "additionalProperties": false,
        "properties": {
            "type": { "type": "string", "enum": words },
            "title": { "type": "string" },
            "status": { "type": "integer", "minimum": 400, "maximum": 599 },
            "detail": { "type": "string", "description": "Description of this failure." },
            "hint": { "type": "string", "description": "Hint for solving the problem." },
        },
    })
}
