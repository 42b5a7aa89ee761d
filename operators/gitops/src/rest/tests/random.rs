//! Random requests: every response conforms to the document, and none is a server error.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use super::applications::web;
use crate::rest::tests::testing::TestCluster;

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        "[a-z0-9.-]{1,70}".prop_map(Value::from),
        Just(json!("shop")),
        Just(json!("shop.web")),
        Just(json!("https://git.example/a?b&c")),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z]{0,8}", inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A plausible body with some fields replaced, removed or added.
fn mutated_body() -> impl Strategy<Value = Value> {
    let whole = [
        web(),
        json!({ "tenant": "shop", "name": "prod", "url": "https://x.example", "config": "a: 1", "namespaces": ["a"] }),
        json!({ "application": "shop.web", "revision": "abc" }),
        json!({ "repository": "https://git.example/a", "ref": "refs/heads/main" }),
    ];
    (
        prop::sample::select(whole.to_vec()),
        prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(value())), 0..3),
    )
        .prop_map(|(mut body, changes)| {
            let fields = body.as_object_mut().expect("all of them are objects");
            for (at, change) in changes {
                let names: Vec<String> = fields.keys().cloned().collect();
                let Some(name) = (!names.is_empty()).then(|| at.get(&names).clone()) else { continue };
                match change {
                    Some(value) => fields.insert(name, value),
                    None => fields.remove(&name),
                };
            }
            body
        })
}

#[tokio::test]
async fn no_request_causes_a_server_error() {
    let cluster_fixture = TestCluster::build().await;
    let admin = cluster_fixture.api_client("ops", "admin").await;
    let mut runner = TestRunner::new(Config::default());
    let mut draw = |strategy: &BoxedStrategy<Value>| strategy.new_tree(&mut runner).unwrap().current();
    let (bodies, values) = (prop_oneof![3 => mutated_body(), 1 => value()].boxed(), value().boxed());
    let collections = ["application", "managedenvironment", "operation", "webhookevent"];
    for round in 0..400 {
        let (collection, body) = (collections[round % 4], draw(&bodies));
        admin.post(&format!("/api/v1/{collection}"), &body).await;
        if round % 4 < 2 {
            admin.put(&format!("/api/v1/{collection}/shop.web"), "", &body).await;
        }
        let odd: String = draw(&values).to_string().bytes().map(|byte| format!("%{byte:02X}")).take(60).collect();
        admin.get(&format!("/api/v1/{collection}/{odd}")).await;
        admin.get(&format!("/api/v1/operation?continue={odd}")).await;
        admin.get(&format!("/api/v1/application?limit={odd}&tenant={odd}")).await;
    }
    for bytes in [&b"\xff\xfe"[..], b"", b"{\"a\":1}trailing", b"\"\\ud800\"", &[b'['; 5000]] {
        for collection in collections {
            let headers = [("content-type", "application/json")];
            admin.request("POST", &format!("/api/v1/{collection}"), &headers, bytes.to_vec()).await;
        }
    }
}
