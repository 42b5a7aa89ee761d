//! Webhook events: a git server sends a push event, and the service immediately refreshes the applications that deploy
//! the pushed revision.
//!
//! Webhook requests have no Kubernetes token; a signature authenticates the event. The events of a tenant are signed
//! with the secret in the tenant's Secret `gitops-webhook` and refresh only its own applications; events for all
//! tenants are signed with the service's secret.

mod document;
mod push;
mod signature;

use std::net::SocketAddr;

use axum::Json;
use axum::extract::{ConnectInfo, Request, State};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_http::body::{QueryParams, parse, read_body, require_json};
use switchboard_http::cluster::NamedResource;
use switchboard_http::page::MAX_LIMIT;
use switchboard_http::problem::{ProblemDetails, ProblemKind};
use switchboard_sql::SecretString;

pub use document::describe;
pub use push::Push;

use super::{APPLICATIONS, GitOpsApi, SECRETS, meta, rows, text};
use crate::deployment::application::{REFRESH, row_of};
use crate::kinds::GitOpsDeployment;
use crate::resources;

/// Maximum length of an event: git servers list every commit of a push.
pub const MAX_EVENT_BYTES: usize = 5 << 20;

/// Name of the Secret that holds a tenant's webhook secret.
pub const SECRET_NAME: &str = "gitops-webhook";

/// Required type of the Secret, so that no other Secret can be used as a webhook secret.
pub const SECRET_TYPE: &str = "managed-gitops.redhat.com/webhook";

/// Key of the secret's data.
const SECRET_KEY: &str = "secret";

/// Applications of Argo CD.
const ARGO_APPLICATIONS: NamedResource =
    NamedResource { resource: &resources::APPLICATIONS, display_name: "Application" };

/// Query parameters of an event.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookQuery {
    tenant: Option<String>,
}

/// Response body of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WebhookOutcome {
    /// Number of applications that deploy the pushed revision.
    matched: usize,
    /// Number of applications that are refreshed now; the others are not yet on an Argo CD instance.
    refreshed: usize,
}

/// `POST /webhookevent`
pub async fn receive(
    State(service): State<GitOpsApi>,
    QueryParams(asked): QueryParams<WebhookQuery>,
    request: Request,
) -> Result<(StatusCode, Json<WebhookOutcome>), ProblemDetails> {
    let tenant = text::tenant_filter(asked.tenant.as_deref())?.to_string();
    require_json(request.headers())?;
    let from = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip().to_string());
    service.guard.count(&format!("events from {}", from.as_deref().unwrap_or("everywhere")))?;
    let headers = request.headers().clone();
    let body = read_body(request, MAX_EVENT_BYTES).await?;
    verify_signature(&service, &tenant, &headers, &body).await?;
    service.guard.count(&format!("events for {tenant}"))?;
    let event: Value = parse(&body)?;
    let Some(push) = Push::read(&headers, &event)? else {
        return Ok((StatusCode::ACCEPTED, Json(WebhookOutcome::default())));
    };
    let outcome = refresh(&service, &tenant, &push).await?;
    tracing::info!(tenant, matched = outcome.matched, refreshed = outcome.refreshed, "received a push event");
    Ok((StatusCode::ACCEPTED, Json(outcome)))
}

/// Returns an error unless the event is signed with the right secret. A tenant without a secret causes the same error,
/// so that an attacker cannot probe for tenants.
async fn verify_signature(
    service: &GitOpsApi,
    tenant: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(), ProblemDetails> {
    let secret =
        if tenant.is_empty() { service.webhook_secret.clone() } else { tenant_secret(service, tenant).await? };
    if secret.is_some_and(|secret| signature::is_valid(&secret, headers, body)) {
        return Ok(());
    }
    let hint = format!(
        "sign events with the secret in the tenant's Secret `{SECRET_NAME}`, and give the tenant as ?tenant=NAME"
    );
    Err(ProblemDetails::new(ProblemKind::Forbidden, "the event has no valid signature").hint(hint))
}

async fn tenant_secret(service: &GitOpsApi, tenant: &str) -> Result<Option<SecretString>, ProblemDetails> {
    let found = service.tenants.find(&SECRETS, tenant, SECRET_NAME).await?;
    let found = found.filter(|object| object["type"] == SECRET_TYPE);
    let text = found.as_ref().and_then(|object| object["data"][SECRET_KEY].as_str());
    let bytes = text.and_then(|text| STANDARD.decode(text).ok()).and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(bytes.filter(|secret| !secret.is_empty()).map(SecretString::from))
}

/// Requests a refresh of the applications that deploy the pushed revision.
async fn refresh(service: &GitOpsApi, tenant: &str, push: &Push) -> Result<WebhookOutcome, ProblemDetails> {
    let (mut outcome, mut from) = (WebhookOutcome::default(), None);
    loop {
        let page = service.tenants.list(&APPLICATIONS, tenant, MAX_LIMIT, from.as_deref()).await?;
        for object in &page.items {
            let Ok(deployment) = serde_json::from_value::<GitOpsDeployment>(object.clone()) else { continue };
            if push.matches(&deployment.spec.source) {
                outcome.matched += 1;
                outcome.refreshed += usize::from(refresh_one(service, meta(object, "uid")).await?);
            }
        }
        from = page.next;
        if from.is_none() {
            return Ok(outcome);
        }
    }
}

/// Requests a refresh of one Application and returns whether it exists.
async fn refresh_one(service: &GitOpsApi, uid: &str) -> Result<bool, ProblemDetails> {
    let Some((row, instance)) = rows::application(&service.ledger, uid).await? else { return Ok(false) };
    let Some(live) = service.engines.find(&ARGO_APPLICATIONS, &instance.namespace, &row.name).await? else {
        return Ok(false);
    };
    if row_of(&live) != Some(row.id.as_str()) {
        return Ok(false);
    }
    let patch = json!({ "metadata": { "annotations": { REFRESH: "normal" } } });
    let merged = service.engines.merge(&ARGO_APPLICATIONS, &instance.namespace, &row.name, &patch).await;
    match merged {
        Ok(_) => Ok(true),
        Err(problem) if problem.kind() == ProblemKind::NotFound => Ok(false),
        Err(problem) => Err(problem),
    }
}
