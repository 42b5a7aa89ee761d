//! Routes of the pages.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderMap, Uri};
use maud::html;
use serde::Deserialize;
use switchboard_http::ApiSection;

use super::response::{file, page, theme};
use super::{App, SharedApp, events};
use crate::access::SessionUser;
use crate::components::operator_href;
use crate::layout::PageLayout;
use crate::load::browse::ListScope;
use crate::load::timeline::{DecisionScope, folded_timeline};
use crate::problem::ConsoleProblem;
use crate::table::TableQuery;
use crate::{access, action, api, fleet, load, login, pages};

/// Reload interval of pages with data that no operator watches, in seconds.
const UNWATCHED_S: u32 = 5;

/// Query parameters of pages.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PageQuery {
    pub page: Option<usize>,
    pub unit: Option<String>,
    pub cluster: Option<String>,
    pub kind: Option<String>,
    pub namespace: Option<String>,
    pub from: Option<String>,
    pub q: Option<String>,
    pub operator: Option<String>,
    pub near: Option<String>,
    pub different: Option<String>,
    pub sort: Option<String>,
    pub unfold: Option<String>,
}

impl PageQuery {
    pub(crate) fn filter(&self) -> String {
        self.q.clone().unwrap_or_default().trim().to_string()
    }

    pub(crate) fn page(&self) -> usize {
        self.page.unwrap_or(1)
    }

    /// Returns order and filter of the tables of a page. Links within the page keep the other parameters.
    pub(crate) fn tables(&self, path: &str) -> TableQuery {
        let own = [
            ("unit", &self.unit),
            ("cluster", &self.cluster),
            ("kind", &self.kind),
            ("namespace", &self.namespace),
            ("operator", &self.operator),
            ("near", &self.near),
            ("different", &self.different),
            ("unfold", &self.unfold),
        ];
        let fields = own.into_iter().map(|(name, value)| (name, value.clone().unwrap_or_default().trim().to_string()));
        let fields = fields.filter(|(_, value)| !value.is_empty()).collect();
        TableQuery::new(path, fields, &self.filter(), self.sort.as_deref().unwrap_or_default())
    }

    /// Returns the operator and unit whose decisions are requested.
    pub(crate) fn scope(&self) -> DecisionScope<'_> {
        DecisionScope { operator: self.operator.as_deref(), unit: self.unit.as_deref() }
    }

    pub(crate) fn is_unfolded(&self) -> bool {
        self.unfold.as_deref().is_some_and(|given| !given.is_empty())
    }

    pub(crate) fn only_different(&self) -> bool {
        self.different.as_deref().is_some_and(|given| !given.is_empty())
    }
}

/// Returns all routes of the console.
pub(super) fn router(app: Arc<App>, beside: Vec<ApiSection>) -> Router {
    let own = ApiSection { router: api::router().with_state(app.clone()), document: api::part() };
    let admit = from_fn_with_state(access::RequestGuard::new(app.clone(), &beside), access::guard_request);
    let api = switchboard_http::mount(std::iter::once(own).chain(beside).collect());
    Router::new()
        .route("/", get(overview))
        .route("/operators/{name}", get(operator))
        .route("/decisions", get(decisions))
        .route("/decisions/{id}", get(decision))
        .route("/objects", get(objects))
        .route("/objects/{cluster}/{kind}/{namespace}/{name}", get(object))
        .route("/map", get(map))
        .route("/shards", get(shards))
        .route("/fleet", get(fleet_page))
        .route("/search", get(search))
        .route("/help", get(help))
        .route("/help/{name}", get(help_page))
        .route("/events", get(events::events))
        .route("/assets/{name}", get(asset))
        .merge(action::forms())
        .merge(login::routes())
        .fallback(not_found)
        .with_state(app)
        .merge(api)
        .layer(admit)
}

/// Returns the layout of a page for a request.
pub(crate) fn frame(
    app: &App,
    headers: &HeaderMap,
    place: &'static str,
    title: impl Into<String>,
    version: &str,
) -> PageLayout {
    let frame = PageLayout {
        title: title.into(),
        section: place,
        theme: theme(headers),
        version: version.to_string(),
        ..PageLayout::default()
    };
    match app.sessions.user(headers) {
        Some(user) => {
            PageLayout { user: Some(user.name), csrf_token: Some(user.csrf_token), flash: user.flash, ..frame }
        }
        None => frame,
    }
}

fn session_user(frame: &PageLayout) -> Option<SessionUser> {
    Some(SessionUser { name: frame.user.clone()?, csrf_token: frame.csrf_token.clone()?, flash: None })
}

