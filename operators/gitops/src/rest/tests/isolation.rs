//! Attempts of one tenant to read, name and change another tenant's objects.

use serde_json::json;
use switchboard_sql::RowChange;

use super::applications::web;
use super::operations::{instance, operation};
use crate::rest::tests::testing::{TestClient, TestCluster};
use crate::rows::ClusterUser;

/// Every operation on an object of `shop`, as method, path and body.
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

async fn attempt(client: &TestClient, (method, path, body): &(&str, &str, serde_json::Value)) -> u16 {
    if body.is_null() {
        return client.request(method, path, &[], Vec::new()).await.status.as_u16();
    }
    client
        .request(method, path, &[("content-type", "application/json")], body.to_string().into_bytes())
        .await
        .status
        .as_u16()
}

#[tokio::test]
async fn no_tenant_reaches_resources_of_another() {
    let cluster_fixture = TestCluster::build().await;
    let owner = cluster_fixture.api_client("shop", "ci").await;
    assert_eq!(owner.post("/api/v1/application", &web()).await.status, 201);
    for (namespace, name) in [("bank", "ci"), ("shop", "no-access")] {
        let stranger = cluster_fixture.api_client(namespace, name).await;
        for one in attempts() {
            assert_eq!(attempt(&stranger, &one).await, 403, "{namespace}/{name}: {} {}", one.0, one.1);
        }
    }
    for token in ["", "nonsense"] {
        let anonymous = TestClient { token: token.to_string(), ..owner.clone() };
        for one in attempts() {
            assert_eq!(attempt(&anonymous, &one).await, 401, "{} {}", one.0, one.1);
        }
    }
    assert_eq!(owner.get("/api/v1/application/shop.web").await.status, 200, "it still exists");
}

#[tokio::test]
async fn an_operation_of_another_tenant_looks_missing() {
    let cluster_fixture = TestCluster::build().await;
    let user = ClusterUser {
        id: "u-shop".into(),
        user_name: cluster_fixture.uid("shop").await,
        created_on: Default::default(),
        display_name: Some("shop".into()),
    };
    let mut changes = instance("i-1");
    changes.extend([RowChange::insert(&user), RowChange::insert(&operation("o-1", "i-1", "u-shop"))]);
    cluster_fixture.ledger.commit(&changes).await.unwrap();
    let (owner, stranger) =
        (cluster_fixture.api_client("shop", "ci").await, cluster_fixture.api_client("bank", "ci").await);
    assert_eq!(owner.get("/api/v1/operation/o-1").await.body["tenant"], "shop");
    let (there, none) =
        (stranger.get("/api/v1/operation/o-1").await, stranger.get("/api/v1/operation/there-is-none").await);
    assert_eq!((there.status.as_u16(), there.body), (404, none.body));
    assert_eq!(stranger.get("/api/v1/operation?tenant=bank").await.body["entries"], json!([]));
}

#[tokio::test]
async fn a_recreated_namespace_is_another_tenant() {
    let cluster_fixture = TestCluster::build().await;
    let before = ClusterUser {
        id: "u-old".into(),
        user_name: "uid-of-an-earlier-shop".into(),
        created_on: Default::default(),
        display_name: Some("shop".into()),
    };
    let mut changes = instance("i-1");
    changes.extend([RowChange::insert(&before), RowChange::insert(&operation("o-1", "i-1", "u-old"))]);
    cluster_fixture.ledger.commit(&changes).await.unwrap();
    let ci = cluster_fixture.api_client("shop", "ci").await;
    assert_eq!(ci.get("/api/v1/operation/o-1").await.status, 404);
    assert_eq!(ci.get("/api/v1/operation?tenant=shop").await.body["entries"], json!([]));
    let admin = cluster_fixture.api_client("ops", "admin").await;
    assert_eq!(
        admin.get("/api/v1/operation/o-1").await.status,
        200,
        "callers with access to all tenants see operations without a tenant"
    );
}

