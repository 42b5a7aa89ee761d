//! OpenAPI description of webhook events.

use serde_json::{Value, json};
use switchboard_http::openapi::{OpenApiOperation, OpenApiPart, TENANT_PATTERN};
use switchboard_http::problem::ProblemKind;

/// Adds the path and schemas.
pub fn describe(part: OpenApiPart) -> OpenApiPart {
    let header = |name: &str, text: &str| json!({ "name": name, "in": "header", "required": false, "description": text, "schema": { "type": "string" } });
    let tenant = json!({
        "name": "tenant", "in": "query", "required": false,
        "description": "Tenant whose applications are refreshed. The event must be signed with the key `secret` of the tenant's Secret `gitops-webhook` of type `managed-gitops.redhat.com/webhook`. Without a tenant, the event must be signed with the service's secret and refreshes all applications.",
        "schema": { "type": "string", "pattern": TENANT_PATTERN },
    });
    let receive = OpenApiOperation::open("receiveWebhookEvent", "webhook events", "Report a push and refresh the applications that deploy it")
        .text("Accepts events of GitHub, Gitea and GitLab unchanged. The signature authenticates the event; no token is needed.")
        .inline_parameter(tenant)
        .inline_parameter(header("X-GitHub-Event", "Event type; events other than `push` and `create` are ignored."))
        .inline_parameter(header("X-Gitlab-Event", "Event type of GitLab: `Push Hook` or `Tag Push Hook`."))
        .inline_parameter(header("X-Hub-Signature-256", "`sha256=` and the HMAC-SHA256 of the body, in hexadecimal."))
        .inline_parameter(header("X-Switchboard-Signature-256", "Signature of generic senders, in the same format."))
        .inline_parameter(header("X-Gitea-Signature", "Signature of Gitea, without `sha256=`; Forgejo sends `X-Forgejo-Signature`."))
        .inline_parameter(header("X-Gitlab-Token", "The secret itself, as GitLab sends it."))
        .inline_parameter(header("webhook-signature", "Signature of GitLab signing tokens, `v1,BASE64` of `webhook-id`, `webhook-timestamp` and the body."))
        .body("WebhookEvent")
        .response(202, "WebhookOutcome", "The event was accepted")
        .problems(&[ProblemKind::Forbidden, ProblemKind::TooMany, ProblemKind::Unavailable]);
    part.operation("/webhookevent", "post", receive).schema("WebhookEvent", event()).schema("WebhookOutcome", outcome())
}

fn event() -> Value {
    json!({
        "type": "object",
        "description": "Event of a git server, or the generic format.",
        "properties": {
            "repository": { "type": ["object", "string"], "description": "URL of the repository in the generic format." },
            "ref": { "type": "string", "description": "`refs/heads/BRANCH` or `refs/tags/TAG`." },
            "defaultBranch": { "type": "string", "description": "Default branch, for applications without a revision." },
        },
    })
}

fn outcome() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["matched", "refreshed"],
        "properties": {
            "matched": { "type": "integer", "minimum": 0, "description": "Number of applications that deploy the pushed revision." },
            "refreshed": { "type": "integer", "minimum": 0, "description": "Number of these applications that are on an Argo CD instance." },
        },
    })
}
