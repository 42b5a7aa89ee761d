//! Comparison of the store with a trivially correct model, which keeps every state completely.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::store::*;

type ModelObjects = BTreeMap<String, (u64, Bytes)>;

#[derive(Debug, Default)]
struct StoreModel {
    /// State at each revision, from revision 1 on.
    states: Vec<ModelObjects>,
    /// Key and event object of each change, from revision 2 on.
    changes: Vec<(String, Bytes)>,
}

#[derive(Clone, Debug)]
enum ModelStep {
    Put { key: usize, stale: bool, size: usize },
    Delete { key: usize, stale: bool },
    List { prefix: usize, limit: usize, back: u64 },
    Watch { prefix: usize, back: u64 },
    Drain { watch: usize },
    Compact { back: u64 },
    Reopen,
}

const KEYS: [&str; 6] = [
    "root/configmaps/shop/a",
    "root/configmaps/shop/b",
    "root/configmaps/shop-2/a",
    "root/secrets/shop/a",
    "root/namespaces//shop",
    "other/configmaps/shop/a",
];
const PREFIXES: [&str; 6] =
    ["", "root/", "root/configmaps/", "root/configmaps/shop/", "root/configmaps/shop/a", "root/namespaces//"];

fn step() -> impl Strategy<Value = ModelStep> {
    let stale = || prop::bool::weighted(0.2);
    prop_oneof![
        6 => (0..KEYS.len(), stale(), 0..300usize).prop_map(|(key, stale, size)| ModelStep::Put { key, stale, size }),
        3 => (0..KEYS.len(), stale()).prop_map(|(key, stale)| ModelStep::Delete { key, stale }),
        3 => (0..PREFIXES.len(), 0..4usize, 0..12u64).prop_map(|(prefix, limit, back)| ModelStep::List { prefix, limit, back }),
        2 => (0..PREFIXES.len(), 0..12u64).prop_map(|(prefix, back)| ModelStep::Watch { prefix, back }),
        3 => (0..8usize).prop_map(|watch| ModelStep::Drain { watch }),
        1 => (0..12u64).prop_map(|back| ModelStep::Compact { back }),
        1 => Just(ModelStep::Reopen),
    ]
}

struct ModelRun {
    store: Option<ObjectStore>,
    dir: Option<tempfile::TempDir>,
    bounds: StoreLimits,
    model: StoreModel,
    watches: Vec<(StoreWatch, &'static str, u64)>,
}

impl ModelRun {
    fn new(durable: bool, bounds: StoreLimits) -> ModelRun {
        let dir = durable.then(|| tempfile::tempdir().unwrap());
        let model = StoreModel { states: vec![ModelObjects::new()], changes: Vec::new() };
        let mut run = ModelRun { store: None, dir, bounds, model, watches: Vec::new() };
        run.open();
        run
    }

    fn open(&mut self) {
        self.store = Some(match &self.dir {
            Some(dir) => ObjectStore::open(dir.path(), self.bounds.clone()).unwrap(),
            None => ObjectStore::in_memory(self.bounds.clone()),
        });
    }

    fn store(&self) -> &ObjectStore {
        self.store.as_ref().unwrap()
    }

    fn now(&self) -> &ModelObjects {
        self.model.states.last().unwrap()
    }

    fn revision(&self) -> u64 {
        self.model.states.len() as u64
    }

    fn wrote(&mut self, key: &str, after: Option<Bytes>, shown: Bytes) {
        let mut next = self.now().clone();
        match after {
            Some(bytes) => next.insert(key.to_owned(), (self.revision() + 1, bytes)),
            None => next.remove(key),
        };
        self.model.states.push(next);
        self.model.changes.push((key.to_owned(), shown));
    }

    async fn step(&mut self, step: ModelStep) {
        match step {
            ModelStep::Put { key, stale, size } => self.put(KEYS[key], stale, size).await,
            ModelStep::Delete { key, stale } => self.delete(KEYS[key], stale).await,
            ModelStep::List { prefix, limit, back } => self.list(PREFIXES[prefix], limit, back),
            ModelStep::Watch { prefix, back } => self.watch(PREFIXES[prefix], back),
            ModelStep::Drain { watch } if watch < self.watches.len() => self.drain(watch),
            ModelStep::Drain { .. } => {}
            ModelStep::Compact { back } => self.store().compact(self.revision().saturating_sub(back)),
            ModelStep::Reopen if self.dir.is_some() => {
                self.watches.clear();
                self.store = None;
                self.open();
            }
            ModelStep::Reopen => {}
        }
        let store = self.store();
        assert_eq!(store.revision(), self.revision());
        assert!(store.compacted() <= self.revision());
    }

