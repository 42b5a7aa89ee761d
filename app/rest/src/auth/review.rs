//! The two questions.

use std::collections::BTreeMap;

use http::Request;
use http::header::CONTENT_TYPE;
use kube::Client;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Access, Digest, fingerprint};
use crate::problem::{Kind, Problem};

/// What the name of a service account begins with; namespace and name follow.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// After how many seconds a question may be asked again that nobody answered.
const RETRY_S: u64 = 5;

/// Somebody the cluster knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caller {
    /// Their name.
    #[serde(rename = "username")]
    pub name: String,
    /// What tells them from an earlier one of their name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Their groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// What else the cluster knows of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Caller {
    /// Whose requests theirs are counted with: a service account's are its namespace's, which is a tenant.
    pub fn counted_with(&self) -> String {
        let account = self.name.strip_prefix(SERVICE_ACCOUNT).and_then(|rest| rest.split_once(':'));
        match account {
            Some((namespace, _)) => format!("tenant {namespace}"),
            None => format!("user {}", self.name),
        }
    }

    pub(super) fn fingerprint(&self) -> Digest {
        fingerprint(&serde_json::to_string(self).unwrap_or_default())
    }
}

/// Whose token it is; none if nobody's.
pub(super) async fn token(client: &Client, token: &str) -> Result<Option<Caller>, Problem> {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "metadata": {},
        "spec": { "token": token },
    });
    let answer = ask(client, "/apis/authentication.k8s.io/v1/tokenreviews", &review).await?;
    if answer["status"]["authenticated"] != true {
        return Ok(None);
    }
    let caller: Caller = serde_json::from_value(answer["status"]["user"].clone()).unwrap_or_default();
    Ok(Some(caller).filter(|caller| !caller.name.is_empty()))
}

/// Whether somebody may.
pub(super) async fn access(client: &Client, caller: &Caller, access: &Access) -> Result<bool, Problem> {
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
    let answer = ask(client, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &review).await?;
    Ok(answer["status"]["allowed"] == true)
}

async fn ask(client: &Client, path: &str, review: &Value) -> Result<Value, Problem> {
    let request = Request::post(path).header(CONTENT_TYPE, "application/json").body(review.to_string().into_bytes());
    let request = request.map_err(|_| unavailable())?;
    client.request(request).await.map_err(|error| {
        // Neither the token nor the review is in the error.
        tracing::warn!(path, error = %error, "could not ask the cluster who asks and whether they may");
        unavailable()
    })
}

fn unavailable() -> Problem {
    Problem::new(Kind::Unavailable, "the cluster does not say who asks and whether they may").retry_after_s(RETRY_S)
}
