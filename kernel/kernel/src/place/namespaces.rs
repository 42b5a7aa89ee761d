//! Namespaces of an operator's world, and which real ones they are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The most letters a namespace's name may have.
pub const MAX_NAMESPACE: usize = 63;

/// What stands before the name of a namespace that an operator's world does not have, where an object refers to it. No
/// namespace has a dot in its name.
pub const FOREIGN: &str = "foreign.";

/// Which real namespace each namespace of an operator's world is, on one cluster.
///
/// # Guarantees
/// - What is mapped there comes back as it was. // test: guarantees_a_namespace_comes_back_as_it_was
/// - What refers to any real namespace still does once it was shown. // test: guarantees_a_reference_comes_back_as_it_was
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Namespaces {
    /// Before the name of every namespace that is not named below; empty to leave them as they are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    prefix: String,
    /// Those with a name of their own choice.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    named: BTreeMap<String, String>,
}

/// Two namespaces of an operator's world that would be one real namespace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Collision {
    /// Both are named.
    #[error("the namespaces `{0}` and `{1}` would both be `{2}`")]
    Both(String, String, String),
    /// Two places of one cluster, whose prefixes let any number of namespaces meet.
    #[error("namespaces with the prefixes `{0}` and `{1}` would meet: `{2}` of the one and `{3}` of the other")]
    Prefixes(String, String, String, String),
}

impl Namespaces {
    /// Every namespace is itself.
    pub fn same() -> Self {
        Self::default()
    }

    /// Every namespace with that before its name, but for those that are named.
    ///
    /// # Errors
    /// When two namespaces would be one.
    pub fn new(prefix: &str, named: BTreeMap<String, String>) -> Result<Self, Collision> {
        let mapping = Self { prefix: prefix.to_string(), named };
        for (name, real) in &mapping.named {
            let other = mapping.named.iter().find(|(other, at)| *other != name && *at == real).map(|(other, _)| other);
            let unnamed = mapping.unprefixed(real).filter(|other| other != name);
            if let Some(other) = other.or(unnamed.as_ref()) {
                return Err(Collision::Both(name.clone(), other.clone(), real.clone()));
            }
        }
        Ok(mapping)
    }

    /// Whether nothing is changed.
    pub fn is_same(&self) -> bool {
        self.prefix.is_empty() && self.named.is_empty()
    }

