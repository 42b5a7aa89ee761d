//! House rules that a machine can check. Each test is one rule and says what to do about a breach.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "tidy/architecture.rs"]
mod architecture;
#[path = "tidy/comments.rs"]
mod comments;
#[path = "tidy/commits.rs"]
mod commits;
#[path = "tidy/dependencies.rs"]
mod dependencies;
#[path = "tidy/english.rs"]
mod english;
#[path = "tidy/licences.rs"]
mod licences;
#[path = "tidy/manifest.rs"]
mod manifest;
#[path = "tidy/markdown.rs"]
mod markdown;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/operators.rs"]
mod operators;
#[path = "tidy/packages.rs"]
mod packages;
#[path = "tidy/production.rs"]
mod production;
#[path = "tidy/prose.rs"]
mod prose;
#[path = "tidy/quoting.rs"]
mod quoting;
#[path = "tidy/shared_data.rs"]
mod shared_data;
#[path = "tidy/source.rs"]
mod source;

/// Longest file of code, tests and data apart.
const MAX_LINES: usize = 400;

/// Most doc comments of the whole tree that may open with a question word; peers are at 1 to 4 % of theirs.
const MAX_QUESTION_OPENINGS: usize = 150;

/// Most uses of somebody, nobody, whoever, anew and the like in comments, texts and documents.
const MAX_INDEFINITE_PERSONS: usize = 40;

/// Most words in a cell of a table.
const MAX_CELL_WORDS: usize = 40;

/// Most type names that three or more definitions may share; kube-rs has 25, uv 36.
const MAX_REPEATED_TYPE_NAMES: usize = 39;

/// The folders that are layers, lowest first. A crate uses crates of its own folder or of the folders before it.
const LAYERS: &[&str] = &["kubernetes", "helm", "kernel", "hosting", "operators", "app"];

/// The crates each crate may depend on, by folder. Arrows point downwards, also those of dev-dependencies.
const BORDERS: &[(&str, &[&str])] = &[
    ("kubernetes/object", &[]),
    ("kubernetes/cluster", &["object"]),
    ("helm/template", &["object"]),
    ("helm/chart", &["object", "template"]),
    ("kernel/kernel", &["object"]),
    ("kernel/probe", &["object", "cluster", "kernel"]),
    ("kernel/sql", &["kernel"]),
    ("kernel/http", &["object", "kernel"]),
    ("hosting/gather", &["object"]),
    ("hosting/sandbox", &[]),
    ("hosting/hosted", &["object", "gather", "kernel", "sandbox"]),
    ("operators/plugs", &["object", "kernel", "template"]),
    ("operators/integrations", &["object", "chart", "kernel"]),
    ("operators/git", &[]),
    ("operators/engine", &["object", "chart", "git", "kernel"]),
    ("operators/gitops", &["object", "kernel", "sql", "http", "git"]),
    ("app/console", &["object", "kernel", "http", "plugs", "integrations", "gitops"]),
    (
        "app/runtime",
        &[
            "object",
            "cluster",
            "console",
            "gather",
            "hosted",
            "integrations",
            "kernel",
            "plugs",
            "probe",
            "sandbox",
            "engine",
            "git",
            "gitops",
            "sql",
            "http",
            "greeter",
            "rogue",
        ],
    ),
    (
        "app/cli",
        &[
            "object",
            "cluster",
            "gather",
            "hosted",
            "integrations",
            "kernel",
            "plugs",
            "probe",
            "sandbox",
            "template",
            "chart",
            "git",
            "gitops",
            "sql",
            "http",
            "runtime",
        ],
    ),
    ("app/sdk", &["cli", "kernel", "probe"]),
];

/// The crates that each example may depend on. They stand above all layers, and tests of any crate may use them.
const EXAMPLES: &[(&str, &[&str])] =
    &[("examples/dns-records", &["sdk"]), ("examples/greeter", &["kernel"]), ("examples/rogue", &["kernel"])];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of the tree that git would track, as paths from the root.
fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root().to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let skipped = matches!(name.as_str(), "target" | ".git" | "artifacts") || path.is_symlink();
            if path.is_dir() && !skipped {
                waiting.push(path);
            } else if path.is_file() && !skipped {
                found.push(path.strip_prefix(root()).unwrap().to_path_buf());
            }
        }
    }
    found.sort();
    found
}

/// Returns the Rust files. A link is judged where its file stands.
fn rust_files() -> impl Iterator<Item = (PathBuf, String)> {
    let rust = files().into_iter().filter(|p| p.extension().is_some_and(|e| e == "rs") && !root().join(p).is_symlink());
    rust.map(|p| (p.clone(), fs::read_to_string(root().join(&p)).unwrap()))
}

fn is_test(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.starts_with("tests/")
        || text.contains("/tests/")
        || text.ends_with("/tests.rs")
        || text.starts_with("benches/")
}

