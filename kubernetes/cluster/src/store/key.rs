//! The name of a stored object.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// `<cluster>/<plural>[.<group>]/<namespace or empty>/<name>`, shared by everything that mentions the object.
///
/// The plain byte order of the string is the order of lists within a resource, as it is in etcd.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// The key of `name` in `namespace` (empty for cluster-scoped objects) of `resource` (`deployments.apps`, `configmaps`).
    pub fn new(cluster: &str, resource: &str, namespace: &str, name: &str) -> Key {
        Key(format!("{cluster}/{resource}/{namespace}/{name}").into())
    }

    /// What lists and watches of a resource ask for: all namespaces, or one.
    pub fn prefix(cluster: &str, resource: &str, namespace: Option<&str>) -> String {
        match namespace {
            Some(namespace) => format!("{cluster}/{resource}/{namespace}/"),
            None => format!("{cluster}/{resource}/"),
        }
    }

    /// The whole key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The logical cluster.
    pub fn cluster(&self) -> &str {
        self.part(0)
    }

    /// `<plural>[.<group>]`.
    pub fn resource(&self) -> &str {
        self.part(1)
    }

    /// The namespace, empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.part(2)
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        self.0.splitn(4, '/').nth(3).unwrap_or_default()
    }

    fn part(&self, index: usize) -> &str {
        self.0.splitn(4, '/').nth(index).unwrap_or_default()
    }
}

/// The part of a key or prefix up to its `separators`-th slash, slash included.
pub(super) fn up_to(key: &str, separators: usize) -> Option<&str> {
    key.match_indices('/').nth(separators.checked_sub(1)?).map(|(at, _)| &key[..=at])
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Key {
        Key(key.into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