    /// The real namespace; none stays none.
    pub fn real<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        match self.named.get(name) {
            _ if name.is_empty() => Cow::Borrowed(name),
            Some(real) => Cow::Borrowed(real),
            None if self.prefix.is_empty() => Cow::Borrowed(name),
            None => Cow::Owned(format!("{}{name}", self.prefix)),
        }
    }

    /// The namespace of the operator's world that a real one is; `None` for one that its world does not have.
    pub fn imagined(&self, real: &str) -> Option<Cow<'_, str>> {
        if let Some((name, _)) = self.named.iter().find(|(_, at)| *at == real) {
            return Some(Cow::Borrowed(name));
        }
        self.unprefixed(real).map(Cow::Owned)
    }

    /// How an operator is shown a reference to a real namespace. One that its world does not have is marked: under its bare
    /// name it would be taken for one of its own, and come back as that.
    pub fn shown(&self, real: &str) -> String {
        match self.imagined(real) {
            Some(name) if !name.starts_with(FOREIGN) => name.into_owned(),
            _ => format!("{FOREIGN}{real}"),
        }
    }

    /// The real namespace that a reference of an operator means.
    pub fn meant(&self, name: &str) -> String {
        name.strip_prefix(FOREIGN).map_or_else(|| self.real(name).into_owned(), str::to_string)
    }

    /// The namespace without a name of its own choice that becomes a real one.
    fn unprefixed(&self, real: &str) -> Option<String> {
        let name = real.strip_prefix(&self.prefix).filter(|name| !name.is_empty())?;
        (!self.named.contains_key(name)).then(|| name.to_string())
    }

    /// Whether different namespaces of two places would be one namespace of a cluster that both are.
    ///
    /// # Errors
    /// Which ones.
    pub fn beside(&self, other: &Namespaces) -> Result<(), Collision> {
        for (one, another) in [(self, other), (other, self)] {
            for (name, real) in &one.named {
                if let Some(also) = another.imagined(real).filter(|also| also != name) {
                    return Err(Collision::Both(name.clone(), also.into_owned(), real.clone()));
                }
            }
            let rest = one.prefix.strip_prefix(&another.prefix).filter(|rest| !rest.is_empty());
            if let Some(rest) = rest {
                let (here, there) = ("a".to_string(), format!("{rest}a"));
                return Err(Collision::Prefixes(one.prefix.clone(), another.prefix.clone(), here, there));
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
        let mapping = Namespaces::new("acme-", named(&[("openshift-config", "settings-of-acme")])).unwrap();
        assert_eq!(mapping.real("openshift-config"), "settings-of-acme");
        assert_eq!(mapping.real("openshift-etcd"), "acme-openshift-etcd");
        assert_eq!(mapping.real(""), "");
        assert_eq!(mapping.imagined("settings-of-acme").unwrap(), "openshift-config");
        assert_eq!(mapping.imagined("acme-openshift-etcd").unwrap(), "openshift-etcd");
        assert_eq!(mapping.imagined("acme-openshift-config"), None, "nobody is there: its name is another");
        assert_eq!(mapping.imagined("kube-system"), None);
    }

    #[test]
    fn two_namespaces_may_not_become_one() {
        let both = Namespaces::new("", named(&[("a", "x"), ("b", "x")])).unwrap_err();
        assert_eq!(both.to_string(), "the namespaces `a` and `b` would both be `x`");
        let itself = Namespaces::new("", named(&[("a", "x")])).unwrap_err();
        assert_eq!(itself.to_string(), "the namespaces `a` and `x` would both be `x`");
        assert!(Namespaces::new("", named(&[("a", "x"), ("x", "a")])).is_ok(), "they changed places");
        assert!(Namespaces::new("p-", named(&[("a", "p-b")])).is_err());
        assert!(Namespaces::new("p-", named(&[("a", "p-b"), ("b", "p-a")])).is_ok());
    }

    #[test]
    fn two_places_of_one_cluster_may_not_meet() {
        let acme = Namespaces::new("acme-", BTreeMap::new()).unwrap();
        assert_eq!(acme.beside(&acme.clone()), Ok(()), "the same name is the same namespace");
        assert_eq!(acme.beside(&Namespaces::new("other-", BTreeMap::new()).unwrap()), Ok(()));
        assert!(matches!(acme.beside(&Namespaces::same()), Err(Collision::Prefixes(..))));
        let chosen = Namespaces::new("other-", named(&[("a", "acme-b")])).unwrap();
        assert_eq!(chosen.beside(&acme).unwrap_err(), acme.beside(&chosen).unwrap_err());
    }

    proptest! {
        #[test]
        fn guarantees_a_namespace_comes_back_as_it_was(
            prefix in "[ab-]{0,3}",
            pairs in proptest::collection::btree_map("[ab]{1,3}", "[ab-]{1,4}", 0..4),
            name in "[ab-]{1,5}",
        ) {
            let Ok(mapping) = Namespaces::new(&prefix, pairs) else { return Ok(()) };
            let real = mapping.real(&name).into_owned();
            let back = mapping.imagined(&real).map(|back| back.into_owned());
            prop_assert_eq!(back, Some(name.clone()));
            if let Some(back) = mapping.imagined(&name) {
                prop_assert_eq!(mapping.real(&back), name.as_str());
            }
        }

        #[test]
        fn guarantees_a_reference_comes_back_as_it_was(
            prefix in "[ab-]{0,3}",
            pairs in proptest::collection::btree_map("[ab]{1,3}", "[ab-]{1,4}", 0..4),
            name in "([ab-]{1,3})?(foreign\\.){0,2}[ab-]{1,5}",
        ) {
            let Ok(mapping) = Namespaces::new(&prefix, pairs) else { return Ok(()) };
            prop_assert_eq!(mapping.meant(&mapping.shown(&name)), name);
        }
    }
}