/// Paths with encoded characters: decoding after authorization would reach another tenant's object.
#[tokio::test]
async fn no_spelling_of_a_path_leads_to_another_tenant() {
    let cluster_fixture = TestCluster::build().await;
    let owner = cluster_fixture.api_client("shop", "ci").await;
    assert_eq!(owner.post("/api/v1/application", &web()).await.status, 201);
    let prod = json!({ "tenant": "shop", "name": "prod", "url": "https://x.example", "credentialsSecret": "x" });
    assert_eq!(owner.post("/api/v1/managedenvironment", &prod).await.status, 201);
    let stranger = cluster_fixture.api_client("bank", "ci").await;
    let spellings = [
        "shop%2Eweb",
        "shop%2Fweb",
        "shop%252Eweb",
        "shop%2eweb",
        "Shop.web",
        "shop.web%00",
        "%73hop.web",
        "bank.%2E%2E%2Fshop",
        "bank.x%2F..%2F..%2F..%2Fshop%2Fgitopsdeployments%2Fweb",
        "bank.web%3Fnamespace=shop",
        "bank%2F..%2Fshop.web",
        "bank.web%23",
        "bank.web%2Fstatus",
        "bank.%2Fweb",
        "..%2Fapplication%2Fshop.web",
        "bank;shop.web",
        "shop.web%20",
        "shop.web;",
        "shop..web",
        "bank.shop.web",
        "bank,shop.web",
    ];
    for collection in ["application", "managedenvironment", "operation"] {
        for spelling in spellings {
            let spelling =
                if collection == "managedenvironment" { spelling.replace("web", "prod") } else { spelling.to_string() };
            for method in ["GET", "DELETE"] {
                let path = format!("/api/v1/{collection}/{spelling}");
                let answer = stranger.send(method, &path, &[], Vec::new()).await;
                let status = answer.status.as_u16();
                assert!(matches!(status, 403 | 404), "{method} {path} answered {status}: {}", answer.body);
                assert!(!answer.body.to_string().contains("git.example"), "{path}: {}", answer.body);
            }
        }
    }
    // Encoded names in bodies and queries.
    for (field, value) in [
        ("tenant", "bank/../shop"),
        ("tenant", "shop "),
        ("tenant", "SHOP"),
        ("name", "../../shop/gitopsdeployments/x"),
        ("name", "x?namespace=shop"),
        ("tenant", ""),
    ] {
        let mut wanted = web();
        wanted["tenant"] = json!("bank");
        wanted[field] = json!(value);
        let answer = stranger.post("/api/v1/application", &wanted).await;
        assert!(matches!(answer.status.as_u16(), 403 | 422), "{field} {value}: {}", answer.body);
    }
    let mut both = web();
    both["tenant"] = json!("bank");
    let theirs = stranger.put("/api/v1/application/shop.web", "", &both).await.status;
    assert_eq!(theirs, 422, "tenant and name match the id");
    let mut mine = web();
    mine["tenant"] = json!("shop");
    assert_eq!(stranger.put("/api/v1/application/bank.web", "", &mine).await.status, 422);
    for query in
        ["tenant=bank&tenant=shop", "tenant=bank%2F..%2Fshop", "tenant=bank%26tenant=shop", "tenant=*", "tenant="]
    {
        for collection in ["application", "managedenvironment", "operation"] {
            let answer = stranger.send("GET", &format!("/api/v1/{collection}?{query}"), &[], Vec::new()).await;
            assert!(matches!(answer.status.as_u16(), 400 | 403), "{query}: {} {}", answer.status, answer.body);
        }
    }
    for path in ["/api/v1/application/shop.web", "/api/v1/managedenvironment/shop.prod"] {
        assert_eq!(owner.get(path).await.status, 200, "it still exists");
    }
}

