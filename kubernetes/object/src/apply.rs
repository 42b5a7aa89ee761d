//! Server-side apply and `metadata.managedFields`: who owns which field, and what happens when two want the same.
//!
//! ```text
//!   live object ──compare──▶ changed paths ──▶ the writer owns them, nobody else does
//!   live object + configuration ──merge, prune──▶ new object     (conflict: a changed path is somebody else's)
//! ```
//!
//! Every write but apply ends in [`update`]; apply requests end in [`apply`]. Both are what kube-apiserver's field manager
//! and structured-merge-diff do, down to the order of entries and the words of a conflict.
//!
//! When to call them: [`update`] after decoding and defaulting and before admission and the strategy's preparation, as
//! upstream does; [`apply`] gives an object that still is to be decoded and defaulted.

mod atom;
mod collect;
mod compare;
mod conflict;
mod element;
mod empty;
mod entries;
mod fields;
mod last_applied;
mod merge;
mod ownership;
mod problem;
mod reconcile;
mod remove;
mod reset;
mod scalar;
mod scale;
mod set;
#[cfg(test)]
mod tests;
mod validate;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use crate::Value;
use crate::kind::{GroupVersion, GroupVersionKind};
use crate::schema::{Definitions, Schema};
use crate::status::Status;

use atom::Ty;
use entries::{Entries, Entry, Operation, Slot};
use ownership::{Refusal, Updater};
use problem::Problems;
use set::Set;

pub use reset::ResetFields;
pub use scale::{ReplicasPaths, parent_entries, scale_entries};

/// The manager that owns what an object held before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Who writes, where and when.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// The `apiVersion` of the endpoint.
    pub api_version: &'a str,
    /// The kind of the endpoint.
    pub kind: &'a str,
    /// The subresource of the endpoint; empty for the resource itself.
    pub subresource: &'a str,
    /// The time, as RFC 3339 in UTC to the second.
    pub now: &'a str,
}

/// The schema of a kind as server-side apply needs it.
#[derive(Clone, Copy, Debug)]
pub struct Typed<'a> {
    /// The definitions of the built-in kinds; `metadata` of custom resources is described there, too.
    pub definitions: &'a Definitions,
    /// The schema of the kind in the endpoint's version; without one the type is deduced from each object.
    pub schema: Option<&'a Schema>,
    /// A custom resource, as against a built-in kind.
    pub custom: bool,
    /// The kind's other versions (`apiVersion` and schema), which managers may have written in. Entries of a version
    /// that is not there are dropped.
    pub versions: &'a [(String, Option<Arc<Schema>>)],
}

impl<'a> Typed<'a> {
    /// A built-in kind that has one version.
    pub fn built_in(definitions: &'a Definitions, schema: &'a Schema) -> Self {
        Self { definitions, schema: Some(schema), custom: false, versions: &[] }
    }

    /// A custom resource that has one version.
    pub fn custom(definitions: &'a Definitions, schema: Option<&'a Schema>) -> Self {
        Self { definitions, schema, custom: true, versions: &[] }
    }

    fn root(&self) -> Ty<'a> {
        Ty::root(self.schema, self.custom)
    }
}

/// Records in `new.metadata.managedFields` what this write changed and who owned what before. `live` is the object as it
/// is stored, `None` for a create.
///
/// What the request itself says about managed fields counts only on the resource itself: valid entries replace the live
/// ones, an empty list or a single empty entry resets them.
pub fn update(live: Option<&Value>, new: &mut Value, writer: Writer<'_>, typed: Typed<'_>, reset: &ResetFields) {
    let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let given = metadata.remove("managedFields").filter(|given| !given.is_null());
    let live_fields = live.and_then(|live| live.pointer("/metadata/managedFields"));
    // Clients send back what they read: then the list they sent is ours to take apart.
    let unchanged = given.is_some() && given.as_ref() == live_fields;
    let entries = match &given {
        Some(given) if !unchanged && writer.subresource.is_empty() => given_entries(given, live_fields),
        _ => Entries::stored(live_fields).unwrap_or_default(),
    };
    // Once the fields of an object are not tracked, only an apply begins to track them.
    if entries.is_empty() && live.is_some_and(|live| live.pointer("/metadata/uid").is_some_and(|uid| uid != "")) {
        return;
    }
    let slots = {
        let old = match live {
            Some(live) => Cow::Borrowed(live),
            None => empty::before_creation(writer.api_version, writer.kind, typed.custom),
        };
        let updater = Updater { typed, writer, reset };
        recorded(&updater, &old, new, entries, writer.manager).map(Entries::slots).unwrap_or_default()
    };
    let mut stored = match (given, live_fields) {
        (Some(Value::Array(given)), _) if unchanged => given,
        (_, Some(Value::Array(live))) => kept_of(&slots, live),
        _ => Vec::new(),
    };
    let encoded = entries::assemble(slots, &mut stored);
    if let (Some(encoded), Some(metadata)) = (encoded, new.get_mut("metadata").and_then(Value::as_object_mut)) {
        metadata.insert("managedFields".into(), encoded);
    }
}

