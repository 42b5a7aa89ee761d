//! Memory of the same objects in the kernel's cache and in a reflector's store, at rest and during a relist.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::reflector::store::{Writer, store};
use kube::runtime::watcher::Event;
use switchboard_kernel::cache::{Cache, TableEvent};

use crate::process::{self, BoxError, peak, reset_peak, resident};
use crate::sample::{CONFIG_MAPS, config_map, table};

/// Changed objects in the measured relists: none, one in ten, all.
const CHANGED_ONE_IN: [Option<usize>; 3] = [None, Some(10), Some(1)];

/// Memory of a store in bytes, without the initial memory of the process.
pub struct MemoryFigures {
    pub json: u64,
    steady: u64,
    peaks: [u64; CHANGED_ONE_IN.len()],
}

impl MemoryFigures {
    /// Measures a store with the given number of objects.
    pub fn measure_store(whose: &str, objects: usize) -> Result<Self, BoxError> {
        match process::numbers(&["memory", whose, &objects.to_string()])?.as_slice() {
            &[json, steady, nothing, some, all] => Ok(Self { json, steady, peaks: [nothing, some, all] }),
            other => Err(format!("unexpected figures {other:?}").into()),
        }
    }

    /// Returns the memory at rest, relative to the JSON.
    pub fn steady(&self) -> f64 {
        self.steady as f64 / self.json as f64
    }

    /// Returns the memory during a relist, relative to the memory at rest.
    pub fn relist(&self, which: usize) -> f64 {
        self.peaks[which] as f64 / self.steady as f64
    }
}

trait MeasuredStore {
    /// Applies a complete list, one object at a time as in a watch, and returns its size.
    fn list(&mut self, objects: usize, revision: impl Fn(usize) -> u64) -> Result<u64, BoxError>;
}

impl MeasuredStore for Cache {
    fn list(&mut self, objects: usize, revision: impl Fn(usize) -> u64) -> Result<u64, BoxError> {
        let (table, mut bytes) = (table(&CONFIG_MAPS), 0);
        self.observe(&table, TableEvent::Begin)?;
        for index in 0..objects {
            let object = config_map(index, revision(index));
            bytes += object.len() as u64;
            self.observe(&table, TableEvent::Put(object))?;
        }
        let told = self.observe(&table, TableEvent::Synced { revision: u64::from(u32::MAX) })?;
        drop(told);
        Ok(bytes)
    }
}

impl MeasuredStore for Writer<ConfigMap> {
    fn list(&mut self, objects: usize, revision: impl Fn(usize) -> u64) -> Result<u64, BoxError> {
        let mut bytes = 0;
        self.apply_watcher_event(&Event::Init);
        for index in 0..objects {
            let object = config_map(index, revision(index));
            bytes += object.len() as u64;
            self.apply_watcher_event(&Event::InitApply(serde_json::from_slice(&object)?));
        }
        self.apply_watcher_event(&Event::InitDone);
        Ok(bytes)
    }
}

/// Prints the values that [`MemoryFigures::measure_store`] reads.
pub fn measure(whose: &str, objects: usize) -> Result<(), BoxError> {
    match whose {
        "switchboard" => figures(&mut Cache::default(), objects),
        "reflector" => {
            let (reader, mut writer) = store::<ConfigMap>();
            figures(&mut writer, objects)?;
            assert_eq!(reader.len(), objects);
            Ok(())
        }
        other => Err(format!("unknown system {other}").into()),
    }
}

fn figures(holder: &mut impl MeasuredStore, objects: usize) -> Result<(), BoxError> {
    let before = resident()?;
    let json = holder.list(objects, |_| 1)?;
    print!("{json} {}", resident()? - before);
    for (round, one_in) in CHANGED_ONE_IN.into_iter().enumerate() {
        reset_peak()?;
        let changed = |index: usize| one_in.is_some_and(|step| index.is_multiple_of(step));
        // Objects that changed in an earlier round change in later ones too.
        holder.list(objects, |index| if changed(index) { 2 + round as u64 } else { 1 + earlier(round, index) })?;
        print!(" {}", peak()? - before);
    }
    println!();
    Ok(())
}

/// Returns the increase of an object's revision in earlier rounds.
fn earlier(round: usize, index: usize) -> u64 {
    let changed = |one_in: &Option<usize>| one_in.is_some_and(|step| index.is_multiple_of(step));
    CHANGED_ONE_IN[..round].iter().rposition(changed).map_or(0, |last| last as u64 + 1)
}
