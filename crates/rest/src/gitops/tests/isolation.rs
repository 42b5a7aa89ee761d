//! A tenant tries to see, name and change what is another's.

use serde_json::json;
use switchboard_ledger::Change;
use switchboard_ledger::rows::ClusterUser;

use super::applications::web;
use super::operations::{instance, operation};
use crate::testing::{Asker, Town};

/// Every operation on something of `shop`, as a method, a path and a body.
fn attempts() -> Vec<(&'static str, &'static str, serde_json::Value)> {
    let environment = json!({ "tenant": "shop", "name": "prod", "url": "https://x.example", "credentialsSecret": "x" });
    let none = json!(null);
    vec![
        ("GET", "/api/v1/application?tenant=shop", none.clone()),
        ("GET", "/api/v1/application", none.clone()),
        ("POST", "/api/v1/application", web()),
        ("GET", "/api/v1/application/shop.web", none.clone()),
        ("GET", "/api/v1/application/shop.there-is-none", none.clone()),
        ("PUT", "/api/v1/application/shop.web", web()),
        ("DELETE", "/api/v1/application/shop.web", none.clone()),
        ("GET", "/api/v1/managedenvironment?tenant=shop", none.clone()),
        ("GET", "/api/v1/managedenvironment", none.clone()),
        ("POST", "/api/v1/managedenvironment", environment.clone()),
        ("GET", "/api/v1/managedenvironment/shop.prod", none.clone()),
        ("PUT", "/api/v1/managedenvironment/shop.prod", environment),
        ("DELETE", "/api/v1/managedenvironment/shop.prod", none.clone()),
        ("GET", "/api/v1/operation?tenant=shop", none.clone()),
        ("GET", "/api/v1/operation", none.clone()),
        ("POST", "/api/v1/operation", json!({ "application": "shop.web" })),
        ("GET", "/api/v1/operation/shop.web-1", none.clone()),
        ("DELETE", "/api/v1/operation/shop.web-1", none.clone()),
        ("GET", "/api/v1/engineinstance", none.clone()),
        ("GET", "/api/v1/engineinstance/i-1", none),
    ]
}

async fn attempt(asker: &Asker, (method, path, body): &(&str, &str, serde_json::Value)) -> u16 {
    if body.is_null() {
        return asker.ask(method, path, &[], Vec::new()).await.status.as_u16();
    }
    asker
        .ask(method, path, &[("content-type", "application/json")], body.to_string().into_bytes())
        .await
        .status
        .as_u16()
}

#[tokio::test]
async fn nobody_gets_at_what_is_anothers() {
    let town = Town::build().await;
    let owner = town.asker("shop", "ci").await;
    assert_eq!(owner.post("/api/v1/application", &web()).await.status, 201);
    for (namespace, name) in [("bank", "ci"), ("shop", "nobody")] {
        let stranger = town.asker(namespace, name).await;
        for one in attempts() {
            assert_eq!(attempt(&stranger, &one).await, 403, "{namespace}/{name}: {} {}", one.0, one.1);
        }
    }
    for token in ["", "nonsense"] {
        let anonymous = Asker { token: token.to_string(), ..owner.clone() };
        for one in attempts() {
            assert_eq!(attempt(&anonymous, &one).await, 401, "{} {}", one.0, one.1);
        }
    }
    assert_eq!(owner.get("/api/v1/application/shop.web").await.status, 200, "it is still there");
}

#[tokio::test]
async fn an_operation_of_another_is_not_even_there() {
    let town = Town::build().await;
    let user = ClusterUser {
        id: "u-shop".into(),
        user_name: town.uid("shop").await,
        created_on: Default::default(),
        display_name: Some("shop".into()),
    };
    let mut changes = instance("i-1");
    changes.extend([Change::insert(&user), Change::insert(&operation("o-1", "i-1", "u-shop"))]);
    town.ledger.commit(&changes).await.unwrap();
    let (owner, stranger) = (town.asker("shop", "ci").await, town.asker("bank", "ci").await);
    assert_eq!(owner.get("/api/v1/operation/o-1").await.body["tenant"], "shop");
    let (there, none) =
        (stranger.get("/api/v1/operation/o-1").await, stranger.get("/api/v1/operation/there-is-none").await);
    assert_eq!((there.status.as_u16(), there.body), (404, none.body));
    assert_eq!(stranger.get("/api/v1/operation?tenant=bank").await.body["entries"], json!([]));
}

#[tokio::test]
async fn a_namespace_that_was_made_again_is_another_tenant() {
    let town = Town::build().await;
    let before = ClusterUser {
        id: "u-old".into(),
        user_name: "uid-of-an-earlier-shop".into(),
        created_on: Default::default(),
        display_name: Some("shop".into()),
    };
    let mut changes = instance("i-1");
    changes.extend([Change::insert(&before), Change::insert(&operation("o-1", "i-1", "u-old"))]);
    town.ledger.commit(&changes).await.unwrap();
    let ci = town.asker("shop", "ci").await;
    assert_eq!(ci.get("/api/v1/operation/o-1").await.status, 404);
    assert_eq!(ci.get("/api/v1/operation?tenant=shop").await.body["entries"], json!([]));
    let admin = town.asker("ops", "admin").await;
    assert_eq!(admin.get("/api/v1/operation/o-1").await.status, 200, "who may see everybody's sees nobody's, too");
}
