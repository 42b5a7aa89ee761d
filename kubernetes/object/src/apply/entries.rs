//! Entries of `metadata.managedFields`: decoding, ordering and encoding.

use std::borrow::Cow;

use serde_json::json;

use crate::quote::quote;
use crate::{Map, Value};

use super::fields;
use super::scalar::write_json_string;
use super::set::FieldSet;

/// Bound on update entries. Older entries beyond it are merged into `ancient-changes`.
const MAX_UPDATE_ENTRIES: usize = 10;
const ANCIENT: &str = "ancient-changes";

/// Operation of a managed fields entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ManagerOperation {
    Apply,
    Update,
}

/// Managed fields entry: the paths a manager owns, in which version, and since when.
#[derive(Clone, Debug)]
pub(crate) struct ManagedFieldsEntry<'a> {
    pub(crate) manager: Cow<'a, str>,
    pub(crate) operation: ManagerOperation,
    pub(crate) api_version: Cow<'a, str>,
    pub(crate) subresource: Cow<'a, str>,
    pub(crate) time: Option<Cow<'a, str>>,
    pub(crate) set: FieldSet<'a>,
    /// Stored entry, as long as its fields did not have to be decoded; `set` is empty until then.
    pub(crate) stored: Option<StoredEntry<'a>>,
}

/// Entry of the stored list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredEntry<'a> {
    pub(crate) fields: &'a Value,
    place: usize,
}

/// Entry to store: one of the stored list, or a new one.
#[derive(Debug)]
pub(crate) enum EntrySlot {
    Keep(usize),
    Write(Value),
}

/// All entries of an object, one per manager identity.
#[derive(Clone, Debug, Default)]
pub(crate) struct ManagedFields<'a>(pub(crate) Vec<ManagedFieldsEntry<'a>>);

impl<'a> ManagedFieldsEntry<'a> {
    /// Whether this is the entry of the given writer. An applier has one entry, whatever version it applies.
    pub(crate) fn is_written_by(
        &self,
        manager: &str,
        operation: ManagerOperation,
        api_version: &str,
        subresource: &str,
    ) -> bool {
        self.manager == manager
            && self.operation == operation
            && self.subresource == subresource
            && (operation == ManagerOperation::Apply || self.api_version == api_version)
    }

    pub(crate) fn same_identity(&self, other: &ManagedFieldsEntry<'_>) -> bool {
        self.is_written_by(&other.manager, other.operation, &other.api_version, &other.subresource)
    }

    /// Returns the identity as kube-apiserver spells it. Its order breaks ties.
    pub(crate) fn identity(&self) -> String {
        let mut out = String::from("{");
        let mut field = |name: &str, value: &str| {
            if !value.is_empty() {
                out.push_str(if out.len() > 1 { ",\"" } else { "\"" });
                out.push_str(name);
                out.push_str("\":");
                write_json_string(&mut out, value, true);
            }
        };
        field("manager", &self.manager);
        field("operation", self.operation.name());
        field("apiVersion", if self.operation == ManagerOperation::Apply { "" } else { &self.api_version });
        field("subresource", &self.subresource);
        out.push('}');
        out
    }

    fn seconds(&self) -> i64 {
        self.time.as_deref().and_then(|t| t.parse::<jiff::Timestamp>().ok()).map_or(0, jiff::Timestamp::as_second)
    }

    /// Decodes the stored fields.
    pub(crate) fn read(&mut self) {
        if let Some(stored) = self.stored.take() {
            self.set = fields::decode(stored.fields).unwrap_or_default();
        }
    }

    /// Removes paths from the set.
    pub(crate) fn remove_paths(&mut self, paths: &FieldSet<'_>, buffer: &mut String) {
        if self.stored.is_some_and(|stored| fields::intersects(stored.fields, paths, buffer)) {
            self.read();
        }
        self.set.subtract(paths);
    }

    pub(crate) fn owns_nothing(&self) -> bool {
        self.stored.is_none() && self.set.is_empty()
    }

    fn encode(&self) -> Value {
        let mut entry = Map::new();
        entry.insert("apiVersion".into(), json!(self.api_version));
        entry.insert("fieldsType".into(), json!("FieldsV1"));
        entry.insert("fieldsV1".into(), fields::encode(&self.set));
        if !self.manager.is_empty() {
            entry.insert("manager".into(), json!(self.manager));
        }
        entry.insert("operation".into(), json!(self.operation.name()));
        if !self.subresource.is_empty() {
            entry.insert("subresource".into(), json!(self.subresource));
        }
        if let Some(time) = &self.time {
            entry.insert("time".into(), json!(time));
        }
        Value::Object(entry)
    }
}

impl ManagerOperation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

