//! Who owns what after a write: structured-merge-diff's updater.

use crate::Value;
use crate::schema::Definitions;

use super::atom::Ty;
use super::collect::{collect, with_named_fields};
use super::compare::{Changes, compare};
use super::conflict::Conflict;
use super::entries::{Entries, Entry};
use super::merge::merge;
use super::problem::Problems;
use super::reconcile::{is_needed, reconcile};
use super::remove::remove;
use super::reset::ResetFields;
use super::scalar::same;
use super::set::Set;
use super::validate::validate;
use super::{Typed, Writer};

/// The fixed parts of one decision.
pub(crate) struct Updater<'a> {
    pub(crate) typed: Typed<'a>,
    pub(crate) writer: Writer<'a>,
    pub(crate) reset: &'a ResetFields,
}

/// What a write did to the object as a version sees it.
struct Change<'a> {
    version: String,
    changed: Set<'a>,
    removed: Set<'a>,
}

impl<'a> Change<'a> {
    fn of(version: &str, changes: Changes<'a>) -> Self {
        let mut changed = changes.modified;
        changed.unite(changes.added);
        Self { version: version.to_string(), changed, removed: changes.removed }
    }
}

/// Why an apply is refused.
pub(crate) enum Refusal<'a> {
    Conflicts(Vec<Conflict<'a>>),
    Problems(Problems),
}

