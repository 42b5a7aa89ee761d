//! An immutable picture of the clusters, whose reading is tracked.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_object::selector::LabelSelector;

use crate::moment::Moment;
use crate::object::Object;
use crate::operator::{Declared, Stop};
use crate::place::{ClusterName, Place, Topology};
use crate::redact::conceal;
use crate::resource::{ObjectKey, Query, Resource, Selection, TableKey};

/// What a view is a view of: the cache at one moment, or what was recorded of a decision.
pub trait Picture: Send + Sync {
    /// The object, or its absence; `None` when the kind is not known yet.
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>>;

    /// The objects selected, by namespace and name; `None` when the kind is not known yet.
    fn list(&self, query: &Query, selector: &LabelSelector) -> Option<Vec<Object>>;

    /// The newest revision of a cluster that the picture holds.
    fn revision(&self, cluster: &ClusterName) -> u64;

    /// A recorded answer from outside; `None` outside of a replay.
    fn answer(&self, _request: &Value) -> Option<Result<Value, String>> {
        None
    }
}

/// What a run read: the set that wakes the unit again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reads {
    /// Objects asked for by name, with the revision found; `None` for a miss.
    pub gets: BTreeMap<ObjectKey, Option<u64>>,
    /// Those of them whose status does not matter.
    pub but_for_status: BTreeSet<ObjectKey>,
    /// Lists made, with what they held: namespace, name, revision.
    pub lists: BTreeMap<Query, Vec<Listed>>,
    /// Kinds that were not known yet: the run is parked until they are.
    pub missing: BTreeSet<TableKey>,
    /// Questions to the outside, in order, with their answers.
    pub asked: Vec<Asked>,
}

/// One object of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its namespace; empty when the kind has none.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its revision.
    pub revision: u64,
}

/// A write of the run before that its cluster, or the kernel, did not make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// Of which object.
    pub object: ObjectKey,
    /// What was to be done, as one word.
    pub verb: String,
    /// Why not, in the API server's words.
    pub message: String,
}

/// A question to the outside and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// What was asked.
    pub request: Value,
    /// What was answered.
    pub answer: Result<Value, String>,
    /// The answer follows from what was read and the time: it is no input beside them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
    /// What the answer says of the outside, as a number, where question and answer hold what is of the run alone; see
    /// [`Outside::look`]. For who compares runs while they are made: it is not kept.
    #[serde(skip)]
    pub gist: Option<u64>,
}

/// A picture of the clusters as one run sees it.
///
/// # Guarantees
/// - Nothing read through it changes while it lives. // test: guarantees_a_view_does_not_change
/// - Every object, list and absence that was read is in its [`Reads`]. // test: guarantees_every_read_is_tracked
pub struct View {
    picture: Arc<dyn Picture>,
    topology: Arc<Topology>,
    inputs: Arc<BTreeSet<Declared>>,
    now: Moment,
    refused: Vec<Refusal>,
    reads: RefCell<Reads>,
    /// Whether nothing outside may be changed.
    pretending: bool,
    /// What was to be asked outside and was not, in words.
    withheld: RefCell<Vec<String>>,
}

/// How much of a question that was not asked is told.
const MAX_QUESTION_BYTES: usize = 200;

impl View {
    /// A view of a picture, for an operator with these inputs.
    pub fn new(
        picture: Arc<dyn Picture>,
        topology: Arc<Topology>,
        inputs: Arc<BTreeSet<Declared>>,
        now: Moment,
    ) -> Self {
        let (refused, reads, withheld) = (Vec::new(), RefCell::default(), RefCell::default());
        Self { picture, topology, inputs, now, refused, reads, pretending: false, withheld }
    }

    /// For a dry run: what would change something outside is not asked.
    #[must_use]
    pub fn pretending(self, pretending: bool) -> Self {
        Self { pretending, ..self }
    }

    /// Whether nothing of what is decided on it will be written.
    pub fn is_pretending(&self) -> bool {
        self.pretending
    }

    /// Notes that this is not asked; gives what is said instead of an answer.
    pub(crate) fn withhold(&self, request: &Value) -> String {
        let mut question = conceal(request).to_string();
        question.truncate(question.floor_char_boundary(MAX_QUESTION_BYTES));
        self.withheld.borrow_mut().push(question.clone());
        format!("a dry run changes nothing outside, so this was not asked: {question}")
    }

