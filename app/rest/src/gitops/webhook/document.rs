//! OpenAPI description of webhook events.

use serde_json::{Value, json};

use crate::openapi::{OpenApiOperation, OpenApiPart, TENANT_PATTERN};
use crate::problem::ProblemKind;

/// Adds the path and schemas.
pub fn describe(part: OpenApiPart) -> OpenApiPart {
    let header = |name: &str, text: &str| json!({ "name": name, "in": "header", "required": false, "description": text, "schema": { "type": "string" } });
    let tenant = json!({
        "name": "tenant", "in": "query", "required": false,
        "description": "Whose applications are refreshed, and whose secret the event is signed with: the key `secret` of its Secret `gitops-webhook` of type `managed-gitops.redhat.com/webhook`. Without it the service's own secret, and all applications.",
        "schema": { "type": "string", "pattern": TENANT_PATTERN },
    });
    let receive = OpenApiOperation::open("receiveWebhookEvent", "webhook events", "A push: applications that deploy it are refreshed")
        .text("GitHub's, Gitea's and GitLab's events are understood as they come. Believed by their signature alone: no token is shown.")
        .inline_parameter(tenant)
        .inline_parameter(header("X-GitHub-Event", "What happened; all but `push` and `create` is left alone."))
        .inline_parameter(header("X-Gitlab-Event", "The same of GitLab: `Push Hook`, `Tag Push Hook`."))
        .inline_parameter(header("X-Hub-Signature-256", "`sha256=` and the HMAC-SHA256 of the body, in hexadecimal."))
        .inline_parameter(header("X-Switchboard-Signature-256", "The same, for senders of one's own."))
        .inline_parameter(header("X-Gitea-Signature", "Gitea's: the same without `sha256=`; Forgejo's is `X-Forgejo-Signature`."))
        .inline_parameter(header("X-Gitlab-Token", "GitLab shows the secret itself."))
        .inline_parameter(header("webhook-signature", "GitLab's for signing tokens, `v1,BASE64` of `webhook-id`, `webhook-timestamp` and the body."))
        .body("WebhookEvent")
        .response(202, "WebhookOutcome", "It was understood")
        .problems(&[ProblemKind::Forbidden, ProblemKind::TooMany, ProblemKind::Unavailable]);
    part.operation("/webhookevent", "post", receive).schema("WebhookEvent", event()).schema("WebhookOutcome", outcome())
}

fn event() -> Value {
    json!({
        "type": "object",
        "description": "An event of a git server, or the generic form.",
        "properties": {
            "repository": { "type": ["object", "string"], "description": "The generic form names it by its URL." },
            "ref": { "type": "string", "description": "`refs/heads/BRANCH` or `refs/tags/TAG`." },
            "defaultBranch": { "type": "string", "description": "The branch that is meant by applications that name none." },
        },
    })
}

fn outcome() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["matched", "refreshed"],
        "properties": {
            "matched": { "type": "integer", "minimum": 0, "description": "Applications that deploy what was pushed." },
            "refreshed": { "type": "integer", "minimum": 0, "description": "Those of them that are on an Argo CD." },
        },
    })
}
