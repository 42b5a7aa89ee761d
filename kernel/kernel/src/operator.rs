//! Interface of operators.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::Plan;
use crate::resource::{Resource, Selection};
use crate::topology::{ClusterName, ClusterType, Topology};
use crate::view::View;

/// Name of an operator, unique in a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperatorName(pub Arc<str>);

impl OperatorName {
    /// Creates a name.
    pub fn new(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl fmt::Display for OperatorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Unit of an operator's work: one object, or the whole work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unit {
    /// All of the operator's work.
    Whole,
    /// Work for one object of the kind over which the units are declared.
    Object {
        /// Namespace of the object; empty for cluster-scoped kinds.
        namespace: Arc<str>,
        /// Name of the object.
        name: Arc<str>,
    },
}

impl Unit {
    /// Creates the unit of an object.
    pub fn object(namespace: &str, name: &str) -> Self {
        Self::Object { namespace: Arc::from(namespace), name: Arc::from(name) }
    }

    /// Returns the namespace of the object; empty if there is none.
    pub fn namespace(&self) -> &str {
        match self {
            Unit::Whole => "",
            Unit::Object { namespace, .. } => namespace,
        }
    }

    /// Returns the name of the object; empty for the whole work.
    pub fn name(&self) -> &str {
        match self {
            Unit::Whole => "",
            Unit::Object { name, .. } => name,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Whole => f.write_str("all"),
            Unit::Object { namespace, name } if namespace.is_empty() => f.write_str(name),
            Unit::Object { namespace, name } => write!(f, "{namespace}/{name}"),
        }
    }
}

/// Parses the displayed form: `all`, `web` or `shop/web`.
impl std::str::FromStr for Unit {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.split_once('/') {
            Some((namespace, name)) => Unit::object(namespace, name),
            None if text == "all" => Unit::Whole,
            None => Unit::object("", text),
        })
    }
}

/// Unit with its operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UnitId {
    /// Name of the operator.
    pub operator: OperatorName,
    /// Unit of the operator.
    pub unit: Unit,
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.operator, self.unit)
    }
}

/// Division of an operator's work into units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Units {
    /// A single unit, triggered by changes to everything it has read.
    Whole,
    /// A unit for each selected object. A unit runs once more after its object is deleted.
    Each {
        /// Cluster type of the objects.
        cluster_type: ClusterType,
        /// Kind of the objects.
        resource: Resource,
        /// Selection of objects.
        selection: Selection,
    },
    /// Units for work outside the clusters. The operator's driver sets them, and triggers those for which something
    /// changed, with
    /// [`crate::host::Handle::set_units`].
    External(BTreeSet<Unit>),
}

/// Objects that an operator may read or write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessRule {
    /// Cluster type.
    pub cluster_type: ClusterType,
    /// Kind.
    pub resource: Resource,
    /// Namespace, if limited to one.
    pub namespace: Option<Arc<str>>,
    /// Name, if limited to one. A trailing `*` matches any rest; object names contain no `*`.
    pub name: Option<Arc<str>>,
}

impl AccessRule {
    /// Creates a rule for all objects of a kind on the configuration cluster.
    pub fn every(resource: &Resource) -> Self {
        Self { cluster_type: ClusterType::default(), resource: resource.clone(), namespace: None, name: None }
    }

    /// Creates a rule for all objects of all kinds on the configuration cluster, for operators whose users name the
    /// kinds. The permissions of their service account limit such operators.
    pub fn every_kind() -> Self {
        Self::every(&Resource::ANY)
    }

    /// Moves the rule to another cluster type.
    #[must_use]
    pub fn on(self, cluster_type: ClusterType) -> Self {
        Self { cluster_type, ..self }
    }

    /// Whether the rule covers objects of this kind.
    pub fn covers_kind(&self, resource: &Resource) -> bool {
        self.resource == *resource || self.resource == Resource::ANY
    }

    /// Whether the rule covers an object of its kind. For a list, the name is `None`.
    pub fn covers_object(&self, namespace: Option<&str>, name: Option<&str>) -> bool {
        let named = |declared: &str| match declared.strip_suffix('*') {
            Some(beginning) => name.is_some_and(|name| name.starts_with(beginning)),
            None => name == Some(declared),
        };
        self.namespace.as_deref().is_none_or(|n| Some(n) == namespace) && self.name.as_deref().is_none_or(named)
    }
}