    /// What was to be asked outside and was not.
    pub(crate) fn withheld(&self) -> Option<String> {
        let withheld = self.withheld.borrow();
        withheld.first().map(|first| format!("a dry run changes nothing outside, so this was not asked: {first}"))
    }

    /// Told what was refused of the run before.
    #[must_use]
    pub fn after(self, refused: Vec<Refusal>) -> Self {
        Self { refused, ..self }
    }

    /// What was refused of the unit's last run, if anything was: an operator that shows its users what went wrong must
    /// know. A process that has just begun knows of none; the write is then tried, and refused, once more.
    pub fn refused(&self) -> &[Refusal] {
        &self.refused
    }

    /// The time of the decision.
    pub fn now(&self) -> jiff::Timestamp {
        self.now.timestamp()
    }

    /// One object of the configuration cluster. `namespace` is empty for kinds without.
    ///
    /// # Errors
    /// [`Stop::Parked`] when the kind is not known yet, [`Stop::Failed`] when it is not among the operator's inputs.
    pub fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Option<Object>, Stop> {
        self.at(Place::default()).get(resource, namespace, name)
    }

    /// As [`View::get`], but a change of nothing than the object's status does not wake the unit: for an object whose status
    /// sums up its many readers.
    ///
    /// # Errors
    /// As [`View::get`].
    pub fn get_but_for_status(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Option<Object>, Stop> {
        let place = Place::default();
        let key = self.topology.object(place, resource, namespace, name);
        let read = self.reads.borrow().gets.contains_key(&key) && !self.reads.borrow().but_for_status.contains(&key);
        let found = self.at(place).get(resource, namespace, name)?;
        if !read {
            self.reads.borrow_mut().but_for_status.insert(key);
        }
        Ok(found)
    }

    /// Objects of the configuration cluster, by namespace and name; of the namespaces that the topology gives the operator.
    ///
    /// # Errors
    /// As [`View::get`], and [`Stop::Failed`] when the label selector cannot be read.
    pub fn list(&self, resource: &Resource, selection: &Selection) -> Result<Vec<Object>, Stop> {
        self.at(Place::default()).list(resource, selection)
    }

    /// What stands between the operator and the clusters: for who must know whether two places are one.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// The same reads on another cluster.
    pub fn at(&self, place: Place) -> At<'_> {
        At { view: self, place }
    }

    /// What was read so far.
    pub fn reads(&self) -> Reads {
        self.reads.borrow().clone()
    }

    /// What was read.
    pub fn into_reads(self) -> Reads {
        self.reads.into_inner()
    }

    /// Why the run is parked, if it read something that is not known yet.
    pub(crate) fn parked(&self) -> Option<Stop> {
        self.reads.borrow().missing.first().map(|table| Stop::Parked(table.resource.to_string()))
    }

    fn park(&self, table: &TableKey) -> Stop {
        self.reads.borrow_mut().missing.insert(table.clone());
        Stop::Parked(table.resource.to_string())
    }
}

/// A view of one of the three clusters.
#[derive(Clone, Copy)]
pub struct At<'a> {
    view: &'a View,
    place: Place,
}

