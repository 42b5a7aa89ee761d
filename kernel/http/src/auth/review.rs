//! TokenReview and SubjectAccessReview requests.

use std::collections::BTreeMap;

use http::Request;
use http::header::CONTENT_TYPE;
use kube::Client;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ResourceAttributes, Sha256Digest, fingerprint};
use crate::problem::{ProblemDetails, ProblemKind};

/// Prefix of a service account's user name; namespace and name follow.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Value of `Retry-After` when a review gets no response, in seconds.
const RETRY_S: u64 = 5;

/// Authenticated user of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caller {
    /// The user name.
    #[serde(rename = "username")]
    pub name: String,
    /// The unique ID, which differs for a later user of the same name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The groups of the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Further attributes of the user.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Caller {
    /// Returns the key that the rate limiter counts the requests under: for a service account its namespace, which is a
    /// tenant; for other users the user.
    pub fn rate_limit_key(&self) -> String {
        let account = self.name.strip_prefix(SERVICE_ACCOUNT).and_then(|rest| rest.split_once(':'));
        match account {
            Some((namespace, _)) => format!("tenant {namespace}"),
            None => format!("user {}", self.name),
        }
    }

    pub(crate) fn fingerprint(&self) -> Sha256Digest {
        fingerprint(&serde_json::to_string(self).unwrap_or_default())
    }
}

/// Returns the user of a token; `None` if the cluster rejects the token.
pub(crate) async fn review_token(client: &Client, token: &str) -> Result<Option<Caller>, ProblemDetails> {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "metadata": {},
        "spec": { "token": token },
    });
    let answer = post_review(client, "/apis/authentication.k8s.io/v1/tokenreviews", &review).await?;
    if answer["status"]["authenticated"] != true {
        return Ok(None);
    }
    let caller: Caller = serde_json::from_value(answer["status"]["user"].clone()).unwrap_or_default();
    Ok(Some(caller).filter(|caller| !caller.name.is_empty()))
}

/// Returns whether the cluster allows the action to the caller.
pub(crate) async fn review_access(
    client: &Client,
    caller: &Caller,
    access: &ResourceAttributes,
) -> Result<bool, ProblemDetails> {
    let mut attributes = json!({ "verb": access.verb, "group": access.group, "resource": access.resource });
    for (key, value) in [("namespace", &access.namespace), ("name", &access.name)] {
        if !value.is_empty() {
            attributes[key] = json!(value);
        }
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {
            "user": caller.name,
            "uid": caller.uid,
            "groups": caller.groups,
            "extra": caller.extra,
            "resourceAttributes": attributes,
        },
    });
    let answer = post_review(client, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &review).await?;
    Ok(answer["status"]["allowed"] == true)
}

async fn post_review(client: &Client, path: &str, review: &Value) -> Result<Value, ProblemDetails> {
    let request = Request::post(path).header(CONTENT_TYPE, "application/json").body(review.to_string().into_bytes());
    let request = request.map_err(|_| unavailable())?;
    client.request(request).await.map_err(|error| {
        // The error contains neither the token nor the review.
        tracing::warn!(path, error = %error, "could not review a token or an access");
        unavailable()
    })
}

fn unavailable() -> ProblemDetails {
    ProblemDetails::new(
        ProblemKind::Unavailable,
        "could not authenticate or authorize the request: the cluster does not respond",
    )
    .retry_after_s(RETRY_S)
}
