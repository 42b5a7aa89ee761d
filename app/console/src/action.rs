//! What the console does when it is told to: few things, each by a right, each logged.

use std::sync::Arc;

use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use axum::{Json, Router};
use http::{HeaderMap, Request, header};
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_rest::auth::{Access, Caller};

use crate::access::{COOKIE, GROUP};
use crate::entrance;
use crate::flags::Flags;
use crate::fleet::{Refused, UnitName, Why};
use crate::load::fleet::is_manual;
use crate::piece::operator_href;
use crate::problem::Problem;
use crate::server::App;
use crate::server::answer;

/// The group of the GitOps Service's rights.
const GITOPS: &str = "managed-gitops.redhat.com";

type Shared = State<Arc<App>>;

/// Something that can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Stop starting an operator's units.
    Pause(String),
    /// Let it go on.
    Resume(String),
    /// Run its units soon, or one of them.
    Wake(String, Option<String>),
    /// Deploy a GitOpsDeployment now.
    Sync {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Move a unit to another Argo CD.
    Move {
        /// Which.
        unit: UnitName,
        /// The namespace of that Argo CD.
        to: String,
    },
}

impl Act {
    /// By the word of its form.
    fn of(word: &str, form: &Fields) -> Option<Self> {
        let said = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        let operator = || said(&form.operator);
        Some(match word {
            "pause" => Act::Pause(operator()?),
            "resume" => Act::Resume(operator()?),
            "wake" => Act::Wake(operator()?, said(&form.unit)),
            "sync" => Act::Sync { namespace: form.namespace.clone()?, name: form.name.clone()? },
            "move" => Act::Move {
                unit: UnitName { tenant: said(&form.tenant)?, environment: said(&form.environment) },
                to: said(&form.to)?,
            },
            _ => return None,
        })
    }

    /// The word of its form.
    pub fn word(&self) -> &'static str {
        match self {
            Act::Pause(_) => "pause",
            Act::Resume(_) => "resume",
            Act::Wake(..) => "wake",
            Act::Sync { .. } => "sync",
            Act::Move { .. } => "move",
        }
    }

    /// The command that does the same.
    pub fn command(&self, flags: &Flags) -> String {
        let kernel = flags.of_kernel();
        match self {
            Act::Pause(operator) => format!("switchboard pause {operator}{kernel}"),
            Act::Resume(operator) => format!("switchboard resume {operator}{kernel}"),
            Act::Wake(operator, None) => format!("switchboard wake {operator}{kernel}"),
            Act::Wake(operator, Some(unit)) => format!("switchboard wake {operator} {unit}{kernel}"),
            Act::Sync { namespace, name } => format!("switchboard gitops sync {name} -n {namespace}"),
            Act::Move { unit, to } => format!("{} {to}", move_command(unit, flags)),
        }
    }

    /// The right that it needs.
    pub fn access(&self) -> Access {
        match self {
            Act::Pause(operator) | Act::Resume(operator) => {
                Access::new("pause", GROUP, "operators", "").named(operator)
            }
            Act::Wake(operator, _) => Access::new("wake", GROUP, "operators", "").named(operator),
            Act::Sync { namespace, .. } => Access::new("create", GITOPS, "gitopsdeploymentsyncruns", namespace),
            // Where a unit is concerns whoever runs the service, not its tenant.
            Act::Move { to, .. } => Access::new("move", GITOPS, "gitopsengineinstances", "").named(to),
        }
    }

    /// The page it is done on.
    pub fn page(&self) -> String {
        match self {
            Act::Pause(operator) | Act::Resume(operator) | Act::Wake(operator, _) => operator_href(operator),
            Act::Sync { .. } | Act::Move { .. } => "/fleet".to_string(),
        }
    }
}

/// The command that moves a unit, up to where to.
pub fn move_command(unit: &UnitName, flags: &Flags) -> String {
    let environment = unit.environment.iter().map(|name| format!(" --environment {name}")).collect::<String>();
    format!("switchboard gitops fleet move {}{environment}{} --to", unit.tenant, flags.of_fleet())
}

/// The fields of the forms.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Fields {
    seal: String,
    operator: Option<String>,
    unit: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    tenant: Option<String>,
    environment: Option<String>,
    to: Option<String>,
}

/// Forms of the pages.
pub(crate) fn forms() -> Router<Arc<App>> {
    Router::new().route("/actions/{word}", post(by_form))
}

/// The same for programs, below `/api/v1`.
pub(crate) fn api() -> Router<Arc<App>> {
    Router::new().route("/actions/{word}", post(by_token))
}

async fn by_form(
    State(app): Shared,
    headers: HeaderMap,
    Path(word): Path<String>,
    Form(form): Form<Fields>,
) -> Response {
    let Some(act) = Act::of(&word, &form) else {
        return answer::trouble(&Problem::Unclear("the form names nothing that can be done".to_string()));
    };
    let checked = app.gate.same_origin(&headers, &form.seal);
    let done = match checked {
        Ok(()) => perform(&app, &headers, &act).await,
        Err(problem) => Err(problem),
    };
    match done {
        Ok(said) => app.gate.say(&headers, true, said),
        Err(Problem::Unknown | Problem::Stranger(_)) => {
            return Redirect::to(&entrance::href(&act.page())).into_response();
        }
        Err(problem @ Problem::Foreign(_)) => return answer::trouble(&problem),
        Err(problem) => app.gate.say(&headers, false, format!("{problem}; {}", problem.hint())),
    }
    Redirect::to(&act.page()).into_response()
}

