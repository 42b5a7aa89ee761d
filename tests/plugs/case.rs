//! A conformance case: one YAML file with what people do, and what must come of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::server::ServerBehavior;

/// One file below `tests/plugs/cases`. `${case}` stands for its namespace, `${apparatus}` for the URL of its test server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlugCase {
    /// What it shows, as one sentence.
    pub title: String,
    /// Further namespaces, each named after the case's own.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// `none`: the default service accounts may do nothing; otherwise they may do everything in their namespace.
    pub grants: Option<String>,
    /// In order.
    pub steps: Vec<PlugStep>,
}

/// What is done, then what must hold; in the order of the fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PlugStep {
    /// Objects, or names of files below `tests/plugs/objects`.
    pub apply: Vec<Value>,
    /// Merge patches by `Kind/name`.
    pub patch: BTreeMap<String, Value>,
    /// The patch may be refused as well, with these words.
    pub or_refused: Vec<String>,
    /// `Kind/name`.
    pub delete: Vec<String>,
    /// Pods whose process ends with an error.
    pub crash: Vec<String>,
    /// How the test server behaves from now on.
    pub apparatus: Option<ServerBehavior>,
    /// Lets Jobs that wait for the gate go on.
    pub open_gate: bool,
    /// Stops the operators and starts them again.
    pub restart: bool,
    /// An object that must be refused, and words of the refusal.
    pub refused: Option<ExpectedRefusal>,
    /// What must come about, by `Kind/name`.
    pub until: BTreeMap<String, Value>,
    /// In how many seconds.
    pub within: Option<u64>,
    /// Until nobody has anything left to do.
    pub settle: bool,
    /// How many writes the operators made since they were started.
    pub writes: Option<u64>,
    /// How many at most.
    pub writes_at_most: Option<u64>,
    /// The Kubernetes Events of an object by reason, in any order; warnings apart.
    pub events: BTreeMap<String, Vec<String>>,
    /// Objects with a warning among their Events.
    pub warned: Vec<String>,
    /// The calls to the test server since the last look, pings apart: `any`, or each with a part of its body.
    pub calls: Option<Value>,
    /// How often these calls came, since the beginning.
    pub tally: BTreeMap<String, Value>,
    /// The last call.
    pub last: Option<String>,
    /// The clients that the test server has made.
    pub clients: Option<BTreeSet<String>>,
    /// Keeps fields: `name: Kind/name path`.
    pub save: BTreeMap<String, String>,
    /// They are what they were.
    pub same: BTreeMap<String, String>,
    /// They are not.
    pub differs: BTreeMap<String, String>,
    /// How many objects of a kind there are, or of those whose names begin so: `ConfigMap of-`.
    pub count: BTreeMap<String, usize>,
    /// How long a list is: `Kind/name path`.
    pub length: BTreeMap<String, usize>,
}

/// An object that must be refused.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedRefusal {
    /// Which.
    pub object: Value,
    /// Words of the refusal.
    pub says: Vec<String>,
}

/// All cases, by the name of their file.
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

/// The objects of a file.
pub fn objects(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder("objects").join(format!("{name}.yaml"))).unwrap();
    serde_saphyr::from_multiple(&text).unwrap()
}

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plugs").join(name)
}
