//! Actions of the console. Each needs a permission and is logged.

use std::sync::Arc;

use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use axum::{Json, Router};
use http::{HeaderMap, Request, header};
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_gitops::state::is_manual;
use switchboard_http::auth::{Caller, ResourceAttributes};
use switchboard_kernel::operator::{OperatorName, Unit};

use crate::access::{COOKIE, GROUP};
use crate::components::operator_href;
use crate::flags::CommandFlags;
use crate::fleet::{FleetRefusal, PlacementName, RefusalKind};
use crate::login;
use crate::problem::ConsoleProblem;
use crate::server::{App, SharedApp, response};

/// API group of the GitOps Service's permissions.
const GITOPS: &str = "managed-gitops.redhat.com";

/// Action on an operator, a deployment or a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsoleAction {
    /// Stop starting units of an operator.
    Pause(String),
    /// Resume a paused operator.
    Resume(String),
    /// Run all units of an operator soon, or one of them.
    Reconcile(String, Option<String>),
    /// Deploy a GitOpsDeployment now.
    Sync {
        /// Namespace of the deployment.
        namespace: String,
        /// Name of the deployment.
        name: String,
    },
    /// Move a placement to another Argo CD instance.
    Move {
        /// Placement to move.
        unit: PlacementName,
        /// Namespace of the target instance.
        to: String,
    },
}

impl ConsoleAction {
    /// Parses an action from its name and fields.
    fn parse(word: &str, form: &ActionFields) -> Option<Self> {
        let non_empty = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        let operator = || non_empty(&form.operator);
        Some(match word {
            "pause" => ConsoleAction::Pause(operator()?),
            "resume" => ConsoleAction::Resume(operator()?),
            "reconcile" => ConsoleAction::Reconcile(operator()?, non_empty(&form.unit)),
            "sync" => ConsoleAction::Sync { namespace: form.namespace.clone()?, name: form.name.clone()? },
            "move" => ConsoleAction::Move {
                unit: PlacementName { tenant: non_empty(&form.tenant)?, environment: non_empty(&form.environment) },
                to: non_empty(&form.to)?,
            },
            _ => return None,
        })
    }

    /// Returns the name of the action in paths.
    pub fn name(&self) -> &'static str {
        match self {
            ConsoleAction::Pause(_) => "pause",
            ConsoleAction::Resume(_) => "resume",
            ConsoleAction::Reconcile(..) => "reconcile",
            ConsoleAction::Sync { .. } => "sync",
            ConsoleAction::Move { .. } => "move",
        }
    }

    /// Returns the equivalent command line.
    pub fn command(&self, flags: &CommandFlags) -> String {
        let kernel = flags.kernel_flags();
        match self {
            ConsoleAction::Pause(operator) => format!("switchboard pause {operator}{kernel}"),
            ConsoleAction::Resume(operator) => format!("switchboard resume {operator}{kernel}"),
            ConsoleAction::Reconcile(operator, None) => format!("switchboard reconcile {operator}{kernel}"),
            ConsoleAction::Reconcile(operator, Some(unit)) => {
                format!("switchboard reconcile {operator} {unit}{kernel}")
            }
            ConsoleAction::Sync { namespace, name } => format!("switchboard gitops sync {name} -n {namespace}"),
            ConsoleAction::Move { unit, to } => format!("{} {to}", move_command(unit, flags)),
        }
    }

    /// Returns the permission that the action needs.
    pub fn access(&self) -> ResourceAttributes {
        match self {
            ConsoleAction::Pause(operator) | ConsoleAction::Resume(operator) => {
                ResourceAttributes::new("pause", GROUP, "operators", "").with_name(operator)
            }
            ConsoleAction::Reconcile(operator, _) => {
                ResourceAttributes::new("reconcile", GROUP, "operators", "").with_name(operator)
            }
            ConsoleAction::Sync { namespace, .. } => {
                ResourceAttributes::new("create", GITOPS, "gitopsdeploymentsyncruns", namespace)
            }
            // Placements are managed by the administrator of the service, not by the tenant.
            ConsoleAction::Move { to, .. } => {
                ResourceAttributes::new("move", GITOPS, "gitopsengineinstances", "").with_name(to)
            }
        }
    }

    /// Returns the page that shows the action.
    pub fn page(&self) -> String {
        match self {
            ConsoleAction::Pause(operator)
            | ConsoleAction::Resume(operator)
            | ConsoleAction::Reconcile(operator, _) => operator_href(operator),
            ConsoleAction::Sync { .. } | ConsoleAction::Move { .. } => "/fleet".to_string(),
        }
    }
}

