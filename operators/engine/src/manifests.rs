//! From files to objects: plain YAML, or a chart. Errors are told as Argo CD tells them.

mod chart;

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_object::yaml;

use crate::field::text;
use crate::glob;

/// How many objects one Application may have.
pub const MAX_OBJECTS: usize = 10_000;
/// A file with this text in it is left alone.
const SKIP: &str = "+argocd:skip-file-rendering";

/// Gives a file of the repository by its path; none when there is no such file.
pub type Elsewhere<'a> = &'a dyn Fn(&str) -> Result<Option<Vec<u8>>, String>;

/// Files by name, from the Application's folder.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What an Application's folder is made into.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// `Directory` or `Helm`.
    pub source_type: &'static str,
    /// The objects.
    pub objects: Vec<Value>,
}

/// For whom it is made.
#[derive(Clone, Copy, Debug)]
pub struct For<'a> {
    /// The Application's name, which is the release's unless that is said.
    pub application: &'a str,
    /// The namespace it goes to.
    pub namespace: &'a str,
}

/// Makes objects of a folder. `elsewhere` gives a file of the repository by its path: values may lie outside of the folder.
///
/// # Errors
/// In Argo CD's words.
pub fn make(source: &Value, files: &Files, whose: For<'_>, elsewhere: Elsewhere<'_>) -> Result<Made, String> {
    let is = |field: &str| source[field].is_object();
    if is("plugin") || is("kustomize") || kustomization(files) && !is("directory") && !is("helm") {
        return Err("the embedded engine knows plain YAML and Helm charts, no Kustomize and no plugins".to_string());
    }
    let (source_type, objects) = if files.contains_key("Chart.yaml") && !is("directory") {
        ("Helm", chart::render(source, files, whose, elsewhere)?)
    } else {
        ("Directory", directory(source, files)?)
    };
    if objects.len() > MAX_OBJECTS {
        return Err(format!("{} objects are more than the {MAX_OBJECTS} that are deployed at once", objects.len()));
    }
    Ok(Made { source_type, objects: objects.into_iter().flat_map(unrolled).collect() })
}

fn kustomization(files: &Files) -> bool {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"].iter().any(|name| files.contains_key(*name))
}

/// A `List` is its items.
fn unrolled(object: Value) -> Vec<Value> {
    let is_list = text(&object, "/kind").ends_with("List");
    match object.get("items").and_then(Value::as_array) {
        Some(items) if is_list => items.clone(),
        _ => vec![object],
    }
}

fn directory(source: &Value, files: &Files) -> Result<Vec<Value>, String> {
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
    let broken = |why: String| format!("Failed to unmarshal {base:?}: failed to unmarshal manifest: {why}");
    let read = match yaml::read_all(content) {
        Ok(read) => read,
        // A YAML file about something else is nobody's fault.
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
