//! Operations: what the service does for a tenant. To ask for one is to ask for a sync: a GitOpsDeploymentSyncRun.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::LOCATION;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_gitops::kinds::condition::ERROR_OCCURRED;
use switchboard_gitops::kinds::sync_run::KIND;
use switchboard_gitops::kinds::{API_VERSION, SyncRun, Truth};
use switchboard_ledger::ids::{OperationResource, OperationState, UserId};
use switchboard_ledger::rows::{ClusterUser, Operation as Row};
use switchboard_ledger::{Filter, Key, Moment};

mod document;

pub use document::describe;

use super::{APPLICATIONS, GROUP, OPERATIONS, SYNC_RUNS, Service, meta, of_ledger, rows, text, unreadable};
use crate::auth::{Access, Caller};
use crate::body::{Asked, Id, Input, Named};
use crate::page::{Page, Paging};
use crate::problem::{Kind, Problem};

/// A sync somebody wants.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wanted {
    /// The id of the application.
    pub application: String,
    /// To which commit; empty is what the application says.
    #[serde(default)]
    pub revision: String,
}

/// What the service does, or did, for a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    resource_type: &'static str,
    created_on: String,
    last_state_update: String,
    state: &'static str,
    human_readable_state: String,
}

fn of_row(row: &Row, tenant: Option<&str>) -> Operation {
    Operation {
        id: row.id.to_string(),
        tenant: tenant.map(str::to_string),
        resource_type: row.resource.as_str(),
        created_on: time(row.created_on),
        last_state_update: time(row.last_state_update),
        state: row.state.as_str(),
        human_readable_state: row.human_readable_state.clone().unwrap_or_default(),
    }
}

