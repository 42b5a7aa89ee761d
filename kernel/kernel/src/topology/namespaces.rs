//! Mapping of an operator's namespaces to real ones.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Maximum length of a namespace name.
pub const MAX_NAMESPACE: usize = 63;

/// Prefix of a foreign namespace, one that the operator has no name for, in a reference. No namespace name contains a
/// dot.
pub const FOREIGN: &str = "foreign.";

/// Mapping from an operator's namespaces to real ones, on one cluster.
///
/// # Guarantees
/// - A namespace that is mapped there and back is unchanged. // test: guarantees_a_mapped_namespace_maps_back
/// - A reference to any real namespace that is mapped there and back is unchanged. // test: guarantees_a_mapped_reference_maps_back
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamespaceMapping {
    /// Prefix of every namespace that is not in `named`; empty for no change.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    prefix: String,
    /// Real names of individual namespaces.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    named: BTreeMap<String, String>,
}

/// Error: two of an operator's namespaces map to the same real one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamespaceCollision {
    /// Both namespaces map to the same name.
    #[error("the namespaces `{0}` and `{1}` would both be `{2}`")]
    Both(String, String, String),
    /// The prefixes of two cluster types on one cluster overlap.
    #[error("namespaces with the prefixes `{0}` and `{1}` overlap: `{2}` of the first and `{3}` of the second")]
    Prefixes(String, String, String, String),
}

impl NamespaceMapping {
    /// Creates the identity mapping.
    pub fn identity() -> Self {
        Self::default()
    }

    /// Creates a mapping with a prefix for all namespaces that are not in `named`.
    ///
    /// # Errors
    /// When two namespaces map to the same name.
    pub fn new(prefix: &str, named: BTreeMap<String, String>) -> Result<Self, NamespaceCollision> {
        let mapping = Self { prefix: prefix.to_string(), named };
        for (name, real) in &mapping.named {
            let other = mapping.named.iter().find(|(other, at)| *other != name && *at == real).map(|(other, _)| other);
            let unnamed = mapping.unprefixed(real).filter(|other| other != name);
            if let Some(other) = other.or(unnamed.as_ref()) {
                return Err(NamespaceCollision::Both(name.clone(), other.clone(), real.clone()));
            }
        }
        Ok(mapping)
    }

    /// Whether this is the identity mapping.
    pub fn is_identity(&self) -> bool {
        self.prefix.is_empty() && self.named.is_empty()
    }

