//! Must-gather-like directories as library-go's `manifestclient` reads them, gaps included: what `--compat` asks for.
//!
//! Every request reads its files anew, and decides by the path alone. Where ours differ is in `docs/GATHER.md`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use switchboard_object::selector::LabelSelector;
use switchboard_object::yaml;

use crate::contract::ResourceType;
use crate::discovery::Discovery;

/// A directory that is read as the original reads it.
#[derive(Clone, Debug)]
pub struct Original {
    root: PathBuf,
    discovery: Discovery,
}

/// What the original answers with a server error; in its words where they are stable.
#[derive(Debug, thiserror::Error)]
pub enum OriginalError {
    /// A file cannot be read or decoded.
    #[error("unable to read file {}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// An object is of another version.
    #[error("actual version {actual} does not match request {wanted}")]
    Version {
        /// What it is of.
        actual: String,
        /// What was asked for.
        wanted: String,
    },
    /// Discovery does not know the resource.
    #[error("unable to determine list kind: did not find kind for {0}")]
    Unknown(ResourceType),
    /// The first file is of another kind than discovery says.
    #[error("inconsistent list kind: got {actual}, expected {wanted}")]
    Kind {
        /// What it is of.
        actual: String,
        /// What discovery says.
        wanted: String,
    },
    /// The selector is none.
    #[error("failed to filter by labelSelector {0}")]
    Selector(String),
}

type Answer<T> = Result<T, OriginalError>;

impl Original {
    /// A directory; one that is not there is an empty cluster.
    pub fn new(root: &Path) -> Self {
        Self { root: root.into(), discovery: Discovery::at_root(root) }
    }

    /// One object: from its own file, or else from the list of its resource.
    ///
    /// # Errors
    /// When a file cannot be read or is of another version.
    pub fn get(&self, of: &ResourceType, namespace: &str, name: &str) -> Answer<Option<Value>> {
        let is_namespace = of.is_namespaces() && of.version == "v1";
        // A Namespace is taken for an object in itself.
        let scope = if is_namespace { scope(name) } else { scope(namespace) };
        let single = if is_namespace {
            format!("namespaces/{name}/{name}.yaml")
        } else {
            format!("{scope}/{}/{}/{name}.yaml", group(of), of.resource)
        };
        if let Some(object) = self.read(&single)? {
            return versioned(of, object).map(Some);
        }
        let Some(list) = self.read(&format!("{scope}/{}/{}.yaml", group(of), of.resource))? else { return Ok(None) };
        let kind = list["kind"].as_str().unwrap_or_default();
        let kind = kind.strip_suffix("List").unwrap_or(kind).to_string();
        let found = items(&list).into_iter().find(|item| item["metadata"]["name"] == name);
        let found = found.map(|mut item| {
            item["kind"] = kind.into();
            versioned(of, item)
        });
        found.transpose()
    }

    /// The list of a resource, of one namespace or of all.
    ///
    /// # Errors
    /// When a file cannot be read or is of another kind, or discovery does not know the resource.
    pub fn list(&self, of: &ResourceType, namespace: &str, labels: &str) -> Answer<Value> {
        if of.is_namespaces() && of.version == "v1" {
            return self.namespaces();
        }
        let served = self.discovery.served(of).ok_or_else(|| OriginalError::Unknown(of.clone()))?;
        let selector = match labels {
            "" => LabelSelector::everything(),
            text => LabelSelector::parse(text).map_err(|_| OriginalError::Selector(text.into()))?,
        };
        let scopes = self.scopes(namespace)?;
        let mut all: Option<(Value, Vec<Value>)> = None;
        for scope in &scopes {
            let Some(list) = self.read(&format!("{scope}/{}/{}.yaml", group(of), of.resource))? else { continue };
            let further = items(&list);
            match &mut all {
                None => all = Some((list, further)),
                Some((_, items)) => items.extend(further),
            }
        }
        let (mut list, items) = match all {
            Some(found) => found,
            None => (json!({}), self.singles(of, &scopes)?),
        };
        let wanted = (served.kind.api_version(), format!("{}List", served.kind.kind));
        if list.get("kind").is_some() {
            check(&list, &wanted)?;
        } else {
            list["apiVersion"] = wanted.0.as_str().into();
            list["kind"] = wanted.1.as_str().into();
            items.first().map_or(Ok(()), |first| check(first, &(wanted.0, served.kind.kind.clone())))?;
        }
        let labels = |item: &Value| item.pointer("/metadata/labels").and_then(Value::as_object).cloned();
        let kept = items.into_iter().filter(|item| selector.matches(labels(item).as_ref())).collect();
        list["items"] = Value::Array(kept);
        Ok(list)
    }

