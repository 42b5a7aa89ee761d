//! Names of kinds and resources: group, version, kind, resource.

use std::fmt;

/// Group and version: `apps/v1`, or `v1` for the core group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    /// API group; empty for the core group.
    pub group: String,
    /// Version, such as `v1`.
    pub version: String,
}

/// Group, version and kind: `apps/v1, Kind=Deployment`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// API group; empty for the core group.
    pub group: String,
    /// Version, such as `v1`.
    pub version: String,
    /// Kind, such as `Deployment`.
    pub kind: String,
}

/// Group and resource: `deployments.apps`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// API group; empty for the core group.
    pub group: String,
    /// Plural resource name, such as `deployments`.
    pub resource: String,
}

impl GroupVersion {
    /// Creates a group and version.
    pub fn new(group: impl Into<String>, version: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into() }
    }

    /// Parses an `apiVersion`: `v1` or `apps/v1`. `None` if it has more than one slash or an empty version.
    pub fn parse(api_version: &str) -> Option<Self> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        (!version.is_empty() && !version.contains('/')).then(|| Self::new(group, version))
    }

    /// Adds a kind to the group and version.
    pub fn kind(&self, kind: impl Into<String>) -> GroupVersionKind {
        GroupVersionKind { group: self.group.clone(), version: self.version.clone(), kind: kind.into() }
    }
}

impl GroupVersionKind {
    /// Creates a group, version and kind.
    pub fn new(group: impl Into<String>, version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Returns the `apiVersion` of objects of this kind.
    pub fn api_version(&self) -> String {
        GroupVersion::new(self.group.as_str(), self.version.as_str()).to_string()
    }
}

impl GroupResource {
    /// Creates a group and resource.
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { group: group.into(), resource: resource.into() }
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(&self.version) } else { write!(f, "{}/{}", self.group, self.version) }
    }
}

/// Formats as Go does: `apps/v1, Kind=Deployment`.
impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

/// Formats as in error messages: `deployments.apps`, or `pods` for the core group.
impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(&self.resource) } else { write!(f, "{}.{}", self.resource, self.group) }
    }
}