async fn by_token(
    State(app): Shared,
    headers: HeaderMap,
    Path(word): Path<String>,
    Json(form): Json<Fields>,
) -> Response {
    let Some(act) = Act::of(&word, &form) else {
        return answer::problem(&Problem::Unclear("the body names nothing that can be done".to_string()));
    };
    // A cookie comes along with whatever a browser sends, a token does not.
    if !headers.contains_key(header::AUTHORIZATION) || answer::cookie(&headers, COOKIE).is_some() {
        return answer::problem(&Problem::Unknown);
    }
    answer::json(
        perform(&app, &headers, &act)
            .await
            .map(|said| json!({"done": said, "command": act.command(app.source.flags())})),
    )
}

/// Does it, if whoever asks may. Whatever comes of it is logged with who asked.
async fn perform(app: &App, headers: &HeaderMap, act: &Act) -> Result<String, Problem> {
    let caller = match app.gate.caller(headers).await {
        Ok(caller) => caller,
        Err(problem) => {
            let command = act.command(app.source.flags());
            tracing::info!(target: "switchboard_console::audit", command, "somebody asked for `{command}`: refused: {problem}");
            return Err(problem);
        }
    };
    let done = match app.gate.authorize(&caller, &act.access()).await {
        Ok(()) => carry_out(app, &caller, act).await,
        Err(problem) => Err(problem),
    };
    let (user, command) = (&caller.name, act.command(app.source.flags()));
    match &done {
        Ok(_) => {
            tracing::info!(target: "switchboard_console::audit", user, command, "{user} asked for `{command}`: done")
        }
        Err(problem) => {
            tracing::info!(target: "switchboard_console::audit", user, command, "{user} asked for `{command}`: refused: {problem}");
        }
    }
    app.source.touched().await;
    done
}

async fn carry_out(app: &App, caller: &Caller, act: &Act) -> Result<String, Problem> {
    let nobody = |operator: &str| Problem::Missing(format!("no operator {operator} is hosted"));
    let handle = &app.source.handle;
    match act {
        Act::Pause(operator) | Act::Resume(operator) => {
            let paused = matches!(act, Act::Pause(_));
            if !handle.pause(OperatorName::new(operator), paused).await? {
                return Err(nobody(operator));
            }
            Ok(if paused { format!("{operator} is paused; runs under way end") } else { format!("{operator} goes on") })
        }
        Act::Wake(operator, unit) => {
            let wanted = unit.as_ref().and_then(|unit| unit.parse::<Unit>().ok());
            match handle.wake(OperatorName::new(operator), wanted).await? {
                None => Err(nobody(operator)),
                Some(0) => Err(Problem::Missing(format!("{operator} has no such unit"))),
                Some(woken) => Ok(format!("{} of {operator} will run", crate::piece::count(woken, "unit"))),
            }
        }
        Act::Sync { namespace, name } => sync(app, caller, namespace, name).await,
        Act::Move { unit, to } => {
            let begun = app.source.fleet().ok_or_else(Refused::nobody)?.begin(unit, to).await?;
            Ok(format!("{} is on its way from {} to {}", unit.tenant, begun.from, begun.to))
        }
    }
}

async fn sync(app: &App, caller: &Caller, namespace: &str, name: &str) -> Result<String, Problem> {
    let client = app.source.client(&app.source.home.0.clone()).await?;
    let base = format!("/apis/{GITOPS}/v1alpha1/namespaces/{}", crate::piece::escaped(namespace));
    let failed =
        |error: &dyn std::fmt::Display| Problem::Cluster(format!("could not ask for a sync of {name}: {error}"));
    let path = format!("{base}/gitopsdeployments/{}", crate::piece::escaped(name));
    let request = Request::get(path).body(Vec::new()).map_err(|error| Problem::Unclear(error.to_string()))?;
    match client.request::<Value>(request).await {
        Ok(deployment) if !is_manual(&deployment) => return Err(automated(name).into()),
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {
            return Err(Problem::Missing(format!("there is no GitOpsDeployment {namespace}/{name}")));
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
    let request = request.map_err(|error| Problem::Unclear(error.to_string()))?;
    let made = client.request::<Value>(request).await.map_err(|error| failed(&error))?;
    Ok(format!("sync run {} was made", made["metadata"]["name"].as_str().unwrap_or_default()))
}

/// What is deployed by itself is not synced by hand, as on the command line.
fn automated(name: &str) -> Refused {
    Refused {
        why: Why::Conflict,
        what: format!("application `{name}` cannot be synced by hand: it is automated"),
        hint: "it is deployed whenever something changed".to_string(),
    }
}
