//! OpenAPI description of managed environments.

use serde_json::{Value, json};
use switchboard_http::openapi::{MAX_NAME_CHARS, NAME_PATTERN, OpenApiOperation, OpenApiPart, TENANT_PATTERN};
use switchboard_http::problem::ProblemKind;

use super::MAX_NAMESPACES;
use crate::rest::text::MAX_TEXT_CHARS;

const TAG: &str = "managed environments";

/// Adds the paths and schemas.
pub fn describe(part: OpenApiPart) -> OpenApiPart {
    let list = OpenApiOperation::new(
        "listManagedEnvironments",
        TAG,
        "List managed environments of a tenant, or of all tenants",
    )
    .paged()
    .response(200, "ManagedEnvironmentPage", "Page of environments");
    let create = OpenApiOperation::new(
        "createManagedEnvironment",
        TAG,
        "Create an environment, and a Secret for its kubeconfig",
    )
    .body("ManagedEnvironmentInput")
    .response(201, "ManagedEnvironment", "The environment")
    .header(201, "Location", "Path of the environment")
    .header(201, "ETag", "Version of the environment")
    .problems(&[ProblemKind::NotFound, ProblemKind::Conflict]);
    let read = OpenApiOperation::new("getManagedEnvironment", TAG, "An environment")
        .text("The response never contains the kubeconfig.")
        .parameter("id")
        .response(200, "ManagedEnvironment", "The environment")
        .header(200, "ETag", "Version of the environment")
        .problems(&[ProblemKind::NotFound]);
    let replace = OpenApiOperation::new("replaceManagedEnvironment", TAG, "Change an environment or its credential")
        .parameter("id")
        .parameter("if-match")
        .body("ManagedEnvironmentInput")
        .response(200, "ManagedEnvironment", "The environment")
        .header(200, "ETag", "Version of the environment")
        .problems(&[ProblemKind::NotFound, ProblemKind::Conflict, ProblemKind::PreconditionFailed]);
    let remove =
        OpenApiOperation::new("deleteManagedEnvironment", TAG, "Delete an environment and the Secret created for it")
            .parameter("id")
            .parameter("if-match")
            .response(204, "", "The deletion has started")
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
        .schema("ManagedEnvironmentInput", input_schema())
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
                "description": "URL of the API server, as in the kubeconfig.",
            },
            "config": { "type": "string", "writeOnly": true, "description": "Kubeconfig, as text; stored in a Secret and never returned." },
            "configContext": { "type": "string", "description": "Context of the kubeconfig to use; by default any context for the URL." },
            "credentialsSecret": {
                "type": "string", "pattern": NAME_PATTERN, "maxLength": MAX_NAME_CHARS,
                "description": "Alternative to config: a Secret of the tenant, of type managed-gitops.redhat.com/managed-environment, with the key `kubeconfig`.",
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
            "configContext": { "type": "string", "description": "Context of the kubeconfig, once the cluster was reached; not in lists." },
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