fn time(moment: Moment) -> String {
    Timestamp::from_microsecond(moment.unix_us).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

/// A sync run as an operation: no condition is under way, an error is a failure, no error is success.
fn of_run(object: &Value) -> Result<Operation, Problem> {
    let run: SyncRun = serde_json::from_value(object.clone()).map_err(|_| unreadable(&SYNC_RUNS))?;
    let condition = run.status.conditions.iter().find(|condition| condition.r#type == ERROR_OCCURRED);
    let state = match condition.map(|condition| condition.status) {
        Some(Truth::True) => OperationState::Failed,
        Some(Truth::False) => OperationState::Completed,
        _ => OperationState::Waiting,
    };
    let created_on = meta(object, "creationTimestamp").to_string();
    Ok(Operation {
        id: Id::of(&run.metadata.namespace, &run.metadata.name),
        resource_type: OperationResource::SyncOperation.as_str(),
        last_state_update: condition.and_then(|c| c.last_transition_time.clone()).unwrap_or_else(|| created_on.clone()),
        created_on,
        state: state.as_str(),
        human_readable_state: condition.map(|condition| condition.message.clone()).unwrap_or_default(),
        tenant: Some(run.metadata.namespace),
    })
}

/// `GET /operation`: what the database knows. It forgets what is over after a while.
pub async fn list(
    State(service): State<Service>,
    caller: Caller,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Page<Operation>>, Problem> {
    let tenant = text::asked_tenant(paging.tenant.as_deref())?;
    let (limit, from) = (paging.limit()?, paging.from()?);
    service.guard.authorize(&caller, &Access::new("list", GROUP, OPERATIONS, tenant)).await?;
    let mut filter = Filter::all().limit(limit.saturating_add(1));
    if !tenant.is_empty() {
        match rows::tenant(&service, tenant).await? {
            Some(user) => filter = filter.is("operation_owner_user_id", &user.id),
            None => return Ok(Json(Page { entries: Vec::new(), r#continue: None })),
        }
    }
    if let Some(from) = from {
        filter = filter.after(Key::from(from));
    }
    let mut found = service.ledger.list::<Row>(&filter).await.map_err(of_ledger)?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let owners = if tenant.is_empty() { owners(&service, &found).await? } else { BTreeMap::new() };
    let whose = |row: &Row| match &row.owner {
        _ if !tenant.is_empty() => Some(tenant),
        Some(user) => owners.get(user)?.as_deref(),
        None => None,
    };
    let entries: Vec<Operation> = found.iter().map(|row| of_row(row, whose(row))).collect();
    let next = entries.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Json(Page { entries, r#continue: next }))
}

/// `POST /operation`
pub async fn create(
    State(service): State<Service>,
    caller: Caller,
    Input(wanted): Input<Wanted>,
) -> Result<Response, Problem> {
    let no_id = || Problem::new(Kind::Invalid, "application is no id").hint("an id is TENANT.NAME, such as shop.web");
    let id = Id::parse(&wanted.application).ok_or_else(no_id)?;
    text::plain(&[("revision", &wanted.revision)])?;
    service.authorize(&caller, "create", &SYNC_RUNS, &id.tenant).await?;
    service.authorize_one(&caller, "get", &APPLICATIONS, &id).await?;
    let application = service.tenants.get(&APPLICATIONS, &id.tenant, &id.name).await?;
    if application["spec"]["type"].as_str().is_some_and(|word| word.eq_ignore_ascii_case("automated")) {
        return Err(automated(&id.name));
    }
    let made = service.tenants.create(&SYNC_RUNS, &id.tenant, &run(&id, &wanted.revision)).await?;
    let operation = of_run(&made)?;
    tracing::info!(user = caller.name, application = wanted.application, operation = operation.id, "asked for a sync");
    let location = format!("{}/operation/{}", crate::PREFIX, operation.id);
    Ok((StatusCode::ACCEPTED, [(LOCATION, location)], Json(operation)).into_response())
}

/// What is deployed by itself is not synced by hand: such a run can only fail. In the words of the command line.
fn automated(name: &str) -> Problem {
    Problem::new(Kind::Conflict, format!("application `{name}` cannot be synced by hand: it is automated"))
        .hint("it is deployed whenever something changed")
}

/// The resource that asks for a sync of an application.
pub fn run(application: &Id, revision: &str) -> Value {
    // Long names leave room for what the cluster adds.
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

/// `GET /operation/{id}`: a sync run by TENANT.NAME, or a row by its id.
pub async fn read(
    State(service): State<Service>,
    caller: Caller,
    Named(id): Named,
) -> Result<Json<Operation>, Problem> {
    if let Some(id) = Id::parse(&id) {
        service.authorize_one(&caller, "get", &SYNC_RUNS, &id).await?;
        let object = service.tenants.get(&SYNC_RUNS, &id.tenant, &id.name).await?;
        return of_run(&object).map(Json);
    }
    let missing = || Problem::new(Kind::NotFound, "there is no such operation");
    if id.contains('\0') {
        return Err(missing());
    }
    let row: Option<Row> = service.ledger.get(&Key::from(id.as_str())).await.map_err(of_ledger)?;
    let row = row.ok_or_else(missing)?;
    let tenant = owner(&service, &row).await?;
    let access = Access::new("get", GROUP, OPERATIONS, tenant.as_deref().unwrap_or_default());
    // Whoever may not see it is not told that it is there.
    if !service.guard.may(&caller, &access).await? {
        return Err(missing());
    }
    Ok(Json(of_row(&row, tenant.as_deref())))
}

/// Whose an operation is; none if nobody's that is there now, which is for whoever may see everybody's.
async fn owner(service: &Service, row: &Row) -> Result<Option<String>, Problem> {
    let Some(user) = &row.owner else { return Ok(None) };
    let user: Option<ClusterUser> = service.ledger.get(&Key::from(user)).await.map_err(of_ledger)?;
    match user {
        Some(user) => rows::namespace(service, &user).await,
        None => Ok(None),
    }
}

/// Whose the operations of a page are: each tenant is looked for once.
async fn owners(service: &Service, page: &[Row]) -> Result<BTreeMap<UserId, Option<String>>, Problem> {
    let mut owners = BTreeMap::new();
    for row in page {
        if let Some(user) = row.owner.as_ref().filter(|user| !owners.contains_key(*user)) {
            owners.insert(user.clone(), owner(service, row).await?);
        }
    }
    Ok(owners)
}

/// `DELETE /operation/{id}`: a sync is stopped by deleting its run.
pub async fn remove(State(service): State<Service>, caller: Caller, id: Id) -> Result<StatusCode, Problem> {
    service.authorize_one(&caller, "delete", &SYNC_RUNS, &id).await?;
    service.tenants.delete(&SYNC_RUNS, &id.tenant, &id.name, &json!({})).await?;
    tracing::info!(user = caller.name, operation = Id::of(&id.tenant, &id.name), "stopped a sync");
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_run_is_an_operation() {
        let run = |conditions: Value| {
            let object = json!({
                "metadata": { "name": "web-1", "namespace": "shop", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z" },
                "spec": { "gitopsDeploymentName": "web" },
                "status": { "conditions": conditions },
            });
            of_run(&object).unwrap()
        };
        let waiting = run(json!([]));
        assert_eq!((waiting.id.as_str(), waiting.state), ("shop.web-1", "Waiting"));
        assert_eq!(waiting.last_state_update, "2026-01-01T00:00:00Z");
        let condition = |status: &str, message: &str| json!([{ "type": "ErrorOccurred", "status": status, "message": message, "lastTransitionTime": "2026-01-02T00:00:00Z" }]);
        assert_eq!(run(condition("False", "")).state, "Completed");
        let failed = run(condition("True", "no such commit"));
        assert_eq!((failed.state, failed.human_readable_state.as_str()), ("Failed", "no such commit"));
        assert_eq!(failed.last_state_update, "2026-01-02T00:00:00Z");
    }

    #[test]
    fn the_run_of_an_application_with_a_long_name_has_a_name() {
        let id = Id { tenant: "shop".into(), name: "x".repeat(253) };
        let object = run(&id, "");
        assert!(object["metadata"]["generateName"].as_str().unwrap().len() <= 201);
        assert_eq!(object["spec"], json!({ "gitopsDeploymentName": "x".repeat(253) }));
    }
}
