//! Identifiers of kinds, objects and lists.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_object::selector::{LabelSelector, LabelSelectorError};

use crate::topology::ClusterName;

/// Kind that the API server serves, with its API path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// Version such as `v1`.
    pub version: Cow<'static, str>,
    /// Kind such as `ConfigMap`.
    pub kind: Cow<'static, str>,
    /// Plural name such as `configmaps`.
    pub plural: Cow<'static, str>,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
}

impl Resource {
    /// Any kind, for use in an access rule; no kind has this name.
    pub const ANY: Resource = Resource::namespaced("*", "*", "*", "*");

    /// Creates a namespaced kind.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self::of(group, version, kind, plural, true)
    }

    /// Creates a cluster-scoped kind.
    pub const fn cluster_scoped(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self::of(group, version, kind, plural, false)
    }

    const fn of(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
        namespaced: bool,
    ) -> Self {
        Self {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed(version),
            kind: Cow::Borrowed(kind),
            plural: Cow::Borrowed(plural),
            namespaced,
        }
    }

    /// Returns the `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_string() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Returns the API path of its objects, in one namespace, or in all if `namespace` is empty.
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() { "/api".to_string() } else { format!("/apis/{}", segment(&self.group)) };
        let (version, plural) = (segment(&self.version), segment(&self.plural));
        if namespace.is_empty() {
            format!("{root}/{version}/{plural}")
        } else {
            format!("{root}/{version}/namespaces/{}/{plural}", segment(namespace))
        }
    }

    /// Returns the API path of an object; `namespace` is empty for cluster-scoped kinds.
    pub fn object_path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.path(namespace), segment(name))
    }
}

/// Formats the kind as in error messages: `deployments.apps`, or `pods` for the core group.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(&self.plural) } else { write!(f, "{}.{}", self.plural, self.group) }
    }
}

/// Kind on a cluster, with one watch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableKey {
    /// Cluster.
    pub cluster: ClusterName,
    /// Kind.
    pub resource: Arc<Resource>,
}

/// Object on a cluster, whether or not it exists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// Kind and cluster.
    #[serde(flatten)]
    pub table: TableKey,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// Returns the API path of the object.
    pub fn path(&self) -> String {
        self.table.resource.object_path(&self.namespace, &self.name)
    }
}

/// Percent-encodes a path segment. `.` and `..` have no encoded form; nothing is written under such a name.
pub(crate) fn segment(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte);
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let encoded = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    Cow::Owned(text.bytes().map(encoded).collect())
}

/// Formats the key as in kubectl: `configmaps/shop/web`, or `namespaces/shop`.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.table.resource)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// Selection of objects in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Selection {
    /// Namespace; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Arc<str>>,
    /// Label selector as a string; empty for all.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub labels: Arc<str>,
    /// Prefix of the names; empty for all.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub prefix: Arc<str>,
}

impl Selection {
    /// Selects every object of the kind.
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects the objects of one namespace.
    pub fn namespace(name: &str) -> Self {
        Self { namespace: Some(Arc::from(name)), ..Self::default() }
    }

    /// Limits the selection to objects whose labels match a selector such as `app=web,tier!=cache`.
    #[must_use]
    pub fn with_labels(self, selector: &str) -> Self {
        Self { labels: Arc::from(selector), ..self }
    }

    /// Limits the selection to objects whose names start with a prefix.
    #[must_use]
    pub fn with_prefix(self, prefix: &str) -> Self {
        Self { prefix: Arc::from(prefix), ..self }
    }

    /// Whether an object with that name may be selected.
    pub fn matches_name(&self, name: &str) -> bool {
        name.starts_with(&*self.prefix)
    }

    /// Parses the label selector.
    ///
    /// # Errors
    /// When the text is not a label selector.
    pub fn selector(&self) -> Result<LabelSelector, LabelSelectorError> {
        LabelSelector::parse(&self.labels)
    }
}

/// List of objects of a kind on a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ListQuery {
    /// Kind and cluster.
    #[serde(flatten)]
    pub table: TableKey,
    /// Selection of objects.
    #[serde(flatten)]
    pub selection: Selection,
}

/// Formats the list: `configmaps`, `configmaps in shop`, `configmaps in shop named cart-*`, `configmaps in shop with
/// app=web`.
impl fmt::Display for ListQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.table.resource)?;
        if let Some(namespace) = &self.selection.namespace {
            write!(f, " in {namespace}")?;
        }
        if !self.selection.prefix.is_empty() {
            write!(f, " named {}*", self.selection.prefix)?;
        }
        if self.selection.labels.is_empty() { Ok(()) } else { write!(f, " with {}", self.selection.labels) }
    }
}
