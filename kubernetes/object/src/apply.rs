//! Server-side apply and `metadata.managedFields`: field ownership, and conflicts between field managers.
//!
//! ```text
//!   live object ──compare──▶ changed paths ──▶ owned by the writer only
//!   live object + configuration ──merge, prune──▶ new object     (conflict: another manager owns a changed path)
//! ```
//!
//! Every write except apply ends in [`update`]; apply requests end in [`apply`]. Both reproduce kube-apiserver's field
//! manager and structured-merge-diff exactly, including the order of entries and the text of a conflict.
//!
//! Call [`update`] after decoding and defaulting, and before admission and the strategy's preparation, as
//! kube-apiserver does. [`apply`] returns an object that is not yet decoded and defaulted.

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
mod reconcile;
mod remove;
mod reset;
mod scalar;
mod scale;
mod schema_mismatch;
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

use atom::TypeRef;
use entries::{EntrySlot, ManagedFields, ManagedFieldsEntry, ManagerOperation};
use ownership::{ApplyError, Updater};
use schema_mismatch::SchemaMismatches;
use set::FieldSet;

pub use reset::ResetFields;
pub use scale::{ReplicasPaths, parent_entries, scale_entries};

/// Field manager that owns the fields an object had before its first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Origin of a write: field manager, endpoint and time.
#[derive(Clone, Copy, Debug)]
pub struct WriteOrigin<'a> {
    /// Field manager.
    pub manager: &'a str,
    /// `apiVersion` of the endpoint.
    pub api_version: &'a str,
    /// Kind of the endpoint.
    pub kind: &'a str,
    /// Subresource of the endpoint; empty for the resource itself.
    pub subresource: &'a str,
    /// Time of the write, as RFC 3339 in UTC to the second.
    pub now: &'a str,
}

/// Schemas of a kind, as server-side apply needs them.
#[derive(Clone, Copy, Debug)]
pub struct KindSchema<'a> {
    /// Definitions of the built-in kinds. They also describe `metadata` of custom resources.
    pub definitions: &'a Definitions,
    /// Schema of the kind in the endpoint's version. Without a schema, the type is deduced from each object.
    pub schema: Option<&'a Schema>,
    /// Whether the kind is a custom resource.
    pub custom: bool,
    /// The kind's other versions (`apiVersion` and schema). Managed fields entries of a version that is neither listed
    /// here nor the endpoint's are dropped.
    pub versions: &'a [(String, Option<Arc<Schema>>)],
}

impl<'a> KindSchema<'a> {
    /// Returns the schemas of a built-in kind that has one version.
    pub fn built_in(definitions: &'a Definitions, schema: &'a Schema) -> Self {
        Self { definitions, schema: Some(schema), custom: false, versions: &[] }
    }

    /// Returns the schemas of a custom resource that has one version.
    pub fn custom(definitions: &'a Definitions, schema: Option<&'a Schema>) -> Self {
        Self { definitions, schema, custom: true, versions: &[] }
    }

    fn root(&self) -> TypeRef<'a> {
        TypeRef::root(self.schema, self.custom)
    }
}

/// Records field ownership in `new.metadata.managedFields`: the fields this write changed, and the previous owners.
/// `live` is the stored object, `None` for a create.
///
/// The request's own managed fields count only on the resource itself, not on a subresource: valid entries replace the
/// live entries, an empty list or a single empty entry resets them.
pub fn update(
    live: Option<&Value>,
    new: &mut Value,
    writer: WriteOrigin<'_>,
    typed: KindSchema<'_>,
    reset: &ResetFields,
) {
    let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let given = metadata.remove("managedFields").filter(|given| !given.is_null());
    let live_fields = live.and_then(|live| live.pointer("/metadata/managedFields"));
    // Clients send back the list they read. In that case the list of the request can be consumed.
    let unchanged = given.is_some() && given.as_ref() == live_fields;
    let entries = match &given {
        Some(given) if !unchanged && writer.subresource.is_empty() => request_entries(given, live_fields),
        _ => ManagedFields::stored(live_fields).unwrap_or_default(),
    };
    // Once an object's fields are no longer tracked, only an apply starts to track them again.
    if entries.is_empty() && live.is_some_and(|live| live.pointer("/metadata/uid").is_some_and(|uid| uid != "")) {
        return;
    }
    let slots = {
        let old = match live {
            Some(live) => Cow::Borrowed(live),
            None => empty::before_creation(writer.api_version, writer.kind, typed.custom),
        };
        let updater = Updater { typed, writer, reset };
        entries_after_change(&updater, &old, new, entries, writer.manager).map(ManagedFields::slots).unwrap_or_default()
    };
    let mut stored = match (given, live_fields) {
        (Some(Value::Array(given)), _) if unchanged => given,
        (_, Some(Value::Array(live))) => copy_kept_entries(&slots, live),
        _ => Vec::new(),
    };
    let encoded = entries::assemble(slots, &mut stored);
    if let (Some(encoded), Some(metadata)) = (encoded, new.get_mut("metadata").and_then(Value::as_object_mut)) {
        metadata.insert("managedFields".into(), encoded);
    }
}

