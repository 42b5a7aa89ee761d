//! `serviceaccounts/<name>/token`: a new token, bound to its service account and optionally to one more object.

use serde_json::json;
use switchboard_object::Value;
use switchboard_object::field::FieldError;
use switchboard_object::kind::{GroupResource, GroupVersion, GroupVersionKind};
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

use super::{ReviewContext, strings, text};
use crate::auth::authentication::TokenObjects;
use crate::auth::service_account_name;
use crate::auth::token::{BoundObject, ISSUER, TokenBinding, TokenClaims};
use crate::clock_and_rng::time_text;

const MIN_SECONDS: i64 = 10 * 60;
const MAX_SECONDS: i64 = 1 << 32;
const DEFAULT_SECONDS: i64 = 60 * 60;
/// Lifetime that the kubelet requests for a pod's token (one hour and seven seconds). Such a token is valid for longer,
/// for the sake of clients that do not read it again after the kubelet renewed it.
const RENEWED_SECONDS: i64 = 60 * 60 + 7;
const EXTENDED_SECONDS: i64 = 365 * 24 * 60 * 60;

/// Sets the defaults of a TokenRequest.
pub fn default(request: &mut Value) {
    if !request["spec"].is_object() {
        request["spec"] = json!({});
    }
    if request["spec"]["expirationSeconds"].is_null() {
        request["spec"]["expirationSeconds"] = DEFAULT_SECONDS.into();
    }
}

/// Answers a request for a token of the service account `name`. `id` is the token's own id.
pub fn answer(name: &str, mut request: Value, id: &str, context: &ReviewContext<'_>) -> Result<Value, Status> {
    let namespace = context.namespace;
    matches_path(&request, name, namespace)?;
    let account = find_object(context.objects, "serviceaccounts", namespace, name)?;
    let uid = text(&account, "/metadata/uid");
    let given = text(&request, "/metadata/uid");
    if !given.is_empty() && given != uid {
        let why =
            format!("the UID in the token request ({given}) does not match the UID of the service account ({uid})");
        return Err(Status::conflict(&GroupResource::new("authentication.k8s.io", "TokenRequest"), name, &why));
    }
    if strings(request.pointer("/spec/audiences")).is_empty() {
        request["spec"]["audiences"] = json!([ISSUER]);
    }
    request["metadata"]["name"] = name.into();
    request["metadata"]["namespace"] = namespace.into();
    request["metadata"]["uid"] = uid.into();
    request["metadata"]["creationTimestamp"] = time_text(context.now).into();
    let seconds = request["spec"]["expirationSeconds"].as_i64().unwrap_or(DEFAULT_SECONDS);
    validate(seconds)?;
    let reference = BoundObject { name: name.into(), uid: uid.into() };
    let mut binding =
        TokenBinding { namespace: namespace.into(), serviceaccount: reference, ..TokenBinding::default() };
    bind(&mut binding, &request["spec"]["boundObjectRef"], context.objects)?;
    let audiences = strings(request.pointer("/spec/audiences"));
    let now = context.now.as_second();
    let mut life = seconds;
    if binding.pod.is_some() && seconds == RENEWED_SECONDS && audiences == [ISSUER] {
        binding.warnafter = Some(now + seconds);
        life = EXTENDED_SECONDS;
    }
    let claims = TokenClaims {
        aud: audiences,
        exp: Some(now + life),
        iat: Some(now),
        nbf: Some(now),
        iss: ISSUER.into(),
        jti: Some(id.into()),
        sub: service_account_name(namespace, name),
        kubernetes: Some(binding),
        ..TokenClaims::default()
    };
    let token = context.authenticator.key().sign(&claims).map_err(|e| Status::internal(e.to_string()))?;
    let ends = jiff::Timestamp::from_second(now + seconds).unwrap_or(jiff::Timestamp::MAX);
    if request["spec"].get("boundObjectRef").is_none() {
        request["spec"]["boundObjectRef"] = Value::Null;
    }
    request["status"] = json!({"token": token, "expirationTimestamp": time_text(ends)});
    Ok(request)
}

fn matches_path(request: &Value, name: &str, namespace: &str) -> Result<(), Status> {
    let fields = [
        ("name", name, "must match the service account name if specified"),
        ("namespace", namespace, "must match the service account namespace if specified"),
    ];
    for (field, expected, why) in fields {
        let given = text(request, &format!("/metadata/{field}"));
        if !given.is_empty() && given != expected {
            return Err(Status::invalid(
                &kind(),
                name,
                &[FieldError::invalid(format!("metadata.{field}"), given, why)],
            ));
        }
    }
    Ok(())
}

fn validate(seconds: i64) -> Result<(), Status> {
    let why = match seconds {
        ..MIN_SECONDS => "may not specify a duration less than 10 minutes",
        MIN_SECONDS..=MAX_SECONDS => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    Err(Status::invalid(&kind(), "", &[FieldError::invalid("spec.expirationSeconds", seconds, why)]))
}

fn bind(binding: &mut TokenBinding, wanted: &Value, objects: &dyn TokenObjects) -> Result<(), Status> {
    if !wanted.is_object() {
        return Ok(());
    }
    let version = GroupVersion::parse(text(wanted, "/apiVersion")).unwrap_or_else(|| GroupVersion::new("", ""));
    let (name, namespace) = (text(wanted, "/name"), binding.namespace.clone());
    let reference = |object: &Value| BoundObject { name: name.into(), uid: text(object, "/metadata/uid").into() };
    let bound = match (version.group.as_str(), text(wanted, "/kind")) {
        ("", "Pod") => {
            let pod = find_object(objects, "pods", &namespace, name)?;
            let account = &binding.serviceaccount.name;
            if text(&pod, "/spec/serviceAccountName") != account {
                return Err(Status::bad_request(format!(
                    "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                    quote(account)
                )));
            }
            let node = text(&pod, "/spec/nodeName");
            if !node.is_empty() {
                let uid = objects.object("nodes", "", node).map(|n| text(&n, "/metadata/uid").to_string());
                binding.node = Some(BoundObject { name: node.into(), uid: uid.unwrap_or_default() });
            }
            binding.pod.insert(reference(&pod))
        }
        ("", "Node") => binding.node.insert(reference(&find_object(objects, "nodes", "", name)?)),
        ("", "Secret") => binding.secret.insert(reference(&find_object(objects, "secrets", &namespace, name)?)),
        (group, kind) => {
            let kind = GroupVersionKind::new(group, version.version.as_str(), kind);
            return Err(Status::bad_request(format!("cannot bind token to object of type {kind}")));
        }
    };
    let given = text(wanted, "/uid");
    if !given.is_empty() && given != bound.uid {
        let why = format!(
            "the UID in the bound object reference ({given}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        );
        return Err(Status::conflict(&GroupResource::new("", text(wanted, "/kind")), name, &why));
    }
    Ok(())
}

fn find_object(objects: &dyn TokenObjects, resource: &str, namespace: &str, name: &str) -> Result<Value, Status> {
    let found = objects.object(resource, namespace, name);
    found.ok_or_else(|| Status::not_found(&GroupResource::new("", resource), name))
}

fn kind() -> GroupVersionKind {
    GroupVersionKind::new("authentication.k8s.io", "v1", "TokenRequest")
}