impl<'a> ManagedFields<'a> {
    /// Decodes `metadata.managedFields`. Absent and null mean no entries.
    pub(crate) fn decode(list: Option<&'a Value>) -> Result<Self, String> {
        let mut entries = ManagedFields::default();
        for (i, entry) in list.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let mut entry = decode_entry(i, entry)?;
            let stored = entry.stored.take().map_or(&Value::Null, |stored| stored.fields);
            entry.set = fields::decode(stored).map_err(|why| {
                format!("error decoding versioned set from {}: error decoding set: {why}", entry.identity())
            })?;
            match entries.0.iter_mut().find(|e| e.same_identity(&entry)) {
                Some(earlier) => *earlier = entry,
                None => entries.0.push(entry),
            }
        }
        Ok(entries)
    }

    /// Reads `metadata.managedFields` of a stored object without decoding the fields: every write leaves them in normal
    /// form.
    pub(crate) fn stored(list: Option<&'a Value>) -> Result<Self, String> {
        let list = list.and_then(Value::as_array).into_iter().flatten();
        let mut entries = Self(list.enumerate().map(|(i, entry)| decode_entry(i, entry)).collect::<Result<_, _>>()?);
        let hollow = |stored: StoredEntry<'a>| stored.fields.as_object().is_none_or(crate::Map::is_empty);
        entries.0.iter_mut().filter(|entry| entry.stored.is_some_and(hollow)).for_each(ManagedFieldsEntry::read);
        let twice =
            |(i, entry): (usize, &ManagedFieldsEntry<'a>)| entries.0[..i].iter().any(|e| e.same_identity(entry));
        if entries.0.iter().enumerate().any(twice) {
            // Writes of a Scale leave two entries for one writer; the later entry counts.
            let mut seen = ManagedFields::default();
            for entry in entries.0 {
                seen.0.retain(|e| !e.same_identity(&entry));
                seen.0.push(entry);
            }
            return Ok(seen);
        }
        Ok(entries)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the list to store; `None` if there is no entry.
    pub(crate) fn encode(mut self) -> Option<Value> {
        self.0.iter_mut().for_each(ManagedFieldsEntry::read);
        assemble(self.slots(), &mut Vec::new())
    }

    /// Returns the entries to store, in kube-apiserver's order.
    pub(crate) fn slots(mut self) -> Vec<EntrySlot> {
        self.0.sort_by(|a, b| {
            let order = a.operation.cmp(&b.operation).then_with(|| a.seconds().cmp(&b.seconds()));
            let order = order.then_with(|| a.manager.cmp(&b.manager)).then_with(|| a.api_version.cmp(&b.api_version));
            order.then_with(|| a.subresource.cmp(&b.subresource))
        });
        let slot = |entry: &ManagedFieldsEntry<'a>| {
            entry.stored.map_or_else(|| EntrySlot::Write(entry.encode()), |s| EntrySlot::Keep(s.place))
        };
        self.0.iter().map(slot).collect()
    }

    /// Merges the oldest update entries, one bucket per version, until their number is within the bound.
    pub(crate) fn merge_oldest_updates(&mut self) {
        let mut updaters: Vec<usize> =
            (0..self.0.len()).filter(|i| self.0[*i].operation == ManagerOperation::Update).collect();
        if updaters.len() <= MAX_UPDATE_ENTRIES {
            return;
        }
        updaters.sort_by_cached_key(|i| (self.0[*i].seconds(), self.0[*i].identity()));
        let mut length = updaters.len();
        let mut first_of: Vec<(Cow<'a, str>, usize)> = Vec::new();
        let mut gone = vec![false; self.0.len()];
        for i in updaters {
            if length <= MAX_UPDATE_ENTRIES {
                break;
            }
            let version = self.0[i].api_version.clone();
            let Some(first) = first_of.iter().find(|(v, _)| *v == version).map(|(_, first)| *first) else {
                first_of.push((version, i));
                continue;
            };
            let bucket = (0..self.0.len())
                .find(|b| !gone[*b] && self.0[*b].is_written_by(ANCIENT, ManagerOperation::Update, &version, ""));
            self.merge_into(bucket.unwrap_or(first), i);
            // kube-apiserver does this even if the entry is the bucket itself.
            gone[i] = true;
            length -= 1;
        }
        let mut gone = gone.into_iter();
        self.0.retain(|_| !gone.next().unwrap_or(false));
    }

    fn merge_into(&mut self, bucket: usize, i: usize) {
        self.0[i].read();
        self.0[bucket].read();
        let set = self.0[i].set.clone();
        let time = self.0[i].time.clone();
        let entry = &mut self.0[bucket];
        entry.manager = Cow::Borrowed(ANCIENT);
        entry.subresource = Cow::Borrowed("");
        entry.set.union_with(set);
        entry.time = time;
    }
}

/// Returns the list to store, and takes the kept entries out of `stored`. `None` if there is no entry.
pub(crate) fn assemble(slots: Vec<EntrySlot>, stored: &mut [Value]) -> Option<Value> {
    let entry = |slot| match slot {
        EntrySlot::Keep(place) => stored.get_mut(place).map(Value::take).unwrap_or_default(),
        EntrySlot::Write(entry) => entry,
    };
    let list: Vec<Value> = slots.into_iter().map(entry).collect();
    (!list.is_empty()).then_some(Value::Array(list))
}

fn decode_entry(place: usize, entry: &Value) -> Result<ManagedFieldsEntry<'_>, String> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or("");
    let operation = match text("operation") {
        "Apply" => ManagerOperation::Apply,
        "Update" => ManagerOperation::Update,
        _ => return Err("operation must be `Apply` or `Update`".into()),
    };
    if text("apiVersion").is_empty() {
        return Err("apiVersion must not be empty".into());
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {place}")),
        other => return Err(format!("invalid fieldsType {} in managed fields entry {place}", quote(other))),
    }
    Ok(ManagedFieldsEntry {
        manager: Cow::Borrowed(text("manager")),
        operation,
        api_version: Cow::Borrowed(text("apiVersion")),
        subresource: Cow::Borrowed(text("subresource")),
        time: entry.get("time").and_then(Value::as_str).map(whole_seconds),
        set: FieldSet::default(),
        stored: Some(StoredEntry { fields: entry.get("fieldsV1").unwrap_or(&Value::Null), place }),
    })
}

/// Returns the time in UTC, to the second.
fn whole_seconds(time: &str) -> Cow<'_, str> {
    // Length of `2006-01-02T15:04:05Z`.
    const CANONICAL_LENGTH: usize = 20;
    if time.len() == CANONICAL_LENGTH && time.ends_with('Z') {
        return Cow::Borrowed(time);
    }
    match time.parse::<jiff::Timestamp>() {
        Ok(at) => Cow::Owned(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        Err(_) => Cow::Borrowed(time),
    }
}
