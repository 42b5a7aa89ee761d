//! An Application on its way out: with its finalizer, its objects go first.

use serde_json::Value;

use crate::field::{annotation, has_option, list};
use crate::status::Live;
use crate::target::{Key, tracked_by};

/// The finalizer that keeps an Application until its objects are gone.
pub const FINALIZER: &str = "resources-finalizer.argocd.argoproj.io";

/// How objects that belong to others are let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Those first.
    Foreground,
    /// Those later.
    Background,
}

impl Propagation {
    /// As an API server is told.
    pub fn word(self) -> &'static str {
        match self {
            Propagation::Foreground => "Foreground",
            Propagation::Background => "Background",
        }
    }
}

/// How an Application's objects are removed with it; nothing when they stay.
pub fn cascades(application: &Value) -> Option<Propagation> {
    let ours = list(application, "/metadata/finalizers").filter_map(Value::as_str).filter(|one| is_ours(one));
    let forms: Vec<&str> = ours.collect();
    match forms.iter().any(|form| form.ends_with("/background")) {
        _ if forms.is_empty() => None,
        true => Some(Propagation::Background),
        false => Some(Propagation::Foreground),
    }
}

fn is_ours(finalizer: &str) -> bool {
    finalizer == FINALIZER
        || ["/foreground", "/background"].iter().any(|form| finalizer.strip_suffix(form) == Some(FINALIZER))
}

/// The finalizers that stay when ours are gone.
pub fn others(application: &Value) -> Value {
    let kept = list(application, "/metadata/finalizers").filter(|one| !one.as_str().is_some_and(is_ours));
    kept.cloned().collect()
}

/// What is left of an Application's objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// To be removed.
    pub there: Vec<Key>,
    /// On their way out.
    pub going: Vec<Key>,
}

/// Finds what is left: what is the Application's, and not to be kept.
pub fn left(application: &str, live: &Live) -> Left {
    let mut left = Left { there: Vec::new(), going: Vec::new() };
    for (key, (_, object)) in live {
        let Some(object) = object.as_ref().filter(|object| tracked_by(object, key) == Some(application)) else {
            continue;
        };
        if is_kept(object) {
            continue;
        }
        match object["metadata"]["deletionTimestamp"].is_string() {
            true => left.going.push(key.clone()),
            false => left.there.push(key.clone()),
        }
    }
    left
}

/// Whether an object says that it stays when its Application goes.
fn is_kept(object: &Value) -> bool {
    has_option(object, "argocd.argoproj.io/sync-options", "Delete=false")
        || annotation(object, "helm.sh/resource-policy") == "keep"
}

/// Whether an object says that it stays when it is not wanted any more.
pub fn is_never_pruned(object: &Value) -> bool {
    has_option(object, "argocd.argoproj.io/sync-options", "Prune=false")
        || annotation(object, "helm.sh/resource-policy") == "keep"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::target::TRACKING;

    #[test]
    fn the_finalizer_says_whether_and_how() {
        let with = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
        assert_eq!(cascades(&with(json!([]))), None);
        assert_eq!(cascades(&with(json!(["other"]))), None);
        assert_eq!(cascades(&with(json!([FINALIZER]))), Some(Propagation::Foreground));
        let background = with(json!(["other", format!("{FINALIZER}/background")]));
        assert_eq!(cascades(&background), Some(Propagation::Background));
        assert_eq!(others(&background), json!(["other"]));
    }

    #[test]
    fn what_is_the_applications_goes_unless_it_says_otherwise() {
        let key = |name: &str| Key {
            group: String::new(),
            kind: "ConfigMap".into(),
            namespace: "x".into(),
            name: name.into(),
        };
        let object = |name: &str, more: Value| {
            let mut annotations = json!({TRACKING: format!("shop:/ConfigMap:x/{name}")});
            annotations
                .as_object_mut()
                .into_iter()
                .for_each(|map| map.extend(more.as_object().cloned().unwrap_or_default()));
            (key(name), ("v1".to_string(), Some(json!({"metadata": {"name": name, "annotations": annotations}}))))
        };
        let mut going = object("going", json!({}));
        going
            .1
            .1
            .as_mut()
            .into_iter()
            .for_each(|one| one["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
        let live: Live = [
            object("a", json!({})),
            object("kept", json!({"argocd.argoproj.io/sync-options": "Validate=false, Delete=false"})),
            object("helm", json!({"helm.sh/resource-policy": "keep"})),
            object("foreign", json!({TRACKING: "other:/ConfigMap:x/foreign"})),
            going,
            (key("gone"), ("v1".to_string(), None)),
        ]
        .into_iter()
        .collect();
        assert_eq!(left("shop", &live), Left { there: vec![key("a")], going: vec![key("going")] });
    }
}
