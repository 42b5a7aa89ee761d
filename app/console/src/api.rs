//! Data of the console as JSON, below `/api/v1`.

mod document;
#[cfg(test)]
mod reference;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::routing::get;

use crate::load;
use crate::problem::ConsoleProblem;
use crate::server::response::json;
use crate::server::routes::PageQuery;
use crate::server::{App, SharedApp, events};
use crate::table::TableQuery;

pub(crate) use document::part;

type ObjectPath = Path<(String, String, String, String)>;

/// Returns all routes.
pub(crate) fn router() -> Router<Arc<App>> {
    Router::new()
        .route("/state", get(state))
        .route("/operators", get(operators))
        .route("/operators/{name}", get(operator))
        .route("/decisions", get(decisions))
        .route("/decisions/{id}", get(decision))
        .route("/kinds", get(kinds))
        .route("/objects", get(objects))
        .route("/objects/{cluster}/{kind}/{namespace}/{name}", get(object))
        .route("/why/{cluster}/{kind}/{namespace}/{name}", get(why))
        .route("/plugs", get(plugs))
        .route("/shards", get(shards))
        .route("/fleet", get(fleet))
        .route("/search", get(search))
        .route("/events", get(events::events))
        .merge(crate::action::api())
}

async fn state(State(app): SharedApp) -> Response {
    json(load::overview::load(&app.source).await)
}

async fn operators(State(app): SharedApp) -> Response {
    json(load::overview::load(&app.source).await.map(|view| view.operators))
}

async fn operator(State(app): SharedApp, Path(name): Path<String>, Query(asked): Query<PageQuery>) -> Response {
    json(load::operator::load(&app.source, &name, asked.unit.as_deref(), &TableQuery::default(), asked.page()).await)
}

async fn decisions(State(app): SharedApp, Query(asked): Query<PageQuery>) -> Response {
    json(load::timeline::timeline(&app.source, asked.scope(), &TableQuery::default(), asked.page()).await)
}

async fn decision(State(app): SharedApp, Path(id): Path<String>) -> Response {
    match id.parse() {
        Ok(number) => json(load::decision::load(&app.source, number).await),
        Err(_) => json::<()>(Err(ConsoleProblem::BadRequest(format!("`{id}` is not the number of a decision")))),
    }
}

async fn kinds(State(app): SharedApp, Query(asked): Query<PageQuery>) -> Response {
    json(load::browse::kinds(&app.source, asked.cluster.as_deref()).await)
}

async fn objects(State(app): SharedApp, Query(asked): Query<PageQuery>) -> Response {
    let (Some(cluster), Some(kind)) = (&asked.cluster, &asked.kind) else {
        return json::<()>(Err(ConsoleProblem::BadRequest(
            "cluster and kind are required: ?cluster=…&kind=…".to_string(),
        )));
    };
    let (namespace, from) = (asked.namespace.unwrap_or_default(), asked.from.unwrap_or_default());
    let scope = load::browse::ListScope { cluster, kind, namespace: &namespace };
    json(load::browse::list(&app.source, scope, &TableQuery::default(), &from, 1).await)
}

async fn object(State(app): SharedApp, Path((cluster, kind, namespace, name)): ObjectPath) -> Response {
    let found = async {
        let key = load::object::key(&app.source, &cluster, &kind, &namespace, &name).await?;
        load::object::load(&app.source, key).await
    };
    json(found.await)
}

async fn why(State(app): SharedApp, Path((cluster, kind, namespace, name)): ObjectPath) -> Response {
    let found = async {
        let key = load::object::key(&app.source, &cluster, &kind, &namespace, &name).await?;
        let report = load::object::why(&app.source, &key).await?;
        let redactor = app.source.redactor().await?;
        let report = serde_json::to_value(&report).map_err(|error| ConsoleProblem::BadRequest(error.to_string()))?;
        Ok::<_, ConsoleProblem>(redactor.value(&report))
    };
    json(found.await)
}

async fn plugs(State(app): SharedApp, Query(asked): Query<PageQuery>) -> Response {
    json(load::map::load(&app.source, asked.page(), asked.near.as_deref(), &asked.tables("")).await)
}

async fn shards(State(app): SharedApp, Query(asked): Query<PageQuery>) -> Response {
    json(load::shards::load(&app.source, asked.page(), &asked.tables(""), asked.only_different()).await)
}

async fn fleet(State(app): SharedApp, Query(asked): Query<PageQuery>) -> Response {
    json(load::fleet::load(&app.source, asked.page(), &asked.tables("")).await)
}

async fn search(State(app): SharedApp, Query(asked): Query<PageQuery>) -> Response {
    json(load::search::search(&app.source, &asked.q.unwrap_or_default()).await)
}
