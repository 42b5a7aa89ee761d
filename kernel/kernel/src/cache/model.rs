//! Compares the cache with a naive model for any sequence of events, as seen by readers and by listeners of changes.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use super::tests::{CONFIG_MAPS, config_map, config_maps, view};
use super::{Cache, TableEvent};
use crate::resource::Selection;

#[derive(Clone, Debug)]
enum ModelStep {
    Begin,
    Put(u8, u64),
    Remove(u8, u64),
    Synced(u64),
    NotServed,
}

fn step() -> impl Strategy<Value = ModelStep> {
    prop_oneof![
        2 => Just(ModelStep::Begin),
        12 => (0..6u8, 1..30u64).prop_map(|(name, revision)| ModelStep::Put(name, revision)),
        6 => (0..6u8, 1..30u64).prop_map(|(name, revision)| ModelStep::Remove(name, revision)),
        3 => (1..30u64).prop_map(ModelStep::Synced),
        1 => Just(ModelStep::NotServed),
    ]
}

type ModelObjects = BTreeMap<String, u64>;

/// Expected content, whether it is readable, and the names in the current list.
#[derive(Default)]
struct CacheModel {
    watched: bool,
    known: bool,
    mixed: bool,
    held: ModelObjects,
    listed: Option<BTreeSet<String>>,
}

impl CacheModel {
    fn take(&mut self, step: &ModelStep) {
        self.watched |= matches!(step, ModelStep::Begin | ModelStep::NotServed);
        if !self.watched {
            return;
        }
        let before = self.held.clone();
        match step {
            ModelStep::Begin => self.listed = Some(BTreeSet::new()),
            ModelStep::Synced(_) => {
                if let Some(listed) = self.listed.take() {
                    self.held.retain(|name, _| listed.contains(name));
                    (self.known, self.mixed) = (true, false);
                }
            }
            ModelStep::NotServed => {
                (self.held, self.listed, self.known, self.mixed) = (ModelObjects::new(), None, true, false);
            }
            ModelStep::Put(name, revision) => {
                let name = format!("o{name}");
                let first = self.listed.as_mut().is_some_and(|listed| listed.insert(name.clone()));
                let held = self.held.entry(name).or_default();
                *held = if first { *revision } else { (*held).max(*revision) };
            }
            ModelStep::Remove(name, revision) => {
                let gone = |held: &String, at: u64| *held == format!("o{name}") && at <= *revision;
                self.held.retain(|held, at| !gone(held, *at));
            }
        }
        self.mixed |= self.listed.is_some() && self.held != before;
    }

    fn can_be_read(&self) -> bool {
        self.known && !self.mixed
    }
}

fn observed(step: &ModelStep) -> TableEvent {
    match step {
        ModelStep::Begin => TableEvent::Begin,
        ModelStep::Put(name, revision) => TableEvent::Put(config_map(&format!("o{name}"), *revision, &json!({}))),
        ModelStep::Remove(name, revision) => TableEvent::Remove(config_map(&format!("o{name}"), *revision, &json!({}))),
        ModelStep::Synced(revision) => TableEvent::Synced { revision: *revision },
        ModelStep::NotServed => TableEvent::NotServed,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn readers_see_the_model_and_changes_add_up_to_it(steps in proptest::collection::vec(step(), 0..60)) {
        let (mut cache, mut model) = (Cache::default(), CacheModel::default());
        // State of a listener that sees only the changes, never the cache.
        let mut reported = ModelObjects::new();
        for step in &steps {
            model.take(step);
            let was_known = cache.is_readable(&config_maps());
            let observation = cache.observe(&config_maps(), observed(step)).unwrap();
            prop_assert_eq!(cache.is_readable(&config_maps()), model.can_be_read());
            prop_assert_eq!(observation.became_readable, !was_known && model.can_be_read());
            for change in &observation.changes {
                let name = change.key.name.to_string();
                prop_assert_eq!(change.before.as_ref().map(|o| o.revision), reported.get(&name).copied());
                match &change.after {
                    Some(after) => reported.insert(name, after.revision),
                    None => reported.remove(&name),
                };
            }
            if !model.can_be_read() {
                continue;
            }
            let seen = &model.held;
            let listed = view(&cache).list(&CONFIG_MAPS, &Selection::all()).unwrap();
            let listed: ModelObjects = listed.iter().map(|o| (o.key.name.to_string(), o.revision)).collect();
            prop_assert_eq!(&listed, seen);
            prop_assert_eq!(&reported, seen);
            let bytes: usize = view(&cache).list(&CONFIG_MAPS, &Selection::all()).unwrap().iter().map(|o| o.json.len()).sum();
            prop_assert_eq!(cache.size(&config_maps()).bytes, bytes as u64);
        }
    }

    #[test]
    fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut cache = Cache::default();
        cache.observe(&config_maps(), TableEvent::Begin).unwrap();
        let _refused = cache.observe(&config_maps(), TableEvent::Put(bytes.into()));
    }
}