/// The stored list with only those entries copied that are kept.
fn kept_of(slots: &[Slot], live: &[Value]) -> Vec<Value> {
    let kept = |place| slots.iter().any(|slot| matches!(slot, Slot::Keep(p) if *p == place));
    live.iter().enumerate().map(|(place, entry)| if kept(place) { entry.clone() } else { Value::Null }).collect()
}

/// The entries a request states, or the live ones when it states none that can be read.
fn given_entries<'a>(given: &'a Value, live: Option<&'a Value>) -> Entries<'a> {
    let list = given.as_array().map_or(&[][..], Vec::as_slice);
    let empty = |entry: &Value| entry.as_object().is_some_and(|e| e.values().all(|v| v.is_null() || v == ""));
    if list.is_empty() || (list.len() == 1 && empty(&list[0])) {
        return Entries::default();
    }
    match Entries::decode(Some(given)) {
        Ok(entries) if !entries.is_empty() => entries,
        _ => Entries::stored(live).unwrap_or_default(),
    }
}

/// The entries after a change from `old` to `new` by `manager`.
fn recorded<'a>(
    updater: &Updater<'a>,
    old: &'a Value,
    new: &'a Value,
    mut entries: Entries<'a>,
    manager: &'a str,
) -> Result<Entries<'a>, Problems> {
    updater.refresh(old, &mut entries)?;
    let mut changed = updater.update(old, new, &mut entries)?;
    changed.subtract(&UNTRACKED);
    if !changed.is_empty() {
        take(&mut entries, Entry { set: changed, ..own_entry(manager, Operation::Update, &updater.writer) });
    }
    entries.cap();
    Ok(entries)
}

/// Adds to the entry of the same writer, or as a new one.
fn take<'a>(entries: &mut Entries<'a>, own: Entry<'a>) {
    let same = |e: &&mut Entry<'a>| e.is(&own.manager, own.operation, &own.api_version, &own.subresource);
    match entries.0.iter_mut().find(same) {
        Some(earlier) => {
            earlier.read();
            earlier.set.unite(own.set);
            earlier.time = own.time;
        }
        None => entries.0.push(own),
    }
}

fn own_entry<'a>(manager: &'a str, operation: Operation, writer: &Writer<'a>) -> Entry<'a> {
    Entry {
        manager: Cow::Borrowed(if manager.is_empty() { "unknown" } else { manager }),
        operation,
        api_version: Cow::Borrowed(writer.api_version),
        subresource: Cow::Borrowed(writer.subresource),
        time: Some(Cow::Borrowed(writer.now)),
        set: Set::default(),
        stored: None,
    }
}

/// Applies a configuration: merges it into the live object, removes what the manager applied before and does not now,
/// and records what it owns. `live` is `None` when the object does not exist yet.
///
/// # Errors
/// 409 with a cause per field when other managers own what would change and `force` is not set; 400 when the
/// configuration is of another kind or states managed fields; 500 when it does not fit the schema, as upstream has it.
pub fn apply(
    live: Option<&Value>,
    patch: &Value,
    writer: Writer<'_>,
    typed: Typed<'_>,
    force: bool,
    reset: &ResetFields,
) -> Result<Value, Status> {
    check_kind(patch, &writer)?;
    let live_fields = live.and_then(|live| live.pointer("/metadata/managedFields"));
    let entries = Entries::decode(live_fields)
        .map_err(|why| Status::new(500, "", format!("failed to decode managed fields: {why}")))?;
    let empty = empty::before_creation(writer.api_version, writer.kind, typed.custom);
    let live = live.unwrap_or(&empty);
    let updater = Updater { typed, writer, reset };
    let entries = if entries.is_empty() { before_first_apply(&updater, &empty, live)? } else { entries };
    if patch.pointer("/metadata/managedFields").is_some_and(|fields| !fields.is_null()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    fits(patch, &typed, false, "failed to create typed patch object", "")?;
    fits(live, &typed, true, "failed to create typed live object", "")?;
    let (object, entries) = merged(&updater, live, patch, entries, force)?;
    let encoded = entries.encode();
    let mut object = object.unwrap_or_else(|| live.clone());
    if writer.manager == last_applied::MANAGER {
        last_applied::write(&mut object, patch);
    }
    set_managed_fields(&mut object, encoded);
    Ok(object)
}

/// What the object held before anybody's fields were tracked belongs to a manager of its own.
fn before_first_apply<'a>(updater: &Updater<'a>, empty: &'a Value, live: &'a Value) -> Result<Entries<'a>, Status> {
    let failed = "failed to create manager for existing fields: ";
    fits(live, &updater.typed, true, &format!("{failed}failed to convert new object"), " to smd typed")?;
    recorded(updater, empty, live, Entries::default(), BEFORE_FIRST_APPLY).map_err(|why| {
        Status::new(500, "", format!("{failed}failed to update ManagedFields ({}): {why}", describe(live)))
    })
}