impl At<'_> {
    /// As [`View::get`].
    ///
    /// # Errors
    /// As [`View::get`].
    pub fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Option<Object>, Stop> {
        self.check(resource, Some(namespace).filter(|n| !n.is_empty()), Some(name))?;
        let key = self.view.topology.object(self.place, resource, namespace, name);
        let Some(found) = self.view.picture.get(&key) else { return Err(self.view.park(&key.table)) };
        let mut reads = self.view.reads.borrow_mut();
        reads.but_for_status.remove(&key);
        reads.gets.insert(key, found.as_ref().map(|object| object.revision));
        drop(reads);
        Ok(found.and_then(|object| self.view.topology.seen(self.place, object)))
    }

    /// As [`View::list`].
    ///
    /// # Errors
    /// As [`View::list`].
    pub fn list(&self, resource: &Resource, selection: &Selection) -> Result<Vec<Object>, Stop> {
        self.check(resource, selection.namespace.as_deref(), None)?;
        let selector = selection
            .selector()
            .map_err(|error| Stop::Failed(format!("the label selector `{}` is wrong: {error}", selection.labels)))?;
        let topology = &self.view.topology;
        let (real, late) = topology.selection(self.place, resource, selection);
        let query = Query { table: topology.table(self.place, resource), selection: real };
        let real = if late { LabelSelector::everything() } else { selector.clone() };
        let Some(found) = self.view.picture.list(&query, &real) else { return Err(self.view.park(&query.table)) };
        let listed = |object: &Object| Listed {
            namespace: object.key.namespace.clone(),
            name: object.key.name.clone(),
            revision: object.revision,
        };
        let meant =
            |key: &ObjectKey| query.selection.means_name(&key.name) && topology.known_as(self.place, key).is_some();
        let own: Vec<Object> = found.into_iter().filter(|object| meant(&object.key)).collect();
        self.view.reads.borrow_mut().lists.insert(query, own.iter().map(listed).collect());
        let mut seen: Vec<Object> = own.into_iter().filter_map(|object| topology.seen(self.place, object)).collect();
        if !topology.namespaces(self.place).is_same() {
            let is_meant =
                |object: &Object| selection.means_name(&object.key.name) && selector.matches(Some(&object.labels()));
            seen.retain(|object| !late || is_meant(object));
            seen.sort_by(|a, b| (&a.key.namespace, &a.key.name).cmp(&(&b.key.namespace, &b.key.name)));
        }
        Ok(seen)
    }

    fn check(&self, resource: &Resource, namespace: Option<&str>, name: Option<&str>) -> Result<(), Stop> {
        let covered = self
            .view
            .inputs
            .iter()
            .any(|input| input.place == self.place && input.is_of(resource) && input.means(namespace, name));
        if covered {
            return Ok(());
        }
        Err(Stop::Failed(format!(
            "{resource} of the {} cluster is not among the operator's declared inputs",
            self.place
        )))
    }
}

/// The door to the outside: what is asked and answered through it is recorded.
pub struct Outside<'a> {
    view: &'a View,
    reach: &'a dyn Fn(&Value) -> Result<Value, String>,
}

impl<'a> Outside<'a> {
    pub(crate) fn new(view: &'a View, reach: &'a dyn Fn(&Value) -> Result<Value, String>) -> Self {
        Self { view, reach }
    }

    /// Asks; in a replay the recorded answer is given again.
    ///
    /// # Errors
    /// What the outside said when it did not answer.
    pub fn ask(&self, request: Value) -> Result<Value, String> {
        self.asked(request, false, |_| None)
    }

    /// Asks for what follows from what was read and the time, such as from a program that is given nothing else. A unit that
    /// writes again though nothing it read has changed is then seen to loop, whatever the answers are.
    ///
    /// # Errors
    /// As [`Outside::ask`].
    pub fn ask_what_follows(&self, request: Value) -> Result<Value, String> {
        self.asked(request, true, |_| None)
    }

    /// Asks somebody who looks outside and tells of the look as well: when it was, what it cost. What `gist` leaves of an answer is
    /// what it says of the outside. Where that is the same, nothing has changed; and for a unit that was woken by its own writes
    /// alone it is no reason to write again, whatever it is: nobody had told it to look.
    ///
    /// # Errors
    /// As [`Outside::ask`].
    pub fn look(&self, request: Value, gist: impl FnOnce(&Value) -> Value) -> Result<Value, String> {
        self.asked(request, false, |answer| {
            let mut hasher = DefaultHasher::new();
            answer.as_ref().map(|answer| gist(answer).to_string()).hash(&mut hasher);
            Some(hasher.finish())
        })
    }

    fn asked(
        &self,
        request: Value,
        follows: bool,
        gist: impl FnOnce(&Result<Value, String>) -> Option<u64>,
    ) -> Result<Value, String> {
        let answer = match self.view.picture.answer(&request) {
            Some(recorded) => recorded,
            None => (self.reach)(&request),
        };
        let gist = gist(&answer);
        self.view.reads.borrow_mut().asked.push(Asked { request, answer: answer.clone(), follows, gist });
        answer
    }
}
