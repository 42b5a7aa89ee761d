//! What an operator is.

mod outward;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::place::{ClusterName, Place, Topology};
use crate::plan::Plan;
use crate::resource::{Resource, Selection};
use crate::view::View;

pub use outward::{Outward, Reaching};

/// The name of an operator, unique in a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperatorName(pub Arc<str>);

impl OperatorName {
    /// An operator of that name.
    pub fn new(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl fmt::Display for OperatorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an operator is woken for: one object, or the whole of its work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unit {
    /// All of the operator's work.
    Whole,
    /// The work for one object of the kind its units are declared over.
    Object {
        /// Its namespace; empty when the kind has none.
        namespace: Arc<str>,
        /// Its name.
        name: Arc<str>,
    },
}

impl Unit {
    /// The unit of one object.
    pub fn object(namespace: &str, name: &str) -> Self {
        Self::Object { namespace: Arc::from(namespace), name: Arc::from(name) }
    }

    /// The namespace of its object; empty for none.
    pub fn namespace(&self) -> &str {
        match self {
            Unit::Whole => "",
            Unit::Object { namespace, .. } => namespace,
        }
    }

    /// The name of its object; empty for the whole.
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

/// As it is displayed: `all`, `web` or `shop/web`.
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

/// A unit of an operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UnitId {
    /// Whose.
    pub operator: OperatorName,
    /// Which.
    pub unit: Unit,
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.operator, self.unit)
    }
}

/// How an operator's work is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Units {
    /// It is not: one unit is woken by everything that was read.
    Whole,
    /// One unit for each object selected; it is woken once more when its object is gone.
    Each {
        /// On which cluster.
        place: Place,
        /// Of which kind.
        resource: Resource,
        /// Which of them.
        selection: Selection,
    },
    /// Those that the operator's shell names: what they are for lies outside of every cluster. The shell names others, and
    /// wakes those for which something changed, with [`crate::host::Handle::set_units`].
    Given(BTreeSet<Unit>),
}

/// A kind that an operator reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Declared {
    /// On which cluster.
    pub place: Place,
    /// Which kind.
    pub resource: Resource,
    /// Only in this namespace, when given.
    pub namespace: Option<Arc<str>>,
    /// Only this object, when given. A `*` at its end stands for any rest: no name of an object holds one.
    pub name: Option<Arc<str>>,
}

impl Declared {
    /// Every object of a kind on the configuration cluster.
    pub fn every(resource: &Resource) -> Self {
        Self { place: Place::default(), resource: resource.clone(), namespace: None, name: None }
    }

    /// Every object of every kind on the configuration cluster: for operators whose users name the kinds. What bounds such
    /// an operator is whom it writes as.
    pub fn every_kind() -> Self {
        Self::every(&Resource::EVERY)
    }

    /// The same on another cluster.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// Whether it means objects of this kind.
    pub fn is_of(&self, resource: &Resource) -> bool {
        self.resource == *resource || self.resource == Resource::EVERY
    }

    /// Whether it means this object of its kind; a list is of no name.
    pub fn means(&self, namespace: Option<&str>, name: Option<&str>) -> bool {
        let named = |declared: &str| match declared.strip_suffix('*') {
            Some(beginning) => name.is_some_and(|name| name.starts_with(beginning)),
            None => name == Some(declared),
        };
        self.namespace.as_deref().is_none_or(|n| Some(n) == namespace) && self.name.as_deref().is_none_or(named)
    }
}

/// The service account an operator writes as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ServiceAccount {
    /// The user name to impersonate.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

/// What an operator says of itself before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// What it may read beside what its units are. Reading anything else fails the run.
    pub inputs: BTreeSet<Declared>,
    /// What it may write. Anything else is refused by the arbiter.
    pub outputs: BTreeSet<Declared>,
    /// Whom it writes as; as the kernel itself when absent.
    pub service_account: Option<ServiceAccount>,
    /// How its work is divided.
    pub units: Units,
}

impl Declaration {
    /// Everything it may read: its inputs, and what its units are. Nobody has to say twice that an operator reads those.
    pub fn readable(&self) -> BTreeSet<Declared> {
        let mut readable = self.inputs.clone();
        if let Units::Each { place, resource, .. } = &self.units {
            readable.insert(Declared::every(resource).at(*place));
        }
        readable
    }
}

/// Why a decision was not reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// Something was read that is not known yet; the unit runs again when it is. Made by the view alone.
    #[error("waits for {0} to be read")]
    Parked(String),
    /// The operator cannot go on. The message is shown to people: it names what failed, and holds no secret.
    #[error("{0}")]
    Failed(String),
}

impl Stop {
    /// The operator cannot go on.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// The operator cannot go on because what it was told then is kept nowhere: for replays of what may hold secrets.
    pub fn unrecorded(what: impl fmt::Display) -> Self {
        Self::Failed(format!("{what} {UNRECORDED}"))
    }
}

/// How [`Stop::unrecorded`] ends.
const UNRECORDED: &str = "is not recorded, as it may be secret";

/// Whether these are the words of [`Stop::unrecorded`].
pub(crate) fn is_unrecorded(message: &str) -> bool {
    message.ends_with(UNRECORDED)
}

impl From<serde_json::Error> for Stop {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(format!("an object has not the expected shape: {error}"))
    }
}

/// A function from what it has read to what it wants written.
///
/// # Assumptions
/// `decide` depends on its arguments alone: no clock, no randomness, no I/O, no memory of earlier calls.
/// The probe finds operators that break this.
pub trait Operator: Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &str;

    /// Inputs, outputs, service account and units.
    fn declaration(&self) -> Declaration;

    /// The real cluster that all of its places are; those of the topology when absent. For operators whose clusters come
    /// from what they read outside, one operator for each.
    fn home(&self) -> Option<ClusterName> {
        None
    }

    /// Which real clusters its places are, when they are not those of the configuration; by default, all of them its home. For
    /// operators that read on one cluster and write on another that only they know of.
    fn topology(&self) -> Option<Topology> {
        self.home().map(|home| Topology::standalone(&home))
    }

    /// Whether it is to see which fields its own earlier applies left behind: then `managedFields` are kept of the kinds it
    /// reads, which takes memory. Operators that ask the same of the arbiter each time need not know.
    fn reads_managers(&self) -> bool {
        false
    }

    /// What it decides by beside what it reads: of its configuration, as far as it is not what it does by itself. Recorded with
    /// each decision, so that the same can be decided again; nothing secret.
    fn settings(&self) -> Value {
        Value::Null
    }

    /// What is to be written for a unit, given what is.
    ///
    /// # Errors
    /// [`Stop`] when no decision is possible; the unit is tried again later.
    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, Stop>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_star_means_all_that_begin_so_and_no_list() {
        let maps = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
        let declared =
            Declared { name: Some("made-*".into()), namespace: Some("shop".into()), ..Declared::every(&maps) };
        assert!(declared.means(Some("shop"), Some("made-7xk2p")));
        assert!(!declared.means(Some("shop"), Some("made")));
        assert!(!declared.means(Some("else"), Some("made-7xk2p")));
        assert!(!declared.means(Some("shop"), None));
        let one = Declared { name: Some("web".into()), ..Declared::every(&maps) };
        assert!(Declared::every_kind().is_of(&maps) && !one.is_of(&Resource::EVERY));
        assert!(
            one.means(Some("shop"), Some("web")) && !one.means(Some("shop"), Some("web2")) && !one.means(None, None)
        );
    }
}
