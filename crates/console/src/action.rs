//! What the console does when it is told to: few things, each by a right, each logged.

use std::sync::Arc;

use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use axum::{Json, Router};
use http::{HeaderMap, Request, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_rest::auth::{Access, Caller};

use crate::access::{COOKIE, GROUP};
use crate::piece::operator_href;
use crate::problem::Problem;
use crate::server::App;
use crate::server::answer;

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
}

impl Act {
    /// By the word of its form.
    fn of(word: &str, form: &Fields) -> Option<Self> {
        let operator = || form.operator.clone().filter(|name| !name.is_empty());
        let unit = form.unit.clone().filter(|unit| !unit.is_empty());
        Some(match word {
            "pause" => Act::Pause(operator()?),
            "resume" => Act::Resume(operator()?),
            "wake" => Act::Wake(operator()?, unit),
            "sync" => Act::Sync { namespace: form.namespace.clone()?, name: form.name.clone()? },
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
        }
    }

    /// The command that does the same.
    pub fn command(&self) -> String {
        match self {
            Act::Pause(operator) => format!("switchboard pause {operator}"),
            Act::Resume(operator) => format!("switchboard resume {operator}"),
            Act::Wake(operator, None) => format!("switchboard wake {operator}"),
            Act::Wake(operator, Some(unit)) => format!("switchboard wake {operator} {unit}"),
            Act::Sync { namespace, name } => format!("switchboard gitops sync {name} -n {namespace}"),
        }
    }

    /// The right that it needs.
    pub fn access(&self) -> Access {
        match self {
            Act::Pause(operator) | Act::Resume(operator) => {
                Access::new("pause", GROUP, "operators", "").named(operator)
            }
            Act::Wake(operator, _) => Access::new("wake", GROUP, "operators", "").named(operator),
            Act::Sync { namespace, .. } => {
                Access::new("create", "managed-gitops.redhat.com", "gitopsdeploymentsyncruns", namespace)
            }
        }
    }

    /// The page it is done on.
    fn page(&self) -> String {
        match self {
            Act::Pause(operator) | Act::Resume(operator) | Act::Wake(operator, _) => operator_href(operator),
            Act::Sync { .. } => "/fleet".to_string(),
        }
    }
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
    token: Option<String>,
}

/// Forms of the pages.
pub(crate) fn forms() -> Router<Arc<App>> {
    Router::new()
        .route("/actions/{word}", post(by_form))
        .route("/signin", post(sign_in))
        .route("/signout", post(sign_out))
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
        Err(Problem::Unknown) => return Redirect::to("/signin").into_response(),
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
    answer::json(perform(&app, &headers, &act).await.map(|said| json!({"done": said, "command": act.command()})))
}

/// Does it, if whoever asks may. Whatever comes of it is logged with who asked.
async fn perform(app: &App, headers: &HeaderMap, act: &Act) -> Result<String, Problem> {
    let caller = app.gate.caller(headers).await?;
    let done = match app.gate.authorize(&caller, &act.access()).await {
        Ok(()) => carry_out(app, &caller, act).await,
        Err(problem) => Err(problem),
    };
    let (user, command) = (&caller.name, act.command());
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
    }
}

async fn sync(app: &App, caller: &Caller, namespace: &str, name: &str) -> Result<String, Problem> {
    let run = json!({
        "apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeploymentSyncRun",
        "metadata": {"generateName": format!("{name}-"), "namespace": namespace, "annotations": {"switchboard.dev/asked-by": caller.name}},
        "spec": {"gitopsDeploymentName": name},
    });
    let path = format!(
        "/apis/managed-gitops.redhat.com/v1alpha1/namespaces/{}/gitopsdeploymentsyncruns",
        crate::piece::escaped(namespace)
    );
    let request =
        Request::post(path).header(header::CONTENT_TYPE, "application/json").body(run.to_string().into_bytes());
    let request = request.map_err(|error| Problem::Unclear(error.to_string()))?;
    let client = app.source.client(&app.source.home.0.clone()).await?;
    let made = client
        .request::<Value>(request)
        .await
        .map_err(|error| Problem::Cluster(format!("could not ask for a sync of {name}: {error}")))?;
    Ok(format!("sync run {} was made", made["metadata"]["name"].as_str().unwrap_or_default()))
}

async fn sign_in(State(app): Shared, headers: HeaderMap, Form(form): Form<Fields>) -> Response {
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return answer::trouble(&Problem::Foreign("this form did not come from a page of the console".to_string()));
    }
    match app.gate.sign_in(&form.token.unwrap_or_default()).await {
        Ok(id) => {
            let cookie = format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict");
            (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_string())]).into_response()
        }
        Err(problem) => crate::server::routes::sign_in_page(&app, &headers, Some(&problem)),
    }
}

async fn sign_out(State(app): Shared, headers: HeaderMap, Form(form): Form<Fields>) -> Response {
    if let Err(problem) = app.gate.same_origin(&headers, &form.seal) {
        return answer::trouble(&problem);
    }
    app.gate.sign_out(&headers);
    let cookie = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_string())]).into_response()
}
