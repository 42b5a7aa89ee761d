//! Conversion of a server's answers to datafiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::{Bundle, Datafile, FieldLines};
use crate::problem::DataProblem;

/// Datafiles by path, with problems.
#[derive(Default)]
pub struct ServerFiles {
    files: BTreeMap<String, Value>,
    problems: Vec<DataProblem>,
    /// Schemas of unreadable files.
    schemas_of_unread: BTreeMap<Arc<str>, String>,
}

impl ServerFiles {
    /// Adds the settings of app-interface.
    pub fn settings(&mut self, data: Value) {
        self.plain("/app-interface/app-interface-settings-1.yml", data);
    }

    /// Adds cloud accounts.
    pub fn accounts(&mut self, data: Value) {
        self.plain("/aws/account-1.yml", data);
    }

    /// Adds OCM organizations.
    pub fn organizations(&mut self, data: Value) {
        self.plain("/openshift/openshift-cluster-manager-1.yml", data);
    }

    /// Adds clusters for sharding. The clusters of namespaces are in the namespaces' own files.
    pub fn clusters(&mut self, data: Value) {
        self.plain("/openshift/cluster-1.yml", data);
    }

    /// Adds integrations and their namespaces.
    pub fn integrations(&mut self, data: Value) {
        for mut file in self.listed(data) {
            let Some(path) = self.path(&mut file) else { continue };
            for managed in file.get_mut("managed").and_then(Value::as_array_mut).into_iter().flatten() {
                self.managed(&path, managed);
            }
            self.insert(&path, "/app-sre/integration-1.yml", file);
        }
    }

    /// Creates the bundle.
    pub fn finish(self, sha: &str) -> Bundle {
        let files = self.files.into_iter();
        let files = files.map(|(path, value)| Datafile::new(&path, value, FieldLines::default()));
        Bundle::new(sha, files, self.problems).with_schemas(self.schemas_of_unread)
    }

    fn plain(&mut self, schema: &str, data: Value) {
        for mut file in self.listed(data) {
            if let Some(path) = self.path(&mut file) {
                self.insert(&path, schema, file);
            }
        }
    }

    /// Moves the namespace of an entry to its own file, in app-interface's lean form with inline cluster and
    /// environment. Overrides get back the `$ref` of their shard.
    fn managed(&mut self, integration: &str, managed: &mut Value) {
        let namespace = managed["namespace"].take();
        if let Value::Object(mut namespace) = namespace
            && let Some(path) = self.path(&mut namespace)
        {
            managed["namespace"] = json!({ "$ref": path });
            self.text_of_json(integration, &mut namespace, "environment", "parameters");
            self.text_of_json(integration, &mut namespace, "cluster", "labels");
            self.insert(&path, "/openshift/lean-namespace-1.yml", namespace);
        }
        let overrides = managed.pointer_mut("/sharding/shardSpecOverrides").and_then(Value::as_array_mut);
        for one in overrides.into_iter().flatten() {
            if let Some(path) = one["shard"]["path"].as_str().map(str::to_string) {
                one["shard"] = json!({ "$ref": path });
            }
        }
    }

    /// Parses a field that the server returns as JSON text.
    fn text_of_json(&mut self, integration: &str, file: &mut Map<String, Value>, object: &str, field: &str) {
        let Some(value) = file.get_mut(object).and_then(|object| object.get_mut(field)) else { return };
        let Value::String(text) = &*value else { return };
        match serde_json::from_str(text) {
            Ok(parsed) => *value = parsed,
            Err(error) => {
                let message = format!("the server's {object}.{field} is not JSON: {error}");
                self.problems.push(DataProblem::of_file(integration, message));
                *value = Value::Null;
            }
        }
    }

    fn path(&mut self, file: &mut Map<String, Value>) -> Option<String> {
        match file.remove("path") {
            Some(Value::String(path)) => Some(path),
            _ => {
                let name = file.get("name").and_then(Value::as_str).unwrap_or("a datafile");
                self.problems.push(DataProblem::of_file("", format!("the server returned no path for {name}")));
                None
            }
        }
    }

    /// Adds a problem for a file of which the server could return only the path.
    pub fn unreadable(&mut self, path: &str, schema: &str, said: &[String]) {
        self.problems.push(DataProblem::of_file(path, format!("the server reports: {}", said.join("; "))));
        self.schemas_of_unread.insert(Arc::from(path), schema.to_string());
    }

    fn listed(&mut self, mut data: Value) -> Vec<Map<String, Value>> {
        let Value::Array(files) = data["files"].take() else { return Vec::new() };
        let (files, others): (Vec<Value>, Vec<Value>) = files.into_iter().partition(Value::is_object);
        for other in others {
            self.problems.push(DataProblem::of_file("", format!("the server returned {other} instead of a datafile")));
        }
        let object = |file| if let Value::Object(file) = file { Some(file) } else { None };
        files.into_iter().filter_map(object).collect()
    }

    fn insert(&mut self, path: &str, schema: &str, mut file: Map<String, Value>) {
        without_nulls(&mut file);
        file.insert("$schema".to_string(), Value::from(schema));
        self.files.insert(path.to_string(), Value::Object(file));
    }
}

/// Removes nulls, which the server returns for missing fields. User-defined objects are kept unchanged.
fn without_nulls(file: &mut Map<String, Value>) {
    file.retain(|_, value| !value.is_null());
    for (_, value) in file.iter_mut().filter(|(key, _)| !["parameters", "labels"].contains(&key.as_str())) {
        match value {
            Value::Object(map) => without_nulls(map),
            Value::Array(list) => list.iter_mut().filter_map(Value::as_object_mut).for_each(without_nulls),
            _ => {}
        }
    }
}
