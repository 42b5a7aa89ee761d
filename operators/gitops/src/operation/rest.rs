//! Operations: the actions of the service for a tenant. Creating an operation creates a GitOpsDeploymentSyncRun.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::LOCATION;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_sql::{DbTimestamp, Filter, RowKey};

use crate::ids::{OperationResource, OperationState, UserId};
use crate::kinds::condition::ERROR_OCCURRED;
use crate::kinds::{API_VERSION, ConditionStatus, SyncRun};
use crate::rows::{ClusterUser, Operation as Row};
use crate::sync_run::kind::KIND;

mod document;

pub use document::describe;

use crate::rest::{
    APPLICATIONS, GROUP, GitOpsApi, OPERATIONS, SYNC_RUNS, database_problem, meta, rows, text, unreadable_object,
};
use switchboard_http::auth::{Caller, ResourceAttributes};
use switchboard_http::body::{JsonBody, PathName, QueryParams, ResourceId};
use switchboard_http::page::{PageQuery, ResultPage};
use switchboard_http::problem::{ProblemDetails, ProblemKind};

/// Request body of a sync.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationInput {
    /// ID of the application.
    pub application: String,
    /// Commit to sync to; empty for the revision of the application.
    #[serde(default)]
    pub revision: String,
}

/// Response body of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationOutput {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    resource_type: &'static str,
    created_on: String,
    last_state_update: String,
    state: &'static str,
    human_readable_state: String,
}

fn of_row(row: &Row, tenant: Option<&str>) -> OperationOutput {
    OperationOutput {
        id: row.id.to_string(),
        tenant: tenant.map(str::to_string),
        resource_type: row.resource.as_str(),
        created_on: time(row.created_on),
        last_state_update: time(row.last_state_update),
        state: row.state.as_str(),
        human_readable_state: row.human_readable_state.clone().unwrap_or_default(),
    }
}

