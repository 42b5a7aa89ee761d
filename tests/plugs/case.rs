//! Conformance case: a YAML file with user actions and expected results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::server::ServerBehavior;

/// One file below `tests/plugs/cases`. `${case}` stands for its namespace, `${apparatus}` for the URL of its test
/// server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlugCase {
    /// Description in one sentence.
    pub title: String,
    /// Further namespaces, with the case's namespace as a prefix.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// With `none`, the default service accounts have no rights; otherwise they have all rights in their namespace.
    pub grants: Option<String>,
    /// Steps in order.
    pub steps: Vec<PlugStep>,
}

/// Actions followed by expectations, in the order of the fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PlugStep {
    /// Objects, or names of files below `tests/plugs/objects`.
    pub apply: Vec<Value>,
    /// Merge patches by `Kind/name`.
    pub patch: BTreeMap<String, Value>,
    /// Words of the refusal if the patch may be refused.
    pub or_refused: Vec<String>,
    /// Objects to delete, as `Kind/name`.
    pub delete: Vec<String>,
    /// Pods whose process fails.
    pub crash: Vec<String>,
    /// New behavior of the test server.
    pub apparatus: Option<ServerBehavior>,
    /// Whether to release Jobs that wait for the gate.
    pub open_gate: bool,
    /// Whether to restart the operators.
    pub restart: bool,
    /// An object that must be refused, with words of the refusal.
    pub refused: Option<ExpectedRefusal>,
    /// Expected objects, by `Kind/name`.
    pub until: BTreeMap<String, Value>,
    /// Timeout in seconds.
    pub within: Option<u64>,
    /// Whether to wait until all units are idle.
    pub settle: bool,
    /// Number of writes by the operators since they were started.
    pub writes: Option<u64>,
    /// Maximum number of writes.
    pub writes_at_most: Option<u64>,
    /// Reasons of an object's Kubernetes Events, in any order, without warnings.
    pub events: BTreeMap<String, Vec<String>>,
    /// Objects with a warning Event.
    pub warned: Vec<String>,
    /// Calls to the test server since the last check, without pings: `any`, or a part of the body of each.
    pub calls: Option<Value>,
    /// Total number of calls, by call.
    pub tally: BTreeMap<String, Value>,
    /// Last call.
    pub last: Option<String>,
    /// Clients that exist on the test server.
    pub clients: Option<BTreeSet<String>>,
    /// Fields to save: `name: Kind/name path`.
    pub save: BTreeMap<String, String>,
    /// Fields that must equal their saved values.
    pub same: BTreeMap<String, String>,
    /// Fields that must differ from their saved values.
    pub differs: BTreeMap<String, String>,
    /// Number of objects by kind, optionally with a name prefix: `ConfigMap of-`.
    pub count: BTreeMap<String, usize>,
    /// Length of a list: `Kind/name path`.
    pub length: BTreeMap<String, usize>,
}

/// An object that must be refused.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedRefusal {
    /// Object.
    pub object: Value,
    /// Words of the refusal.
    pub says: Vec<String>,
}

/// Returns all cases by file name.
pub fn all() -> Vec<(String, PlugCase)> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder("cases")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let case = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name} is no case: {error}"));
        cases.push((name, case));
    }
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

/// Returns the objects of a file.
pub fn objects(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder("objects").join(format!("{name}.yaml"))).unwrap();
    serde_saphyr::from_multiple(&text).unwrap()
}

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plugs").join(name)
}