impl<'a> Updater<'a> {
    fn definitions(&self) -> &'a Definitions {
        self.typed.definitions
    }

    /// The type of the object in a version; `None` when that version is not served any more.
    fn ty(&self, api_version: &str) -> Option<Ty<'a>> {
        if api_version == self.writer.api_version {
            return Some(self.typed.root());
        }
        let other = self.typed.versions.iter().find(|(version, _)| version == api_version)?;
        Some(Ty::root(other.1.as_deref(), self.typed.custom))
    }

    /// Drops entries of versions that are gone, and fits the others to schemas that became atomic since.
    pub(crate) fn refresh(&self, live: &Value, entries: &mut Entries<'a>) -> Result<(), Problems> {
        entries.0.retain(|entry| self.ty(&entry.api_version).is_some());
        for entry in &mut entries.0 {
            self.check_converted(live, &entry.api_version)?;
            let Some(ty) = self.ty(&entry.api_version) else { continue };
            if entry.stored.is_some_and(|stored| is_needed(stored.fields, ty, self.definitions())) {
                entry.read();
            }
            if let Some(fitted) = reconcile(&entry.set, ty, self.definitions()) {
                entry.set = fitted;
            }
        }
        Ok(())
    }

    /// The paths a change from `old` to `new` gives to its writer. Takes them, and what is gone, from all entries.
    pub(crate) fn update(
        &self,
        old: &'a Value,
        new: &'a Value,
        entries: &mut Entries<'a>,
    ) -> Result<Set<'a>, Problems> {
        let Changes { removed, modified: mut changed, added } = self.changes(old, new, self.writer.api_version)?;
        changed.unite(added);
        let mut others = Vec::new();
        let mut buffer = String::new();
        for entry in &mut entries.0 {
            let (removed, taken) = if entry.api_version == self.writer.api_version {
                (&removed, &changed)
            } else {
                let change = self.in_version(old, new, &entry.api_version, &mut others)?;
                (&change.removed, &change.changed)
            };
            entry.lose(taken, &mut buffer);
            entry.lose(removed, &mut buffer);
        }
        entries.0.retain(|entry| !entry.owns_nothing());
        Ok(changed)
    }

    /// Merges `config` into `live`. Gives the new object, or `None` when nothing changes, and what the applier owns.
    pub(crate) fn apply(
        &self,
        live: &'a Value,
        config: &'a Value,
        entries: &mut Entries<'a>,
        own: Entry<'a>,
        force: bool,
    ) -> Result<Option<Value>, Refusal<'a>> {
        let mut merged = merge(live, config, self.typed.root(), self.definitions());
        let last = position(entries, &own).map(|i| entries.0.remove(i));
        entries.0.push(own);
        let own = entries.0.len() - 1;
        if let Some(last) = last.filter(|last| self.may_remove(last, config, entries)) {
            let pruned = self.prune(merged, &last, entries);
            merged = pruned.map_err(|why| Refusal::Problems(format!("failed to prune fields: {why}").into()))?;
        }
        self.settle(live, &merged, entries, own, force)?;
        Ok((!same(live, &merged)).then_some(merged))
    }

    /// Whether pruning can find anything: not when all that was applied is applied again, which is the common case. A
    /// hollow value is owned without its contents, and may yet go with them.
    fn may_remove(&self, last: &Entry<'_>, config: &Value, entries: &Entries<'a>) -> bool {
        let here = |entry: &Entry<'_>| entry.api_version == self.writer.api_version;
        let again = || entries.0.last().is_some_and(|own| last.set.is_within(&own.set));
        let nothing_gone = here(last) && entries.0.iter().all(here) && again() && !is_hollow(config);
        !last.set.is_empty() && !nothing_gone
    }

    /// Takes from the other entries what the apply changed; without `force`, that is a conflict.
    fn settle(
        &self,
        live: &'a Value,
        merged: &Value,
        entries: &mut Entries<'a>,
        own: usize,
        force: bool,
    ) -> Result<(), Refusal<'a>> {
        let own_version = self.changes(live, merged, self.writer.api_version).map_err(Refusal::Problems)?;
        let own_version = Change::of("", own_version);
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
                self.in_version(live, merged, &entry.api_version, &mut others).map_err(Refusal::Problems)?
            };
            let taken = entry.set.intersection(&change.changed);
            let untouched = taken.is_empty() && change.removed.is_empty();
            let mut left = if untouched { Set::default() } else { entry.set.difference(&taken) };
            left.subtract(&change.removed);
            outcome.push((!untouched).then_some(left));
            if !taken.is_empty() {
                conflicts.push(Conflict::new(entry, taken));
            }
        }
        if !force && !conflicts.is_empty() {
            return Err(Refusal::Conflicts(conflicts));
        }
        for (entry, left) in entries.0.iter_mut().zip(outcome) {
            if let Some(left) = left {
                entry.set = left;
            }
        }
        entries.0.retain(|entry| !entry.set.is_empty());
        Ok(())
    }

    fn changes<'v>(&self, old: &'v Value, new: &'v Value, version: &str) -> Result<Changes<'v>, Problems>
    where
        'a: 'v,
    {
        let ty = self.ty(version).unwrap_or(Ty::Deduced);
        let changes = compare(old, new, ty, self.definitions());
        let mut changes = changes.map_err(|why| Problems::from(format!("failed to compare objects: {why}")))?;
        changes.sets().into_iter().for_each(|set| self.reset.filter(version, set));
        Ok(changes)
    }

    fn in_version<'v, 'c>(
        &self,
        old: &'v Value,
        new: &'v Value,
        version: &str,
        cache: &'c mut Vec<Change<'v>>,
    ) -> Result<&'c Change<'v>, Problems>
    where
        'a: 'v,
    {
        let place = match cache.iter().position(|change| change.version == version) {
            Some(place) => place,
            None => {
                cache.push(Change::of(version, self.in_other_version(old, new, version)?));
                cache.len() - 1
            }
        };
        Ok(&cache[place])
    }

    fn in_other_version<'v>(&self, old: &'v Value, new: &'v Value, version: &str) -> Result<Changes<'v>, Problems>
    where
        'a: 'v,
    {
        for (side, value) in [("old", old), ("new", new)] {
            let fits = self.check_converted(value, version);
            fits.map_err(|why| Problems::from(format!("failed to convert {side} object: {why}")))?;
        }
        self.changes(old, new, version)
    }

    /// Removes what the applier applied last time, does not apply now, and no other manager owns.
    fn prune(&self, merged: Value, last: &Entry<'_>, entries: &Entries<'a>) -> Result<Value, String> {
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
        // Only what the applier owned goes: the rest dangled below it.
        let mut gone = with_named_fields(collect(&merged, ty, definitions), Some(ty), definitions);
        gone.subtract(&with_named_fields(collect(&pruned, ty, definitions), Some(ty), definitions));
        let gone = gone.intersection(&last_set);
        let pruned = if gone.is_empty() { merged } else { remove(&merged, &gone, ty, definitions) };
        if last.api_version != self.writer.api_version {
            validate(&pruned, self.typed.root(), definitions, false).map_err(|why| why.to_string())?;
        }
        Ok(pruned)
    }

    /// Everything that any manager owns, back again; and the version the object was seen in last.
    fn add_back_owned<'v>(
        &self,
        merged: &Value,
        mut pruned: Value,
        first: &'v str,
        entries: &'v Entries<'a>,
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
            let mut owned = Set::default();
            let mut any = false;
            for entry in entries.0.iter().filter(|e| e.api_version == version) {
                owned.unite(entry.set.clone());
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

    /// Another version tolerates nothing that stands twice.
    fn check_converted(&self, object: &Value, version: &str) -> Result<(), Problems> {
        match self.ty(version) {
            Some(ty) if version != self.writer.api_version => validate(object, ty, self.definitions(), false),
            _ => Ok(()),
        }
    }
}

/// Everything of `merged` that is left in `pruned` or is owned.
fn add_back<'v>(
    merged: &'v Value,
    pruned: &'v Value,
    owned: &Set<'v>,
    ty: Ty<'v>,
    definitions: &'v Definitions,
) -> Value {
    let named = |set: Set<'v>| with_named_fields(set, Some(ty), definitions);
    let mut gone = named(collect(merged, ty, definitions));
    gone.subtract(&named(collect(pruned, ty, definitions)));
    gone.subtract(&named(owned.clone()));
    remove(merged, &gone, ty, definitions)
}

fn position(entries: &Entries<'_>, own: &Entry<'_>) -> Option<usize> {
    entries.0.iter().position(|e| e.is(&own.manager, own.operation, &own.api_version, &own.subresource))
}

/// Is there a null or an empty container anywhere?
fn is_hollow(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty() || fields.values().any(is_hollow),
        Value::Array(items) => items.is_empty() || items.iter().any(is_hollow),
        _ => false,
    }
}
