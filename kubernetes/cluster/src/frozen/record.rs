//! Writes to a dump: answered as if they were made, handed to who keeps them, and never made.
//!
//! A write is tried as a dry run upon the dump, so the answer is the one a server would give: defaults, managed fields, a
//! generated name, a refusal. What comes back does not show in later reads: what an operator decides stays a function of
//! what it was given. A dump may be a part of a cluster, so an object or namespace that is not in it is no reason to refuse.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::json;
use switchboard_object::Value;
use switchboard_object::json;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::status::Status;

use crate::answer::{Answer, Payload};
use crate::request::body;
use crate::request::media::{self, Encoding, Output};
use crate::verbs::{self, Call};

/// The header in which a client says which controller asks.
pub const CONTROLLER_HEADER: &str = "switchboard-controller";

/// A write that was asked for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// Group, version and kind of the resource.
    pub kind: GroupVersionKind,
    /// The plural name.
    pub plural: String,
    /// `status`, `scale`, ...; empty for the object itself.
    pub subresource: String,
    /// The namespace; empty for kinds without.
    pub namespace: String,
    /// The name in the path; empty for a create.
    pub name: String,
    /// The media type of the body. What came as protobuf or YAML is JSON here.
    pub content_type: String,
    /// The media type it was sent with.
    pub sent_as: String,
    /// The parameters.
    pub query: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// Which controller asks; empty when it does not say.
    pub controller: String,
}

/// Keeps writes. An error is for people, and the write is refused with it.
pub type Recorder = Arc<dyn Fn(&Wish) -> Result<(), String> + Send + Sync>;

/// A kind that can be written although the dump has no object of it.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Group, version and kind.
    pub kind: GroupVersionKind,
    /// The plural name.
    pub plural: String,
    /// Its objects live in namespaces.
    pub namespaced: bool,
}

/// Answers a write and hands it over.
pub(crate) async fn record(call: Call, sent: Bytes, recorder: &Recorder) -> Result<Answer, Status> {
    let sent_as = header(&call, CONTENT_TYPE.as_str());
    // Tried as it came: JSON made of YAML no longer tells of keys that stand twice, which a server may refuse.
    let as_it_came = (!is_deletion(&call)).then(|| (pretending(&call), sent.clone()));
    let (call, sent) = readable(call, sent)?;
    let (asked, asking) = as_it_came.unwrap_or_else(|| (pretending(&call), pretending_body(&sent)));
    let answer = match verbs::perform(asked, asking).await {
        Err(status) if status.code == 404 && is_unknown(&call) => unknown(&call, &sent)?,
        Err(status) if status.code == 422 && is_unfinished(&call, &status).await => unknown(&call, &sent)?,
        other => other?,
    };
    let answer = if call.info.verb == "delete" { gone(&call)? } else { answer };
    let token = call.info.subresource == "token";
    if !is_dry_run(&call, &sent) && !token {
        for wish in wishes(&call, &sent, &sent_as).await? {
            recorder(&wish).map_err(|message| Status::internal(format!("could not record the write: {message}")))?;
        }
    }
    Ok(answer)
}

/// A uid that no object has, those of a dump without uids included.
const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

/// The answer to a deletion. What was deleted is still there, and stays: kubectl, told of its uid or shown the object that its
/// finalizers keep, would wait until it is gone.
fn gone(call: &Call) -> Result<Answer, Status> {
    let encoding = Output::negotiate(&call.headers)?.encoding;
    let (kind, group) = (&call.resource.plural, &call.resource.kind.group);
    let details = json!({"name": call.info.name, "kind": kind, "group": group, "uid": NOBODY});
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
    Ok(Answer::encoded(200, &done, encoding))
}

/// Typed clients send built-in kinds as protobuf, which no file should hold, and some send YAML: whoever looks into a body behind
/// this finds JSON.
fn readable(mut call: Call, sent: Bytes) -> Result<(Call, Bytes), Status> {
    let encoding = media::input(&call.headers).ok().filter(|encoding| *encoding != Encoding::Json);
    let Some(encoding) = encoding.filter(|_| !sent.is_empty() && call.info.verb != "patch") else {
        return Ok((call, sent));
    };
    let decoded = body::decode(encoding, &sent)?;
    call.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // YAML of nothing but comments says nothing, as an empty body does.
    let said = if decoded.value.is_null() { Bytes::new() } else { json::to_vec(&decoded.value).into() };
    Ok((call, said))
}

fn pretending(call: &Call) -> Call {
    Call { query: call.query.clone().with("dryRun", "All"), ..call.clone() }
}

/// Whether the client itself only asks what would come of it: in the query, or in the body of a deletion, where kubectl
/// puts it.
fn is_dry_run(call: &Call, sent: &Bytes) -> bool {
    let in_body = || match json::read(sent).map(|document| document.value["dryRun"].clone()) {
        Ok(Value::Array(stages)) => !stages.is_empty(),
        Ok(other) => !other.is_null(),
        Err(_) => false,
    };
    call.query.get("dryRun").is_some() || is_deletion(call) && in_body()
}

