//! Kinds, objects and lists by name.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_object::selector::{LabelSelector, LabelSelectorError};

use crate::place::ClusterName;

/// A kind that can be read and written: where the API server serves it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// The version, such as `v1`.
    pub version: Cow<'static, str>,
    /// The kind, such as `ConfigMap`.
    pub kind: Cow<'static, str>,
    /// The plural name in the path, such as `configmaps`.
    pub plural: Cow<'static, str>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// Any kind, where one is declared; no kind has this name.
    pub const EVERY: Resource = Resource::namespaced("*", "*", "*", "*");

    /// A kind whose objects live in namespaces.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self::of(group, version, kind, plural, true)
    }

    /// A kind whose objects live beside namespaces.
    pub const fn cluster_wide(
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

    /// The `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_string() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path of its objects: of one namespace, or of all when `namespace` is empty.
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() { "/api".to_string() } else { format!("/apis/{}", segment(&self.group)) };
        let (version, plural) = (segment(&self.version), segment(&self.plural));
        if namespace.is_empty() {
            format!("{root}/{version}/{plural}")
        } else {
            format!("{root}/{version}/namespaces/{}/{plural}", segment(namespace))
        }
    }
}

/// As error messages name it: `deployments.apps`, or `pods` for the core group.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(&self.plural) } else { write!(f, "{}.{}", self.plural, self.group) }
    }
}

/// One kind of one cluster: what one watch covers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableKey {
    /// Whose.
    pub cluster: ClusterName,
    /// Which kind.
    pub resource: Arc<Resource>,
}

/// One object of one cluster, whether it is there or not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// Whose, and which kind.
    #[serde(flatten)]
    pub table: TableKey,
    /// Its namespace; empty when the kind has none.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// The path of the object.
    pub fn path(&self) -> String {
        format!("{}/{}", self.table.resource.path(&self.namespace), segment(&self.name))
    }
}

/// A text as one part of a path: what means something else there, such as `?` and `/`, is percent-encoded. `.` and `..` have
/// no other form; nothing is written under such a name.
pub(crate) fn segment(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte);
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let encoded = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    Cow::Owned(text.bytes().map(encoded).collect())
}

/// As kubectl names it: `configmaps/shop/web`, or `namespaces/shop`.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.table.resource)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// Which objects of a kind a list takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Selection {
    /// Of one namespace; of all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Arc<str>>,
    /// A label selector in its string form; empty for all.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub labels: Arc<str>,
    /// How their names begin; empty for all.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub prefix: Arc<str>,
}

impl Selection {
    /// Every object of the kind.
    pub fn all() -> Self {
        Self::default()
    }

    /// Those of one namespace.
    pub fn namespace(name: &str) -> Self {
        Self { namespace: Some(Arc::from(name)), ..Self::default() }
    }

    /// Of these, those whose labels match a selector such as `app=web,tier!=cache`.
    #[must_use]
    pub fn labelled(self, selector: &str) -> Self {
        Self { labels: Arc::from(selector), ..self }
    }

    /// Of these, those whose names begin so.
    #[must_use]
    pub fn beginning(self, prefix: &str) -> Self {
        Self { prefix: Arc::from(prefix), ..self }
    }

    /// Whether an object of that name may be among them.
    pub fn means_name(&self, name: &str) -> bool {
        name.starts_with(&*self.prefix)
    }

    /// The label selector, read.
    ///
    /// # Errors
    /// When the text is no label selector.
    pub fn selector(&self) -> Result<LabelSelector, LabelSelectorError> {
        LabelSelector::parse(&self.labels)
    }
}

/// A list that was made: which objects of which kind of which cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Query {
    /// Whose, and which kind.
    #[serde(flatten)]
    pub table: TableKey,
    /// Which of them.
    #[serde(flatten)]
    pub selection: Selection,
}

/// `configmaps`, `configmaps in shop`, `configmaps in shop named cart-*`, `configmaps in shop with app=web`.
impl fmt::Display for Query {
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
