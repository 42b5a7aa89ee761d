//! Thread that owns the journal, so that disk I/O never delays the loop.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use switchboard_object::causes::error_chain;

use crate::core::{FinishedRun, redactor_for_objects};
use crate::decision::{Decision, DecisionId};
use crate::journal::{Journal, JournalError, MAX_CONTENTS};
use crate::object::Object;
use crate::redact::Redactor;
use crate::resource::ObjectKey;
use crate::timestamp::Timestamp;
use crate::view::{Reader, listed_keys};

use super::clock::HostClock;

/// Maximum number of decisions that wait for the disk. Beyond it decisions are counted and dropped, because operators
/// have priority.
const MAX_PENDING: usize = 4096;
/// Maximum time between a write and its sync to the disk.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// Interval at which expired entries are removed.
const EXPIRE_EVERY: Duration = Duration::from_secs(60);

/// Numbers of recorded and dropped entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalCounts {
    /// Number of recorded entries.
    pub recorded: u64,
    /// Number of entries lost because the disk was too slow or returned an error.
    pub dropped: u64,
}

#[derive(Default)]
struct EntryCounters {
    recorded: AtomicU64,
    dropped: AtomicU64,
}

/// Query that the journal's thread executes.
pub(super) type JournalQuery = Box<dyn FnOnce(&mut Journal) + Send>;

/// Task for the journal's thread.
enum JournalTask {
    Append(Box<FinishedRun>, Timestamp),
    Query(JournalQuery),
}

/// Sends decisions to the journal's thread.
pub(super) struct Recorder {
    tasks: Option<mpsc::SyncSender<JournalTask>>,
    counters: Arc<EntryCounters>,
    done: Option<tokio::sync::oneshot::Receiver<()>>,
}

impl Recorder {
    pub fn start(journal: Journal) -> Self {
        let (sender, inbox) = mpsc::sync_channel(MAX_PENDING);
        let (finished, done) = tokio::sync::oneshot::channel();
        let counters = Arc::<EntryCounters>::default();
        let counted = counters.clone();
        std::thread::spawn(move || {
            run_journal(journal, &inbox, &counted);
            let _ = finished.send(());
        });
        Self { tasks: Some(sender), counters, done: Some(done) }
    }

    pub fn record(&mut self, finished: FinishedRun, now: Timestamp) {
        let sent = self
            .tasks
            .as_ref()
            .is_some_and(|sender| sender.try_send(JournalTask::Append(Box::new(finished), now)).is_ok());
        if !sent {
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Executes a query after everything recorded before it. If the thread is too far behind, the query is dropped.
    pub fn query(&self, question: JournalQuery) {
        if let Some(sender) = &self.tasks {
            // The caller notices, because its reply channel is dropped with the query.
            drop(sender.try_send(JournalTask::Query(question)));
        }
    }

    pub fn counts(&self) -> JournalCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        JournalCounts { recorded: read(&self.counters.recorded), dropped: read(&self.counters.dropped) }
    }

    /// Waits until everything that was sent is on the disk.
    pub async fn finish(&mut self) {
        self.tasks = None;
        if let Some(done) = self.done.take() {
            let _ = done.await;
        }
    }
}

fn run_journal(mut journal: Journal, inbox: &mpsc::Receiver<JournalTask>, counters: &EntryCounters) {
    let (mut due, mut reported, mut logged) = (SyncTimer::default(), 0, String::new());
    let (mut clock, mut look, mut about_age) = (HostClock::start(), Instant::now(), String::new());
    loop {
        if due.is_now(Instant::now()) {
            log_new_error(journal.sync(), &mut logged);
        }
        if look <= Instant::now() {
            look = Instant::now() + EXPIRE_EVERY;
            log_new_error(journal.expire(clock.now()), &mut about_age);
        }
        match inbox.recv_timeout(due.wait(Instant::now())) {
            Ok(JournalTask::Query(question)) => question(&mut journal),
            Ok(JournalTask::Append(finished, now)) => {
                due.written(Instant::now());
                record_lost(&mut journal, &mut reported, counters, now);
                match append(&mut journal, &finished, now) {
                    Ok(()) => drop(counters.recorded.fetch_add(1, Ordering::Relaxed)),
                    Err(error) => {
                        counters.dropped.fetch_add(1, Ordering::Relaxed);
                        tracing::error!("could not record a decision: {}", error_chain(&error));
                    }
                }
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                log_new_error(journal.sync(), &mut logged);
                return;
            }
        }
    }
}

/// Time of the next sync: a fixed delay after the first unsynced write.
#[derive(Default)]
struct SyncTimer(Option<Instant>);

impl SyncTimer {
    fn written(&mut self, now: Instant) {
        self.0.get_or_insert(now + SYNC_EVERY);
    }

    /// Whether a sync is due; resets the timer.
    fn is_now(&mut self, now: Instant) -> bool {
        self.0.take_if(|due| *due <= now).is_some()
    }

