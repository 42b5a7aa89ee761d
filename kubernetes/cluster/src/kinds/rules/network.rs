//! Ingresses, network policies and endpoint slices.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

use super::super::WriteContext;
use super::super::builtin::KindRules;
use super::super::{endpoint_slice, network as check};
use super::{at, text};
use crate::metadata::{self, IMMUTABLE, NameRule};

pub(super) const INGRESS: KindRules = KindRules {
    admit: default_class,
    validate: check::ingress,
    validate_update: |new, _| {
        let mut errors = metadata::validate(&new["metadata"], true, NameRule::Subdomain, "metadata");
        errors.extend(check::ingress_spec(&new["spec"]));
        errors
    },
    validate_status: |new, _| check::ingress_status(new),
    warnings: |new, old| {
        let annotated = new["metadata"]["annotations"].get(check::CLASS_ANNOTATION).is_some();
        let named = !at(new, "/spec/ingressClassName").is_null();
        if old.is_some() || !annotated || named {
            return Vec::new();
        }
        vec![format!(
            "annotation {} is deprecated, please use 'spec.ingressClassName' instead",
            quote(check::CLASS_ANNOTATION)
        )]
    },
    ..KindRules::NONE
};

/// Sets the default class of an Ingress without one; of several defaults, the newest.
fn default_class(object: &mut Value, old: Option<&Value>, env: &WriteContext<'_>) -> Result<(), Status> {
    let annotated = object["metadata"]["annotations"].get(check::CLASS_ANNOTATION).is_some();
    if old.is_some() || annotated || !at(object, "/spec/ingressClassName").is_null() {
        return Ok(());
    }
    let mut classes = env.cluster.list("ingressclasses.networking.k8s.io", "");
    classes.retain(|c| c["metadata"]["annotations"]["ingressclass.kubernetes.io/is-default-class"] == "true");
    classes.sort_by(|a, b| {
        let age = |c: &Value| text(c, "/metadata/creationTimestamp").to_string();
        age(b).cmp(&age(a)).then(text(a, "/metadata/name").cmp(text(b, "/metadata/name")))
    });
    if let Some(class) = classes.first() {
        object["spec"]["ingressClassName"] = class["metadata"]["name"].clone();
    }
    Ok(())
}

pub(super) const INGRESS_CLASS: KindRules = KindRules {
    validate: check::ingress_class,
    validate_update: |new, old| {
        let controller = |v: &Value| v["spec"]["controller"].clone();
        let changed = controller(new) != controller(old);
        changed.then(|| FieldError::invalid("spec.controller", controller(new), IMMUTABLE)).into_iter().collect()
    },
    whole: true,
    ..KindRules::NONE
};

pub(super) const POLICY: KindRules = KindRules {
    validate: check::network_policy,
    validate_update: |new, _| check::network_policy(new),
    ..KindRules::NONE
};

pub(super) const ENDPOINT_SLICE: KindRules = KindRules {
    validate: endpoint_slice::endpoint_slice,
    validate_update: |new, old| {
        let mut errors = metadata::validate(&new["metadata"], true, NameRule::Subdomain, "metadata");
        errors.extend(endpoint_slice::endpoint_slice_update(new, old));
        errors
    },
    ..KindRules::NONE
};
