//! Writes to a dump: answered as if they were applied, passed to the recorder, and never applied.
//!
//! A write runs as a dry run on the dump, so that the response is the one of a real server: defaults, managed fields, a
//! generated name, an error. Later reads do not show it: an operator's decisions stay a function of its inputs. A dump
//! may be a part of a cluster, so a missing object or namespace is not an error.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::json;
use switchboard_object::Value;
use switchboard_object::json;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::status::Status;

use crate::request::body;
use crate::request::media::{self, Encoding, ResponseFormat};
use crate::response::{ApiResponse, ResponsePayload};
use crate::verbs::{self, ApiCall};

/// Recorded write.
#[derive(Clone, Debug)]
pub struct RecordedWrite {
    /// `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// Group, version and kind of the resource.
    pub kind: GroupVersionKind,
    /// Plural name.
    pub plural: String,
    /// `status`, `scale`, ...; empty for the object itself.
    pub subresource: String,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name in the path; empty for a create.
    pub name: String,
    /// Media type of the body. Protobuf and YAML are converted to JSON.
    pub content_type: String,
    /// Media type of the body as the client sent it.
    pub original_content_type: String,
    /// Query parameters.
    pub query: Vec<(String, String)>,
    /// Body.
    pub body: Bytes,
    /// Controller that sent the write; empty if unknown.
    pub controller: String,
}

/// Function that keeps a write. The write is refused with the error's text.
type WriteCallback = Arc<dyn Fn(&RecordedWrite) -> Result<(), String> + Send + Sync>;

/// Recorder of writes.
#[derive(Clone)]
pub struct WriteRecorder {
    /// Name of the header in which a client names its controller.
    pub controller_header: &'static str,
    /// Callback.
    pub keep: WriteCallback,
}

/// Kind that can be written even if the dump has no object of it.
#[derive(Clone, Debug)]
pub struct WritableKind {
    /// Group, version and kind.
    pub kind: GroupVersionKind,
    /// Plural name.
    pub plural: String,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
}

/// Answers a write and passes it to the recorder.
pub(crate) async fn record(call: ApiCall, sent: Bytes, recorder: &WriteRecorder) -> Result<ApiResponse, Status> {
    let sent_as = header(&call, CONTENT_TYPE.as_str());
    // The dry run uses the body as the client sent it: JSON converted from YAML no longer has the duplicate keys that a server may
    // refuse.
    let as_it_came = (!is_deletion(&call)).then(|| (as_dry_run(&call), sent.clone()));
    let (call, sent) = decode_to_json(call, sent)?;
    let (asked, asking) = as_it_came.unwrap_or_else(|| (as_dry_run(&call), dry_run_body(&sent)));
    let answer = match verbs::perform(asked, asking).await {
        Err(status) if status.code == 404 && is_missing_from_dump(&call) => unverified_response(&call, &sent)?,
        Err(status) if status.code == 422 && is_incomplete_in_dump(&call, &status).await => {
            unverified_response(&call, &sent)?
        }
        other => other?,
    };
    let answer = if call.info.verb == "delete" { deletion_response(&call)? } else { answer };
    let token = call.info.subresource == "token";
    if !is_dry_run(&call, &sent) && !token {
        let controller = header(&call, recorder.controller_header);
        for wish in recorded_writes(&call, &sent, &sent_as, controller).await? {
            (recorder.keep)(&wish)
                .map_err(|message| Status::internal(format!("could not record the write: {message}")))?;
        }
    }
    Ok(answer)
}

/// Uid that no object has, even in dumps without uids.
const UNUSED_UID: &str = "00000000-0000-0000-0000-000000000000";

/// Returns the response to a deletion. The object stays in the dump. If the response had its uid, or the object with
/// its finalizers, kubectl would wait for its removal; so the response is a Status with an unused uid.
fn deletion_response(call: &ApiCall) -> Result<ApiResponse, Status> {
    let encoding = ResponseFormat::negotiate(&call.headers)?.encoding;
    let (kind, group) = (&call.resource.plural, &call.resource.kind.group);
    let details = json!({"name": call.info.name, "kind": kind, "group": group, "uid": UNUSED_UID});
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
    Ok(ApiResponse::encoded(200, &done, encoding))
}

/// Converts the body to JSON. Typed clients send built-in kinds as protobuf, and some send YAML; recorded bodies are
/// always JSON.
fn decode_to_json(mut call: ApiCall, sent: Bytes) -> Result<(ApiCall, Bytes), Status> {
    let encoding = media::request_encoding(&call.headers).ok().filter(|encoding| *encoding != Encoding::Json);
    let Some(encoding) = encoding.filter(|_| !sent.is_empty() && call.info.verb != "patch") else {
        return Ok((call, sent));
    };
    let decoded = body::decode(encoding, &sent)?;
    call.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // A YAML text with only comments counts as an empty body.
    let said = if decoded.value.is_null() { Bytes::new() } else { json::to_vec(&decoded.value).into() };
    Ok((call, said))
}

fn as_dry_run(call: &ApiCall) -> ApiCall {
    ApiCall { query: call.query.clone().with("dryRun", "All"), ..call.clone() }
}

/// Whether the client itself requests a dry run: in the query, or in the body of a deletion, as kubectl does.
fn is_dry_run(call: &ApiCall, sent: &Bytes) -> bool {
    let in_body = || match json::read(sent).map(|document| document.value["dryRun"].clone()) {
        Ok(Value::Array(stages)) => !stages.is_empty(),
        Ok(other) => !other.is_null(),
        Err(_) => false,
    };
    call.query.get("dryRun").is_some() || is_deletion(call) && in_body()
}