#[track_caller]
fn none(breaches: Vec<String>, hint: &str) {
    assert!(breaches.is_empty(), "{}\nhint: {hint}", breaches.join("\n"));
}

/// Every crate as `folder/name`.
fn crates() -> Vec<String> {
    let named = |layer: &&str| {
        let entries = fs::read_dir(root().join(layer)).unwrap().map(|e| e.unwrap());
        let folders = entries.filter(|e| e.path().join("Cargo.toml").is_file());
        folders.map(|e| format!("{layer}/{}", e.file_name().to_string_lossy())).collect::<Vec<_>>()
    };
    LAYERS.iter().flat_map(named).collect()
}

/// The crates of this workspace that a crate depends on, outside of its tests.
fn dependencies(krate: &str) -> Vec<String> {
    [manifest::PRODUCTION, manifest::BUILD].into_iter().flat_map(|table| ours(krate, table)).collect()
}

/// The crates of this workspace in the tables of a kind.
fn ours(krate: &str, table: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root().join(krate).join("Cargo.toml")).unwrap();
    let names = manifest::listed(&manifest, table).into_iter();
    names.filter_map(|name| name.strip_prefix("switchboard-").map(str::to_string)).collect()
}

#[test]
fn crates_depend_only_on_the_crates_they_may() {
    let mut breaches = Vec::new();
    let examples = EXAMPLES.iter().map(|(krate, _)| krate.to_string());
    for krate in crates().into_iter().chain(examples) {
        let Some((_, allowed)) = BORDERS.iter().chain(EXAMPLES).find(|(name, _)| *name == krate) else {
            breaches.push(format!("{krate} has no row in BORDERS"));
            continue;
        };
        let used = dependencies(&krate);
        breaches.extend(used.iter().filter(|o| !allowed.contains(&o.as_str())).map(|o| format!("{krate} uses {o}")));
        let unused = allowed.iter().filter(|o| !used.iter().any(|u| u == *o));
        breaches.extend(unused.map(|o| format!("{krate} may use {o} and does not")));
    }
    none(breaches, "move the code to the crate it belongs to, or change BORDERS and the table in ARCHITECTURE.md");
}

#[test]
fn arrows_point_downwards() {
    let layer = |krate: &str| LAYERS.iter().position(|l| krate.starts_with(&format!("{l}/")));
    let folder_of = |name: &str| BORDERS.iter().find(|(krate, _)| krate.ends_with(&format!("/{name}")));
    let mut breaches = Vec::new();
    for (krate, allowed) in BORDERS {
        let tested = ours(krate, manifest::TESTS);
        let used = allowed.iter().copied().chain(tested.iter().map(String::as_str));
        let above = used.filter_map(folder_of).filter(|other| layer(other.0) > layer(krate));
        breaches.extend(above.map(|other| format!("{krate} may use {}", other.0)));
    }
    none(breaches, "a folder knows only itself and the folders before it in LAYERS");
}

#[test]
fn files_are_short() {
    let long = rust_files().filter(|(path, text)| !is_test(path) && text.lines().count() > MAX_LINES);
    let breaches = long.map(|(path, text)| format!("{}: {} lines", path.display(), text.lines().count())).collect();
    none(breaches, "find the border that hides in the file and split it there");
}

#[test]
fn modules_are_nouns_of_the_domain() {
    let banned = ["mod.rs", "utils.rs", "util.rs", "helpers.rs", "helper.rs", "common.rs", "manager.rs", "misc.rs"];
    let named = |p: &PathBuf| banned.contains(&p.file_name().unwrap().to_string_lossy().as_ref());
    let breaches = files().into_iter().filter(named).map(|p| p.display().to_string()).collect();
    none(breaches, "name the module after what lives in it; `foo.rs` with `foo/`, never `mod.rs`");
}

/// The kernel's modules that touch the world; all others of it decide.
const SHELL: &[&str] = &["applier", "host", "journal", "listener", "rate_limiter", "store", "watch"];

/// The modules of the GitOps Service that touch the world; all others of it decide.
const GITOPS_SHELL: &[&str] = &[
    "agent/row_events",
    "argocd/engine_client",
    "backend",
    "backup/adoption",
    "deployment/failed_deployments",
    "environment/cluster",
    "external_checks",
    "family",
    "instance/fleet",
    "metrics",
    "moves/execution",
    "network",
    "operation/open_operations",
    "operation/upkeep",
    "store",
    "tenant/settled_namespaces",
];

fn decides(path: &Path) -> bool {
    if let Ok(module) = path.strip_prefix("operators/gitops/src") {
        return !GITOPS_SHELL.iter().any(|shell| module.with_extension("").starts_with(shell));
    }
    let Ok(module) = path.strip_prefix("kernel/kernel/src") else {
        return ["kubernetes/object/src", "helm/template/src", "examples"].iter().any(|pure| path.starts_with(pure));
    };
    let top = module.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    !top.is_some_and(|top| SHELL.contains(&top.trim_end_matches(".rs")))
}