/// Returns the command that moves a placement, without its target.
pub fn move_command(unit: &PlacementName, flags: &CommandFlags) -> String {
    let environment = unit.environment.iter().map(|name| format!(" --environment {name}")).collect::<String>();
    format!("switchboard gitops fleet move {}{environment}{} --to", unit.tenant, flags.fleet_flags())
}

/// Fields of an action, from a form or a JSON body.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ActionFields {
    csrf_token: String,
    operator: Option<String>,
    unit: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    tenant: Option<String>,
    environment: Option<String>,
    to: Option<String>,
}

/// Returns the routes of the forms.
pub(crate) fn forms() -> Router<Arc<App>> {
    Router::new().route("/actions/{action}", post(by_form))
}

/// Returns the routes of the API, below `/api/v1`.
pub(crate) fn api() -> Router<Arc<App>> {
    Router::new().route("/actions/{action}", post(by_token))
}

async fn by_form(
    State(app): SharedApp,
    headers: HeaderMap,
    Path(word): Path<String>,
    Form(form): Form<ActionFields>,
) -> Response {
    let Some(act) = ConsoleAction::parse(&word, &form) else {
        return response::error_page(&ConsoleProblem::BadRequest("the form has no valid action".to_string()));
    };
    let checked = app.sessions.check_same_origin(&headers, &form.csrf_token);
    let done = match checked {
        Ok(()) => perform(&app, &headers, &act).await,
        Err(problem) => Err(problem),
    };
    match done {
        Ok(non_empty) => app.sessions.set_flash(&headers, true, non_empty),
        Err(ConsoleProblem::TokenRequired | ConsoleProblem::InvalidToken(_)) => {
            return Redirect::to(&login::href(&act.page())).into_response();
        }
        Err(problem @ ConsoleProblem::ForeignSite(_)) => return response::error_page(&problem),
        Err(problem) => app.sessions.set_flash(&headers, false, format!("{problem}; {}", problem.hint())),
    }
    Redirect::to(&act.page()).into_response()
}

async fn by_token(
    State(app): SharedApp,
    headers: HeaderMap,
    Path(word): Path<String>,
    Json(form): Json<ActionFields>,
) -> Response {
    let Some(act) = ConsoleAction::parse(&word, &form) else {
        return response::problem(&ConsoleProblem::BadRequest("the body has no valid action".to_string()));
    };
    // A browser sends a cookie with every request, but a token only on purpose.
    if !headers.contains_key(header::AUTHORIZATION) || response::cookie(&headers, COOKIE).is_some() {
        return response::problem(&ConsoleProblem::TokenRequired);
    }
    response::json(
        perform(&app, &headers, &act)
            .await
            .map(|non_empty| json!({"message": non_empty, "command": act.command(app.source.flags())})),
    )
}

/// Carries out an action if the caller may, and logs the result with the caller.
async fn perform(app: &App, headers: &HeaderMap, act: &ConsoleAction) -> Result<String, ConsoleProblem> {
    let caller = match app.sessions.caller(headers).await {
        Ok(caller) => caller,
        Err(problem) => {
            let command = act.command(app.source.flags());
            tracing::info!(target: "switchboard_console::audit", command, "unauthenticated request for `{command}` refused: {problem}");
            return Err(problem);
        }
    };
    let done = match app.sessions.authorize(&caller, &act.access()).await {
        Ok(()) => carry_out(app, &caller, act).await,
        Err(problem) => Err(problem),
    };
    let (user, command) = (&caller.name, act.command(app.source.flags()));
    match &done {
        Ok(_) => {
            tracing::info!(target: "switchboard_console::audit", user, command, "{user} requested `{command}`: done")
        }
        Err(problem) => {
            tracing::info!(target: "switchboard_console::audit", user, command, "{user} requested `{command}`: refused: {problem}");
        }
    }
    app.source.invalidate_state().await;
    done
}