/// Copies the stored list, with `null` in place of the entries that are not kept.
fn copy_kept_entries(slots: &[EntrySlot], live: &[Value]) -> Vec<Value> {
    let kept = |place| slots.iter().any(|slot| matches!(slot, EntrySlot::Keep(p) if *p == place));
    live.iter().enumerate().map(|(place, entry)| if kept(place) { entry.clone() } else { Value::Null }).collect()
}

/// Returns the entries of a request, or the live entries if the request has none that can be decoded.
fn request_entries<'a>(given: &'a Value, live: Option<&'a Value>) -> ManagedFields<'a> {
    let list = given.as_array().map_or(&[][..], Vec::as_slice);
    let empty = |entry: &Value| entry.as_object().is_some_and(|e| e.values().all(|v| v.is_null() || v == ""));
    if list.is_empty() || (list.len() == 1 && empty(&list[0])) {
        return ManagedFields::default();
    }
    match ManagedFields::decode(Some(given)) {
        Ok(entries) if !entries.is_empty() => entries,
        _ => ManagedFields::stored(live).unwrap_or_default(),
    }
}

/// Returns the entries after `manager` changed the object from `old` to `new`.
fn entries_after_change<'a>(
    updater: &Updater<'a>,
    old: &'a Value,
    new: &'a Value,
    mut entries: ManagedFields<'a>,
    manager: &'a str,
) -> Result<ManagedFields<'a>, SchemaMismatches> {
    updater.refresh(old, &mut entries)?;
    let mut changed = updater.update(old, new, &mut entries)?;
    changed.subtract(&UNTRACKED);
    if !changed.is_empty() {
        add_entry(
            &mut entries,
            ManagedFieldsEntry { set: changed, ..own_entry(manager, ManagerOperation::Update, &updater.writer) },
        );
    }
    entries.merge_oldest_updates();
    Ok(entries)
}

/// Merges `own` into the entry of the same writer, or appends it.
fn add_entry<'a>(entries: &mut ManagedFields<'a>, own: ManagedFieldsEntry<'a>) {
    let same = |e: &&mut ManagedFieldsEntry<'a>| {
        e.is_written_by(&own.manager, own.operation, &own.api_version, &own.subresource)
    };
    match entries.0.iter_mut().find(same) {
        Some(earlier) => {
            earlier.read();
            earlier.set.union_with(own.set);
            earlier.time = own.time;
        }
        None => entries.0.push(own),
    }
}

fn own_entry<'a>(manager: &'a str, operation: ManagerOperation, writer: &WriteOrigin<'a>) -> ManagedFieldsEntry<'a> {
    ManagedFieldsEntry {
        manager: Cow::Borrowed(if manager.is_empty() { "unknown" } else { manager }),
        operation,
        api_version: Cow::Borrowed(writer.api_version),
        subresource: Cow::Borrowed(writer.subresource),
        time: Some(Cow::Borrowed(writer.now)),
        set: FieldSet::default(),
        stored: None,
    }
}

/// Applies a configuration: merges it into the live object, removes what the manager applied before and no longer
/// applies, and records ownership. `live` is `None` if the object does not exist yet.
///
/// # Errors
/// - 409 with a cause per field, if other managers own fields that would change and `force` is not set.
/// - 400, if the configuration is of another kind or sets managed fields.
/// - 500, as kube-apiserver returns, if the configuration does not fit the schema.
pub fn apply(
    live: Option<&Value>,
    patch: &Value,
    writer: WriteOrigin<'_>,
    typed: KindSchema<'_>,
    force: bool,
    reset: &ResetFields,
) -> Result<Value, Status> {
    check_kind(patch, &writer)?;
    let live_fields = live.and_then(|live| live.pointer("/metadata/managedFields"));
    let entries = ManagedFields::decode(live_fields)
        .map_err(|why| Status::new(500, "", format!("failed to decode managed fields: {why}")))?;
    let empty = empty::before_creation(writer.api_version, writer.kind, typed.custom);
    let live = live.unwrap_or(&empty);
    let updater = Updater { typed, writer, reset };
    let entries = if entries.is_empty() { before_first_apply(&updater, &empty, live)? } else { entries };
    if patch.pointer("/metadata/managedFields").is_some_and(|fields| !fields.is_null()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    check_schema(patch, &typed, false, "failed to create typed patch object", "")?;
    check_schema(live, &typed, true, "failed to create typed live object", "")?;
    let (object, entries) = merge_configuration(&updater, live, patch, entries, force)?;
    let encoded = entries.encode();
    let mut object = object.unwrap_or_else(|| live.clone());
    if writer.manager == last_applied::MANAGER {
        last_applied::write(&mut object, patch);
    }
    set_managed_fields(&mut object, encoded);
    Ok(object)
}

/// Returns the entries of an object whose fields were not tracked so far: one manager owns all of them.
fn before_first_apply<'a>(
    updater: &Updater<'a>,
    empty: &'a Value,
    live: &'a Value,
) -> Result<ManagedFields<'a>, Status> {
    let failed = "failed to create manager for existing fields: ";
    check_schema(live, &updater.typed, true, &format!("{failed}failed to convert new object"), " to smd typed")?;
    entries_after_change(updater, empty, live, ManagedFields::default(), BEFORE_FIRST_APPLY).map_err(|why| {
        Status::new(500, "", format!("{failed}failed to update ManagedFields ({}): {why}", describe(live)))
    })
}