async fn overview(State(app): SharedApp, headers: HeaderMap, Query(query): Query<PageQuery>) -> Response {
    let tables = query.tables("/");
    let view = load::overview::load(&app.source).await;
    let version = view.as_ref().map(|view| view.version.clone()).unwrap_or_default();
    page(
        frame(&app, &headers, "Overview", "Overview", &version),
        view.map(|view| pages::overview::overview(&view, &tables)),
    )
}

async fn operator(
    State(app): SharedApp,
    headers: HeaderMap,
    Path(name): Path<String>,
    Query(query): Query<PageQuery>,
) -> Response {
    let (unit, tables) = (query.unit.as_deref(), query.tables(&operator_href(&name)));
    let scope = DecisionScope { operator: Some(&name), unit };
    let view = async {
        let view = load::operator::load(&app.source, &name, unit, &tables, query.page()).await?;
        let decisions = folded_timeline(&app.source, scope, &tables, query.page(), query.is_unfolded()).await?;
        Ok::<_, ConsoleProblem>((view, decisions))
    };
    let view = view.await;
    let version = view.as_ref().map(|(view, _)| view.version.clone()).unwrap_or_default();
    let frame = frame(&app, &headers, "Overview", name.clone(), &version);
    let user = session_user(&frame);
    let content = view.map(|(view, decisions)| {
        let acts = pages::actions::operator_actions(&view.row, unit, app.source.flags(), user.as_ref());
        pages::operator::operator(&view, &decisions, &tables, unit, &acts)
    });
    page(frame, content)
}

async fn decisions(State(app): SharedApp, headers: HeaderMap, Query(query): Query<PageQuery>) -> Response {
    let (tables, scope) = (query.tables("/decisions"), query.scope());
    let content = async {
        let state = app.source.state().await?;
        let decisions = folded_timeline(&app.source, scope, &tables, query.page(), query.is_unfolded()).await?;
        let content = pages::timeline::decisions(&decisions, state.now, &tables);
        Ok::<_, ConsoleProblem>((content, crate::state_cache::version(&state)))
    };
    let content = content.await;
    let version = content.as_ref().map(|(_, version)| version.clone()).unwrap_or_default();
    page(frame(&app, &headers, "Decisions", "Decisions", &version), content.map(|(content, _)| content))
}

async fn decision(State(app): SharedApp, headers: HeaderMap, Path(id): Path<String>) -> Response {
    let content = match id.parse() {
        Ok(number) => load::decision::load(&app.source, number)
            .await
            .map(|view| pages::decision::decision(&view, app.source.flags())),
        Err(_) => Err(ConsoleProblem::BadRequest(format!("`{id}` is not the number of a decision"))),
    };
    page(frame(&app, &headers, "Decisions", format!("Decision {id}"), ""), content)
}

async fn objects(State(app): SharedApp, headers: HeaderMap, Query(query): Query<PageQuery>) -> Response {
    let text = |given: &Option<String>| given.clone().unwrap_or_default().trim().to_string();
    let (cluster, kind, namespace) = (text(&query.cluster), text(&query.kind), text(&query.namespace));
    let tables = query.tables("/objects");
    let content = if kind.is_empty() || cluster.is_empty() {
        let cluster = Some(cluster.as_str()).filter(|cluster| !cluster.is_empty());
        load::browse::kinds(&app.source, cluster).await.map(|view| pages::browse::kinds(&view, &tables))
    } else {
        let scope = ListScope { cluster: &cluster, kind: &kind, namespace: &namespace };
        let listing = load::browse::list(&app.source, scope, &tables, &text(&query.from), query.page()).await;
        listing.map(|view| pages::browse::listing(&view, &tables))
    };
    let title = query.kind.unwrap_or_else(|| "Objects".to_string());
    let version = app.source.state().await.map(|state| crate::state_cache::version(&state)).unwrap_or_default();
    page(PageLayout { refresh_s: Some(UNWATCHED_S), ..frame(&app, &headers, "Objects", title, &version) }, content)
}

async fn object(
    State(app): SharedApp,
    headers: HeaderMap,
    Path((cluster, kind, namespace, name)): Path<(String, String, String, String)>,
) -> Response {
    let content = async {
        let key = load::object::key(&app.source, &cluster, &kind, &namespace, &name).await?;
        load::object::load(&app.source, key).await
    };
    let view = content.await;
    let version = view.as_ref().map(|view| view.version.clone()).unwrap_or_default();
    // Events, and objects of unwatched kinds, change without a new version.
    let frame = PageLayout { refresh_s: Some(UNWATCHED_S), ..frame(&app, &headers, "Objects", name, &version) };
    page(frame, view.map(|view| pages::object::object(&view, app.source.flags())))
}

