//! Example data, read from each kind of source.

use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use switchboard_integrations::source::graphql::QontractServer as Client;
use switchboard_integrations::source::{Bundle, bundle, directory, sha256, yaml};

use crate::server::FakeQontractServer;

/// Integrations with sharding that qontract-reconcile does not support.
pub const BEYOND: &str = "/integrations/beyond/";
/// Namespace of these integrations only.
pub const BEYOND_NAMESPACE: &str = "integrations-beyond";

/// Returns the folder of the example.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/integrations")
}

pub fn from_directory() -> Bundle {
    directory::read(&folder()).unwrap()
}

pub fn from_bundle() -> Bundle {
    bundle::read(&folder().join("bundle.json")).unwrap()
}

/// Reads the example from a server, without fields that its types do not have.
pub fn from_server() -> Bundle {
    Client::new("http://server/graphql").unwrap().fetch(&served()).unwrap()
}

/// Returns a server with the example.
pub fn served() -> FakeQontractServer {
    FakeQontractServer::new(&without_beyond(&fs::read_to_string(folder().join("bundle.json")).unwrap()))
}

/// Returns a bundle without integrations that qontract-reconcile does not support.
pub fn without_beyond(bundle: &str) -> String {
    let mut bundle: Value = serde_json::from_str(bundle).unwrap();
    bundle["data"].as_object_mut().unwrap().retain(|path, _| !path.starts_with(BEYOND));
    bundle.to_string()
}

/// Returns a bundle of the directory like the bundler's, without the schemas, which may not be redistributed.
fn bundled() -> String {
    let read = from_directory();
    assert_eq!(read.problems(), []);
    let mut data = Map::new();
    for file in read.files() {
        let bytes = fs::read(folder().join("data").join(file.path.trim_start_matches('/'))).unwrap();
        let mut value = file.value().clone();
        value["$file_sha256sum"] = json!(sha256(&bytes));
        data.insert(file.path.to_string(), value);
    }
    let types = fs::read_to_string(folder().join("graphql.yml")).unwrap();
    let types = yaml::read(&types, yaml::DateHandling::Text).unwrap();
    let bundle = json!({
        "data": data, "git_commit": "1111111111111111111111111111111111111111", "git_commit_timestamp": "1763280000",
        "graphql": types, "resources": {}, "schemas": {},
    });
    format!("{bundle}\n")
}

/// `UPDATE=1` writes the bundle.
#[test]
fn the_bundle_matches_the_directory() {
    let path = folder().join("bundle.json");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, bundled()).unwrap();
    }
    assert!(fs::read_to_string(path).unwrap() == bundled(), "run with UPDATE=1 after a change of the data");
}
