//! Dependencies that a manifest lists and no source uses.

use std::fs;

use regex::Regex;

use crate::manifest::{self, listed};
use crate::production::{production, sources};
use crate::source::code;
use crate::{EXAMPLES, crates, none, root};

/// Dependencies that only select features of another crate: package, dependency, reason.
const FEATURES_ONLY: &[(&str, &str, &str)] = &[
    ("kubernetes/cluster", "k8s-openapi", "kube compiles only with a Kubernetes version, which this crate selects"),
    ("examples/dns-records", "k8s-openapi", "named by the code of kube's derive"),
    ("examples/dns-records", "serde_json", "named by the code of kube's derive"),
];

/// A manifest, and the folders with the sources of its dependency tables.
struct Package {
    folder: String,
    /// Sources of `[dependencies]`.
    production: Vec<String>,
    /// Sources of `[build-dependencies]`.
    build: Vec<String>,
    /// Sources of `[dev-dependencies]`.
    development: Vec<String>,
}

/// Every package of the tree, of the workspace or not.
fn packages() -> Vec<Package> {
    let texts = |folders: &[&str]| folders.iter().map(|folder| folder.to_string()).collect();
    let usual = crates().into_iter().chain(EXAMPLES.iter().map(|(folder, _)| folder.to_string()));
    let usual = usual.map(|folder| Package {
        production: vec![format!("{folder}/src")],
        build: vec![format!("{folder}/build.rs")],
        development: ["src", "tests", "benches"].map(|part| format!("{folder}/{part}")).to_vec(),
        folder,
    });
    let suite = Package {
        folder: ".".to_string(),
        production: texts(&["tests/suite"]),
        build: texts(&["build.rs"]),
        development: texts(&["tests", "benches"]),
    };
    let fuzz = Package {
        folder: "tests/fuzz".to_string(),
        production: texts(&["tests/fuzz/fuzz_targets"]),
        build: Vec::new(),
        development: Vec::new(),
    };
    usual.chain([suite, fuzz]).collect()
}

/// Whether code without comments and literals uses a crate: a path from it, or its import.
fn uses(code: &str, dependency: &str) -> bool {
    let name = dependency.replace('-', "_");
    let used = format!(r"(^|[^\w:.]){name}\s*::|\buse\s+{name}\s*(;|as\b)|\bextern\s+crate\s+{name}\b");
    Regex::new(&used).unwrap().is_match(code)
}

#[test]
fn crates_use_what_they_depend_on() {
    let mut breaches = Vec::new();
    for package in packages() {
        let manifest = fs::read_to_string(root().join(&package.folder).join("Cargo.toml")).unwrap();
        let own = package.production.iter().flat_map(|folder| production(folder));
        let build = package.build.iter().flat_map(|file| sources(file));
        let all = package.development.iter().flat_map(|folder| sources(folder));
        let own: String = own.map(|(_, text)| code(&text)).collect();
        let build: String = build.map(|(_, text)| code(&text)).collect();
        let all: String = all.map(|(_, text)| code(&text)).collect();
        for (table, code) in [(manifest::PRODUCTION, &own), (manifest::BUILD, &build), (manifest::TESTS, &all)] {
            let is_excused =
                |name: &str| FEATURES_ONLY.iter().any(|row| (row.0, row.1) == (package.folder.as_str(), name));
            let unused = listed(&manifest, table).into_iter().filter(|name| !is_excused(name) && !uses(code, name));
            breaches.extend(unused.map(|name| format!("{}/Cargo.toml: [{table}] {name}", package.folder)));
        }
    }
    none(breaches, "remove the dependency, or move it to [dev-dependencies] if only tests use it");
}

#[test]
fn dependencies_stand_in_one_table() {
    let mut breaches = Vec::new();
    for package in packages() {
        let manifest = fs::read_to_string(root().join(&package.folder).join("Cargo.toml")).unwrap();
        // A line with features of its own adds them for tests.
        let again: Vec<String> =
            manifest::rows(&manifest, manifest::TESTS).filter(|row| !row.contains("features")).collect();
        let production = listed(&manifest, manifest::PRODUCTION);
        let twice =
            production.iter().filter(|name| again.iter().any(|row| row.split(['.', ' ', '=']).next() == Some(name)));
        breaches.extend(twice.map(|name| format!("{}/Cargo.toml: {name}", package.folder)));
    }
    none(breaches, "remove it from [dev-dependencies]: tests use the dependencies of their crate");
}

#[test]
fn excused_dependencies_are_listed() {
    let is_stale = |row: &&(&str, &str, &str)| {
        let manifest = fs::read_to_string(root().join(row.0).join("Cargo.toml")).unwrap();
        !listed(&manifest, "dependencies").iter().any(|name| name == row.1)
    };
    let stale = FEATURES_ONLY.iter().filter(is_stale).map(|row| format!("{}: {}", row.0, row.1)).collect();
    none(stale, "remove the row from FEATURES_ONLY");
}

#[test]
fn uses_are_paths_and_imports() {
    for good in ["use jiff::Span;", "let a = jiff::Span::new();", "use jiff;", "use jiff as time;", "<jiff::Span>"] {
        assert!(uses(good, "jiff"), "{good}");
    }
    for bad in ["value.to_jiff()", "let jiff = 1;", "mod jiff;", "use crate::jiff::Span;", "tracing_jiff::init()"] {
        assert!(!uses(bad, "jiff"), "{bad}");
    }
    assert!(uses("json_patch::patch(a)", "json-patch"));
}
