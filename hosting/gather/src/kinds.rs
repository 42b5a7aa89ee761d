//! Mapping from kinds to resources: built-in kinds, kinds from the dump's CRDs, and inferred kinds.

use std::collections::HashMap;

use serde_json::Value;
use switchboard_object::DISCOVERY;
use switchboard_object::kind::{GroupVersion, GroupVersionKind};

use crate::layout::ResourceHint;

/// A resource name and its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KindResource {
    pub plural: String,
    pub namespaced: bool,
}

/// Resources by group and kind. All versions of a kind share a resource.
#[derive(Clone)]
pub(crate) struct KindIndex {
    known: HashMap<(String, String), KindResource>,
}

impl KindIndex {
    /// Creates an index of the built-in kinds.
    pub fn built_in() -> Self {
        let documents: Value = serde_json::from_str(DISCOVERY).expect("the bundled discovery is JSON");
        let groups = ["/api", "/apis"].into_iter().flat_map(|d| list(&documents[d]["items"]));
        let mut kinds = Self { known: HashMap::new() };
        groups.for_each(|group| kinds.add_group(group));
        kinds
    }

    /// Adds the resources of a group of aggregated discovery, which some dumps contain.
    pub fn add_group(&mut self, group: &Value) {
        let name = group["metadata"]["name"].as_str().unwrap_or_default();
        for resource in list(&group["versions"]).flat_map(|v| list(&v["resources"])) {
            // Reviews and bindings are responses, not objects.
            if !list(&resource["verbs"]).any(|verb| verb == "list") {
                continue;
            }
            let kind = resource["responseKind"]["kind"].as_str().unwrap_or_default();
            self.add(name, kind, resource["resource"].as_str(), resource["scope"] == "Namespaced");
        }
    }

    /// Adds the resource of a CRD.
    pub fn add_crd(&mut self, crd: &Value) {
        let spec = &crd["spec"];
        let (group, kind) = (spec["group"].as_str(), spec["names"]["kind"].as_str());
        if let (Some(group), Some(kind)) = (group, kind) {
            self.add(group, kind, spec["names"]["plural"].as_str(), spec["scope"] != "Cluster");
        }
    }

    fn add(&mut self, group: &str, kind: &str, plural: Option<&str>, namespaced: bool) {
        let plural = plural.map_or_else(|| plural_of(kind), str::to_string);
        self.known.insert((group.into(), kind.into()), KindResource { plural, namespaced });
    }

    /// Returns the resource of an object, and whether it was inferred.
    pub fn resource(
        &self,
        kind: &GroupVersionKind,
        object: &Value,
        hint: Option<&ResourceHint>,
    ) -> (KindResource, bool) {
        if let Some(known) = self.known.get(&(kind.group.clone(), kind.kind.clone())) {
            return (known.clone(), false);
        }
        let fits = hint.filter(|h| h.group == kind.group && !h.plural.is_empty() && h.plural != "namespaces");
        let plural = fits.map_or_else(|| plural_of(&kind.kind), |h| h.plural.clone());
        let stated = object.pointer("/metadata/namespace").and_then(Value::as_str).is_some_and(|n| !n.is_empty());
        let namespaced = stated || fits.is_some_and(|h| h.namespace.is_some());
        (KindResource { plural, namespaced }, true)
    }
}

/// Returns the kind of an object.
pub(crate) fn kind_of(object: &Value) -> Option<GroupVersionKind> {
    let version = GroupVersion::parse(object.get("apiVersion")?.as_str()?)?;
    let kind = object.get("kind")?.as_str().filter(|k| !k.is_empty())?;
    Some(version.kind(kind))
}

/// Returns the plural by the usual rules: `Policy` gives `policies`, `Ingress` gives `ingresses`, `Pod` gives `pods`.
pub fn plural_of(kind: &str) -> String {
    let name = kind.to_lowercase();
    match name.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if name.ends_with(['s', 'x']) || name.ends_with("ch") || name.ends_with("sh") => format!("{name}es"),
        _ => format!("{name}s"),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