async fn map(State(app): SharedApp, headers: HeaderMap, Query(query): Query<PageQuery>) -> Response {
    let (tables, near) = (query.tables("/map"), query.near.as_deref());
    let view = load::map::load(&app.source, query.page(), near, &tables).await;
    let version = view.as_ref().map(|view| view.version.clone()).unwrap_or_default();
    let served = view.as_ref().is_ok_and(|view| view.served);
    let frame =
        PageLayout { refresh_s: (!served).then_some(UNWATCHED_S), ..frame(&app, &headers, "Map", "Map", &version) };
    page(frame, view.map(|view| pages::map::map(&view, &tables, near)))
}

async fn shards(State(app): SharedApp, headers: HeaderMap, Query(query): Query<PageQuery>) -> Response {
    let tables = query.tables("/shards");
    let view = load::shards::load(&app.source, query.page(), &tables, query.only_different()).await;
    let version = app.source.state().await.map(|state| crate::state_cache::version(&state)).unwrap_or_default();
    page(frame(&app, &headers, "Shards", "Shards", &version), view.map(|view| pages::shards::shards(&view, &tables)))
}

async fn fleet_page(State(app): SharedApp, headers: HeaderMap, Query(query): Query<PageQuery>) -> Response {
    let tables = query.tables("/fleet");
    let view = load::fleet::load(&app.source, query.page(), &tables).await;
    let version = view.as_ref().map(|view| view.version.clone()).unwrap_or_default();
    let moving = view.as_ref().is_ok_and(|view| view.placements.is_moving());
    // Applications and moves may change without an operator that watches them.
    let frame = PageLayout {
        refresh_s: Some(if moving { 1 } else { UNWATCHED_S }),
        ..frame(&app, &headers, "Fleet", "Fleet", &version)
    };
    let user = session_user(&frame);
    let placement = |one: &fleet::FleetPlacement, to: &[&str]| {
        pages::actions::move_action(one, to, app.source.flags(), user.as_ref())
    };
    let application = |one: &load::fleet::ApplicationRow| match one.kind {
        "GitOpsDeployment" if one.manual => {
            pages::actions::deployment_action(&one.namespace, &one.name, app.source.flags(), user.as_ref())
        }
        _ => html! {},
    };
    let acts = pages::fleet::FleetActions { application: &application, placement: &placement };
    page(frame, view.map(|view| pages::fleet::fleet(&view, &tables, &acts)))
}

async fn search(State(app): SharedApp, headers: HeaderMap, Query(query): Query<PageQuery>) -> Response {
    let text = query.q.unwrap_or_default();
    let tables = TableQuery::new("/search", vec![("q", text.clone())], "", query.sort.as_deref().unwrap_or_default());
    let content = load::search::search(&app.source, &text).await.map(|found| pages::search::search(&found, &tables));
    let frame = PageLayout { search: text, ..frame(&app, &headers, "", "Search", "") };
    page(frame, content)
}

async fn help(State(app): SharedApp, headers: HeaderMap) -> Response {
    page(frame(&app, &headers, "Help", "Help", ""), Ok(pages::help::contents()))
}

async fn help_page(State(app): SharedApp, headers: HeaderMap, Path(name): Path<String>) -> Response {
    match pages::help::page(&name) {
        Ok((title, content)) => page(frame(&app, &headers, "Help", title, ""), Ok(content)),
        Err(problem) => page(frame(&app, &headers, "Help", "Help", ""), Err(problem)),
    }
}

async fn asset(headers: HeaderMap, Path(name): Path<String>) -> Response {
    match name.as_str() {
        "console.css" => file("text/css; charset=utf-8", include_str!("../../assets/console.css"), &headers),
        "console.js" => file("text/javascript; charset=utf-8", include_str!("../../assets/console.js"), &headers),
        "icon.svg" => file("image/svg+xml", include_str!("../../assets/icon.svg"), &headers),
        _ => super::response::error_page(&ConsoleProblem::NotFound(format!("file {name} does not exist"))),
    }
}

async fn not_found(uri: Uri) -> Response {
    super::error_response(&ConsoleProblem::NotFound(format!("path {} does not exist", uri.path())), uri.path())
}
