//! Engine instances: the Argo CDs that deploy. For whoever runs the service, not for tenants.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::json;
use switchboard_gitops::fleet::moving::is_open;
use switchboard_ledger::ids::UserId;
use switchboard_ledger::rows::fleet::{Member, Move};
use switchboard_ledger::rows::{Application, ClusterAccess, EngineInstance};
use switchboard_ledger::{Filter, Key, View};

use super::{GROUP, INSTANCES, Service, of_ledger};
use crate::auth::{Access, Caller};
use crate::body::{Asked, Named};
use crate::openapi::{Operation, Part};
use crate::page::{Page, Paging};
use crate::problem::{Kind, Problem};

const TAG: &str = "engine instances";

/// One Argo CD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    id: String,
    namespace: String,
    cluster: String,
    /// How many pairs of a tenant and an environment it serves: what is placed, and never split.
    placements: usize,
    tenants: usize,
    /// Whether it is given more: `active`, `cordoned`, or `unregistered` for one of the original that was never added to the fleet.
    state: &'static str,
    applications: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_applications: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_placements: Option<i64>,
    /// How many of its units, or of others, are on their way from or to it.
    moving: usize,
}

async fn shown(view: &mut View, row: EngineInstance) -> Result<Instance, Problem> {
    let filter = Filter::all().is("clusteraccess_gitops_engine_instance_id", &row.id);
    let placed = view.list::<ClusterAccess>(&filter).await.map_err(of_ledger)?;
    let tenants: BTreeSet<&UserId> = placed.iter().map(|access| &access.user).collect();
    let member: Option<Member> = view.get(&Key::from(&row.id)).await.map_err(of_ledger)?;
    let moves = view.list::<Move>(&Filter::all()).await.map_err(of_ledger)?;
    let concerned = |one: &&Move| is_open(one) && (one.source == row.id || one.target == row.id);
    Ok(Instance {
        state: member.as_ref().map_or("unregistered", |member| member.state.as_str()),
        applications: view.count::<Application>("engine_instance_inst_id", &row.id).await.map_err(of_ledger)?,
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
    State(service): State<Service>,
    caller: Caller,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Page<Instance>>, Problem> {
    if paging.tenant.is_some() {
        return Err(Problem::new(Kind::Malformed, "engine instances belong to no tenant"));
    }
    let (limit, from) = (paging.limit()?, paging.from()?);
    service.guard.authorize(&caller, &Access::new("list", GROUP, INSTANCES, "")).await?;
    let mut filter = Filter::all().limit(limit.saturating_add(1));
    if let Some(from) = from {
        filter = filter.after(Key::from(from));
    }
    let mut view = service.ledger.view().await.map_err(of_ledger)?;
    let mut rows = view.list::<EngineInstance>(&filter).await.map_err(of_ledger)?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let mut entries = Vec::with_capacity(rows.len());
    for row in rows {
        entries.push(shown(&mut view, row).await?);
    }
    view.end();
    let next = entries.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Json(Page { entries, r#continue: next }))
}

/// `GET /engineinstance/{id}`
pub async fn read(State(service): State<Service>, caller: Caller, Named(id): Named) -> Result<Json<Instance>, Problem> {
    service.guard.authorize(&caller, &Access::new("get", GROUP, INSTANCES, "")).await?;
    let missing = || Problem::new(Kind::NotFound, "there is no such engine instance");
    if id.contains('\0') {
        return Err(missing());
    }
    let mut view = service.ledger.view().await.map_err(of_ledger)?;
    let row = view.get::<EngineInstance>(&Key::from(id.as_str())).await.map_err(of_ledger)?;
    let shown = shown(&mut view, row.ok_or_else(missing)?).await?;
    view.end();
    Ok(Json(shown))
}

/// What the document says of them.
pub fn describe(part: Part) -> Part {
    let list = Operation::new("listEngineInstances", TAG, "Argo CD instances and their load")
        .text("For whoever may list `gitopsengineinstances.managed-gitops.redhat.com` in all namespaces.")
        .parameter("limit")
        .parameter("continue")
        .answers(200, "EngineInstancePage", "A page of instances")
        .problems(&[Kind::Malformed]);
    let read = Operation::new("getEngineInstance", TAG, "An Argo CD instance")
        .parameter("row")
        .answers(200, "EngineInstance", "The instance")
        .problems(&[Kind::NotFound]);
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "namespace", "cluster", "placements", "tenants", "state", "applications", "moving"],
        "properties": {
            "id": { "type": "string" },
            "namespace": { "type": "string", "description": "Its namespace." },
            "cluster": { "type": "string", "description": "The engine cluster it is on." },
            "placements": { "type": "integer", "minimum": 0, "description": "Pairs of a tenant and an environment it serves." },
            "tenants": { "type": "integer", "minimum": 0 },
            "state": { "type": "string", "enum": ["active", "cordoned", "unregistered"], "description": "Whether it is given more." },
            "applications": { "type": "integer", "minimum": 0 },
            "maxApplications": { "type": "integer", "description": "How many it is given at most." },
            "maxPlacements": { "type": "integer", "description": "How many pairs it is given at most." },
            "moving": { "type": "integer", "minimum": 0, "description": "Pairs on their way from or to it." },
        },
    });
    part.operation("/engineinstance", "get", list)
        .operation("/engineinstance/{id}", "get", read)
        .schema("EngineInstance", schema)
        .page_of("EngineInstance")
}
