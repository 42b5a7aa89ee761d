//! Engine instances: the Argo CD instances that deploy. For administrators of the service, not for tenants.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::json;
use switchboard_http::auth::{Caller, ResourceAttributes};
use switchboard_http::body::{PathName, QueryParams};
use switchboard_http::openapi::{OpenApiOperation, OpenApiPart};
use switchboard_http::page::{PageQuery, ResultPage};
use switchboard_http::problem::{ProblemDetails, ProblemKind};
use switchboard_sql::{Filter, LedgerView, RowKey};

use crate::ids::UserId;
use crate::moves::is_open;
use crate::rest::{GROUP, GitOpsApi, INSTANCES, database_problem};
use crate::rows::fleet::{Member, Move};
use crate::rows::{Application, ClusterAccess, EngineInstance};

const TAG: &str = "engine instances";

/// Response body of an Argo CD instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceOutput {
    id: String,
    namespace: String,
    cluster: String,
    /// Number of placements on the instance: pairs of a tenant and an environment, which are never split.
    placements: usize,
    tenants: usize,
    /// State of the instance: `active` takes new placements, `cordoned` does not, and `unregistered` is an instance of
    /// managed-gitops that was never added to the fleet.
    state: &'static str,
    applications: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_applications: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_placements: Option<i64>,
    /// Number of placements that are moving to or from the instance.
    moving: usize,
}

async fn output(view: &mut LedgerView, row: EngineInstance) -> Result<InstanceOutput, ProblemDetails> {
    let filter = Filter::all().is("clusteraccess_gitops_engine_instance_id", &row.id);
    let placed = view.list::<ClusterAccess>(&filter).await.map_err(database_problem)?;
    let tenants: BTreeSet<&UserId> = placed.iter().map(|access| &access.user).collect();
    let member: Option<Member> = view.get(&RowKey::from(&row.id)).await.map_err(database_problem)?;
    let moves = view.list::<Move>(&Filter::all()).await.map_err(database_problem)?;
    let concerned = |one: &&Move| is_open(one) && (one.source == row.id || one.target == row.id);
    Ok(InstanceOutput {
        state: member.as_ref().map_or("unregistered", |member| member.state.as_str()),
        applications: view.count::<Application>("engine_instance_inst_id", &row.id).await.map_err(database_problem)?,
        max_applications: member.as_ref().map(|member| member.max_applications),
        max_placements: member.as_ref().map(|member| member.max_environments),
        moving: moves.iter().filter(concerned).count(),
        placements: placed.len(),
        tenants: tenants.len(),
        id: row.id.to_string(),
        namespace: row.namespace,
        cluster: row.cluster.to_string(),
    })
}

/// `GET /engineinstance`
pub async fn list(
    State(service): State<GitOpsApi>,
    caller: Caller,
    QueryParams(paging): QueryParams<PageQuery>,
) -> Result<Json<ResultPage<InstanceOutput>>, ProblemDetails> {
    if paging.tenant.is_some() {
        return Err(ProblemDetails::new(ProblemKind::Malformed, "engine instances have no tenant"));
    }
    let (limit, from) = (paging.limit()?, paging.from()?);
    service.guard.authorize(&caller, &ResourceAttributes::new("list", GROUP, INSTANCES, "")).await?;
    let mut filter = Filter::all().limit(limit.saturating_add(1));
    if let Some(from) = from {
        filter = filter.after(RowKey::from(from));
    }
    let mut view = service.ledger.view().await.map_err(database_problem)?;
    let mut rows = view.list::<EngineInstance>(&filter).await.map_err(database_problem)?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let mut entries = Vec::with_capacity(rows.len());
    for row in rows {
        entries.push(output(&mut view, row).await?);
    }
    view.end();
    let next = entries.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Json(ResultPage { entries, r#continue: next }))
}

/// `GET /engineinstance/{id}`
pub async fn read(
    State(service): State<GitOpsApi>,
    caller: Caller,
    PathName(id): PathName,
) -> Result<Json<InstanceOutput>, ProblemDetails> {
    service.guard.authorize(&caller, &ResourceAttributes::new("get", GROUP, INSTANCES, "")).await?;
    let missing = || ProblemDetails::new(ProblemKind::NotFound, "the engine instance does not exist");
    if id.contains('\0') {
        return Err(missing());
    }
    let mut view = service.ledger.view().await.map_err(database_problem)?;
    let row = view.get::<EngineInstance>(&RowKey::from(id.as_str())).await.map_err(database_problem)?;
    let shown = output(&mut view, row.ok_or_else(missing)?).await?;
    view.end();
    Ok(Json(shown))
}

/// Adds the paths and schemas.
pub fn describe(part: OpenApiPart) -> OpenApiPart {
    let list = OpenApiOperation::new("listEngineInstances", TAG, "List Argo CD instances and their load")
        .text("Requires permission to list `gitopsengineinstances.managed-gitops.redhat.com` in all namespaces.")
        .parameter("limit")
        .parameter("continue")
        .response(200, "EngineInstancePage", "Page of instances")
        .problems(&[ProblemKind::Malformed]);
    let read = OpenApiOperation::new("getEngineInstance", TAG, "An Argo CD instance")
        .parameter("row")
        .response(200, "EngineInstance", "The instance")
        .problems(&[ProblemKind::NotFound]);
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "namespace", "cluster", "placements", "tenants", "state", "applications", "moving"],
        "properties": {
            "id": { "type": "string" },
            "namespace": { "type": "string", "description": "Namespace of the instance." },
            "cluster": { "type": "string", "description": "Engine cluster of the instance." },
            "placements": { "type": "integer", "minimum": 0, "description": "Number of placements: pairs of a tenant and an environment." },
            "tenants": { "type": "integer", "minimum": 0 },
            "state": { "type": "string", "enum": ["active", "cordoned", "unregistered"], "description": "Whether the instance takes new placements." },
            "applications": { "type": "integer", "minimum": 0 },
            "maxApplications": { "type": "integer", "description": "Maximum number of Applications." },
            "maxPlacements": { "type": "integer", "description": "Maximum number of placements." },
            "moving": { "type": "integer", "minimum": 0, "description": "Number of placements moving from or to the instance." },
        },
    });
    part.operation("/engineinstance", "get", list)
        .operation("/engineinstance/{id}", "get", read)
        .schema("EngineInstance", schema)
        .page_of("EngineInstance")
}