fn is_deletion(call: &ApiCall) -> bool {
    matches!(call.info.verb, "delete" | "deletecollection")
}

/// Returns the body of the dry run. A deletion has its options in the body, and then those of the query are ignored.
fn dry_run_body(sent: &Bytes) -> Bytes {
    match json::read(sent) {
        Ok(document) if document.value.is_object() => {
            let mut options = document.value;
            options["dryRun"] = json!(["All"]);
            json::to_vec(&options).into()
        }
        _ => sent.clone(),
    }
}

/// Whether the server has the path, and only the object is missing from the dump.
fn is_missing_from_dump(call: &ApiCall) -> bool {
    !call.info.name.is_empty() && verbs::is_served(call) && call.find(&call.info.name).is_err()
}

/// Whether the object of the dump would itself be invalid: dumps written by hand lack fields that a server sets. In
/// that case an error says nothing about the request.
async fn is_incomplete_in_dump(call: &ApiCall, refusal: &Status) -> bool {
    if call.info.verb == "create" || call.find(&call.info.name).is_err() {
        return false;
    }
    // A scale only has the number of replicas; any other invalid field was invalid before.
    if call.info.subresource == "scale" {
        let causes = refusal.details.iter().flat_map(|details| details["causes"].as_array().into_iter().flatten());
        return !causes.into_iter().any(|cause| cause["field"].as_str().is_none_or(|f| f.starts_with("spec.replicas")));
    }
    let mut same = as_dry_run(call);
    same.info.verb = "patch";
    same.info.subresource = String::new();
    same.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/merge-patch+json"));
    let changed = Bytes::from_static(br#"{"metadata":{"annotations":{"dry-run":""}}}"#);
    verbs::perform(same, changed).await.is_err_and(|status| status.code == 422)
}

/// Returns the response for an object that is not, or not completely, in the dump.
fn unverified_response(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    let encoding = ResponseFormat::negotiate(&call.headers)?.encoding;
    if call.info.verb == "delete" {
        return deletion_response(call);
    }
    let whole = call.info.verb == "update" || media_is_apply(call);
    let mut object = match body::decode(Encoding::Yaml, sent) {
        Ok(decoded) if whole && decoded.value.is_object() => decoded.value,
        _ => json!({}),
    };
    // A subresource may have a kind of its own.
    let kind = call.resource.subresource(&call.info.subresource).map_or(&call.resource.kind, |sub| &sub.kind);
    object["apiVersion"] = kind.api_version().into();
    object["kind"] = kind.kind.as_str().into();
    object["metadata"]["name"] = call.info.name.as_str().into();
    if !call.namespace().is_empty() {
        object["metadata"]["namespace"] = call.namespace().into();
    }
    Ok(ApiResponse::encoded(200, &object, encoding))
}

fn media_is_apply(call: &ApiCall) -> bool {
    header(call, CONTENT_TYPE.as_str()).starts_with("application/apply-patch")
}

fn header(call: &ApiCall, name: &str) -> String {
    call.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_string()
}

/// Returns the writes to record. A deletion of a collection becomes one deletion per object, so that replaying it does
/// not delete other objects.
async fn recorded_writes(
    call: &ApiCall,
    sent: &Bytes,
    sent_as: &str,
    controller: String,
) -> Result<Vec<RecordedWrite>, Status> {
    let one = RecordedWrite {
        verb: call.info.verb,
        kind: call.resource.kind.clone(),
        plural: call.resource.plural.to_string(),
        subresource: call.info.subresource.clone(),
        namespace: call.namespace().to_string(),
        name: call.info.name.clone(),
        content_type: header(call, CONTENT_TYPE.as_str()),
        original_content_type: sent_as.to_string(),
        query: call.query.pairs().to_vec(),
        body: sent.clone(),
        controller,
    };
    if call.info.verb != "deletecollection" {
        return Ok(vec![one]);
    }
    let selecting = ["labelSelector", "fieldSelector"];
    let query: Vec<_> = one.query.iter().filter(|(name, _)| !selecting.contains(&name.as_str())).cloned().collect();
    let text = |item: &Value, field: &str| item["metadata"][field].as_str().unwrap_or_default().to_string();
    let wish = |item: &Value| RecordedWrite {
        verb: "delete",
        name: text(item, "name"),
        namespace: text(item, "namespace"),
        query: query.clone(),
        ..one.clone()
    };
    Ok(selected_objects(call).await?.iter().map(wish).collect())
}

/// Returns the objects that a deletion of a collection selects.
async fn selected_objects(call: &ApiCall) -> Result<Vec<Value>, Status> {
    let mut list = call.clone();
    list.info.verb = "list";
    list.headers.remove(ACCEPT);
    let bytes: Vec<u8> = match verbs::perform(list, Bytes::new()).await?.payload {
        ResponsePayload::Full(bytes) => bytes.to_vec(),
        ResponsePayload::Pieces { left, .. } => left.flatten().collect(),
        ResponsePayload::Stream(_) => return Err(Status::internal("a list came as a stream")),
    };
    let mut read = json::read(&bytes).map_err(|error| Status::internal(error.to_string()))?.value;
    match read["items"].take() {
        Value::Array(items) => Ok(items),
        _ => Ok(Vec::new()),
    }
}
