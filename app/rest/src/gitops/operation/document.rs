//! OpenAPI description of operations.

use serde_json::json;

use crate::gitops::text::MAX_TEXT_CHARS;
use crate::openapi::{ID_PATTERN, OpenApiOperation, OpenApiPart};
use crate::problem::ProblemKind;

const TAG: &str = "operations";

/// Adds the paths and schemas.
pub fn describe(part: OpenApiPart) -> OpenApiPart {
    let id = json!({
        "name": "id", "in": "path", "required": true, "description": "TENANT.NAME of a sync, or an id of a list.",
        "schema": { "type": "string", "pattern": format!("({ID_PATTERN})|(^[-a-zA-Z0-9]{{1,48}}$)"), "minLength": 1, "maxLength": 317 },
    });
    let list = OpenApiOperation::new("listOperations", TAG, "What the service does for a tenant")
        .text("For whoever may list `operations.managed-gitops.redhat.com` in the tenant's namespace. What is over is forgotten after a while.")
        .paged()
        .response(200, "OperationPage", "A page of operations");
    let create = OpenApiOperation::new("createOperation", TAG, "Asks for a sync: creates a GitOpsDeploymentSyncRun")
        .text("Of an application that is not deployed by itself (`syncPolicyAutomatic`); one that is answers 409.")
        .body("WantedOperation")
        .response(202, "Operation", "It will be done")
        .header(202, "Location", "Where to look how it stands")
        .problems(&[ProblemKind::NotFound, ProblemKind::Conflict]);
    let read = OpenApiOperation::new("getOperation", TAG, "How an operation stands")
        .inline_parameter(id)
        .response(200, "Operation", "The operation")
        .problems(&[ProblemKind::NotFound]);
    let remove = OpenApiOperation::new("deleteOperation", TAG, "Stops a sync: deletes its GitOpsDeploymentSyncRun")
        .parameter("id")
        .response(204, "", "It is being stopped")
        .problems(&[ProblemKind::NotFound, ProblemKind::Conflict]);
    let input_schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["application"],
        "properties": {
            "application": { "type": "string", "pattern": ID_PATTERN, "maxLength": 317, "description": "The application's id." },
            "revision": { "type": "string", "maxLength": MAX_TEXT_CHARS, "description": "To which commit; empty is what the application says." },
        },
    });
    let operation = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "resourceType", "createdOn", "lastStateUpdate", "state", "humanReadableState"],
        "properties": {
            "id": { "type": "string" },
            "tenant": { "type": "string", "description": "Whose it is; absent if nobody's that is there now." },
            "resourceType": {
                "type": "string",
                "enum": ["ManagedEnvironment", "SyncOperation", "Application", "RepositoryCredentials", "GitOpsEngineInstance"],
            },
            "createdOn": { "type": "string", "format": "date-time" },
            "lastStateUpdate": { "type": "string", "format": "date-time" },
            "state": { "type": "string", "enum": ["Waiting", "In_Progress", "Completed", "Failed"] },
            "humanReadableState": { "type": "string", "description": "Why it failed." },
        },
    });
    part.operation("/operation", "get", list)
        .operation("/operation", "post", create)
        .operation("/operation/{id}", "get", read)
        .operation("/operation/{id}", "delete", remove)
        .schema("WantedOperation", input_schema)
        .schema("Operation", operation)
        .page_of("Operation")
}
