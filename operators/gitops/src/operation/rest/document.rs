//! OpenAPI description of operations.

use serde_json::json;
use switchboard_http::openapi::{ID_PATTERN, OpenApiOperation, OpenApiPart};
use switchboard_http::problem::ProblemKind;

use crate::rest::text::MAX_TEXT_CHARS;

const TAG: &str = "operations";

/// Adds the paths and schemas.
pub fn describe(part: OpenApiPart) -> OpenApiPart {
    let id = json!({
        "name": "id", "in": "path", "required": true, "description": "TENANT.NAME of a sync, or the id of a list entry.",
        "schema": { "type": "string", "pattern": format!("({ID_PATTERN})|(^[-a-zA-Z0-9]{{1,48}}$)"), "minLength": 1, "maxLength": 317 },
    });
    let list = OpenApiOperation::new("listOperations", TAG, "List operations of a tenant, or of all tenants")
        .text("Requires permission to list `operations.managed-gitops.redhat.com` in the tenant's namespace. Completed operations are deleted after a while.")
        .paged()
        .response(200, "OperationPage", "Page of operations");
    let create = OpenApiOperation::new("createOperation", TAG, "Start a sync: create a GitOpsDeploymentSyncRun")
        .text("Only for an application without automatic sync (`syncPolicyAutomatic`); otherwise the response is 409.")
        .body("OperationInput")
        .response(202, "Operation", "The sync was accepted")
        .header(202, "Location", "Path of the operation")
        .problems(&[ProblemKind::NotFound, ProblemKind::Conflict]);
    let read = OpenApiOperation::new("getOperation", TAG, "Read an operation")
        .inline_parameter(id)
        .response(200, "Operation", "The operation")
        .problems(&[ProblemKind::NotFound]);
    let remove = OpenApiOperation::new("deleteOperation", TAG, "Stop a sync: delete its GitOpsDeploymentSyncRun")
        .parameter("id")
        .response(204, "", "The sync is stopping")
        .problems(&[ProblemKind::NotFound, ProblemKind::Conflict]);
    let input_schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["application"],
        "properties": {
            "application": { "type": "string", "pattern": ID_PATTERN, "maxLength": 317, "description": "Id of the application." },
            "revision": { "type": "string", "maxLength": MAX_TEXT_CHARS, "description": "Commit to sync to; empty for the revision of the application." },
        },
    });
    let operation = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "resourceType", "createdOn", "lastStateUpdate", "state", "humanReadableState"],
        "properties": {
            "id": { "type": "string" },
            "tenant": { "type": "string", "description": "Tenant of the operation; absent if the tenant no longer exists." },
            "resourceType": {
                "type": "string",
                "enum": ["ManagedEnvironment", "SyncOperation", "Application", "RepositoryCredentials", "GitOpsEngineInstance"],
            },
            "createdOn": { "type": "string", "format": "date-time" },
            "lastStateUpdate": { "type": "string", "format": "date-time" },
            "state": { "type": "string", "enum": ["Waiting", "In_Progress", "Completed", "Failed"] },
            "humanReadableState": { "type": "string", "description": "Reason of the failure." },
        },
    });
    part.operation("/operation", "get", list)
        .operation("/operation", "post", create)
        .operation("/operation/{id}", "get", read)
        .operation("/operation/{id}", "delete", remove)
        .schema("OperationInput", input_schema)
        .schema("Operation", operation)
        .page_of("Operation")
}