fn time(moment: DbTimestamp) -> String {
    Timestamp::from_microsecond(moment.unix_us).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

/// Converts a sync run to an operation: without a condition it is in progress, an error means failure, no error means
/// success.
fn of_run(object: &Value) -> Result<OperationOutput, ProblemDetails> {
    let run: SyncRun = serde_json::from_value(object.clone()).map_err(|_| unreadable_object(&SYNC_RUNS))?;
    let condition = run.status.conditions.iter().find(|condition| condition.r#type == ERROR_OCCURRED);
    let state = match condition.map(|condition| condition.status) {
        Some(ConditionStatus::True) => OperationState::Failed,
        Some(ConditionStatus::False) => OperationState::Completed,
        _ => OperationState::Waiting,
    };
    let created_on = meta(object, "creationTimestamp").to_string();
    Ok(OperationOutput {
        id: ResourceId::of(&run.metadata.namespace, &run.metadata.name),
        resource_type: OperationResource::SyncOperation.as_str(),
        last_state_update: condition.and_then(|c| c.last_transition_time.clone()).unwrap_or_else(|| created_on.clone()),
        created_on,
        state: state.as_str(),
        human_readable_state: condition.map(|condition| condition.message.clone()).unwrap_or_default(),
        tenant: Some(run.metadata.namespace),
    })
}

/// `GET /operation`: operations from the database, which deletes completed operations after a while.
pub async fn list(
    State(service): State<GitOpsApi>,
    caller: Caller,
    QueryParams(paging): QueryParams<PageQuery>,
) -> Result<Json<ResultPage<OperationOutput>>, ProblemDetails> {
    let tenant = text::tenant_filter(paging.tenant.as_deref())?;
    let (limit, from) = (paging.limit()?, paging.from()?);
    service.guard.authorize(&caller, &ResourceAttributes::new("list", GROUP, OPERATIONS, tenant)).await?;
    let mut filter = Filter::all().limit(limit.saturating_add(1));
    if !tenant.is_empty() {
        match rows::tenant(&service, tenant).await? {
            Some(user) => filter = filter.is("operation_owner_user_id", &user.id),
            None => return Ok(Json(ResultPage { entries: Vec::new(), r#continue: None })),
        }
    }
    if let Some(from) = from {
        filter = filter.after(RowKey::from(from));
    }
    let mut found = service.ledger.list::<Row>(&filter).await.map_err(database_problem)?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let owners = if tenant.is_empty() { owners(&service, &found).await? } else { BTreeMap::new() };
    let whose = |row: &Row| match &row.owner {
        _ if !tenant.is_empty() => Some(tenant),
        Some(user) => owners.get(user)?.as_deref(),
        None => None,
    };
    let entries: Vec<OperationOutput> = found.iter().map(|row| of_row(row, whose(row))).collect();
    let next = entries.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Json(ResultPage { entries, r#continue: next }))
}

/// `POST /operation`
pub async fn create(
    State(service): State<GitOpsApi>,
    caller: Caller,
    JsonBody(input): JsonBody<OperationInput>,
) -> Result<Response, ProblemDetails> {
    let no_id = || {
        ProblemDetails::new(ProblemKind::Invalid, "application is not an id")
            .hint("give the id as TENANT.NAME, such as shop.web")
    };
    let id = ResourceId::parse(&input.application).ok_or_else(no_id)?;
    text::require_plain(&[("revision", &input.revision)])?;
    service.authorize(&caller, "create", &SYNC_RUNS, &id.tenant).await?;
    service.authorize_one(&caller, "get", &APPLICATIONS, &id).await?;
    let application = service.tenants.get(&APPLICATIONS, &id.tenant, &id.name).await?;
    if application["spec"]["type"].as_str().is_some_and(|word| word.eq_ignore_ascii_case("automated")) {
        return Err(automated(&id.name));
    }
    let made = service.tenants.create(&SYNC_RUNS, &id.tenant, &sync_run(&id, &input.revision)).await?;
    let operation = of_run(&made)?;
    tracing::info!(user = caller.name, application = input.application, operation = operation.id, "created a sync run");
    let location = format!("{}/operation/{}", switchboard_http::PREFIX, operation.id);
    Ok((StatusCode::ACCEPTED, [(LOCATION, location)], Json(operation)).into_response())
}

/// Problem details for a sync of an application with an automatic sync policy, which can only fail. The text equals the
/// command line's.
fn automated(name: &str) -> ProblemDetails {
    ProblemDetails::new(
        ProblemKind::Conflict,
        format!("application `{name}` cannot be synced by hand: it is automated"),
    )
    .hint("it is deployed whenever something changed")
}

/// GitOpsDeploymentSyncRun that syncs an application.
pub fn sync_run(application: &ResourceId, revision: &str) -> Value {
    // A shortened name leaves room for the suffix that the cluster adds.
    let prefix: String = application.name.chars().take(200).collect();
    let mut object = json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": { "generateName": format!("{prefix}-"), "namespace": application.tenant },
        "spec": { "gitopsDeploymentName": application.name },
    });
    if !revision.is_empty() {
        object["spec"]["revisionID"] = json!(revision);
    }
    object
}

/// `GET /operation/{id}`: a sync run by TENANT.NAME, or a database row by its ID.
pub async fn read(
    State(service): State<GitOpsApi>,
    caller: Caller,
    PathName(id): PathName,
) -> Result<Json<OperationOutput>, ProblemDetails> {
    if let Some(id) = ResourceId::parse(&id) {
        service.authorize_one(&caller, "get", &SYNC_RUNS, &id).await?;
        let object = service.tenants.get(&SYNC_RUNS, &id.tenant, &id.name).await?;
        return of_run(&object).map(Json);
    }
    let missing = || ProblemDetails::new(ProblemKind::NotFound, "the operation does not exist");
    if id.contains('\0') {
        return Err(missing());
    }
    let row: Option<Row> = service.ledger.get(&RowKey::from(id.as_str())).await.map_err(database_problem)?;
    let row = row.ok_or_else(missing)?;
    let tenant = owner(&service, &row).await?;
    let access = ResourceAttributes::new("get", GROUP, OPERATIONS, tenant.as_deref().unwrap_or_default());
    // A caller without access cannot tell a hidden operation from a missing one.
    if !service.guard.is_allowed(&caller, &access).await? {
        return Err(missing());
    }
    Ok(Json(of_row(&row, tenant.as_deref())))
}

/// Returns the namespace of the operation's tenant; `None` if the tenant no longer exists, in which case only callers
/// with access to all tenants can see the operation.
async fn owner(service: &GitOpsApi, row: &Row) -> Result<Option<String>, ProblemDetails> {
    let Some(user) = &row.owner else { return Ok(None) };
    let user: Option<ClusterUser> = service.ledger.get(&RowKey::from(user)).await.map_err(database_problem)?;
    match user {
        Some(user) => rows::namespace(service, &user).await,
        None => Ok(None),
    }
}

/// Returns the namespaces of the tenants of a page, with one lookup for each tenant.
async fn owners(service: &GitOpsApi, page: &[Row]) -> Result<BTreeMap<UserId, Option<String>>, ProblemDetails> {
    let mut owners = BTreeMap::new();
    for row in page {
        if let Some(user) = row.owner.as_ref().filter(|user| !owners.contains_key(*user)) {
            owners.insert(user.clone(), owner(service, row).await?);
        }
    }
    Ok(owners)
}

/// `DELETE /operation/{id}`: deletes the sync run, which cancels the sync.
pub async fn remove(
    State(service): State<GitOpsApi>,
    caller: Caller,
    id: ResourceId,
) -> Result<StatusCode, ProblemDetails> {
    service.authorize_one(&caller, "delete", &SYNC_RUNS, &id).await?;
    service.tenants.delete(&SYNC_RUNS, &id.tenant, &id.name, &json!({})).await?;
    tracing::info!(user = caller.name, operation = ResourceId::of(&id.tenant, &id.name), "deleted a sync run");
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_run_is_an_operation() {
        let output = |conditions: Value| {
            let object = json!({
                "metadata": { "name": "web-1", "namespace": "shop", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z" },
                "spec": { "gitopsDeploymentName": "web" },
                "status": { "conditions": conditions },
            });
            of_run(&object).unwrap()
        };
        let waiting = output(json!([]));
        assert_eq!((waiting.id.as_str(), waiting.state), ("shop.web-1", "Waiting"));
        assert_eq!(waiting.last_state_update, "2026-01-01T00:00:00Z");
        let condition = |status: &str, message: &str| json!([{ "type": "ErrorOccurred", "status": status, "message": message, "lastTransitionTime": "2026-01-02T00:00:00Z" }]);
        assert_eq!(output(condition("False", "")).state, "Completed");
        let failed = output(condition("True", "no such commit"));
        assert_eq!((failed.state, failed.human_readable_state.as_str()), ("Failed", "no such commit"));
        assert_eq!(failed.last_state_update, "2026-01-02T00:00:00Z");
    }

    #[test]
    fn the_run_of_an_application_with_a_long_name_has_a_name() {
        let id = ResourceId { tenant: "shop".into(), name: "x".repeat(253) };
        let object = sync_run(&id, "");
        assert!(object["metadata"]["generateName"].as_str().unwrap().len() <= 201);
        assert_eq!(object["spec"], json!({ "gitopsDeploymentName": "x".repeat(253) }));
    }
}