/// Service account to impersonate for writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceAccount {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl ServiceAccount {
    /// Returns the user name to impersonate.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

/// Declaration of an operator's inputs, outputs and units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Objects it may read in addition to those of its units. Reading other objects fails the run.
    pub inputs: BTreeSet<AccessRule>,
    /// Objects it may write. The arbiter refuses other writes.
    pub outputs: BTreeSet<AccessRule>,
    /// Service account for writes; the kernel's own identity when absent.
    pub service_account: Option<ServiceAccount>,
    /// Units of the operator.
    pub units: Units,
}

impl Declaration {
    /// Returns everything the operator may read: its inputs, and the objects of its units.
    pub fn readable(&self) -> BTreeSet<AccessRule> {
        let mut readable = self.inputs.clone();
        if let Units::Each { cluster_type, resource, .. } = &self.units {
            readable.insert(AccessRule::every(resource).on(*cluster_type));
        }
        readable
    }
}

/// Error of a decision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecideError {
    /// The operator read a kind that is not cached yet; the unit runs again when it is. Created only by the view.
    #[error("waits for {0} to be cached")]
    NotCached(String),
    /// The operator failed. Users see the message: it names what failed, and contains no secret.
    #[error("{0}")]
    Failed(String),
}

impl DecideError {
    /// Creates the error of a failed operator.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// Creates the error for a replay that would need data that is not recorded because it may be secret.
    pub fn unrecorded(what: impl fmt::Display) -> Self {
        Self::Failed(format!("{what} {UNRECORDED}"))
    }
}

/// End of the message of [`DecideError::unrecorded`].
const UNRECORDED: &str = "is not recorded, as it may be secret";

/// Whether a message was created by [`DecideError::unrecorded`].
pub(crate) fn is_unrecorded(message: &str) -> bool {
    message.ends_with(UNRECORDED)
}

impl From<serde_json::Error> for DecideError {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(format!("an object does not have the expected shape: {error}"))
    }
}

/// Function from what an operator has read to what it wants written.
///
/// # Assumptions
/// `decide` depends only on its arguments: no clock, no randomness, no I/O, no memory of earlier calls. The probe finds
/// operators that violate this. The only I/O is the answer to a question of the view, [`View::ask`].
pub trait Operator: Send + Sync + 'static {
    /// Returns the name of the operator.
    fn name(&self) -> &str;

    /// Returns inputs, outputs, service account and units.
    fn declaration(&self) -> Declaration;

    /// Returns the cluster used for all of its cluster types; if absent, the topology of the configuration applies. For
    /// operators with one instance for each of several clusters that they find at run time.
    fn home_cluster(&self) -> Option<ClusterName> {
        None
    }

    /// Returns the operator's own topology, if it differs from the configuration; by default, all cluster types are the
    /// home cluster. For operators that read on one cluster and write on another that only they know.
    fn topology(&self) -> Option<Topology> {
        self.home_cluster().map(|home| Topology::standalone(&home))
    }

    /// Whether the operator reads `managedFields`, to see which fields its earlier applies set. The cache then keeps
    /// them for all kinds it reads, which takes memory. Operators that always apply the same fields do not need them.
    fn needs_managed_fields(&self) -> bool {
        false
    }

    /// Returns the settings the operator decides by, as far as they differ from its defaults. Recorded with each
    /// decision for replays, so they must not contain secrets.
    fn settings(&self) -> Value {
        Value::Null
    }

    /// Decides what to write for a unit.
    ///
    /// # Errors
    /// [`DecideError`] when no decision is possible; the unit is retried later.
    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_star_covers_its_prefix_and_no_list() {
        let maps = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
        let declared =
            AccessRule { name: Some("made-*".into()), namespace: Some("shop".into()), ..AccessRule::every(&maps) };
        assert!(declared.covers_object(Some("shop"), Some("made-7xk2p")));
        assert!(!declared.covers_object(Some("shop"), Some("made")));
        assert!(!declared.covers_object(Some("else"), Some("made-7xk2p")));
        assert!(!declared.covers_object(Some("shop"), None));
        let one = AccessRule { name: Some("web".into()), ..AccessRule::every(&maps) };
        assert!(AccessRule::every_kind().covers_kind(&maps) && !one.covers_kind(&Resource::ANY));
        assert!(
            one.covers_object(Some("shop"), Some("web"))
                && !one.covers_object(Some("shop"), Some("web2"))
                && !one.covers_object(None, None)
        );
    }
}
