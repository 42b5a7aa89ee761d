//! OpenAPI description of the console's endpoints.

use serde_json::{Value, json};
use switchboard_http::openapi::{OpenApiOperation, OpenApiPart};
use switchboard_http::problem::ProblemKind;

/// Path, operation id, summary, query parameters and schema of the response.
type EndpointRow = (&'static str, &'static str, &'static str, &'static [&'static str], &'static str);

const ROWS: [EndpointRow; 14] = [
    ("/state", "getState", "State of operators and clusters", &[], "State"),
    ("/operators", "listOperators", "All operators, worst first", &[], "Operators"),
    ("/operators/{name}", "getOperator", "Operator with its decisions", &["unit", "page"], "Operator"),
    ("/decisions", "listDecisions", "Decisions, newest first", &["operator", "unit", "page"], "Decisions"),
    ("/decisions/{id}", "getDecision", "Decision with its reads and writes", &[], "Decision"),
    ("/kinds", "listKinds", "Kinds that a cluster serves", &["cluster"], "Kinds"),
    (
        "/objects",
        "listObjects",
        "Objects of a kind, as kubectl lists them",
        &["cluster", "kind", "namespace", "from"],
        "Objects",
    ),
    (
        OBJECT,
        "getObject",
        "Object with its resource tree, field owners, history, relations and explanation",
        &[],
        "Object",
    ),
    (WHY, "getWhy", "Explanation of an object's state", &[], "Why"),
    ("/plugs", "getPlugs", "Plugs and sockets", &["q", "page", "near"], "Plugs"),
    ("/shards", "getShards", "Integrations by environment and shard", &["q", "page", "different"], "Shards"),
    (
        "/fleet",
        "getFleet",
        "Argo CD instances, applications, environments, placements and moves",
        &["q", "page"],
        "Fleet",
    ),
    ("/search", "search", "Search by name", &["q"], "SearchResults"),
    ("/events", "getEvents", "Server-sent events on every change", &[], ""),
];

const OBJECT: &str = "/objects/{cluster}/{kind}/{namespace}/{name}";
const WHY: &str = "/why/{cluster}/{kind}/{namespace}/{name}";

/// Returns the console's part of the OpenAPI document.
pub fn part() -> OpenApiPart {
    let mut part = OpenApiPart::default();
    for (path, id, summary, query, schema) in ROWS {
        let mut operation = OpenApiOperation::open(id, "console", summary).response(200, schema, "Current data");
        for name in path.split(['{', '}']).skip(1).step_by(2) {
            operation = operation.inline_parameter(
                json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}}),
            );
        }
        for name in query {
            let kind =
                if *name == "page" { json!({"type": "integer", "minimum": 1}) } else { json!({"type": "string"}) };
            operation =
                operation.inline_parameter(json!({"name": name, "in": "query", "required": false, "schema": kind}));
        }
        operation = operation.problems(&[
            ProblemKind::Malformed,
            ProblemKind::Forbidden,
            ProblemKind::NotFound,
            ProblemKind::Unavailable,
        ]);
        part = part.operation(path, "get", operation);
        if !schema.is_empty() {
            part = part.schema(schema, shape(schema));
        }
    }
    let action = OpenApiOperation::new("runAction", "console", "Pauses, resumes or reconciles an operator, syncs a deployment, or moves a placement")
        .inline_parameter(json!({"name": "action", "in": "path", "required": true, "schema": {"type": "string", "enum": ["pause", "resume", "reconcile", "sync", "move"]}}))
        .body("ActionRequest")
        .response(200, "ActionResult", "Result of the action")
        .problems(&[ProblemKind::Malformed, ProblemKind::Forbidden, ProblemKind::NotFound, ProblemKind::Conflict, ProblemKind::Unavailable]);
    let text = || json!({"type": "string"});
    let action_body = json!({"type": "object", "properties": {"operator": text(), "unit": text(), "namespace": text(), "name": text(), "tenant": text(), "environment": text(), "to": text()}});
    let result = json!({"type": "object", "required": ["message", "command"], "properties": {"message": text(), "command": text()}});
    part.operation("/actions/{action}", "post", action)
        .schema("ActionRequest", action_body)
        .schema("ActionResult", result)
}

/// Returns the schema of a response with its required fields.
fn shape(schema: &str) -> Value {
    let fields: &[&str] = match schema {
        "Operators" => return json!({"type": "array", "items": {"type": "object", "required": ["name", "state"]}}),
        "State" => &["now", "startedAt", "operators", "clusters", "findings", "decisions"],
        "Operator" => &["name", "state", "runs", "writes", "waiting", "timeline"],
        "Decisions" => &["decisions", "page", "total"],
        "Decision" => &["id", "operator", "unit", "causes", "reads", "writes"],
        "Kinds" => &["clusters", "cluster", "kinds"],
        "Objects" => &["cluster", "kind", "columns", "rows", "next"],
        "Object" => &["exists", "yaml", "owners", "history", "relations", "resourceTree", "why", "events"],
        "Why" => &["object", "chain", "waitingUnits", "findings"],
        "Plugs" => &["plugs", "sockets", "groups", "total"],
        "Shards" => &["hosted", "environments", "integrations", "total"],
        "Fleet" => &["instances", "applications", "environments", "total", "placements", "moves", "operations"],
        _ => &["text", "hits"],
    };
    json!({"type": "object", "required": fields})
}