fn is_deletion(call: &Call) -> bool {
    matches!(call.info.verb, "delete" | "deletecollection")
}

/// A deletion has its options in the body, and then those of the query do not count.
fn pretending_body(sent: &Bytes) -> Bytes {
    match json::read(sent) {
        Ok(document) if document.value.is_object() => {
            let mut options = document.value;
            options["dryRun"] = json!(["All"]);
            json::to_vec(&options).into()
        }
        _ => sent.clone(),
    }
}

/// The path is one the server has, and only the object is not in the dump.
fn is_unknown(call: &Call) -> bool {
    !call.info.name.is_empty() && verbs::is_served(call) && call.find(&call.info.name).is_err()
}

/// The object of the dump would itself be refused: dumps written by hand lack what a server fills in. Then a refusal says
/// nothing about the request.
async fn is_unfinished(call: &Call, refusal: &Status) -> bool {
    if call.info.verb == "create" || call.find(&call.info.name).is_err() {
        return false;
    }
    // A scale says how many and nothing else; whatever else is wrong was so before.
    if call.info.subresource == "scale" {
        let causes = refusal.details.iter().flat_map(|details| details["causes"].as_array().into_iter().flatten());
        return !causes.into_iter().any(|cause| cause["field"].as_str().is_none_or(|f| f.starts_with("spec.replicas")));
    }
    let mut same = pretending(call);
    same.info.verb = "patch";
    same.info.subresource = String::new();
    same.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/merge-patch+json"));
    let changed = Bytes::from_static(br#"{"metadata":{"annotations":{"switchboard.dev/looked-at":""}}}"#);
    verbs::perform(same, changed).await.is_err_and(|status| status.code == 422)
}

/// What is answered for an object nothing, or too little, is known of.
fn unknown(call: &Call, sent: &Bytes) -> Result<Answer, Status> {
    let encoding = Output::negotiate(&call.headers)?.encoding;
    if call.info.verb == "delete" {
        return gone(call);
    }
    let whole = call.info.verb == "update" || media_is_apply(call);
    let mut object = match body::decode(Encoding::Yaml, sent) {
        Ok(decoded) if whole && decoded.value.is_object() => decoded.value,
        _ => json!({}),
    };
    // A subresource may speak a kind of its own.
    let kind = call.resource.subresource(&call.info.subresource).map_or(&call.resource.kind, |sub| &sub.kind);
    object["apiVersion"] = kind.api_version().into();
    object["kind"] = kind.kind.as_str().into();
    object["metadata"]["name"] = call.info.name.as_str().into();
    if !call.namespace().is_empty() {
        object["metadata"]["namespace"] = call.namespace().into();
    }
    Ok(Answer::encoded(200, &object, encoding))
}

fn media_is_apply(call: &Call) -> bool {
    header(call, CONTENT_TYPE.as_str()).starts_with("application/apply-patch")
}

fn header(call: &Call, name: &str) -> String {
    call.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_string()
}

/// A deletion of many is one deletion each: who carries it out must not find more.
async fn wishes(call: &Call, sent: &Bytes, sent_as: &str) -> Result<Vec<Wish>, Status> {
    let one = Wish {
        verb: call.info.verb,
        kind: call.resource.kind.clone(),
        plural: call.resource.plural.to_string(),
        subresource: call.info.subresource.clone(),
        namespace: call.namespace().to_string(),
        name: call.info.name.clone(),
        content_type: header(call, CONTENT_TYPE.as_str()),
        sent_as: sent_as.to_string(),
        query: call.query.pairs().to_vec(),
        body: sent.clone(),
        controller: header(call, CONTROLLER_HEADER),
    };
    if call.info.verb != "deletecollection" {
        return Ok(vec![one]);
    }
    let selecting = ["labelSelector", "fieldSelector"];
    let query: Vec<_> = one.query.iter().filter(|(name, _)| !selecting.contains(&name.as_str())).cloned().collect();
    let text = |item: &Value, field: &str| item["metadata"][field].as_str().unwrap_or_default().to_string();
    let wish = |item: &Value| Wish {
        verb: "delete",
        name: text(item, "name"),
        namespace: text(item, "namespace"),
        query: query.clone(),
        ..one.clone()
    };
    Ok(meant(call).await?.iter().map(wish).collect())
}

/// The objects that a deletion of many means.
async fn meant(call: &Call) -> Result<Vec<Value>, Status> {
    let mut list = call.clone();
    list.info.verb = "list";
    list.headers.remove(ACCEPT);
    let bytes: Vec<u8> = match verbs::perform(list, Bytes::new()).await?.payload {
        Payload::Full(bytes) => bytes.to_vec(),
        Payload::Pieces { left, .. } => left.flatten().collect(),
        Payload::Stream(_) => return Err(Status::internal("a list came as a stream")),
    };
    let mut read = json::read(&bytes).map_err(|error| Status::internal(error.to_string()))?.value;
    match read["items"].take() {
        Value::Array(items) => Ok(items),
        _ => Ok(Vec::new()),
    }
}
