//! The cache against a naive model: any sequence of observations, and what readers and listeners make of it.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use super::tests::{CONFIG_MAPS, config_map, config_maps, view};
use super::{Cache, Observed};
use crate::resource::Selection;

#[derive(Clone, Debug)]
enum Step {
    Begin,
    Put(u8, u64),
    Remove(u8, u64),
    Synced(u64),
    NotServed,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Begin),
        12 => (0..6u8, 1..30u64).prop_map(|(name, revision)| Step::Put(name, revision)),
        6 => (0..6u8, 1..30u64).prop_map(|(name, revision)| Step::Remove(name, revision)),
        3 => (1..30u64).prop_map(Step::Synced),
        1 => Just(Step::NotServed),
    ]
}

type Objects = BTreeMap<String, u64>;

/// What is held, whether it can be read, and what the list that comes in has named.
#[derive(Default)]
struct Model {
    watched: bool,
    known: bool,
    mixed: bool,
    held: Objects,
    listed: Option<BTreeSet<String>>,
}

impl Model {
    fn take(&mut self, step: &Step) {
        self.watched |= matches!(step, Step::Begin | Step::NotServed);
        if !self.watched {
            return;
        }
        let before = self.held.clone();
        match step {
            Step::Begin => self.listed = Some(BTreeSet::new()),
            Step::Synced(_) => {
                if let Some(listed) = self.listed.take() {
                    self.held.retain(|name, _| listed.contains(name));
                    (self.known, self.mixed) = (true, false);
                }
            }
            Step::NotServed => {
                (self.held, self.listed, self.known, self.mixed) = (Objects::new(), None, true, false);
            }
            Step::Put(name, revision) => {
                let name = format!("o{name}");
                let first = self.listed.as_mut().is_some_and(|listed| listed.insert(name.clone()));
                let held = self.held.entry(name).or_default();
                *held = if first { *revision } else { (*held).max(*revision) };
            }
            Step::Remove(name, revision) => {
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

fn observed(step: &Step) -> Observed {
    match step {
        Step::Begin => Observed::Begin,
        Step::Put(name, revision) => Observed::Put(config_map(&format!("o{name}"), *revision, &json!({}))),
        Step::Remove(name, revision) => Observed::Remove(config_map(&format!("o{name}"), *revision, &json!({}))),
        Step::Synced(revision) => Observed::Synced { revision: *revision },
        Step::NotServed => Observed::NotServed,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn readers_see_the_model_and_changes_add_up_to_it(steps in proptest::collection::vec(step(), 0..60)) {
        let (mut cache, mut model) = (Cache::default(), Model::default());
        // What a listener knows who never looks at the cache, only at its changes.
        let mut told = Objects::new();
        for step in &steps {
            model.take(step);
            let was_known = cache.knows(&config_maps());
            let observation = cache.observe(&config_maps(), observed(step)).unwrap();
            prop_assert_eq!(cache.knows(&config_maps()), model.can_be_read());
            prop_assert_eq!(observation.became_known, !was_known && model.can_be_read());
            for change in &observation.changes {
                let name = change.key.name.to_string();
                prop_assert_eq!(change.before.as_ref().map(|o| o.revision), told.get(&name).copied());
                match &change.after {
                    Some(after) => told.insert(name, after.revision),
                    None => told.remove(&name),
                };
            }
            if !model.can_be_read() {
                continue;
            }
            let seen = &model.held;
            let listed = view(&cache).list(&CONFIG_MAPS, &Selection::all()).unwrap();
            let listed: Objects = listed.iter().map(|o| (o.key.name.to_string(), o.revision)).collect();
            prop_assert_eq!(&listed, seen);
            prop_assert_eq!(&told, seen);
            let bytes: usize = view(&cache).list(&CONFIG_MAPS, &Selection::all()).unwrap().iter().map(|o| o.json.len()).sum();
            prop_assert_eq!(cache.size(&config_maps()).bytes, bytes as u64);
        }
    }

    #[test]
    fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut cache = Cache::default();
        cache.observe(&config_maps(), Observed::Begin).unwrap();
        let _refused = cache.observe(&config_maps(), Observed::Put(bytes.into()));
    }
}
