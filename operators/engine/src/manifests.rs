//! Generation of objects from plain YAML or a chart. Error messages are Argo CD's.

mod chart;

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_object::quote::quote;
use switchboard_object::yaml;

use crate::glob;
use crate::object_fields::text;

/// Maximum number of objects of one Application.
pub const MAX_OBJECTS: usize = 10_000;
/// Marker in a file that excludes it.
const SKIP: &str = "+argocd:skip-file-rendering";

/// Function that reads a file of the repository by its path, or returns `None` if there is none.
pub type RepositoryFileReader<'a> = &'a dyn Fn(&str) -> Result<Option<Vec<u8>>, String>;

/// Files of the Application's folder by relative name.
pub type FolderFiles = BTreeMap<String, Vec<u8>>;

/// Objects generated from an Application's folder.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedManifests {
    /// Source type: `Directory` or `Helm`.
    pub source_type: &'static str,
    /// Generated objects.
    pub objects: Vec<Value>,
}

/// Application and namespace that manifests are generated for.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseTarget<'a> {
    /// Name of the Application, and the default name of the release.
    pub application: &'a str,
    /// Destination namespace.
    pub namespace: &'a str,
}

/// Generates the objects of a folder. `elsewhere` reads a file of the repository by its path, because value files may
/// lie outside of the folder.
///
/// # Errors
/// If a manifest or chart is invalid, with Argo CD's message.
pub fn generate(
    source: &Value,
    files: &FolderFiles,
    whose: ReleaseTarget<'_>,
    elsewhere: RepositoryFileReader<'_>,
) -> Result<GeneratedManifests, String> {
    let is = |field: &str| source[field].is_object();
    if is("plugin") || is("kustomize") || is_kustomization(files) && !is("directory") && !is("helm") {
        return Err(
            "the embedded engine supports plain YAML and Helm charts, but no Kustomize and no plugins".to_string()
        );
    }
    let (source_type, objects) = if files.contains_key("Chart.yaml") && !is("directory") {
        ("Helm", chart::render(source, files, whose, elsewhere)?)
    } else {
        ("Directory", directory(source, files)?)
    };
    if objects.len() > MAX_OBJECTS {
        return Err(format!("{} objects exceed the limit of {MAX_OBJECTS}", objects.len()));
    }
    Ok(GeneratedManifests { source_type, objects: objects.into_iter().flat_map(list_items).collect() })
}

fn is_kustomization(files: &FolderFiles) -> bool {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"].iter().any(|name| files.contains_key(*name))
}

/// Replaces a `List` by its items.
fn list_items(object: Value) -> Vec<Value> {
    let is_list = text(&object, "/kind").ends_with("List");
    match object.get("items").and_then(Value::as_array) {
        Some(items) if is_list => items.clone(),
        _ => vec![object],
    }
}

fn directory(source: &Value, files: &FolderFiles) -> Result<Vec<Value>, String> {
    let recurse = source["directory"]["recurse"] == true;
    let (include, exclude) = (text(source, "/directory/include"), text(source, "/directory/exclude"));
    let mut objects = Vec::new();
    for (name, bytes) in files {
        let is_manifest = [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end));
        if !is_manifest || (name.contains('/') && !recurse) {
            continue;
        }
        if (!exclude.is_empty() && glob::matches(exclude, name))
            || (!include.is_empty() && !glob::matches(include, name))
        {
            continue;
        }
        let content = String::from_utf8_lossy(bytes);
        if !content.contains(SKIP) {
            objects.extend(documents(name, &content)?);
        }
    }
    Ok(objects)
}

fn documents(name: &str, content: &str) -> Result<Vec<Value>, String> {
    let base = name.rsplit('/').next().unwrap_or(name);
    let looks_like_one = ["apiVersion:", "kind:", "metadata:"].iter().all(|word| content.contains(word));
    let broken = |why: String| format!("Failed to unmarshal {}: failed to unmarshal manifest: {why}", quote(base));
    let read = match yaml::read_all(content) {
        Ok(read) => read,
        // YAML files without manifests are ignored.
        Err(_) if !looks_like_one && !name.ends_with(".json") => return Ok(Vec::new()),
        Err(error) => return Err(broken(error.to_string())),
    };
    let mut objects = Vec::new();
    for document in read.into_iter().map(|document| document.value).filter(|value| !value.is_null()) {
        if !text(&document, "/kind").is_empty() && !text(&document, "/apiVersion").is_empty() {
            objects.push(document);
        } else if looks_like_one {
            return Err(broken("Object 'Kind' is missing".to_string()));
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests;
