//! The object before it exists.
//!
//! Upstream compares a created object with the zero value of its Go type. What that value states (`spec: {}`,
//! `containers: null`) decides whether the creator owns `spec` itself or only the fields in it.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::json;

use crate::{Map, Value};

/// Zero values by `apiVersion/Kind`, written by kube-apiserver's own types.
static ZEROS: LazyLock<Map> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/zeros.json")).expect("the carried zero values are JSON")
});

/// What an object of that kind is compared with when it is created.
pub(crate) fn before_creation(api_version: &str, kind: &str, custom: bool) -> Cow<'static, Value> {
    let zero = if custom { None } else { ZEROS.get(&format!("{api_version}/{kind}")) };
    zero.map_or_else(|| Cow::Owned(json!({"apiVersion": api_version, "kind": kind})), Cow::Borrowed)
}
