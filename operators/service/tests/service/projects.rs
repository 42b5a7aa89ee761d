//! What a tenant may use, on each Argo CD that it has something on.

use serde_json::json;
use switchboard_ledger::rows::*;

use crate::base::{Base, on_both};
use crate::fleet::{OTHER, placed};
use crate::stage::{ARGO, ARGOCD, DEPLOYMENTS, ENVIRONMENTS, Stage, plain};

on_both! {
    a_project_goes_with_the_last_of_what_it_may_use
    a_project_goes_when_environments_go_first
}

/// A tenant with two environments, each on an Argo CD of its own.
async fn shop(base: Base) -> Stage {
    let stage = Stage::new(base).await;
    stage.add_instance(OTHER).await;
    let mut places = Vec::new();
    for name in ["prod", "stage"] {
        stage.environment("shop", name, "token").await;
        let mut spec = plain();
        spec["destination"] = json!({"environment": name, "namespace": "web"});
        places.push(placed(&stage, "shop", name, spec).await.1);
    }
    assert_ne!(places[0], places[1], "each is a unit of its own");
    stage.settled().await;
    stage
}

/// How many destinations each project has.
async fn destinations(stage: &Stage) -> Vec<usize> {
    let mut found = Vec::new();
    for instance in [ARGOCD, OTHER] {
        for project in stage.listed(&format!("{ARGO}/namespaces/{instance}/appprojects")).await {
            found.push(project["spec"]["destinations"].as_array().map_or(0, Vec::len));
        }
    }
    found
}

async fn a_project_goes_with_the_last_of_what_it_may_use(base: Base) {
    let stage = shop(base).await;
    for name in ["prod", "stage"] {
        stage.delete("shop", DEPLOYMENTS, name).await;
    }
    stage.until("no Application", async || stage.all::<Application>().await.is_empty().then_some(())).await;
    stage.settled().await;
    stage.delete("shop", ENVIRONMENTS, "prod").await;
    // Nothing of the tenant is on the other any more.
    stage.until("a project that may use one", async || (destinations(&stage).await == [1]).then_some(())).await;
    stage.delete("shop", ENVIRONMENTS, "stage").await;
    stage.until("no project", async || destinations(&stage).await.is_empty().then_some(())).await;
}

async fn a_project_goes_when_environments_go_first(base: Base) {
    let stage = shop(base).await;
    for plural in [ENVIRONMENTS, DEPLOYMENTS] {
        for name in ["prod", "stage"] {
            stage.delete("shop", plural, name).await;
        }
        stage.settled().await;
    }
    stage.until("no project", async || destinations(&stage).await.is_empty().then_some(())).await;
}