async fn carry_out(app: &App, caller: &Caller, act: &ConsoleAction) -> Result<String, ConsoleProblem> {
    let not_running = |operator: &str| ConsoleProblem::NotFound(format!("no operator {operator} is running"));
    let handle = &app.source.handle;
    match act {
        ConsoleAction::Pause(operator) | ConsoleAction::Resume(operator) => {
            let paused = matches!(act, ConsoleAction::Pause(_));
            let name = OperatorName::new(operator);
            let known =
                if paused { handle.pause(name, caller.name.clone()).await? } else { handle.resume(name).await? };
            if !known {
                return Err(not_running(operator));
            }
            Ok(if paused { format!("{operator} paused (running units finish)") } else { format!("{operator} resumed") })
        }
        ConsoleAction::Reconcile(operator, unit) => {
            let parsed = unit.as_ref().and_then(|unit| unit.parse::<Unit>().ok());
            match handle.reconcile(OperatorName::new(operator), parsed).await? {
                None => Err(not_running(operator)),
                Some(0) => Err(ConsoleProblem::NotFound(format!("{operator} does not have the unit"))),
                Some(triggered) => {
                    Ok(format!("{} of {operator} will run", crate::components::count(triggered, "unit")))
                }
            }
        }
        ConsoleAction::Sync { namespace, name } => sync(app, caller, namespace, name).await,
        ConsoleAction::Move { unit, to } => {
            let started = app.source.fleet().ok_or_else(FleetRefusal::not_hosted)?.begin(unit, to).await?;
            Ok(format!("move of {} from {} to {} started", unit.tenant, started.from, started.to))
        }
    }
}

async fn sync(app: &App, caller: &Caller, namespace: &str, name: &str) -> Result<String, ConsoleProblem> {
    let client = app.source.client(&app.source.home.0.clone()).await?;
    let base = format!("/apis/{GITOPS}/v1alpha1/namespaces/{}", crate::components::percent_encode(namespace));
    let failed =
        |error: &dyn std::fmt::Display| ConsoleProblem::Cluster(format!("could not start a sync of {name}: {error}"));
    let path = format!("{base}/gitopsdeployments/{}", crate::components::percent_encode(name));
    let request = Request::get(path).body(Vec::new()).map_err(|error| ConsoleProblem::BadRequest(error.to_string()))?;
    match client.request::<Value>(request).await {
        Ok(deployment) if !is_manual(&deployment) => return Err(automated(name).into()),
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {
            return Err(ConsoleProblem::NotFound(format!("GitOpsDeployment {namespace}/{name} does not exist")));
        }
        Err(error) => return Err(failed(&error)),
    }
    let run = json!({
        "apiVersion": format!("{GITOPS}/v1alpha1"), "kind": "GitOpsDeploymentSyncRun",
        "metadata": {"generateName": format!("{name}-"), "namespace": namespace, "annotations": {"switchboard.dev/asked-by": caller.name}},
        "spec": {"gitopsDeploymentName": name},
    });
    let path = format!("{base}/gitopsdeploymentsyncruns");
    let request =
        Request::post(path).header(header::CONTENT_TYPE, "application/json").body(run.to_string().into_bytes());
    let request = request.map_err(|error| ConsoleProblem::BadRequest(error.to_string()))?;
    let created = client.request::<Value>(request).await.map_err(|error| failed(&error))?;
    Ok(format!("sync run {} created", created["metadata"]["name"].as_str().unwrap_or_default()))
}

/// An automated application is not synced by hand, as on the command line.
fn automated(name: &str) -> FleetRefusal {
    FleetRefusal {
        kind: RefusalKind::Conflict,
        message: format!("application `{name}` cannot be synced by hand: it is automated"),
        hint: "it is deployed on every change".to_string(),
    }
}
