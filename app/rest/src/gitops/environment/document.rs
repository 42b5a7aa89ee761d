//! OpenAPI description of managed environments.

use serde_json::{Value, json};

use super::MAX_NAMESPACES;
use crate::gitops::text::MAX_TEXT_CHARS;
use crate::openapi::{MAX_NAME_CHARS, NAME_PATTERN, OpenApiOperation, OpenApiPart, TENANT_PATTERN};
use crate::problem::ProblemKind;

const TAG: &str = "managed environments";

/// Adds the paths and schemas.
pub fn describe(part: OpenApiPart) -> OpenApiPart {
    let list = OpenApiOperation::new("listManagedEnvironments", TAG, "Managed environments of a tenant, or of all")
        .paged()
        .response(200, "ManagedEnvironmentPage", "A page of environments");
    let create = OpenApiOperation::new(
        "createManagedEnvironment",
        TAG,
        "Creates an environment, and a Secret for its kubeconfig",
    )
    .body("WantedManagedEnvironment")
    .response(201, "ManagedEnvironment", "The environment")
    .header(201, "Location", "Where it is")
    .header(201, "ETag", "Its version")
    .problems(&[ProblemKind::NotFound, ProblemKind::Conflict]);
    let read = OpenApiOperation::new("getManagedEnvironment", TAG, "An environment")
        .text("Its kubeconfig is never answered.")
        .parameter("id")
        .response(200, "ManagedEnvironment", "The environment")
        .header(200, "ETag", "Its version")
        .problems(&[ProblemKind::NotFound]);
    let replace = OpenApiOperation::new("replaceManagedEnvironment", TAG, "Changes an environment or its credential")
        .parameter("id")
        .parameter("if-match")
        .body("WantedManagedEnvironment")
        .response(200, "ManagedEnvironment", "The environment")
        .header(200, "ETag", "Its version")
        .problems(&[ProblemKind::NotFound, ProblemKind::Conflict, ProblemKind::PreconditionFailed]);
    let remove =
        OpenApiOperation::new("deleteManagedEnvironment", TAG, "Deletes an environment and the Secret made for it")
            .parameter("id")
            .parameter("if-match")
            .response(204, "", "Its deletion has begun")
            .problems(&[
                ProblemKind::Malformed,
                ProblemKind::NotFound,
                ProblemKind::Conflict,
                ProblemKind::PreconditionFailed,
            ]);
    part.operation("/managedenvironment", "get", list)
        .operation("/managedenvironment", "post", create)
        .operation("/managedenvironment/{id}", "get", read)
        .operation("/managedenvironment/{id}", "put", replace)
        .operation("/managedenvironment/{id}", "delete", remove)
        .schema("WantedManagedEnvironment", input_schema())
        .schema("ManagedEnvironment", environment())
        .page_of("ManagedEnvironment")
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["tenant", "name", "url"],
        "oneOf": [{ "required": ["config"] }, { "required": ["credentialsSecret"] }],
        "properties": {
            "tenant": { "type": "string", "pattern": TENANT_PATTERN },
            "name": { "type": "string", "pattern": NAME_PATTERN, "maxLength": 242 },
            "url": {
                "type": "string", "pattern": "^https://[^?&]+$", "maxLength": MAX_TEXT_CHARS,
                "description": "Its API server, as the kubeconfig names it.",
            },
            "config": { "type": "string", "writeOnly": true, "description": "A kubeconfig, as text; kept in a Secret, never answered." },
            "configContext": { "type": "string", "description": "The context of it that is meant; without it any for the URL." },
            "credentialsSecret": {
                "type": "string", "pattern": NAME_PATTERN, "maxLength": MAX_NAME_CHARS,
                "description": "In place of config: a Secret of the tenant, of type managed-gitops.redhat.com/managed-environment, with a key `kubeconfig`.",
            },
            "allowInsecureSkipTLSVerify": { "type": "boolean", "default": false },
            "createNewServiceAccount": { "type": "boolean", "default": false },
            "namespaces": { "type": "array", "maxItems": MAX_NAMESPACES, "items": { "type": "string", "pattern": TENANT_PATTERN } },
            "clusterResources": { "type": "boolean", "default": false },
        },
    })
}

fn environment() -> Value {
    let (string, boolean) = (json!({ "type": "string" }), json!({ "type": "boolean" }));
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": [
            "id", "tenant", "name", "url", "credentialsSecret", "allowInsecureSkipTLSVerify", "createNewServiceAccount",
            "namespaces", "clusterResources", "connectionStatus", "connectionReason", "connectionMessage", "createdOn", "deleting",
        ],
        "properties": {
            "id": string, "tenant": string, "name": string, "url": string, "credentialsSecret": string,
            "configContext": { "type": "string", "description": "The context it is reached by, once it was; not in lists." },
            "allowInsecureSkipTLSVerify": boolean, "createNewServiceAccount": boolean,
            "namespaces": { "type": "array", "items": string },
            "clusterResources": boolean,
            "connectionStatus": { "type": "string", "enum": ["Successful", "Failed", "Unknown"] },
            "connectionReason": string, "connectionMessage": string,
            "createdOn": { "type": "string", "format": "date-time" },
            "deleting": boolean,
        },
    })
}
