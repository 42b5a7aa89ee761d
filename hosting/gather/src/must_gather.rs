//! A must-gather directory as operators read it: get and list.
//!
//! All places of objects are supported: list files and single files together, Namespaces in their own folder or among
//! the cluster-scoped resources, several documents in one file. `docs/reference/gather.md` describes which of these library-go
//! rejects or ignores.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::selector::{FieldSelector, LabelSelector};

use crate::contract::ResourceType;
use crate::discovery::Discovery;
use crate::dump::{self, DumpedObject, ReadProblem};
use crate::source::SourceError;

/// Objects of a directory.
#[derive(Clone, Debug, Default)]
pub struct MustGather {
    tables: BTreeMap<(String, String), BTreeMap<(String, String), DumpedObject>>,
    discovery: Discovery,
    problems: Vec<ReadProblem>,
}

/// Query of a list.
#[derive(Clone, Debug)]
pub struct MustGatherQuery<'a> {
    /// Namespace; empty for all namespaces.
    pub namespace: &'a str,
    /// Label selector.
    pub labels: LabelSelector,
    /// Field selector, which supports any path of an object.
    pub fields: FieldSelector,
}

impl<'a> MustGatherQuery<'a> {
    /// Selects all objects of a namespace, or of all namespaces.
    pub fn all(namespace: &'a str) -> Self {
        Self { namespace, labels: LabelSelector::everything(), fields: FieldSelector::default() }
    }
}

/// Error of a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MustGatherError {
    /// The resource has no known kind.
    #[error("could not list {0}: neither discovery nor any object of the directory defines the resource")]
    UnknownResource(ResourceType),
    /// The directory contains the object in another version. Versions are not converted.
    #[error("could not read {of} {name}: the directory contains version {found}, not {}", of.api_version())]
    OtherVersion {
        /// Requested type.
        of: ResourceType,
        /// Name of the object.
        name: String,
        /// Version of the object.
        found: String,
    },
}

impl MustGather {
    /// Reads a directory or an archive.
    ///
    /// # Errors
    /// If the path cannot be opened or exceeds a limit. Files that cannot be read are among the problems.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let dump = dump::read_objects(path)?;
        Ok(Self { problems: dump.problems, ..Self::from_objects(dump.objects, dump.discovery) })
    }

    /// Creates the index from objects.
    pub fn from_objects(objects: impl IntoIterator<Item = DumpedObject>, discovery: Discovery) -> Self {
        let mut tables: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for object in objects {
            let table = tables.entry((object.kind.group.clone(), object.plural.clone())).or_default();
            let text = |field: &str| object.value["metadata"][field].as_str().unwrap_or_default().to_string();
            table.insert((text("namespace"), text("name")), object);
        }
        Self { tables, discovery, problems: Vec::new() }
    }

    /// Returns the files that could not be read or do not belong in the directory.
    pub fn problems(&self) -> &[ReadProblem] {
        &self.problems
    }

    /// Returns the resources that the dumped cluster serves: from its discovery documents or the bundled ones, and from
    /// its CRDs and objects.
    pub fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// Returns all objects, sorted by group, resource, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = &DumpedObject> {
        self.tables.values().flat_map(BTreeMap::values)
    }

    /// Returns all objects by value.
    pub fn into_objects(self) -> Vec<DumpedObject> {
        self.tables.into_values().flat_map(BTreeMap::into_values).collect()
    }

    /// Returns one object.
    ///
    /// # Errors
    /// If the directory contains the object in another version.
    pub fn get(&self, of: &ResourceType, namespace: &str, name: &str) -> Result<Option<&Value>, MustGatherError> {
        let table = self.tables.get(&(of.group.clone(), of.resource.clone()));
        // Requests for a Namespace use the Namespace itself as the namespace.
        let namespace = if of.is_namespaces() { "" } else { namespace };
        let found = table.and_then(|table| table.get(&(namespace.to_string(), name.to_string())));
        found.map(|object| in_version(of, object)).transpose()
    }

    /// Returns the objects of a type, sorted by namespace and name.
    ///
    /// # Errors
    /// If the type is unknown, or the directory contains its objects in another version.
    pub fn list(&self, of: &ResourceType, query: &MustGatherQuery<'_>) -> Result<Vec<&Value>, MustGatherError> {
        if self.kind(of).is_none() {
            return Err(MustGatherError::UnknownResource(of.clone()));
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

    /// Returns the kind of a type's objects, from discovery or from the objects.
    pub fn kind(&self, of: &ResourceType) -> Option<GroupVersionKind> {
        let served = self.discovery.served(of).map(|served| served.kind.clone());
        served.or_else(|| {
            let table = self.tables.get(&(of.group.clone(), of.resource.clone()))?;
            Some(table.values().next()?.kind.clone())
        })
    }
}

impl MustGatherQuery<'_> {
    fn takes(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
        self.labels.matches(labels) && self.fields.matches(|field| field_of(object, field))
    }
}

/// Returns a field as text by its dotted path, or an empty text if it is missing.
fn field_of<'a>(object: &'a Value, path: &str) -> Cow<'a, str> {
    match path.split('.').try_fold(object, |value, key| value.get(key)) {
        Some(Value::String(text)) => Cow::Borrowed(text),
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(other) => Cow::Owned(other.to_string()),
    }
}

fn in_version<'a>(of: &ResourceType, object: &'a DumpedObject) -> Result<&'a Value, MustGatherError> {
    if object.kind.version == of.version {
        return Ok(&object.value);
    }
    let name = object.value["metadata"]["name"].as_str().unwrap_or_default().to_string();
    Err(MustGatherError::OtherVersion { of: of.clone(), name, found: object.kind.api_version() })
}

#[cfg(test)]
mod tests;