    fn namespaces(&self) -> Answer<Value> {
        let mut found = Vec::new();
        for name in self.namespace_names()? {
            found.extend(self.read(&format!("namespaces/{name}/{name}.yaml"))?);
        }
        Ok(json!({"apiVersion": "v1", "kind": "NamespaceList", "items": found}))
    }

    /// Single files count only where there is no list at all, whatever they are called.
    fn singles(&self, of: &ResourceType, scopes: &[String]) -> Answer<Vec<Value>> {
        let mut found = Vec::new();
        for scope in scopes {
            let folder = format!("{scope}/{}/{}", group(of), of.resource);
            for name in self.names(&folder)? {
                found.extend(self.read(&format!("{folder}/{name}"))?);
            }
        }
        Ok(found)
    }

    fn scopes(&self, namespace: &str) -> Answer<Vec<String>> {
        if !namespace.is_empty() {
            return Ok(vec![scope(namespace)]);
        }
        let mut scopes = vec![scope("")];
        scopes.extend(self.namespace_names()?.iter().map(|name| scope(name)));
        Ok(scopes)
    }

    fn namespace_names(&self) -> Answer<Vec<String>> {
        self.names("namespaces")
    }

    fn names(&self, folder: &str) -> Answer<Vec<String>> {
        let path = self.root.join(folder);
        let failed = |error: io::Error| OriginalError::File { path: path.clone(), why: error.to_string() };
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(failed)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn read(&self, path: &str) -> Answer<Option<Value>> {
        let path = self.root.join(path);
        let failed = |why: String| OriginalError::File { path: path.clone(), why };
        let text = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| failed(error.to_string()))?,
        };
        let value = yaml::read(&String::from_utf8_lossy(&text)).map_err(|error| failed(error.message))?.value;
        if value["kind"].as_str().is_none_or(str::is_empty) {
            return Err(failed(format!("Object 'Kind' is missing in '{value}'")));
        }
        Ok(Some(value))
    }
}

fn group(of: &ResourceType) -> &str {
    if of.group.is_empty() { "core" } else { &of.group }
}

fn scope(namespace: &str) -> String {
    if namespace.is_empty() { "cluster-scoped-resources".into() } else { format!("namespaces/{namespace}") }
}

fn versioned(of: &ResourceType, object: Value) -> Answer<Value> {
    let (actual, wanted) = (object["apiVersion"].as_str().unwrap_or_default().to_string(), of.api_version());
    if actual == wanted { Ok(object) } else { Err(OriginalError::Version { actual, wanted }) }
}

fn check(object: &Value, (version, kind): &(String, String)) -> Answer<()> {
    if object["apiVersion"] == version.as_str() && object["kind"] == kind.as_str() {
        return Ok(());
    }
    let text = |version: &str, kind: &str| format!("{version}, Kind={kind}");
    let said = |field: &str| object[field].as_str().unwrap_or_default();
    Err(OriginalError::Kind { actual: text(said("apiVersion"), said("kind")), wanted: text(version, kind) })
}

/// Items inherit version and kind where they state neither.
fn items(list: &Value) -> Vec<Value> {
    let kind = list["kind"].as_str().unwrap_or_default();
    let kind = kind.strip_suffix("List").unwrap_or(kind);
    let empty =
        |fields: &Map<String, Value>, key: &str| fields.get(key).is_none_or(|value| value == "" || value.is_null());
    let mut items: Vec<Value> = list["items"].as_array().cloned().unwrap_or_default();
    for fields in items.iter_mut().filter_map(Value::as_object_mut) {
        if empty(fields, "kind") && empty(fields, "apiVersion") {
            fields.insert("kind".into(), kind.into());
            fields.insert("apiVersion".into(), list["apiVersion"].clone());
        }
    }
    items
}

#[cfg(test)]
mod tests;
