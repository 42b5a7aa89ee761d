//! State of an object before its creation.
//!
//! kube-apiserver compares a created object with the zero value of its Go type. The fields of that zero value (`spec:
//! {}`, `containers: null`) decide whether the creator owns `spec` itself or only the fields in it.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::json;

use crate::{Map, Value};

/// Zero values by `apiVersion/Kind`, recorded from kube-apiserver's own types.
static ZEROS: LazyLock<Map> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/zeros.json")).expect("the embedded zero values are JSON")
});

/// Returns the object that a created object of the kind is compared with.
pub(crate) fn before_creation(api_version: &str, kind: &str, custom: bool) -> Cow<'static, Value> {
    let zero = if custom { None } else { ZEROS.get(&format!("{api_version}/{kind}")) };
    zero.map_or_else(|| Cow::Owned(json!({"apiVersion": api_version, "kind": kind})), Cow::Borrowed)
}