    fn wait(&self, now: Instant) -> Duration {
        self.0.map_or(SYNC_EVERY, |due| due.saturating_duration_since(now))
    }
}

/// Writes decisions whose numbers are about to be returned to a client.
pub(super) fn flush(journal: &mut Journal, ids: &[DecisionId]) {
    if let Err(error) = journal.flush(ids) {
        tracing::error!("could not record a decision: {}", error_chain(&error));
    }
}

fn log_new_error(done: Result<(), JournalError>, logged: &mut String) {
    let problem = done.err().map(|error| error_chain(&error)).unwrap_or_default();
    // A persistent error is logged once.
    if !problem.is_empty() && problem != *logged {
        tracing::error!("could not write the journal: {problem}");
    }
    *logged = problem;
}

/// Records the number of dropped entries, so that readers know that the journal is incomplete.
fn record_lost(journal: &mut Journal, reported: &mut u64, counters: &EntryCounters, now: Timestamp) {
    let dropped = counters.dropped.load(Ordering::Relaxed);
    // If this write fails as well, the next one includes the number.
    if dropped > *reported && journal.record_lost(dropped - *reported, now).is_ok() {
        *reported = dropped;
    }
}

fn append(journal: &mut Journal, finished: &FinishedRun, now: Timestamp) -> Result<(), JournalError> {
    let (read, secrets) = contents(&finished.decision, &*finished.snapshot);
    journal.append_with_secrets(&finished.decision, &read, secrets, now)?;
    finished.findings.iter().try_for_each(|finding| journal.record_finding(finding, now))
}

/// Returns the objects a decision read, up to the limit, and a redactor for the Secrets among the others.
fn contents(decision: &Decision, snapshot: &dyn Reader) -> (Vec<Object>, Redactor) {
    let lists = decision.lists.iter().chain(&decision.rows.samples);
    let listed = lists.flat_map(|(query, listed)| listed_keys(query, listed));
    let keys: BTreeSet<ObjectKey> = decision.gets.iter().map(|(key, _)| key.clone()).chain(listed).collect();
    let mut keys = keys.into_iter();
    let kept = keys.by_ref().take(MAX_CONTENTS).filter_map(|key| snapshot.get(&key).flatten()).collect();
    (kept, redactor_for_objects(keys, snapshot))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::cache::{Cache, TableEvent};
    use crate::decision::RunOutcome;
    use crate::journal::JournalLimits;
    use crate::operator::{OperatorName, Unit, UnitId};
    use crate::plan::UnitStatus;
    use crate::resource::{Resource, TableKey};
    use crate::topology::ClusterName;

    const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
    const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

    /// Operator that is never called.
    struct UnusedOperator;

    impl crate::operator::Operator for UnusedOperator {
        fn name(&self) -> &str {
            "reader"
        }

        fn declaration(&self) -> crate::operator::Declaration {
            unreachable!("never called")
        }

        fn decide(&self, _: &Unit, _: &crate::view::View) -> Result<crate::plan::Plan, crate::operator::DecideError> {
            unreachable!("never called")
        }
    }

    /// Returns a run that read this many ConfigMaps, the first of them with a copy of the value, and one Secret.
    fn run(maps: usize, value: &str) -> FinishedRun {
        let mut cache = Cache::default();
        let mut gets = Vec::new();
        let named = |kind: &str, number: usize| {
            json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": format!("n{number:05}"), "namespace": "shop",
                "resourceVersion": "7"}})
        };
        let mut of = |resource: &Resource, objects: Vec<serde_json::Value>| {
            let table = TableKey { cluster: ClusterName::new("main"), resource: Arc::new(resource.clone()) };
            cache.observe(&table, TableEvent::Begin).unwrap();
            for object in objects {
                let name = object["metadata"]["name"].as_str().unwrap().into();
                gets.push((ObjectKey { table: table.clone(), namespace: "shop".into(), name }, Some(7)));
                cache.observe(&table, TableEvent::Put(object.to_string().into_bytes().into())).unwrap();
            }
            cache.observe(&table, TableEvent::Synced { revision: 10 }).unwrap();
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
            triggered_at: Timestamp(1),
            started: Timestamp(1),
            decide_us: 1,
            write_us: 1,
            gets,
            lists: vec![],
            rows: Default::default(),
            external_queries: vec![],
            rejected_writes: vec![],
            settings: serde_json::Value::Null,
            outcome: RunOutcome::Decided { writes: vec![], status: UnitStatus::Ready },
        };
        FinishedRun { decision, snapshot: cache.snapshot(), findings: vec![], executed: vec![] }
    }

    #[test]
    fn a_secret_beyond_the_recorded_objects_is_redacted() {
        let value = "hunter2-is-planted-here";
        let finished = run(MAX_CONTENTS + 500, value);
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
        append(&mut journal, &finished, Timestamp(2)).unwrap();
        let why = "it read 2501 objects, but at most 2000 are recorded".to_string();
        let replayed = crate::replay::replay(&UnusedOperator, &journal, DecisionId(1), &[]);
        assert_eq!(replayed, crate::replay::ReplayComparison::TooMuch { why });
        drop(journal);
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let text = String::from_utf8_lossy(&std::fs::read(entry.unwrap().path()).unwrap()).into_owned();
            assert!(!text.contains(value));
        }
    }

    #[tokio::test]
    async fn expired_entries_are_removed_without_new_decisions() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
        append(&mut journal, &run(1, "hunter2-is-planted-here"), Timestamp(2)).unwrap();
        assert!(journal.get(DecisionId(1)).is_some());
        // By now the journal is decades old.
        Recorder::start(journal).finish().await;
        let journal = Journal::read(dir.path()).unwrap();
        assert_eq!((journal.get(DecisionId(1)), journal.since(), journal.next_id()), (None, None, DecisionId(2)));
    }

    #[test]
    fn a_constant_stream_of_entries_is_synced() {
        let (mut due, begun, mut synced) = (SyncTimer::default(), Instant::now(), 0);
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
    fn a_full_disk_is_logged_with_its_cause() {
        let source = std::io::Error::new(std::io::ErrorKind::StorageFull, "No space left on device");
        let error = crate::journal::JournalError::File { operation: "write", path: "journal/1".into(), source };
        assert_eq!(error_chain(&error), "could not write journal/1: No space left on device");
    }
}
