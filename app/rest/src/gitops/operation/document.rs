//! What the document says of operations.

use serde_json::json;

use crate::gitops::text::MAX_TEXT_CHARS;
use crate::openapi::{ID_PATTERN, Operation, Part};
use crate::problem::Kind;

const TAG: &str = "operations";

/// Paths and schemas.
pub fn describe(part: Part) -> Part {
    let id = json!({
        "name": "id", "in": "path", "required": true, "description": "TENANT.NAME of a sync, or an id of a list.",
        "schema": { "type": "string", "pattern": format!("({ID_PATTERN})|(^[-a-zA-Z0-9]{{1,48}}$)"), "minLength": 1, "maxLength": 317 },
    });
    let list = Operation::new("listOperations", TAG, "What the service does for a tenant")
        .text("For whoever may list `operations.managed-gitops.redhat.com` in the tenant's namespace. What is over is forgotten after a while.")
        .paged()
        .answers(200, "OperationPage", "A page of operations");
    let create = Operation::new("createOperation", TAG, "Asks for a sync: creates a GitOpsDeploymentSyncRun")
        .text("Of an application that is not deployed by itself (`syncPolicyAutomatic`); one that is answers 409.")
        .body("WantedOperation")
        .answers(202, "Operation", "It will be done")
        .header(202, "Location", "Where to look how it stands")
        .problems(&[Kind::NotFound, Kind::Conflict]);
    let read = Operation::new("getOperation", TAG, "How an operation stands")
        .own_parameter(id)
        .answers(200, "Operation", "The operation")
        .problems(&[Kind::NotFound]);
    let remove = Operation::new("deleteOperation", TAG, "Stops a sync: deletes its GitOpsDeploymentSyncRun")
        .parameter("id")
        .answers(204, "", "It is being stopped")
        .problems(&[Kind::NotFound, Kind::Conflict]);
    let wanted = json!({
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
        .schema("WantedOperation", wanted)
        .schema("Operation", operation)
        .page_of("Operation")
}
