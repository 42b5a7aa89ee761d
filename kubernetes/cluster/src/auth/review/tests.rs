#![allow(clippy::unwrap_used)]
use std::collections::HashMap;

use super::*;
use crate::auth::rbac::{GROUP, RbacKind};
use crate::auth::token::TokenKey;

#[derive(Default)]
struct ReviewObjects(HashMap<(&'static str, &'static str), Value>);

impl TokenObjects for ReviewObjects {
    fn object(&self, resource: &str, _: &str, name: &str) -> Option<Value> {
        self.0.iter().find(|((r, n), _)| *r == resource && *n == name).map(|(_, object)| object.clone())
    }
}

struct ReviewFixture {
    policy: Policy,
    authenticator: Authenticator,
    objects: ReviewObjects,
    user: User,
}

impl ReviewFixture {
    fn new() -> Self {
        let mut policy = Policy::default();
        let role = json!({"rules": [
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
            {"verbs": ["get"], "nonResourceURLs": ["/metrics"]},
        ]});
        let binding = json!({
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "User", "name": "bob"}],
        });
        policy.put(RbacKind::ClusterRole, "", "r", role.to_string().as_bytes());
        policy.put(RbacKind::ClusterRoleBinding, "", "b", binding.to_string().as_bytes());
        let mut objects = ReviewObjects::default();
        objects.0.insert(("serviceaccounts", "web"), json!({"metadata": {"uid": "u1"}}));
        objects.0.insert(("secrets", "s"), json!({"metadata": {"uid": "s1"}}));
        objects.0.insert(("pods", "p"), json!({"metadata": {"uid": "p1"}, "spec": {"serviceAccountName": "other"}}));
        let authenticator = Authenticator::new(TokenKey::ephemeral().unwrap(), None);
        Self { policy, authenticator, objects, user: User::named("bob") }
    }

    fn context(&self) -> ReviewContext<'_> {
        ReviewContext {
            user: &self.user,
            namespace: "shop",
            policy: &self.policy,
            authenticator: &self.authenticator,
            objects: &self.objects,
            now: Timestamp::from_second(1_800_000_000).unwrap(),
        }
    }

    fn ask(&self, kind: &str, object: Value) -> Result<Value, Status> {
        let group = if kind.starts_with("Token") || kind == "SelfSubjectReview" {
            "authentication.k8s.io"
        } else {
            "authorization.k8s.io"
        };
        answer(&GroupVersionKind::new(group, "v1", kind), &object, &self.context()).unwrap()
    }

    fn token(&self, request: Value) -> Result<Value, Status> {
        let mut request = request;
        token_request::default(&mut request);
        token_request::answer("web", request, "id", &self.context())
    }
}

#[test]
fn subject_access_is_answered_with_the_reason() {
    let case = ReviewFixture::new();
    let spec = json!({"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods"}});
    let answer = case.ask("SubjectAccessReview", json!({"spec": spec})).unwrap();
    assert_eq!(
        answer["status"],
        json!({"allowed": true, "reason": "RBAC: allowed by ClusterRoleBinding \"b\" of ClusterRole \"r\" to User \"bob\""})
    );
    let spec = json!({"user": "eve", "nonResourceAttributes": {"verb": "get", "path": "/metrics"}});
    let answer = case.ask("SubjectAccessReview", json!({"spec": spec})).unwrap();
    assert_eq!(answer["status"], json!({"allowed": false}));
}

#[test]
fn an_empty_review_is_invalid() {
    let case = ReviewFixture::new();
    assert_eq!(
        case.ask("SubjectAccessReview", json!({"spec": {"user": "bob"}})).unwrap_err().message,
        ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of \
         nonResourceAttributes or resourceAttributes must be specified"
    );
    let both = json!({"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/x"}});
    assert_eq!(
        case.ask("SubjectAccessReview", json!({"spec": both})).unwrap_err().message,
        ".authorization.k8s.io \"\" is invalid: [spec.nonResourceAttributes: Invalid value: \
         {\"Path\":\"/x\",\"Verb\":\"\"}: cannot be specified in combination with resourceAttributes, spec.user: \
         Invalid value: \"\": at least one of user or group must be specified]"
    );
}

#[test]
fn a_local_review_stays_in_its_namespace() {
    let case = ReviewFixture::new();
    let ask = |metadata: &str, asked: &str| {
        let spec =
            json!({"user": "bob", "resourceAttributes": {"namespace": asked, "verb": "get", "resource": "pods"}});
        case.ask("LocalSubjectAccessReview", json!({"metadata": {"namespace": metadata}, "spec": spec}))
    };
    assert_eq!(ask("shop", "shop").unwrap()["status"]["allowed"], true);
    assert_eq!(ask("shop", "other").unwrap_err().code, 422);
    assert_eq!(ask("other", "other").unwrap_err().code, 400);
}

#[test]
fn own_rules_are_listed() {
    let case = ReviewFixture::new();
    let answer = case.ask("SelfSubjectRulesReview", json!({"spec": {"namespace": "x"}})).unwrap();
    assert_eq!(
        answer["status"],
        json!({
            "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}],
            "incomplete": false,
        })
    );
    assert_eq!(case.ask("SelfSubjectRulesReview", json!({})).unwrap_err().message, "no namespace on request");
}

#[test]
fn a_token_is_made_and_reviewed() {
    let case = ReviewFixture::new();
    let made = case.token(json!({"metadata": {}})).unwrap();
    assert_eq!(made["spec"]["audiences"], json!(["https://kubernetes.default.svc"]));
    assert_eq!(made["status"]["expirationTimestamp"], "2027-01-15T09:00:00Z");
    let review = case.ask("TokenReview", json!({"spec": {"token": made["status"]["token"]}})).unwrap();
    assert_eq!(review["status"]["user"]["username"], "system:serviceaccount:shop:web");
    assert_eq!(review["status"]["audiences"], json!(["https://kubernetes.default.svc"]));
    let review = case.ask("TokenReview", json!({"spec": {"token": "x"}})).unwrap();
    assert_eq!(review["status"], json!({"user": {}, "error": "invalid bearer token"}));
    assert_eq!(case.ask("TokenReview", json!({})).unwrap_err().code, 400);
}

#[test]
fn token_requests_are_checked() {
    let case = ReviewFixture::new();
    let message = |request: Value| case.token(request).unwrap_err().message;
    assert_eq!(
        message(json!({"spec": {"expirationSeconds": 1}})),
        "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 1: may not specify \
         a duration less than 10 minutes"
    );
    assert!(message(json!({"metadata": {"name": "x"}})).contains("must match the service account name"));
    assert!(message(json!({"metadata": {"uid": "x"}})).contains("does not match the UID of the service account (u1)"));
    let bound = |kind: &str, name: &str, uid: &str| json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid}}});
    assert!(case.token(bound("Secret", "s", "s1")).is_ok());
    assert!(message(bound("Secret", "s", "s2")).contains("does not match the UID in record"));
    assert_eq!(message(bound("Secret", "none", "")), "secrets \"none\" not found");
    assert!(message(bound("Pod", "p", "")).contains("pod running with different serviceaccount name."));
    assert!(
        message(bound("ConfigMap", "c", "")).starts_with("cannot bind token to object of type /v1, Kind=ConfigMap")
    );
}

#[test]
fn whoami_shows_the_user() {
    let case = ReviewFixture::new();
    let answer = case.ask("SelfSubjectReview", json!({})).unwrap();
    assert_eq!(answer["status"], json!({"userInfo": {"username": "bob"}}));
}
