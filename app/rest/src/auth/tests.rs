#![allow(clippy::unwrap_used)]

use http::HeaderValue;
use serde_json::json;
use switchboard_cluster::Cluster;

use super::*;
use crate::testing::Town;

#[tokio::test]
async fn guarantees_no_token_no_caller() {
    let town = Town::build().await;
    let auth = Auth::new(town.cluster.client());
    let token = town.token("shop", "ci").await;
    let caller = auth.caller(&token).await.unwrap();
    assert_eq!(caller.name, "system:serviceaccount:shop:ci");
    assert_eq!(caller.counted_with(), "tenant shop");
    let (bent, long) = (format!("{token}x"), "x".repeat(MAX_TOKEN_BYTES + 1));
    for wrong in ["", "nonsense", bent.as_str(), long.as_str()] {
        assert_eq!(auth.caller(wrong).await.unwrap_err().kind(), Kind::Unauthenticated);
    }
}

#[tokio::test]
async fn guarantees_no_right_no_access() {
    let town = Town::build().await;
    let auth = Auth::new(town.cluster.client());
    let caller = auth.caller(&town.token("shop", "ci").await).await.unwrap();
    let list = |namespace: &str| Access::new("list", "managed-gitops.redhat.com", "gitopsdeployments", namespace);
    auth.authorize(&caller, &list("shop")).await.unwrap();
    for other in ["bank", ""] {
        let refused = auth.authorize(&caller, &list(other)).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Forbidden);
    }
    let refused = auth.authorize(&caller, &list("bank")).await.unwrap_err();
    assert_eq!(
        refused.detail(),
        "`system:serviceaccount:shop:ci` may not list gitopsdeployments.managed-gitops.redhat.com in namespace `bank`"
    );
}

#[tokio::test]
async fn guarantees_no_token_is_shown() {
    let town = Town::build().await;
    let auth = Auth::new(town.cluster.client());
    let token = town.token("shop", "ci").await;
    auth.caller(&token).await.unwrap();
    let refused = auth.caller("hunter2").await.unwrap_err();
    for shown in [format!("{auth:?}"), format!("{:?}", auth.tokens.lock().unwrap()), format!("{refused:?}")] {
        assert!(!shown.contains(&token) && !shown.contains("hunter2"), "{shown}");
    }
}

#[tokio::test]
async fn an_answer_is_remembered_for_a_while() {
    let town = Town::build().await;
    let auth = Auth::new(town.cluster.client());
    let token = town.token("shop", "ci").await;
    assert_eq!(auth.known(&token), None);
    let caller = auth.caller(&token).await.unwrap();
    assert_eq!(auth.known(&token), Some(Some(caller)));
    let _ = auth.caller("nonsense").await;
    assert_eq!(auth.known("nonsense"), Some(None));
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_no_reason_to_believe() {
    let broken = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no"))
    });
    let auth = Auth::new(Client::new(broken, "default"));
    assert_eq!(auth.caller("any").await.unwrap_err().kind(), Kind::Unavailable);
    assert_eq!(auth.known("any"), None);
}

#[test]
fn a_token_stands_in_one_header() {
    let of = |text: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(text).unwrap());
        bearer(&headers).map(str::to_string)
    };
    assert_eq!(of("Bearer abc").unwrap(), "abc");
    assert_eq!(of("bearer abc").unwrap(), "abc");
    for wrong in ["Basic abc", "Bearer", "abc", ""] {
        assert_eq!(of(wrong).unwrap_err().kind(), Kind::Unauthenticated, "{wrong}");
    }
    assert_eq!(bearer(&HeaderMap::new()).unwrap_err().kind(), Kind::Unauthenticated);
}

#[tokio::test]
async fn rights_of_a_user_go_by_groups_too() {
    let cluster = Cluster::ephemeral().await;
    let auth = Auth::new(cluster.client());
    let admin = Caller { name: "ann".into(), groups: vec!["system:masters".into()], ..Caller::default() };
    auth.authorize(&admin, &Access::new("delete", "", "secrets", "")).await.unwrap();
    let other = Caller { name: "ann".into(), ..Caller::default() };
    assert!(!auth.may(&other, &Access::new("delete", "", "secrets", "").named("x")).await.unwrap());
    assert_eq!(other.counted_with(), "user ann");
    assert_eq!(json!(admin)["username"], "ann");
}
