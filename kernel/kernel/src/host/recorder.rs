//! The thread that owns the journal: its disk never holds up the loop.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::core::{Closed, secrets_among};
use crate::decision::{Decision, DecisionId};
use crate::journal::{Journal, JournalError, MAX_CONTENTS};
use crate::moment::Moment;
use crate::object::Object;
use crate::redact::Secrets;
use crate::resource::ObjectKey;
use crate::view::Picture;

use super::clock::Clock;

/// How many decisions may wait for the disk; beyond that they are counted and dropped, since operators go first.
const MAX_PENDING: usize = 4096;
/// How long what was written may wait for the disk to be asked for it.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// How often is looked whether something in the journal is too old.
const EXPIRE_EVERY: Duration = Duration::from_secs(60);

/// Entries that were recorded, and entries that were not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Recorded.
    pub recorded: u64,
    /// Lost because the disk was behind or refused.
    pub dropped: u64,
}

#[derive(Default)]
struct Counters {
    recorded: AtomicU64,
    dropped: AtomicU64,
}

/// A question to the journal, carried out by the thread that owns it.
pub(super) type Question = Box<dyn FnOnce(&mut Journal) + Send>;

/// What the journal's thread is given.
enum Task {
    Keep(Box<Closed>, Moment),
    Look(Question),
}

/// Sends decisions to the journal's thread.
pub(super) struct Recorder {
    sender: Option<mpsc::SyncSender<Task>>,
    counters: Arc<Counters>,
    done: Option<tokio::sync::oneshot::Receiver<()>>,
}

impl Recorder {
    pub fn start(journal: Journal) -> Self {
        let (sender, inbox) = mpsc::sync_channel(MAX_PENDING);
        let (finished, done) = tokio::sync::oneshot::channel();
        let counters = Arc::<Counters>::default();
        let counted = counters.clone();
        std::thread::spawn(move || {
            keep(journal, &inbox, &counted);
            let _ = finished.send(());
        });
        Self { sender: Some(sender), counters, done: Some(done) }
    }

    pub fn record(&mut self, closed: Closed, now: Moment) {
        let sent =
            self.sender.as_ref().is_some_and(|sender| sender.try_send(Task::Keep(Box::new(closed), now)).is_ok());
        if !sent {
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Has a question answered behind what was recorded before it. When the thread is too far behind, nobody answers.
    pub fn look(&self, question: Question) {
        if let Some(sender) = &self.sender {
            // Who asked notices: the way back is dropped with the question.
            drop(sender.try_send(Task::Look(question)));
        }
    }

    pub fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts { recorded: read(&self.counters.recorded), dropped: read(&self.counters.dropped) }
    }

    /// Everything that was sent is on the disk when this is done.
    pub async fn finish(&mut self) {
        self.sender = None;
        if let Some(done) = self.done.take() {
            let _ = done.await;
        }
    }
}

fn keep(mut journal: Journal, inbox: &mpsc::Receiver<Task>, counters: &Counters) {
    let (mut due, mut told, mut complaint) = (Due::default(), 0, String::new());
    let (mut clock, mut look, mut about_age) = (Clock::start(), Instant::now(), String::new());
    loop {
        if due.is_now(Instant::now()) {
            complain(journal.sync(), &mut complaint);
        }
        if look <= Instant::now() {
            look = Instant::now() + EXPIRE_EVERY;
            complain(journal.expire(clock.now()), &mut about_age);
        }
        match inbox.recv_timeout(due.wait(Instant::now())) {
            Ok(Task::Look(question)) => question(&mut journal),
            Ok(Task::Keep(closed, now)) => {
                due.written(Instant::now());
                tell_of_loss(&mut journal, &mut told, counters, now);
                match append(&mut journal, &closed, now) {
                    Ok(()) => drop(counters.recorded.fetch_add(1, Ordering::Relaxed)),
                    Err(error) => {
                        counters.dropped.fetch_add(1, Ordering::Relaxed);
                        tracing::error!("could not record a decision: {}", whole(&error));
                    }
                }
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                complain(journal.sync(), &mut complaint);
                return;
            }
        }
    }
}

/// When the disk is to be asked for what was written: so long after the first of it, however much comes behind it.
#[derive(Default)]
struct Due(Option<Instant>);

impl Due {
    fn written(&mut self, now: Instant) {
        self.0.get_or_insert(now + SYNC_EVERY);
    }

