//! OpenAPI description of applications.

use serde_json::{Value, json};
use switchboard_http::openapi::{MAX_NAME_CHARS, NAME_PATTERN, OpenApiOperation, OpenApiPart, TENANT_PATTERN};
use switchboard_http::problem::ProblemKind;

use crate::deployment::kind::{BAD_SYNC_OPTION, NAMESPACE_WITHOUT_ENVIRONMENT};
use crate::rest::text::MAX_TEXT_CHARS;

const TAG: &str = "applications";

/// Adds the paths and schemas.
pub fn describe(part: OpenApiPart) -> OpenApiPart {
    let list = OpenApiOperation::new("listApplications", TAG, "List applications of a tenant, or of all tenants")
        .paged()
        .response(200, "ApplicationEntryPage", "Page of applications");
    let create = OpenApiOperation::new("createApplication", TAG, "Create an application: its GitOpsDeployment")
        .body("ApplicationInput")
        .response(201, "Application", "The application")
        .header(201, "Location", "Path of the application")
        .header(201, "ETag", "Version of the application")
        .problems(&[ProblemKind::NotFound, ProblemKind::Conflict]);
    let read = OpenApiOperation::new("getApplication", TAG, "An application")
        .parameter("id")
        .response(200, "Application", "The application")
        .header(200, "ETag", "Version of the application")
        .problems(&[ProblemKind::NotFound]);
    let replace = OpenApiOperation::new("replaceApplication", TAG, "Change the application")
        .parameter("id")
        .parameter("if-match")
        .body("ApplicationInput")
        .response(200, "Application", "The application")
        .header(200, "ETag", "Version of the application")
        .problems(&[ProblemKind::NotFound, ProblemKind::Conflict, ProblemKind::PreconditionFailed]);
    let remove = OpenApiOperation::new("deleteApplication", TAG, "Delete an application and its deployed resources")
        .parameter("id")
        .parameter("if-match")
        .response(204, "", "The deletion has started")
        .problems(&[
            ProblemKind::Malformed,
            ProblemKind::NotFound,
            ProblemKind::Conflict,
            ProblemKind::PreconditionFailed,
        ]);
    part.operation("/application", "get", list)
        .operation("/application", "post", create)
        .operation("/application/{id}", "get", read)
        .operation("/application/{id}", "put", replace)
        .operation("/application/{id}", "delete", remove)
        .schema("ApplicationInput", input_schema())
        .schema("Application", application())
        .schema("ApplicationEntry", entry())
        .schema("Condition", condition())
        .page_of("ApplicationEntry")
}

fn text(about: &str) -> Value {
    json!({ "type": "string", "maxLength": MAX_TEXT_CHARS, "description": about })
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["tenant", "name", "gitRepositoryURL", "gitPath", "syncPolicyAutomatic"],
        "description": format!("Rules beyond this schema: {NAMESPACE_WITHOUT_ENVIRONMENT}; with an environment a namespace is required."),
        "properties": {
            "tenant": { "type": "string", "pattern": TENANT_PATTERN, "description": "The namespace of the GitOpsDeployment." },
            "name": { "type": "string", "pattern": NAME_PATTERN, "maxLength": MAX_NAME_CHARS },
            "gitRepositoryURL": { "type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS, "description": "URL of the git repository." },
            "gitRevision": text("Branch, tag or commit; empty for the repository's default branch."),
            "gitPath": { "type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS, "description": "Directory in the repository; not `/`." },
            "destinationCluster": { "type": "string", "maxLength": MAX_NAME_CHARS, "description": "Name of a managed environment of the tenant; empty for the tenant's own namespace." },
            "namespace": { "type": "string", "maxLength": 63, "description": "Namespace in the destination cluster." },
            "syncPolicyAutomatic": { "type": "boolean", "description": "Whether Argo CD syncs on every change of repository or target; otherwise an operation is needed." },
            "syncOptions": {
                "type": "array", "maxItems": 32, "items": { "type": "string", "enum": ["CreateNamespace=true", "CreateNamespace=false"] },
                "description": format!("Other options are rejected: {BAD_SYNC_OPTION}."),
            },
            "waitForRemoval": { "type": "boolean", "description": "Whether a deletion waits until all deployed resources are deleted." },
        },
    })
}

fn application() -> Value {
    let string = json!({ "type": "string" });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": [
            "id", "tenant", "name", "gitRepositoryURL", "gitRevision", "gitPath", "destinationCluster", "namespace",
            "syncPolicyAutomatic", "syncOptions", "waitForRemoval", "health", "healthMessage", "syncStatus", "revision",
            "conditions", "createdOn", "deleting", "engineInstance",
        ],
        "properties": {
            "id": string, "tenant": string, "name": string,
            "gitRepositoryURL": string, "gitRevision": string, "gitPath": string,
            "destinationCluster": string, "namespace": string,
            "syncPolicyAutomatic": { "type": "boolean" },
            "syncOptions": { "type": "array", "items": string },
            "waitForRemoval": { "type": "boolean" },
            "health": { "type": "string", "description": "Empty until Argo CD has compared the application." },
            "healthMessage": string,
            "syncStatus": { "type": "string", "description": "Empty until Argo CD has compared the application." },
            "revision": { "type": "string", "description": "Commit that Argo CD compared." },
            "conditions": { "type": "array", "items": { "$ref": "#/components/schemas/Condition" } },
            "createdOn": { "type": "string", "format": "date-time" },
            "deleting": { "type": "boolean" },
            "engineInstance": { "type": ["string", "null"], "description": "Argo CD instance of the application; null until it is placed." },
        },
    })
}

fn entry() -> Value {
    let string = json!({ "type": "string" });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "tenant", "name", "source", "destination", "health", "syncStatus"],
        "properties": {
            "id": string, "tenant": string, "name": string,
            "source": {
                "type": "object", "additionalProperties": false, "required": ["repoURL", "path"],
                "properties": { "repoURL": string, "path": string, "targetRevision": string },
            },
            "destination": {
                "type": "object", "additionalProperties": false,
                "properties": { "environment": string, "namespace": string },
            },
            "health": string, "syncStatus": string,
        },
    })
}

/// Schema of a resource's condition, of either kind.
fn condition() -> Value {
    let string = json!({ "type": "string" });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["type", "status", "reason", "message"],
        "properties": {
            "type": string, "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
            "reason": string, "message": string,
            "lastProbeTime": { "type": "string", "format": "date-time" },
            "lastTransitionTime": { "type": "string", "format": "date-time" },
        },
    })
}