#[test]
fn decisions_have_no_clock_no_chance_no_io() {
    let banned = [
        "SystemTime::now",
        "Instant::now",
        "Timestamp::now",
        "Zoned::now",
        "std::fs",
        "TcpStream",
        "UdpSocket",
        "ToSocketAddrs",
        "std::env",
        "tokio::",
    ];
    let mut breaches = Vec::new();
    for (path, text) in rust_files().filter(|(p, _)| decides(p) && !is_test(p)) {
        for (number, line) in text.lines().enumerate() {
            if let Some(word) = banned.iter().find(|word| line.contains(**word)) {
                breaches.push(format!("{}:{}: {word}", path.display(), number + 1));
            }
        }
    }
    none(breaches, "take the time, the bytes or the number as an argument");
}

#[test]
fn nothing_is_left_open() {
    // Put together here so that this file does not find itself.
    let banned = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[ign", "ore"), concat!("dbg", "!(")];
    let mut breaches = Vec::new();
    for (path, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            if banned.iter().any(|word| line.contains(word)) {
                breaches.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    none(breaches, "finish it, or assert the known wrong behaviour and say why");
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let table = manifest.split("[workspace.dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let lines = table.lines().filter(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with("switchboard-"));
    let breaches = lines.filter(|l| !l.contains(" # ")).map(str::to_string).collect();
    none(breaches, "write behind the dependency, on its line, why it is there");
}

#[test]
fn crates_take_their_dependencies_from_the_workspace() {
    let mut breaches = Vec::new();
    for path in files().into_iter().filter(|p| LAYERS.iter().any(|l| p.starts_with(l)) && p.ends_with("Cargo.toml")) {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for table in [manifest::PRODUCTION, manifest::TESTS, manifest::BUILD] {
            let own = manifest::rows(&text, table).filter(|l| l.contains('=') && !l.contains("workspace = true"));
            breaches.extend(own.map(|l| format!("{}: {l}", path.display())));
        }
    }
    none(breaches, "add it to [workspace.dependencies] with its reason and write `name.workspace = true` here");
}

#[test]
fn the_tree_speaks_of_no_machine() {
    let banned = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("crates", ".io-"), concat!("proxy.gol", "ang")];
    let mut breaches = Vec::new();
    for path in files().into_iter().filter(|p| p.extension().is_none_or(|e| e != "lock")) {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if banned.iter().any(|word| line.contains(word)) {
                breaches.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    none(breaches, "use a relative path, an environment variable or a temporary directory");
}

#[test]
fn the_map_names_every_crate() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let named = |krate: &String| map.contains(&format!("`{}`", krate.rsplit('/').next().unwrap()));
    let breaches = crates().into_iter().filter(|krate| !named(krate)).collect();
    none(breaches, "give the crate its row in ARCHITECTURE.md");
}

#[test]
fn the_map_names_every_module_of_the_kernel() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let section = map.split("### `kernel`").nth(1).unwrap().split("\n## ").next().unwrap();
    let lib = fs::read_to_string(root().join("kernel/kernel/src/lib.rs")).unwrap();
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let breaches = modules.filter(|name| !section.contains(&format!("`{name}`"))).map(str::to_string).collect();
    none(breaches, "give the module its row under `kernel` in ARCHITECTURE.md");
}

#[test]
fn documents_name_only_targets_that_exist() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let mut breaches = Vec::new();
    for path in files().into_iter().filter(|p| p.extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for target in text.split("`make ").skip(1).filter_map(|rest| rest.split(['`', ' ']).next()) {
            if !makefile.contains(&format!("\n{target}:")) {
                breaches.push(format!("{}: make {target}", path.display()));
            }
        }
    }
    none(breaches, "correct the document or add the target");
}

#[test]
fn public_guarantees_have_tests() {
    // A line `/// - ... // test: name` or a `# Guarantees` list names its test; the test must exist.
    let mut tests = BTreeMap::new();
    let mut named = Vec::new();
    for (path, text) in rust_files() {
        for line in text.lines() {
            if let Some(name) = line.split("fn ").nth(1).and_then(|l| l.split('(').next()) {
                tests.insert(name.to_string(), path.clone());
            }
            if let Some(name) = line.split("// test: ").nth(1).filter(|_| line.trim_start().starts_with("//")) {
                named.push((path.clone(), name.trim().to_string()));
            }
        }
    }
    let missing = named.into_iter().filter(|(_, name)| !name.contains(' ') && !tests.contains_key(name));
    let breaches = missing.map(|(path, name)| format!("{}: no test {name}", path.display())).collect();
    none(breaches, "write the test the guarantee names");
}