    /// Returns the real name of a namespace; an empty name stays empty.
    pub fn to_cluster<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        match self.named.get(name) {
            _ if name.is_empty() => Cow::Borrowed(name),
            Some(real) => Cow::Borrowed(real),
            None if self.prefix.is_empty() => Cow::Borrowed(name),
            None => Cow::Owned(format!("{}{name}", self.prefix)),
        }
    }

    /// Returns the operator's name of a real namespace; `None` if it has none.
    pub fn to_operator(&self, real: &str) -> Option<Cow<'_, str>> {
        if let Some((name, _)) = self.named.iter().find(|(_, at)| *at == real) {
            return Some(Cow::Borrowed(name));
        }
        self.unprefixed(real).map(Cow::Owned)
    }

    /// Maps a reference to a real namespace. A foreign namespace is marked: otherwise it could be confused with one of
    /// the operator's, and be written back as that.
    pub fn reference_to_operator(&self, real: &str) -> String {
        match self.to_operator(real) {
            Some(name) if !name.starts_with(FOREIGN) => name.into_owned(),
            _ => format!("{FOREIGN}{real}"),
        }
    }

    /// Maps an operator's reference to the real namespace.
    pub fn reference_to_cluster(&self, name: &str) -> String {
        name.strip_prefix(FOREIGN).map_or_else(|| self.to_cluster(name).into_owned(), str::to_string)
    }

    /// Returns the operator's name for a real namespace with the prefix, unless it is in `named`.
    fn unprefixed(&self, real: &str) -> Option<String> {
        let name = real.strip_prefix(&self.prefix).filter(|name| !name.is_empty())?;
        (!self.named.contains_key(name)).then(|| name.to_string())
    }

    /// Checks that different namespaces of two cluster types on one cluster do not map to the same name.
    ///
    /// # Errors
    /// The overlapping namespaces.
    pub fn check_overlap(&self, other: &NamespaceMapping) -> Result<(), NamespaceCollision> {
        for (one, another) in [(self, other), (other, self)] {
            for (name, real) in &one.named {
                if let Some(also) = another.to_operator(real).filter(|also| also != name) {
                    return Err(NamespaceCollision::Both(name.clone(), also.into_owned(), real.clone()));
                }
            }
            let rest = one.prefix.strip_prefix(&another.prefix).filter(|rest| !rest.is_empty());
            if let Some(rest) = rest {
                let (here, there) = ("a".to_string(), format!("{rest}a"));
                return Err(NamespaceCollision::Prefixes(one.prefix.clone(), another.prefix.clone(), here, there));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn named(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, real)| (name.to_string(), real.to_string())).collect()
    }

    #[test]
    fn namespaces_get_the_prefix_unless_they_are_named() {
        let mapping = NamespaceMapping::new("acme-", named(&[("openshift-config", "settings-of-acme")])).unwrap();
        assert_eq!(mapping.to_cluster("openshift-config"), "settings-of-acme");
        assert_eq!(mapping.to_cluster("openshift-etcd"), "acme-openshift-etcd");
        assert_eq!(mapping.to_cluster(""), "");
        assert_eq!(mapping.to_operator("settings-of-acme").unwrap(), "openshift-config");
        assert_eq!(mapping.to_operator("acme-openshift-etcd").unwrap(), "openshift-etcd");
        assert_eq!(mapping.to_operator("acme-openshift-config"), None, "the namespace is mapped to another name");
        assert_eq!(mapping.to_operator("kube-system"), None);
    }

    #[test]
    fn two_namespaces_cannot_map_to_one() {
        let both = NamespaceMapping::new("", named(&[("a", "x"), ("b", "x")])).unwrap_err();
        assert_eq!(both.to_string(), "the namespaces `a` and `b` would both be `x`");
        let itself = NamespaceMapping::new("", named(&[("a", "x")])).unwrap_err();
        assert_eq!(itself.to_string(), "the namespaces `a` and `x` would both be `x`");
        assert!(NamespaceMapping::new("", named(&[("a", "x"), ("x", "a")])).is_ok(), "they changed places");
        assert!(NamespaceMapping::new("p-", named(&[("a", "p-b")])).is_err());
        assert!(NamespaceMapping::new("p-", named(&[("a", "p-b"), ("b", "p-a")])).is_ok());
    }

    #[test]
    fn two_cluster_types_of_one_cluster_cannot_overlap() {
        let acme = NamespaceMapping::new("acme-", BTreeMap::new()).unwrap();
        assert_eq!(acme.check_overlap(&acme.clone()), Ok(()), "the same name is the same namespace");
        assert_eq!(acme.check_overlap(&NamespaceMapping::new("other-", BTreeMap::new()).unwrap()), Ok(()));
        assert!(matches!(acme.check_overlap(&NamespaceMapping::identity()), Err(NamespaceCollision::Prefixes(..))));
        let chosen = NamespaceMapping::new("other-", named(&[("a", "acme-b")])).unwrap();
        assert_eq!(chosen.check_overlap(&acme).unwrap_err(), acme.check_overlap(&chosen).unwrap_err());
    }

    proptest! {
        #[test]
        fn guarantees_a_mapped_namespace_maps_back(
            prefix in "[ab-]{0,3}",
            pairs in proptest::collection::btree_map("[ab]{1,3}", "[ab-]{1,4}", 0..4),
            name in "[ab-]{1,5}",
        ) {
            let Ok(mapping) = NamespaceMapping::new(&prefix, pairs) else { return Ok(()) };
            let real = mapping.to_cluster(&name).into_owned();
            let back = mapping.to_operator(&real).map(|back| back.into_owned());
            prop_assert_eq!(back, Some(name.clone()));
            if let Some(back) = mapping.to_operator(&name) {
                prop_assert_eq!(mapping.to_cluster(&back), name.as_str());
            }
        }

        #[test]
        fn guarantees_a_mapped_reference_maps_back(
            prefix in "[ab-]{0,3}",
            pairs in proptest::collection::btree_map("[ab]{1,3}", "[ab-]{1,4}", 0..4),
            name in "([ab-]{1,3})?(foreign\\.){0,2}[ab-]{1,5}",
        ) {
            let Ok(mapping) = NamespaceMapping::new(&prefix, pairs) else { return Ok(()) };
            prop_assert_eq!(mapping.reference_to_cluster(&mapping.reference_to_operator(&name)), name);
        }
    }
}