/// Refuses an object that does not fit the schema.
fn fits(object: &Value, typed: &Typed<'_>, duplicates: bool, failed: &str, how: &str) -> Result<(), Status> {
    validate::validate(object, typed.root(), typed.definitions, duplicates)
        .map_err(|why| Status::new(500, "", format!("{failed} ({}){how}: {why}", describe(object))))
}

/// The object after the apply (`None`: as it was), and the entries.
fn merged<'a>(
    updater: &Updater<'a>,
    live: &'a Value,
    patch: &'a Value,
    entries: Entries<'a>,
    force: bool,
) -> Result<(Option<Value>, Entries<'a>), Status> {
    let conflicts = match attempt(updater, live, patch, entries.clone(), force) {
        Ok(done) => return Ok(done),
        Err(Refusal::Problems(why)) => {
            return Err(Status::new(500, "", why.to_string()));
        }
        Err(Refusal::Conflicts(conflicts)) => conflicts,
    };
    let last =
        if updater.writer.manager == last_applied::MANAGER { last_applied::read(live, &updater.writer) } else { None };
    let ours = last.as_ref().and_then(|last| last_applied::unchanged(last, live, updater.typed));
    let Some(ours) = ours else { return Err(conflict::status(conflicts)) };
    let mut left = conflicts;
    for conflict in &mut left {
        conflict.set.subtract(&ours);
    }
    left.retain(|conflict| !conflict.set.is_empty());
    if !left.is_empty() {
        return Err(conflict::status(left));
    }
    attempt(updater, live, patch, entries, true).map_err(|_| Status::internal("a forced apply was refused"))
}

fn attempt<'a>(
    updater: &Updater<'a>,
    live: &'a Value,
    patch: &'a Value,
    mut entries: Entries<'a>,
    force: bool,
) -> Result<(Option<Value>, Entries<'a>), Refusal<'a>> {
    updater.refresh(live, &mut entries).map_err(Refusal::Problems)?;
    let mut set = collect::collect(patch, updater.typed.root(), updater.typed.definitions);
    updater.reset.filter(updater.writer.api_version, &mut set);
    let own = own_entry(updater.writer.manager, Operation::Apply, &updater.writer);
    let before = entries.0.iter().find(|e| e.is(&own.manager, own.operation, "", &own.subresource));
    let time_before = before.and_then(|e| e.time.clone());
    let is_own = |e: &Entry<'a>| e.is(&own.manager, Operation::Apply, "", &own.subresource);
    let object = updater.apply(live, patch, &mut entries, Entry { set, ..own.clone() }, force)?;
    for entry in entries.0.iter_mut().filter(|e| is_own(e)) {
        entry.set.subtract(&UNTRACKED);
        // Owning a field together with others, as it is, leaves no trace in time.
        if object.is_none() {
            entry.time = time_before.clone();
        }
    }
    entries.0.retain(|entry| !entry.set.is_empty());
    Ok((object, entries))
}

fn set_managed_fields(object: &mut Value, encoded: Option<Value>) {
    let Some(object) = object.as_object_mut() else { return };
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(crate::Map::new()));
    let Some(metadata) = metadata.as_object_mut() else { return };
    match encoded {
        Some(encoded) => metadata.insert("managedFields".into(), encoded),
        None => metadata.remove("managedFields"),
    };
}

fn check_kind(patch: &Value, writer: &Writer<'_>) -> Result<(), Status> {
    let kind = kind_of(patch);
    let same = kind.kind == writer.kind && kind.api_version() == writer.api_version;
    if same { Ok(()) } else { Err(Status::bad_request(format!("invalid object type: {kind}"))) }
}

fn kind_of(object: &Value) -> GroupVersionKind {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    match (text("apiVersion"), GroupVersion::parse(text("apiVersion"))) {
        (_, Some(version)) => version.kind(text("kind")),
        ("" | "/", None) => GroupVersionKind::new("", "", text("kind")),
        _ => GroupVersionKind::new("", "", ""),
    }
}

fn describe(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}; {}", text("/metadata/namespace"), text("/metadata/name"), kind_of(object))
}

/// Fields the server writes or that name the object: nobody owns them.
static UNTRACKED: LazyLock<Set<'static>> = LazyLock::new(|| {
    Set::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// What a manager applied, as the object holds it now: the configuration to start from when changing some of it. `None`
/// when that manager applied nothing that is left.
pub fn extract(object: &Value, manager: &str, subresource: &str, typed: Typed<'_>) -> Option<Value> {
    let entries = Entries::decode(object.pointer("/metadata/managedFields")).ok()?;
    let entry = entries.0.iter().find(|e| e.is(manager, Operation::Apply, "", subresource))?;
    let mut extracted = remove::extract(object, &entry.set.leaves(), typed.root(), typed.definitions);
    let fields = extracted.as_object_mut()?;
    for name in ["apiVersion", "kind"] {
        if let Some(value) = object.get(name) {
            fields.insert(name.into(), value.clone());
        }
    }
    Some(extracted)
}