/// A continue token of another tenant's list must not reveal any of its entries.
#[tokio::test]
async fn a_continue_token_of_another_tenant_reveals_nothing() {
    let cluster_fixture = TestCluster::build().await;
    let (owner, stranger) =
        (cluster_fixture.api_client("shop", "ci").await, cluster_fixture.api_client("bank", "ci").await);
    for (client, tenant) in [(&owner, "shop"), (&stranger, "bank")] {
        for number in 0..3 {
            let mut wanted = web();
            wanted["tenant"] = json!(tenant);
            wanted["name"] = json!(format!("{tenant}-{number}"));
            assert_eq!(client.post("/api/v1/application", &wanted).await.status, 201);
        }
    }
    let admin = cluster_fixture.api_client("ops", "admin").await;
    let mut tokens = Vec::new();
    for (client, query) in [(&owner, "tenant=shop&"), (&admin, "")] {
        let page = client.get(&format!("/api/v1/application?{query}limit=1")).await;
        tokens.push(page.body["continue"].as_str().unwrap().to_string());
    }
    for token in &tokens {
        let answer = stranger.get(&format!("/api/v1/application?tenant=bank&limit=10&continue={token}")).await;
        let names: Vec<&str> =
            answer.body["entries"].as_array().into_iter().flatten().filter_map(|one| one["tenant"].as_str()).collect();
        assert!(matches!(answer.status.as_u16(), 200 | 400), "{}", answer.body);
        assert!(names.iter().all(|tenant| *tenant == "bank"), "{}", answer.body);
        assert_eq!(stranger.get(&format!("/api/v1/application?limit=10&continue={token}")).await.status, 403);
    }
    let mut changes = instance("i-1");
    for tenant in ["shop", "bank"] {
        let user = super::operations::user(&format!("u-{tenant}"), tenant, &cluster_fixture.uid(tenant).await);
        changes.push(RowChange::insert(&user));
        for number in 0..3 {
            let (id, owner) = (format!("o-{number}-{tenant}"), format!("u-{tenant}"));
            changes.push(RowChange::insert(&operation(&id, "i-1", &owner)));
        }
    }
    cluster_fixture.ledger.commit(&changes).await.unwrap();
    for token in ["o-0-shop", "o-2-shop", "o-0-bank"] {
        let page = stranger.get(&format!("/api/v1/operation?tenant=bank&continue={token}")).await;
        let ids: Vec<&str> =
            page.body["entries"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        assert!(!ids.is_empty() || token == "o-2-shop", "{token}");
        assert!(ids.iter().all(|id| id.ends_with("-bank")), "{ids:?}");
    }
}

/// A webhook secret authenticates events of its own tenant only, and a Secret with another name or type authenticates
/// none.
#[tokio::test]
async fn an_event_refreshes_only_the_tenant_that_signed_it() {
    let cluster_fixture = TestCluster::build().await;
    let own = |secret: &str| json!({ "metadata": { "name": "gitops-webhook" }, "type": "managed-gitops.redhat.com/webhook", "stringData": { "secret": secret } });
    cluster_fixture.post("/api/v1/namespaces/shop/secrets", own("of-shop")).await;
    cluster_fixture.post("/api/v1/namespaces/bank/secrets", own("of-bank")).await;
    let sender = TestClient { token: String::new(), ..cluster_fixture.api_client("bank", "ci").await };
    let event = json!({ "ref": "refs/heads/main", "repository": "https://git.example/shop/web" });
    let post = async |query: &str, token: &str| {
        let headers =
            [("content-type", "application/json"), ("x-gitlab-event", "Push Hook"), ("x-gitlab-token", token)];
        sender.send("POST", &format!("/api/v1/webhookevent{query}"), &headers, event.to_string().into_bytes()).await
    };
    assert_eq!(post("?tenant=bank", "of-bank").await.status, 202);
    for query in ["?tenant=shop", "", "?tenant=bank&tenant=shop", "?tenant=shop%00", "?tenant=bank%2F..%2Fshop"] {
        let status = post(query, "of-bank").await.status.as_u16();
        assert!(matches!(status, 400 | 403), "{query} answered {status}");
    }
}

/// Names in a body are looked up in the tenant's own namespace: no name reaches a cluster or a Secret of another
/// tenant.
#[tokio::test]
async fn no_name_in_a_body_reaches_another_tenant() {
    let cluster_fixture = TestCluster::build().await;
    let own = |secret: &str| json!({ "metadata": { "name": secret }, "type": "managed-gitops.redhat.com/managed-environment", "stringData": { "kubeconfig": "canary" } });
    cluster_fixture.post("/api/v1/namespaces/shop/secrets", own("prod")).await;
    let prod = json!({ "tenant": "shop", "name": "prod", "url": "https://x.example", "credentialsSecret": "prod" });
    assert_eq!(
        cluster_fixture.api_client("shop", "ci").await.post("/api/v1/managedenvironment", &prod).await.status,
        201
    );
    let stranger = cluster_fixture.api_client("bank", "ci").await;
    for word in [
        "shop/prod",
        "../shop/prod",
        "shop:prod",
        "/namespaces/shop/prod",
        "shop%2Fprod",
        "prod?namespace=shop",
        "Prod",
    ] {
        let environment =
            json!({ "tenant": "bank", "name": "x", "url": "https://x.example", "credentialsSecret": word });
        let answer = stranger.post("/api/v1/managedenvironment", &environment).await;
        assert_eq!(answer.status, 422, "{word}: {}", answer.body);
        let mut application = web();
        application["tenant"] = json!("bank");
        application["destinationCluster"] = json!(word);
        application["namespace"] = json!("web");
        let answer = stranger.post("/api/v1/application", &application).await;
        assert_eq!(answer.status, 422, "{word}: {}", answer.body);
    }
    // A bare name refers to an environment of the caller's tenant, which does not exist; the response contains none of
    // the other tenant's data.
    let environment =
        json!({ "tenant": "bank", "name": "prod", "url": "https://x.example", "credentialsSecret": "prod" });
    let made = stranger.post("/api/v1/managedenvironment", &environment).await;
    assert_eq!((made.status.as_u16(), &made.body["tenant"]), (201, &json!("bank")));
    assert!(!made.body.to_string().contains("canary"));
    let sync = stranger.post("/api/v1/operation", &json!({ "application": "shop.web" })).await;
    assert_eq!(sync.status, 403);
}
