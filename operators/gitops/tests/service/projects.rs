//! AppProject of a tenant on each Argo CD instance with a placement of the tenant.

use serde_json::json;
use switchboard_gitops::rows::*;

use crate::database::{TestDatabase, on_both};
use crate::fixture::{ARGO, ARGOCD, DEPLOYMENTS, ENVIRONMENTS, ServiceFixture, plain};
use crate::fleet::{OTHER, deploy_and_find};

on_both! {
    a_project_is_deleted_with_its_last_permission
    a_project_is_deleted_when_environments_are_deleted_first
}

/// Creates a tenant with two environments, each on its own Argo CD instance.
async fn shop(database: TestDatabase) -> ServiceFixture {
    let fixture = ServiceFixture::new(database).await;
    fixture.add_instance(OTHER).await;
    let mut places = Vec::new();
    for name in ["prod", "stage"] {
        fixture.environment("shop", name, "token").await;
        let mut spec = plain();
        spec["destination"] = json!({"environment": name, "namespace": "web"});
        places.push(deploy_and_find(&fixture, "shop", name, spec).await.1);
    }
    assert_ne!(places[0], places[1], "each is a placement of its own");
    fixture.wait_until_settled().await;
    fixture
}

/// Number of destinations of each project.
async fn destinations(fixture: &ServiceFixture) -> Vec<usize> {
    let mut found = Vec::new();
    for instance in [ARGOCD, OTHER] {
        for project in fixture.list_objects(&format!("{ARGO}/namespaces/{instance}/appprojects")).await {
            found.push(project["spec"]["destinations"].as_array().map_or(0, Vec::len));
        }
    }
    found
}

async fn a_project_is_deleted_with_its_last_permission(database: TestDatabase) {
    let fixture = shop(database).await;
    for name in ["prod", "stage"] {
        fixture.delete("shop", DEPLOYMENTS, name).await;
    }
    fixture.wait_for("no Application", async || fixture.all::<Application>().await.is_empty().then_some(())).await;
    fixture.wait_until_settled().await;
    fixture.delete("shop", ENVIRONMENTS, "prod").await;
    // The tenant has nothing on the other instance any more.
    fixture.wait_for("a project that may use one", async || (destinations(&fixture).await == [1]).then_some(())).await;
    fixture.delete("shop", ENVIRONMENTS, "stage").await;
    fixture.wait_for("no project", async || destinations(&fixture).await.is_empty().then_some(())).await;
}

async fn a_project_is_deleted_when_environments_are_deleted_first(database: TestDatabase) {
    let fixture = shop(database).await;
    for plural in [ENVIRONMENTS, DEPLOYMENTS] {
        for name in ["prod", "stage"] {
            fixture.delete("shop", plural, name).await;
        }
        fixture.wait_until_settled().await;
    }
    fixture.wait_for("no project", async || destinations(&fixture).await.is_empty().then_some(())).await;
}
