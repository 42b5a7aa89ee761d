//! Immutable view of the clusters that tracks its reads.

mod opening;
mod question;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_object::selector::LabelSelector;

use crate::object::Object;
use crate::operator::{AccessRule, DecideError};
use crate::resource::{ListQuery, ObjectKey, Resource, Selection, TableKey};
use crate::timestamp::Timestamp;
use crate::topology::{ClusterName, ClusterType, Topology};

pub use question::{ExternalQuery, ExternalState, Question};

/// Source of objects for a view: a snapshot of the cache, or a recorded decision.
pub trait Reader: Send + Sync {
    /// Returns an object, or its absence; `None` if the kind is not cached yet.
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>>;

    /// Returns the selected objects, sorted by namespace and name; `None` if the kind is not cached yet.
    fn list(&self, query: &ListQuery, selector: &LabelSelector) -> Option<Vec<Object>>;

    /// Whether a kind is cached.
    fn is_cached(&self, _table: &TableKey) -> bool {
        true
    }

    /// Returns the newest revision of a cluster.
    fn revision(&self, cluster: &ClusterName) -> u64;

    /// Returns the recorded answer of an external query of this kind; `None` outside a replay.
    fn answer(&self, _kind: &str, _request: &Value) -> Option<Result<Value, String>> {
        None
    }
}

/// Reads of a run; changes to them trigger the unit again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reads {
    /// Objects read by name, with their revisions; `None` for an absent object.
    pub gets: BTreeMap<ObjectKey, Option<u64>>,
    /// Objects among them whose status is ignored.
    pub ignoring_status: BTreeSet<ObjectKey>,
    /// Lists with their objects.
    pub lists: BTreeMap<ListQuery, Vec<ListedObject>>,
    /// Kinds that are not cached yet; the run waits for them.
    pub missing: BTreeSet<TableKey>,
    /// External queries in order, with their answers.
    pub external_queries: Vec<ExternalQuery>,
}

/// Object of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedObject {
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Revision.
    pub revision: u64,
}

/// Write of the previous run that the cluster or the kernel rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteRejection {
    /// Object of the write.
    pub object: ObjectKey,
    /// Verb of the operation.
    pub verb: String,
    /// Message of the API server.
    pub message: String,
}

/// View of the clusters for one run.
///
/// # Guarantees
/// - A view does not change while it exists. // test: guarantees_a_view_does_not_change
/// - Every object, list and absence that was read is in its [`Reads`]. // test: guarantees_every_read_is_tracked
pub struct View {
    reader: Arc<dyn Reader>,
    topology: Arc<Topology>,
    inputs: Arc<BTreeSet<AccessRule>>,
    now: Timestamp,
    rejected_writes: Vec<WriteRejection>,
    reads: RefCell<Reads>,
    /// Whether external queries with side effects are skipped.
    dry_run: bool,
    /// Reason why an external query has no answer; of the first one.
    unanswered: RefCell<Option<String>>,
}

impl View {
    /// Creates a view for an operator with these inputs.
    pub fn new(
        reader: Arc<dyn Reader>,
        topology: Arc<Topology>,
        inputs: Arc<BTreeSet<AccessRule>>,
        now: Timestamp,
    ) -> Self {
        let (rejected_writes, reads, unanswered) = (Vec::new(), RefCell::default(), RefCell::default());
        Self { reader, topology, inputs, now, rejected_writes, reads, dry_run: false, unanswered }
    }

    /// Sets whether this is a dry run, which skips external queries with side effects.
    #[must_use]
    pub fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// Whether this is a dry run, so that no decision on this view is written.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Sets the rejected writes of the previous run.
    #[must_use]
    pub fn with_rejected_writes(self, rejected_writes: Vec<WriteRejection>) -> Self {
        Self { rejected_writes, ..self }
    }

    /// Returns the rejected writes of the unit's previous run, for operators that report errors to their users. After a
    /// restart there are none; the write is then sent, and rejected, once more.
    pub fn rejected_writes(&self) -> &[WriteRejection] {
        &self.rejected_writes
    }

    /// Returns the time of the decision.
    pub fn now(&self) -> jiff::Timestamp {
        self.now.to_jiff()
    }

    /// Reads an object of the configuration cluster. `namespace` is empty for cluster-scoped kinds.
    ///
    /// # Errors
    /// [`DecideError::NotCached`] when the kind is not cached yet, [`DecideError::Failed`] when it is not among the operator's inputs.
    pub fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Option<Object>, DecideError> {
        self.on(ClusterType::default()).get(resource, namespace, name)
    }

