//! What the API's document says of the console's part.

use serde_json::{Value, json};
use switchboard_rest::openapi::{Operation, Part};
use switchboard_rest::problem::Kind;

/// Path, name, what it answers, what may stand behind the `?`, and the schema of the answer.
type Row = (&'static str, &'static str, &'static str, &'static [&'static str], &'static str);

const ROWS: [Row; 14] = [
    ("/state", "getState", "How everything stands", &[], "State"),
    ("/operators", "listOperators", "Every operator, worst first", &[], "Operators"),
    ("/operators/{name}", "getOperator", "One operator with its decisions", &["unit", "page"], "Operator"),
    ("/decisions", "listDecisions", "What was decided, newest first", &["operator", "unit", "page"], "Decisions"),
    ("/decisions/{id}", "getDecision", "One decision with what it read and wrote", &[], "Decision"),
    ("/kinds", "listKinds", "What a cluster serves", &["cluster"], "Kinds"),
    (
        "/objects",
        "listObjects",
        "Objects of a kind, as kubectl lists them",
        &["cluster", "kind", "namespace", "from"],
        "Objects",
    ),
    (OBJECT, "getObject", "One object: itself, its owners, history, relations, and why it is so", &[], "Object"),
    (WHY, "getWhy", "Why an object is as it is", &[], "Why"),
    ("/plugs", "getPlugs", "Plugs and sockets", &["q", "page", "near"], "Plugs"),
    ("/shards", "getShards", "Integrations by environment and shard", &["q", "page", "different"], "Shards"),
    (
        "/fleet",
        "getFleet",
        "Argo CD instances, applications, environments, units and their moves",
        &["q", "page"],
        "Fleet",
    ),
    ("/search", "search", "What has such a name", &["q"], "Found"),
    ("/events", "getEvents", "Server-sent events, whenever something changed", &[], ""),
];

const OBJECT: &str = "/objects/{cluster}/{kind}/{namespace}/{name}";
const WHY: &str = "/why/{cluster}/{kind}/{namespace}/{name}";

/// The console's part of the document.
pub fn part() -> Part {
    let mut part = Part::default();
    for (path, id, summary, query, schema) in ROWS {
        let mut operation = Operation::open(id, "console", summary).answers(200, schema, "As it is now");
        for name in path.split(['{', '}']).skip(1).step_by(2) {
            operation = operation.own_parameter(
                json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}}),
            );
        }
        for name in query {
            let kind =
                if *name == "page" { json!({"type": "integer", "minimum": 1}) } else { json!({"type": "string"}) };
            operation =
                operation.own_parameter(json!({"name": name, "in": "query", "required": false, "schema": kind}));
        }
        operation = operation.problems(&[Kind::Malformed, Kind::Forbidden, Kind::NotFound, Kind::Unavailable]);
        part = part.operation(path, "get", operation);
        if !schema.is_empty() {
            part = part.schema(schema, shape(schema));
        }
    }
    let act = Operation::new("act", "console", "Pauses, resumes or wakes an operator, syncs a deployment, or moves a unit")
        .own_parameter(json!({"name": "word", "in": "path", "required": true, "schema": {"type": "string", "enum": ["pause", "resume", "wake", "sync", "move"]}}))
        .body("Act")
        .answers(200, "Done", "It was done")
        .problems(&[Kind::Malformed, Kind::Forbidden, Kind::NotFound, Kind::Conflict, Kind::Unavailable]);
    let text = || json!({"type": "string"});
    let act_body = json!({"type": "object", "properties": {"operator": text(), "unit": text(), "namespace": text(), "name": text(), "tenant": text(), "environment": text(), "to": text()}});
    let done =
        json!({"type": "object", "required": ["done", "command"], "properties": {"done": text(), "command": text()}});
    part.operation("/actions/{word}", "post", act).schema("Act", act_body).schema("Done", done)
}

/// What is always there; more may come.
fn shape(schema: &str) -> Value {
    let fields: &[&str] = match schema {
        "Operators" => return json!({"type": "array", "items": {"type": "object", "required": ["name", "state"]}}),
        "State" => &["now", "began", "operators", "clusters", "findings", "decisions"],
        "Operator" => &["name", "state", "runs", "writes", "waiting", "timeline"],
        "Decisions" => &["briefs", "page", "total"],
        "Decision" => &["id", "operator", "unit", "causes", "reads", "writes"],
        "Kinds" => &["clusters", "cluster", "kinds"],
        "Objects" => &["cluster", "kind", "columns", "rows", "next"],
        "Object" => &["there", "yaml", "owners", "history", "relations", "why", "events"],
        "Why" => &["object", "chain", "awaited", "findings"],
        "Plugs" => &["plugs", "sockets", "groups", "total"],
        "Shards" => &["hosted", "environments", "integrations", "total"],
        "Fleet" => &["instances", "applications", "environments", "total", "units", "moves", "operations"],
        _ => &["text", "hits"],
    };
    json!({"type": "object", "required": fields})
}
