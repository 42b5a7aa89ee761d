//! Keys of stored objects.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// `<cluster>/<plural>[.<group>]/<namespace or empty>/<name>`, cheap to clone.
///
/// The byte order of the string is the order of lists within a resource, as in etcd.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreKey(Arc<str>);

impl StoreKey {
    /// Creates the key of `name` in `namespace` (empty for cluster-scoped objects) of `resource` (`deployments.apps`,
    /// `configmaps`).
    pub fn new(cluster: &str, resource: &str, namespace: &str, name: &str) -> StoreKey {
        StoreKey(format!("{cluster}/{resource}/{namespace}/{name}").into())
    }

    /// Returns the prefix for lists and watches of a resource, in all namespaces or in one.
    pub fn prefix(cluster: &str, resource: &str, namespace: Option<&str>) -> String {
        match namespace {
            Some(namespace) => format!("{cluster}/{resource}/{namespace}/"),
            None => format!("{cluster}/{resource}/"),
        }
    }

    /// Returns the whole key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the logical cluster.
    pub fn cluster(&self) -> &str {
        self.part(0)
    }

    /// Returns `<plural>[.<group>]`.
    pub fn resource(&self) -> &str {
        self.part(1)
    }

    /// Returns the namespace, empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.part(2)
    }

    /// Returns the object's name.
    pub fn name(&self) -> &str {
        self.0.splitn(4, '/').nth(3).unwrap_or_default()
    }

    fn part(&self, index: usize) -> &str {
        self.0.splitn(4, '/').nth(index).unwrap_or_default()
    }
}

/// Returns the part of a key or prefix up to its `separators`-th slash, including the slash.
pub(super) fn up_to(key: &str, separators: usize) -> Option<&str> {
    key.match_indices('/').nth(separators.checked_sub(1)?).map(|(at, _)| &key[..=at])
}

impl Borrow<str> for StoreKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for StoreKey {
    fn from(key: &str) -> StoreKey {
        StoreKey(key.into())
    }
}

impl fmt::Display for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