    /// Reads an object like [`View::get`], but changes that concern only its status do not trigger the unit. For
    /// objects whose status summarizes their many readers.
    ///
    /// # Errors
    /// Errors of [`View::get`].
    pub fn get_ignoring_status(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, DecideError> {
        let cluster_type = ClusterType::default();
        let key = self.topology.object(cluster_type, resource, namespace, name);
        let read = self.reads.borrow().gets.contains_key(&key) && !self.reads.borrow().ignoring_status.contains(&key);
        let found = self.on(cluster_type).get(resource, namespace, name)?;
        if !read {
            self.reads.borrow_mut().ignoring_status.insert(key);
        }
        Ok(found)
    }

    /// Lists objects of the configuration cluster, sorted by namespace and name, within the namespaces of the
    /// operator's topology.
    ///
    /// # Errors
    /// Errors of [`View::get`], and [`DecideError::Failed`] when the label selector is invalid.
    pub fn list(&self, resource: &Resource, selection: &Selection) -> Result<Vec<Object>, DecideError> {
        self.on(ClusterType::default()).list(resource, selection)
    }

    /// Returns the operator's topology, to check whether two cluster types are the same cluster.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// Returns a view of another cluster type.
    pub fn on(&self, cluster_type: ClusterType) -> ClusterView<'_> {
        ClusterView { view: self, cluster_type }
    }

    /// Returns the reads so far.
    pub fn reads(&self) -> Reads {
        self.reads.borrow().clone()
    }

    /// Consumes the view and returns its reads.
    pub fn into_reads(self) -> Reads {
        self.reads.into_inner()
    }

    /// Returns the error if a kind was read that is not cached yet.
    pub(crate) fn not_cached(&self) -> Option<DecideError> {
        self.reads.borrow().missing.first().map(|table| DecideError::NotCached(table.resource.to_string()))
    }

    fn mark_missing(&self, table: &TableKey) -> DecideError {
        self.reads.borrow_mut().missing.insert(table.clone());
        DecideError::NotCached(table.resource.to_string())
    }
}

/// View of one cluster type.
#[derive(Clone, Copy)]
pub struct ClusterView<'a> {
    view: &'a View,
    cluster_type: ClusterType,
}

impl ClusterView<'_> {
    /// Reads an object like [`View::get`].
    ///
    /// # Errors
    /// Errors of [`View::get`].
    pub fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Option<Object>, DecideError> {
        self.check(resource, Some(namespace).filter(|n| !n.is_empty()), Some(name))?;
        let key = self.view.topology.object(self.cluster_type, resource, namespace, name);
        let Some(found) = self.view.reader.get(&key) else { return Err(self.view.mark_missing(&key.table)) };
        let mut reads = self.view.reads.borrow_mut();
        reads.ignoring_status.remove(&key);
        reads.gets.insert(key, found.as_ref().map(|object| object.revision));
        drop(reads);
        Ok(found.and_then(|object| self.view.topology.to_operator(self.cluster_type, object)))
    }

    /// Lists objects like [`View::list`].
    ///
    /// # Errors
    /// Errors of [`View::list`].
    pub fn list(&self, resource: &Resource, selection: &Selection) -> Result<Vec<Object>, DecideError> {
        self.check(resource, selection.namespace.as_deref(), None)?;
        let selector = selection
            .selector()
            .map_err(|error| DecideError::Failed(format!("invalid label selector `{}`: {error}", selection.labels)))?;
        let topology = &self.view.topology;
        let (real, late) = topology.resolve_selection(self.cluster_type, resource, selection);
        let query = ListQuery { table: topology.table(self.cluster_type, resource), selection: real };
        let real = if late { LabelSelector::everything() } else { selector.clone() };
        let Some(found) = self.view.reader.list(&query, &real) else {
            return Err(self.view.mark_missing(&query.table));
        };
        let listed = |object: &Object| ListedObject {
            namespace: object.key.namespace.clone(),
            name: object.key.name.clone(),
            revision: object.revision,
        };
        let meant = |key: &ObjectKey| {
            query.selection.matches_name(&key.name) && topology.operator_name(self.cluster_type, key).is_some()
        };
        let own: Vec<Object> = found.into_iter().filter(|object| meant(&object.key)).collect();
        self.view.reads.borrow_mut().lists.insert(query, own.iter().map(listed).collect());
        let mut seen: Vec<Object> =
            own.into_iter().filter_map(|object| topology.to_operator(self.cluster_type, object)).collect();
        if !topology.namespaces(self.cluster_type).is_identity() {
            let is_meant =
                |object: &Object| selection.matches_name(&object.key.name) && selector.matches(Some(&object.labels()));
            seen.retain(|object| !late || is_meant(object));
            seen.sort_by(|a, b| (&a.key.namespace, &a.key.name).cmp(&(&b.key.namespace, &b.key.name)));
        }
        Ok(seen)
    }

    fn check(&self, resource: &Resource, namespace: Option<&str>, name: Option<&str>) -> Result<(), DecideError> {
        let covered = self.view.inputs.iter().any(|input| {
            input.cluster_type == self.cluster_type
                && input.covers_kind(resource)
                && input.covers_object(namespace, name)
        });
        if covered {
            return Ok(());
        }
        Err(DecideError::Failed(format!(
            "{resource} of the {} cluster is not among the operator's declared inputs",
            self.cluster_type
        )))
    }
}
