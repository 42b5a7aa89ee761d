//! Must-gather directories as library-go's `manifestclient` reads them, including its gaps, as with `--compat`.
//!
//! Every request reads its files again and depends only on the path. `docs/reference/gather.md` describes the differences to
//! Switchboard's own reader.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use switchboard_object::selector::LabelSelector;
use switchboard_object::yaml;

use crate::contract::ResourceType;
use crate::discovery::Discovery;

/// A directory read like library-go's `manifestclient`.
#[derive(Clone, Debug)]
pub struct ManifestClient {
    root: PathBuf,
    discovery: Discovery,
}

/// Server errors of `manifestclient`, with its texts where they are stable.
#[derive(Debug, thiserror::Error)]
pub enum ManifestClientError {
    /// A file cannot be read or decoded.
    #[error("unable to read file {}: {why}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        why: String,
    },
    /// An object has another version.
    #[error("actual version {actual} does not match request {wanted}")]
    Version {
        /// Version of the object.
        actual: String,
        /// Requested version.
        wanted: String,
    },
    /// The discovery documents do not contain the resource.
    #[error("unable to determine list kind: did not find kind for {0}")]
    Unknown(ResourceType),
    /// The first file has another kind than the discovery documents.
    #[error("inconsistent list kind: got {actual}, expected {wanted}")]
    Kind {
        /// Kind in the file.
        actual: String,
        /// Kind in the discovery documents.
        wanted: String,
    },
    /// The selector is invalid.
    #[error("failed to filter by labelSelector {0}")]
    Selector(String),
}

type ManifestClientResult<T> = Result<T, ManifestClientError>;

impl ManifestClient {
    /// Reads a directory. A missing one is an empty cluster.
    pub fn new(root: &Path) -> Self {
        Self { root: root.into(), discovery: Discovery::at_root(root) }
    }

    /// Returns one object, from its own file or else from the list of its resource.
    ///
    /// # Errors
    /// If a file cannot be read or has another version.
    pub fn get(&self, of: &ResourceType, namespace: &str, name: &str) -> ManifestClientResult<Option<Value>> {
        let is_namespace = of.is_namespaces() && of.version == "v1";
        // `manifestclient` treats a Namespace as an object in itself.
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

    /// Returns the list of a resource, in one namespace or in all.
    ///
    /// # Errors
    /// If a file cannot be read or has another kind, or the discovery documents do not contain the resource.
    pub fn list(&self, of: &ResourceType, namespace: &str, labels: &str) -> ManifestClientResult<Value> {
        if of.is_namespaces() && of.version == "v1" {
            return self.namespaces();
        }
        let served = self.discovery.served(of).ok_or_else(|| ManifestClientError::Unknown(of.clone()))?;
        let selector = match labels {
            "" => LabelSelector::everything(),
            text => LabelSelector::parse(text).map_err(|_| ManifestClientError::Selector(text.into()))?,
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

    fn namespaces(&self) -> ManifestClientResult<Value> {
        let mut found = Vec::new();
        for name in self.namespace_names()? {
            found.extend(self.read(&format!("namespaces/{name}/{name}.yaml"))?);
        }
        Ok(json!({"apiVersion": "v1", "kind": "NamespaceList", "items": found}))
    }

    /// Returns single files, which only count if there is no list at all. Their names do not matter.
    fn singles(&self, of: &ResourceType, scopes: &[String]) -> ManifestClientResult<Vec<Value>> {
        let mut found = Vec::new();
        for scope in scopes {
            let folder = format!("{scope}/{}/{}", group(of), of.resource);
            for name in self.names(&folder)? {
                found.extend(self.read(&format!("{folder}/{name}"))?);
            }
        }
        Ok(found)
    }

    fn scopes(&self, namespace: &str) -> ManifestClientResult<Vec<String>> {
        if !namespace.is_empty() {
            return Ok(vec![scope(namespace)]);
        }
        let mut scopes = vec![scope("")];
        scopes.extend(self.namespace_names()?.iter().map(|name| scope(name)));
        Ok(scopes)
    }

    fn namespace_names(&self) -> ManifestClientResult<Vec<String>> {
        self.names("namespaces")
    }

    fn names(&self, folder: &str) -> ManifestClientResult<Vec<String>> {
        let path = self.root.join(folder);
        let failed = |error: io::Error| ManifestClientError::File { path: path.clone(), why: error.to_string() };
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

    fn read(&self, path: &str) -> ManifestClientResult<Option<Value>> {
        let path = self.root.join(path);
        let failed = |why: String| ManifestClientError::File { path: path.clone(), why };
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

fn versioned(of: &ResourceType, object: Value) -> ManifestClientResult<Value> {
    let (actual, wanted) = (object["apiVersion"].as_str().unwrap_or_default().to_string(), of.api_version());
    if actual == wanted { Ok(object) } else { Err(ManifestClientError::Version { actual, wanted }) }
}

fn check(object: &Value, (version, kind): &(String, String)) -> ManifestClientResult<()> {
    if object["apiVersion"] == version.as_str() && object["kind"] == kind.as_str() {
        return Ok(());
    }
    let text = |version: &str, kind: &str| format!("{version}, Kind={kind}");
    let field_text = |field: &str| object[field].as_str().unwrap_or_default();
    Err(ManifestClientError::Kind {
        actual: text(field_text("apiVersion"), field_text("kind")),
        wanted: text(version, kind),
    })
}

/// Returns the items of a list. They inherit version and kind if they specify neither.
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