/// Returns an error if an object does not fit the schema.
fn check_schema(
    object: &Value,
    typed: &KindSchema<'_>,
    duplicates: bool,
    failed: &str,
    how: &str,
) -> Result<(), Status> {
    validate::validate(object, typed.root(), typed.definitions, duplicates)
        .map_err(|why| Status::new(500, "", format!("{failed} ({}){how}: {why}", describe(object))))
}

/// Returns the object after the apply (`None` if unchanged) and the entries.
fn merge_configuration<'a>(
    updater: &Updater<'a>,
    live: &'a Value,
    patch: &'a Value,
    entries: ManagedFields<'a>,
    force: bool,
) -> Result<(Option<Value>, ManagedFields<'a>), Status> {
    let conflicts = match attempt(updater, live, patch, entries.clone(), force) {
        Ok(done) => return Ok(done),
        Err(ApplyError::Problems(why)) => {
            return Err(Status::new(500, "", why.to_string()));
        }
        Err(ApplyError::Conflicts(conflicts)) => conflicts,
    };
    let last =
        if updater.writer.manager == last_applied::MANAGER { last_applied::read(live, &updater.writer) } else { None };
    let ours = last.as_ref().and_then(|last| last_applied::unchanged_fields(last, live, updater.typed));
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
    mut entries: ManagedFields<'a>,
    force: bool,
) -> Result<(Option<Value>, ManagedFields<'a>), ApplyError<'a>> {
    updater.refresh(live, &mut entries).map_err(ApplyError::Problems)?;
    let mut set = collect::collect(patch, updater.typed.root(), updater.typed.definitions);
    updater.reset.filter(updater.writer.api_version, &mut set);
    let own = own_entry(updater.writer.manager, ManagerOperation::Apply, &updater.writer);
    let before = entries.0.iter().find(|e| e.is_written_by(&own.manager, own.operation, "", &own.subresource));
    let time_before = before.and_then(|e| e.time.clone());
    let is_own =
        |e: &ManagedFieldsEntry<'a>| e.is_written_by(&own.manager, ManagerOperation::Apply, "", &own.subresource);
    let object = updater.apply(live, patch, &mut entries, ManagedFieldsEntry { set, ..own.clone() }, force)?;
    for entry in entries.0.iter_mut().filter(|e| is_own(e)) {
        entry.set.subtract(&UNTRACKED);
        // If the object did not change, the manager only shares ownership of existing values, and its time stays.
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

fn check_kind(patch: &Value, writer: &WriteOrigin<'_>) -> Result<(), Status> {
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

/// Fields the server writes, and fields that identify the object. No manager owns them.
static UNTRACKED: LazyLock<FieldSet<'static>> = LazyLock::new(|| {
    FieldSet::of_fields(&[
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

/// Returns the fields a manager applied, with the values the object has now: the configuration to start from to change
/// some of them. `None` if the object has no field that the manager applied.
pub fn extract(object: &Value, manager: &str, subresource: &str, typed: KindSchema<'_>) -> Option<Value> {
    let entries = ManagedFields::decode(object.pointer("/metadata/managedFields")).ok()?;
    let entry = entries.0.iter().find(|e| e.is_written_by(manager, ManagerOperation::Apply, "", subresource))?;
    let mut extracted = remove::extract(object, &entry.set.leaves(), typed.root(), typed.definitions);
    let fields = extracted.as_object_mut()?;
    for name in ["apiVersion", "kind"] {
        if let Some(value) = object.get(name) {
            fields.insert(name.into(), value.clone());
        }
    }
    Some(extracted)
}
