//! Field ownership after a write: the updater of structured-merge-diff.

use crate::Value;
use crate::schema::Definitions;

use super::atom::TypeRef;
use super::collect::{collect, with_named_fields};
use super::compare::{ObjectComparison, compare};
use super::conflict::ManagerConflict;
use super::entries::{ManagedFields, ManagedFieldsEntry};
use super::merge::merge;
use super::reconcile::{needs_reconcile, reconcile};
use super::remove::remove;
use super::reset::ResetFields;
use super::scalar::same;
use super::schema_mismatch::SchemaMismatches;
use super::set::FieldSet;
use super::validate::validate;
use super::{KindSchema, WriteOrigin};

/// Fixed inputs of one write.
pub(crate) struct Updater<'a> {
    pub(crate) typed: KindSchema<'a>,
    pub(crate) writer: WriteOrigin<'a>,
    pub(crate) reset: &'a ResetFields,
}

/// Changes of a write, in terms of one version.
struct VersionedComparison<'a> {
    version: String,
    changed: FieldSet<'a>,
    removed: FieldSet<'a>,
}

impl<'a> VersionedComparison<'a> {
    fn of(version: &str, changes: ObjectComparison<'a>) -> Self {
        let mut changed = changes.modified;
        changed.union_with(changes.added);
        Self { version: version.to_string(), changed, removed: changes.removed }
    }
}

/// Reason for refusing an apply.
pub(crate) enum ApplyError<'a> {
    Conflicts(Vec<ManagerConflict<'a>>),
    Problems(SchemaMismatches),
}