    async fn put(&mut self, key: &str, stale: bool, size: usize) {
        let stored = self.now().get(key).cloned();
        let expect = match (&stored, stale) {
            (Some((revision, _)), false) => ExpectedState::Revision(*revision),
            (Some((revision, _)), true) => ExpectedState::Revision(revision - 1),
            (None, false) => ExpectedState::Absent,
            (None, true) => ExpectedState::Revision(1),
        };
        let encode = |revision: u64| Bytes::from(format!("{revision}{}", "x".repeat(size)));
        match self.store().put(StoreKey::from(key), expect, encode).await {
            Ok(record) => {
                assert!(!stale);
                assert_eq!(record, StoredObject { revision: self.revision() + 1, bytes: encode(self.revision() + 1) });
                self.wrote(key, Some(record.bytes.clone()), record.bytes);
            }
            Err(WriteError::Conflict { current }) => {
                assert!(stale);
                assert_eq!(current.map(|record| (record.revision, record.bytes)), stored);
            }
            Err(other) => panic!("{other}"),
        }
    }

    async fn delete(&mut self, key: &str, stale: bool) {
        let stored = self.now().get(key).cloned();
        let expect = stored.as_ref().map_or(1, |(revision, _)| revision - u64::from(stale));
        let encode = |revision: u64| Bytes::from(format!("last {revision}"));
        match self.store().delete(StoreKey::from(key), expect, encode).await {
            Ok(revision) => {
                assert!(!stale && stored.is_some());
                assert_eq!(revision, self.revision() + 1);
                self.wrote(key, None, encode(revision));
            }
            Err(WriteError::Conflict { current }) => {
                assert!(stale || stored.is_none());
                assert_eq!(current.map(|record| (record.revision, record.bytes)), stored);
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn list(&self, prefix: &str, limit: usize, back: u64) {
        let at = self.revision().saturating_sub(back).max(1);
        let store = self.store();
        if at < store.compacted() {
            let oldest = store.compacted();
            assert_eq!(store.list(prefix, None, limit, Some(at)), Err(ReadError::Compacted { oldest }));
            return;
        }
        let expected: Vec<_> =
            self.model.states[at as usize - 1].iter().filter(|(key, _)| key.starts_with(prefix)).collect();
        let mut seen = 0;
        let mut after = None;
        loop {
            let page = store.list(prefix, after.as_deref(), limit, Some(at)).unwrap();
            assert_eq!(page.revision, at);
            for (key, record) in &page.records {
                let (wanted, (revision, bytes)) = expected[seen];
                assert_eq!((key.as_str(), record.revision, &record.bytes), (wanted.as_str(), *revision, bytes));
                seen += 1;
            }
            assert_eq!(page.remaining as usize, expected.len() - seen);
            if page.remaining == 0 {
                break;
            }
            after = page.records.last().map(|(key, _)| key.as_str().to_owned());
        }
        assert_eq!(seen, expected.len());
    }

    fn watch(&mut self, prefix: &'static str, back: u64) {
        let after = self.revision().saturating_sub(back).max(1);
        match self.store().watch(prefix, after) {
            Ok(watch) => self.watches.push((watch, prefix, after)),
            Err(error) => {
                let oldest = self.store().compacted();
                assert!(after < oldest);
                assert_eq!(error, ReadError::Compacted { oldest });
            }
        }
    }

    fn drain(&mut self, index: usize) {
        let (watch, prefix, seen) = &mut self.watches[index];
        loop {
            let batch = match watch.progress() {
                Ok(batch) => batch,
                Err(error) => {
                    let compacted = self.store.as_ref().unwrap().compacted();
                    assert_eq!(error, ReadError::Compacted { oldest: compacted });
                    assert!(*seen < compacted);
                    self.watches.remove(index);
                    return;
                }
            };
            let expected: Vec<_> = (*seen + 1..=batch.revision)
                .map(|revision| (revision, &self.model.changes[revision as usize - 2]))
                .filter(|(_, (key, _))| key.starts_with(*prefix))
                .collect();
            assert_eq!(batch.changes.len(), expected.len());
            for (change, (revision, (key, shown))) in batch.changes.iter().zip(expected) {
                assert_eq!((change.revision, change.key.as_str(), change.object()), (revision, key.as_str(), shown));
                let before = &self.model.states[revision as usize - 2];
                let before =
                    before.get(key).map(|(revision, bytes)| StoredObject { revision: *revision, bytes: bytes.clone() });
                assert_eq!(change.before, before);
            }
            *seen = batch.revision;
            if *seen == self.model.states.len() as u64 {
                return;
            }
        }
    }
}

fn run(durable: bool, bounds: StoreLimits, steps: Vec<ModelStep>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let mut run = ModelRun::new(durable, bounds);
        for step in steps {
            run.step(step).await;
        }
    });
}

fn bounds() -> impl Strategy<Value = StoreLimits> {
    let small = (1..20usize, 200..4_000usize, 1..4usize, 100..3_000u64);
    small.prop_map(|(history_changes, history_bytes, watch_batch, log_bytes)| StoreLimits {
        history_changes,
        history_bytes,
        watch_batch,
        log_bytes,
        ..StoreLimits::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_memory_it_is_the_model(bounds in bounds(), steps in prop::collection::vec(step(), 1..80)) {
        run(false, bounds, steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_disk_it_is_the_model(bounds in bounds(), steps in prop::collection::vec(step(), 1..60)) {
        run(true, bounds, steps);
    }
}
