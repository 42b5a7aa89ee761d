//! A must-gather-like directory as operators read it: get and list.
//!
//! Objects are found wherever they stand: in list files and single files together, Namespaces in their own folder or among the
//! cluster-scoped resources, several documents in one file. What the original refuses or overlooks there is in `docs/GATHER.md`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::selector::{FieldSelector, LabelSelector};

use crate::contract::ResourceType;
use crate::discovery::Discovery;
use crate::dump::{self, Object, Problem};
use crate::source::SourceError;

/// The objects of a directory.
#[derive(Clone, Debug, Default)]
pub struct MustGather {
    tables: BTreeMap<(String, String), BTreeMap<(String, String), Object>>,
    discovery: Discovery,
    problems: Vec<Problem>,
}

/// Which objects of a type a list takes.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// Of one namespace; of all when empty.
    pub namespace: &'a str,
    /// With these labels.
    pub labels: LabelSelector,
    /// With these fields. Any path of an object can be asked for.
    pub fields: FieldSelector,
}

impl<'a> Query<'a> {
    /// Every object of a namespace, or of all.
    pub fn all(namespace: &'a str) -> Self {
        Self { namespace, labels: LabelSelector::everything(), fields: FieldSelector::default() }
    }
}

/// What cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Nothing says what the objects of a resource are.
    #[error("could not list {0}: neither discovery nor an object of the directory knows the resource")]
    UnknownResource(ResourceType),
    /// The directory has it in another version, and versions are not converted.
    #[error("could not read {of} {name}: the directory has it in version {found}, asked for is {}", of.api_version())]
    OtherVersion {
        /// What was asked for.
        of: ResourceType,
        /// Which object.
        name: String,
        /// The version it has.
        found: String,
    },
}

impl MustGather {
    /// Reads a directory or an archive.
    ///
    /// # Errors
    /// When it cannot be opened or is larger than the bounds. What cannot be read in it is among the problems.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let dump = dump::read_objects(path)?;
        Ok(Self { problems: dump.problems, ..Self::of(dump.objects, dump.discovery) })
    }

    /// Of objects.
    pub fn of(objects: impl IntoIterator<Item = Object>, discovery: Discovery) -> Self {
        let mut tables: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for object in objects {
            let table = tables.entry((object.kind.group.clone(), object.plural.clone())).or_default();
            let text = |field: &str| object.value["metadata"][field].as_str().unwrap_or_default().to_string();
            table.insert((text("namespace"), text("name")), object);
        }
        Self { tables, discovery, problems: Vec::new() }
    }

    /// What could not be read, and files that do not belong there.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What the directory says its cluster serves, or what is carried for those that do not say, and what its CRDs and objects show.
    pub fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// All objects, sorted by group, resource, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.tables.values().flat_map(BTreeMap::values)
    }

    /// All objects.
    pub fn into_objects(self) -> Vec<Object> {
        self.tables.into_values().flat_map(BTreeMap::into_values).collect()
    }

    /// One object.
    ///
    /// # Errors
    /// When the directory has it in another version.
    pub fn get(&self, of: &ResourceType, namespace: &str, name: &str) -> Result<Option<&Value>, ReadError> {
        let table = self.tables.get(&(of.group.clone(), of.resource.clone()));
        // A Namespace is asked for as if it were in itself.
        let namespace = if of.is_namespaces() { "" } else { namespace };
        let found = table.and_then(|table| table.get(&(namespace.to_string(), name.to_string())));
        found.map(|object| in_version(of, object)).transpose()
    }

    /// The objects of a type, sorted by namespace and name.
    ///
    /// # Errors
    /// When nothing knows the type, or the directory has objects of it in another version.
    pub fn list(&self, of: &ResourceType, query: &Query<'_>) -> Result<Vec<&Value>, ReadError> {
        if self.kind(of).is_none() {
            return Err(ReadError::UnknownResource(of.clone()));
        }
        let table = self.tables.get(&(of.group.clone(), of.resource.clone()));
        let mut found = Vec::new();
        for ((namespace, _), object) in table.into_iter().flatten() {
            if (query.namespace.is_empty() || query.namespace == namespace) && query.takes(&object.value) {
                found.push(in_version(of, object)?);
            }
        }
        Ok(found)
    }

    /// The kind of a type's objects: as discovery says, or as the objects do.
    pub fn kind(&self, of: &ResourceType) -> Option<GroupVersionKind> {
        let served = self.discovery.served(of).map(|served| served.kind.clone());
        served.or_else(|| {
            let table = self.tables.get(&(of.group.clone(), of.resource.clone()))?;
            Some(table.values().next()?.kind.clone())
        })
    }
}

impl Query<'_> {
    fn takes(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
        self.labels.matches(labels) && self.fields.matches(|field| field_of(object, field))
    }
}

/// A field as text, by its dotted path; empty when it is missing.
fn field_of<'a>(object: &'a Value, path: &str) -> Cow<'a, str> {
    match path.split('.').try_fold(object, |value, key| value.get(key)) {
        Some(Value::String(text)) => Cow::Borrowed(text),
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(other) => Cow::Owned(other.to_string()),
    }
}

fn in_version<'a>(of: &ResourceType, object: &'a Object) -> Result<&'a Value, ReadError> {
    if object.kind.version == of.version {
        return Ok(&object.value);
    }
    let name = object.value["metadata"]["name"].as_str().unwrap_or_default().to_string();
    Err(ReadError::OtherVersion { of: of.clone(), name, found: object.kind.api_version() })
}

#[cfg(test)]
mod tests;