impl<'a> Updater<'a> {
    fn definitions(&self) -> &'a Definitions {
        self.typed.definitions
    }

    /// Returns the type of the object in a version; `None` if that version is no longer served.
    fn ty(&self, api_version: &str) -> Option<TypeRef<'a>> {
        if api_version == self.writer.api_version {
            return Some(self.typed.root());
        }
        let other = self.typed.versions.iter().find(|(version, _)| version == api_version)?;
        Some(TypeRef::root(other.1.as_deref(), self.typed.custom))
    }

    /// Drops entries of versions that are no longer served, and adapts the others to parts of the schema that became
    /// atomic.
    pub(crate) fn refresh(&self, live: &Value, entries: &mut ManagedFields<'a>) -> Result<(), SchemaMismatches> {
        entries.0.retain(|entry| self.ty(&entry.api_version).is_some());
        for entry in &mut entries.0 {
            self.check_converted(live, &entry.api_version)?;
            let Some(ty) = self.ty(&entry.api_version) else { continue };
            if entry.stored.is_some_and(|stored| needs_reconcile(stored.fields, ty, self.definitions())) {
                entry.read();
            }
            if let Some(fitted) = reconcile(&entry.set, ty, self.definitions()) {
                entry.set = fitted;
            }
        }
        Ok(())
    }

    /// Returns the paths that a change from `old` to `new` assigns to its writer. Removes these paths and the deleted
    /// ones from all entries.
    pub(crate) fn update(
        &self,
        old: &'a Value,
        new: &'a Value,
        entries: &mut ManagedFields<'a>,
    ) -> Result<FieldSet<'a>, SchemaMismatches> {
        let ObjectComparison { removed, modified: mut changed, added } =
            self.changes(old, new, self.writer.api_version)?;
        changed.union_with(added);
        let mut others = Vec::new();
        let mut buffer = String::new();
        for entry in &mut entries.0 {
            let (removed, taken) = if entry.api_version == self.writer.api_version {
                (&removed, &changed)
            } else {
                let change = self.in_version(old, new, &entry.api_version, &mut others)?;
                (&change.removed, &change.changed)
            };
            entry.remove_paths(taken, &mut buffer);
            entry.remove_paths(removed, &mut buffer);
        }
        entries.0.retain(|entry| !entry.owns_nothing());
        Ok(changed)
    }

    /// Merges `config` into `live` and records what the applier owns. Returns the new object, or `None` if nothing
    /// changes.
    pub(crate) fn apply(
        &self,
        live: &'a Value,
        config: &'a Value,
        entries: &mut ManagedFields<'a>,
        own: ManagedFieldsEntry<'a>,
        force: bool,
    ) -> Result<Option<Value>, ApplyError<'a>> {
        let mut merged = merge(live, config, self.typed.root(), self.definitions());
        let last = position(entries, &own).map(|i| entries.0.remove(i));
        entries.0.push(own);
        let own = entries.0.len() - 1;
        if let Some(last) = last.filter(|last| self.can_prune(last, config, entries)) {
            let pruned = self.prune(merged, &last, entries);
            merged = pruned.map_err(|why| ApplyError::Problems(format!("failed to prune fields: {why}").into()))?;
        }
        self.resolve_conflicts(live, &merged, entries, own, force)?;
        Ok((!same(live, &merged)).then_some(merged))
    }

    /// Whether pruning can remove anything. If the applier applies again everything it applied before, which is the
    /// common case, there is nothing to prune; except that an empty value is owned without its contents, so pruning may
    /// still apply.
    fn can_prune(&self, last: &ManagedFieldsEntry<'_>, config: &Value, entries: &ManagedFields<'a>) -> bool {
        let here = |entry: &ManagedFieldsEntry<'_>| entry.api_version == self.writer.api_version;
        let again = || entries.0.last().is_some_and(|own| last.set.is_within(&own.set));
        let nothing_gone = here(last) && entries.0.iter().all(here) && again() && !has_empty_value(config);
        !last.set.is_empty() && !nothing_gone
    }

    /// Takes the paths that the apply changed from the other entries. Without `force`, such a path is a conflict.
    fn resolve_conflicts(
        &self,
        live: &'a Value,
        merged: &Value,
        entries: &mut ManagedFields<'a>,
        own: usize,
        force: bool,
    ) -> Result<(), ApplyError<'a>> {
        let own_version = self.changes(live, merged, self.writer.api_version).map_err(ApplyError::Problems)?;
        let own_version = VersionedComparison::of("", own_version);
        let mut others = Vec::new();
        let mut conflicts = Vec::new();
        let mut outcome = Vec::with_capacity(entries.0.len());
        for (i, entry) in entries.0.iter().enumerate() {
            if i == own {
                outcome.push(None);
                continue;
            }
            let change = if entry.api_version == self.writer.api_version {
                &own_version
            } else {
                self.in_version(live, merged, &entry.api_version, &mut others).map_err(ApplyError::Problems)?
            };
            let taken = entry.set.intersection(&change.changed);
            let untouched = taken.is_empty() && change.removed.is_empty();
            let mut left = if untouched { FieldSet::default() } else { entry.set.difference(&taken) };
            left.subtract(&change.removed);
            outcome.push((!untouched).then_some(left));
            if !taken.is_empty() {
                conflicts.push(ManagerConflict::new(entry, taken));
            }
        }
        if !force && !conflicts.is_empty() {
            return Err(ApplyError::Conflicts(conflicts));
        }
        for (entry, left) in entries.0.iter_mut().zip(outcome) {
            if let Some(left) = left {
                entry.set = left;
            }
        }
        entries.0.retain(|entry| !entry.set.is_empty());
        Ok(())
    }

    fn changes<'v>(
        &self,
        old: &'v Value,
        new: &'v Value,
        version: &str,
    ) -> Result<ObjectComparison<'v>, SchemaMismatches>
    where
        'a: 'v,
    {
        let ty = self.ty(version).unwrap_or(TypeRef::Deduced);
        let changes = compare(old, new, ty, self.definitions());
        let mut changes = changes.map_err(|why| SchemaMismatches::from(format!("failed to compare objects: {why}")))?;
        changes.sets().into_iter().for_each(|set| self.reset.filter(version, set));
        Ok(changes)
    }

    fn in_version<'v, 'c>(
        &self,
        old: &'v Value,
        new: &'v Value,
        version: &str,
        cache: &'c mut Vec<VersionedComparison<'v>>,
    ) -> Result<&'c VersionedComparison<'v>, SchemaMismatches>
    where
        'a: 'v,
    {
        let place = match cache.iter().position(|change| change.version == version) {
            Some(place) => place,
            None => {
                cache.push(VersionedComparison::of(version, self.in_other_version(old, new, version)?));
                cache.len() - 1
            }
        };
        Ok(&cache[place])
    }

    fn in_other_version<'v>(
        &self,
        old: &'v Value,
        new: &'v Value,
        version: &str,
    ) -> Result<ObjectComparison<'v>, SchemaMismatches>
    where
        'a: 'v,
    {
        for (side, value) in [("old", old), ("new", new)] {
            let fits = self.check_converted(value, version);
            fits.map_err(|why| SchemaMismatches::from(format!("failed to convert {side} object: {why}")))?;
        }
        self.changes(old, new, version)
    }

    /// Removes what the applier applied last time, no longer applies, and no other manager owns.
    fn prune(
        &self,
        merged: Value,
        last: &ManagedFieldsEntry<'_>,
        entries: &ManagedFields<'a>,
    ) -> Result<Value, String> {
        let definitions = self.definitions();
        let Some(ty) = self.ty(&last.api_version) else { return Ok(merged) };
        self.check_converted(&merged, &last.api_version)
            .map_err(|why| format!("failed to convert merged object to last applied version: {why}"))?;
        let last_set = with_named_fields(last.set.clone(), Some(ty), definitions);
        let pruned = remove(&merged, &last_set, ty, definitions);
        let pruned = self.add_back_owned(&merged, pruned, &last.api_version, entries);
        let (pruned, current) = pruned.map_err(|why| format!("failed add back owned items: {why}"))?;
        if current != last.api_version {
            validate(&pruned, ty, definitions, false).map_err(|why| {
                format!(
                    "failed add back dangling items: failed to convert pruned object to last applied version: {why}"
                )
            })?;
        }
        // Only what the applier owned is removed; other paths were merely left dangling below it.
        let mut gone = with_named_fields(collect(&merged, ty, definitions), Some(ty), definitions);
        gone.subtract(&with_named_fields(collect(&pruned, ty, definitions), Some(ty), definitions));
        let gone = gone.intersection(&last_set);
        let pruned = if gone.is_empty() { merged } else { remove(&merged, &gone, ty, definitions) };
        if last.api_version != self.writer.api_version {
            validate(&pruned, self.typed.root(), definitions, false).map_err(|why| why.to_string())?;
        }
        Ok(pruned)
    }

    /// Adds back everything that any manager owns. Returns the object and the version it was last converted to.
    fn add_back_owned<'v>(
        &self,
        merged: &Value,
        mut pruned: Value,
        first: &'v str,
        entries: &'v ManagedFields<'a>,
    ) -> Result<(Value, &'v str), String> {
        let mut current = first;
        let mut versions: Vec<&str> = vec![first];
        for entry in &entries.0 {
            if !versions.contains(&&*entry.api_version) {
                versions.push(&entry.api_version);
            }
        }
        for version in versions {
            let Some(ty) = self.ty(version) else { continue };
            let mut owned = FieldSet::default();
            let mut any = false;
            for entry in entries.0.iter().filter(|e| e.api_version == version) {
                owned.union_with(entry.set.clone());
                any = true;
            }
            if any {
                let fits = if version == current { Ok(()) } else { validate(merged, ty, self.definitions(), false) };
                fits.map_err(|why| format!("failed to convert merged object at version {version}: {why}"))?;
                current = version;
                pruned = add_back(merged, &pruned, &owned, ty, self.definitions());
            }
        }
        Ok((pruned, current))
    }

    /// Validates an object in another version, in which no item may occur twice.
    fn check_converted(&self, object: &Value, version: &str) -> Result<(), SchemaMismatches> {
        match self.ty(version) {
            Some(ty) if version != self.writer.api_version => validate(object, ty, self.definitions(), false),
            _ => Ok(()),
        }
    }
}

/// Returns the parts of `merged` that are in `pruned` or are owned.
fn add_back<'v>(
    merged: &'v Value,
    pruned: &'v Value,
    owned: &FieldSet<'v>,
    ty: TypeRef<'v>,
    definitions: &'v Definitions,
) -> Value {
    let named = |set: FieldSet<'v>| with_named_fields(set, Some(ty), definitions);
    let mut gone = named(collect(merged, ty, definitions));
    gone.subtract(&named(collect(pruned, ty, definitions)));
    gone.subtract(&named(owned.clone()));
    remove(merged, &gone, ty, definitions)
}

fn position(entries: &ManagedFields<'_>, own: &ManagedFieldsEntry<'_>) -> Option<usize> {
    entries.0.iter().position(|e| e.is_written_by(&own.manager, own.operation, &own.api_version, &own.subresource))
}

/// Whether the value contains a null or an empty container.
fn has_empty_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty() || fields.values().any(has_empty_value),
        Value::Array(items) => items.is_empty() || items.iter().any(has_empty_value),
        _ => false,
    }
}