    /// True once for what was written.
    fn is_now(&mut self, now: Instant) -> bool {
        self.0.take_if(|due| *due <= now).is_some()
    }

    fn wait(&self, now: Instant) -> Duration {
        self.0.map_or(SYNC_EVERY, |due| due.saturating_duration_since(now))
    }
}

/// Writes decisions whose numbers are about to be told.
pub(super) fn keep_told(journal: &mut Journal, told: &[DecisionId]) {
    if let Err(error) = journal.keep(told) {
        tracing::error!("could not record a decision: {}", whole(&error));
    }
}

fn complain(done: Result<(), JournalError>, complaint: &mut String) {
    let problem = done.err().map(|error| whole(&error)).unwrap_or_default();
    // What stays wrong is said once.
    if !problem.is_empty() && problem != *complaint {
        tracing::error!("could not keep the journal: {problem}");
    }
    *complaint = problem;
}

/// An error with its causes: that the disk is full stands in the last of them.
fn whole(error: &dyn std::error::Error) -> String {
    std::iter::successors(error.source(), |cause| cause.source())
        .fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Who asks the journal later must know that it does not tell all.
fn tell_of_loss(journal: &mut Journal, told: &mut u64, counters: &Counters, now: Moment) {
    let dropped = counters.dropped.load(Ordering::Relaxed);
    // When this cannot be written either, the next one says it.
    if dropped > *told && journal.lost(dropped - *told, now).is_ok() {
        *told = dropped;
    }
}

fn append(journal: &mut Journal, closed: &Closed, now: Moment) -> Result<(), JournalError> {
    let (read, secrets) = contents(&closed.decision, &*closed.picture);
    journal.append_knowing(&closed.decision, &read, secrets, now)?;
    closed.findings.iter().try_for_each(|finding| journal.note(finding, now))
}

/// The objects a decision read, as they were, as far as they are kept; and the values of the Secrets among the others.
fn contents(decision: &Decision, picture: &dyn Picture) -> (Vec<Object>, Secrets) {
    let listed = decision.lists.iter().flat_map(|(query, listed)| {
        listed.iter().map(|one| ObjectKey {
            table: query.table.clone(),
            namespace: one.namespace.clone(),
            name: one.name.clone(),
        })
    });
    let keys: BTreeSet<ObjectKey> = decision.gets.iter().map(|(key, _)| key.clone()).chain(listed).collect();
    let mut keys = keys.into_iter();
    let kept = keys.by_ref().take(MAX_CONTENTS).filter_map(|key| picture.get(&key).flatten()).collect();
    (kept, secrets_among(keys, picture))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::cache::{Cache, Observed};
    use crate::decision::Outcome;
    use crate::journal::Bounds;
    use crate::operator::{OperatorName, Unit, UnitId};
    use crate::place::ClusterName;
    use crate::plan::Standing;
    use crate::resource::{Resource, TableKey};

    const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
    const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

    /// Decides nothing.
    struct Nobody;

    impl crate::operator::Operator for Nobody {
        fn name(&self) -> &str {
            "reader"
        }

        fn declaration(&self) -> crate::operator::Declaration {
            unreachable!("nobody asks it")
        }

        fn decide(&self, _: &Unit, _: &crate::view::View) -> Result<crate::plan::Plan, crate::operator::Stop> {
            unreachable!("nobody asks it")
        }
    }

    /// A run that read so many ConfigMaps, of which the first holds a copy, and one Secret.
    fn run(maps: usize, value: &str) -> Closed {
        let mut cache = Cache::default();
        let mut gets = Vec::new();
        let named = |kind: &str, number: usize| {
            json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": format!("n{number:05}"), "namespace": "shop",
                "resourceVersion": "7"}})
        };
        let mut of = |resource: &Resource, objects: Vec<serde_json::Value>| {
            let table = TableKey { cluster: ClusterName::new("main"), resource: Arc::new(resource.clone()) };
            cache.observe(&table, Observed::Begin).unwrap();
            for object in objects {
                let name = object["metadata"]["name"].as_str().unwrap().into();
                gets.push((ObjectKey { table: table.clone(), namespace: "shop".into(), name }, Some(7)));
                cache.observe(&table, Observed::Put(object.to_string().into_bytes().into())).unwrap();
            }
            cache.observe(&table, Observed::Synced { revision: 10 }).unwrap();
        };
        let mut objects: Vec<_> = (0..maps).map(|number| named("ConfigMap", number)).collect();
        objects[0]["data"] = json!({"copy": format!("it is {value}.")});
        of(&CONFIG_MAPS, objects);
        let mut secret = named("Secret", 0);
        secret["stringData"] = json!({"key": value});
        of(&SECRETS, vec![secret]);
        let decision = Decision {
            id: DecisionId(1),
            unit: UnitId { operator: OperatorName::new("reader"), unit: Unit::Whole },
            causes: vec![],
            woken: Moment(1),
            started: Moment(1),
            decide_us: 1,
            write_us: 1,
            gets,
            lists: vec![],
            asked: vec![],
            refused: vec![],
            settings: serde_json::Value::Null,
            outcome: Outcome::Decided { writes: vec![], standing: Standing::Ready },
        };
        Closed { decision, picture: cache.snapshot(), findings: vec![], carried: vec![] }
    }

    #[test]
    fn a_secret_behind_all_that_is_kept_is_masked_in_it() {
        let value = "hunter2-is-planted-here";
        let closed = run(MAX_CONTENTS + 500, value);
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), Bounds::default()).unwrap();
        append(&mut journal, &closed, Moment(2)).unwrap();
        let why = "it read 2501 objects, and 2000 are kept of one decision".to_string();
        let replayed = crate::replay::replay(&Nobody, &journal, DecisionId(1), &[]);
        assert_eq!(replayed, crate::replay::Replayed::TooMuch { why });
        drop(journal);
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let text = String::from_utf8_lossy(&std::fs::read(entry.unwrap().path()).unwrap()).into_owned();
            assert!(!text.contains(value));
        }
    }

    #[tokio::test]
    async fn what_is_too_old_goes_though_nothing_is_decided() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), Bounds::default()).unwrap();
        append(&mut journal, &run(1, "hunter2-is-planted-here"), Moment(2)).unwrap();
        assert!(journal.get(DecisionId(1)).is_some());
        // The journal is decades old by now.
        Recorder::start(journal).finish().await;
        let journal = Journal::read(dir.path()).unwrap();
        assert_eq!((journal.get(DecisionId(1)), journal.since(), journal.next_id()), (None, None, DecisionId(2)));
    }

    #[test]
    fn what_comes_all_the_time_is_brought_to_the_disk_all_the_same() {
        let (mut due, begun, mut synced) = (Due::default(), Instant::now(), 0);
        for step in 0..1000 {
            let now = begun + Duration::from_millis(step * 10);
            synced += u32::from(due.is_now(now));
            assert!(due.wait(now) <= SYNC_EVERY);
            due.written(now);
        }
        assert!((9..=10).contains(&synced), "{synced} times in ten seconds");
        assert!(due.is_now(begun + Duration::from_secs(20)) && !due.is_now(begun + Duration::from_secs(30)));
    }

    #[test]
    fn a_full_disk_is_told_with_its_cause() {
        let source = std::io::Error::new(std::io::ErrorKind::StorageFull, "No space left on device");
        let error = crate::journal::JournalError::File { act: "write", path: "journal/1".into(), source };
        assert_eq!(whole(&error), "could not write journal/1: No space left on device");
    }
}
