//! Crates that are useful without Switchboard: those of `kubernetes/` and `helm/`. A stranger finds a README, and
//! `cargo package` makes an archive that builds by itself.

use std::fs;
use std::path::{Component, Path, PathBuf};

use regex::Regex;

use crate::production::{production, sources};
use crate::source::{Kind, prose};
use crate::{crates, dependencies, none, root};

/// Folders of these crates.
const FOLDERS: &[&str] = &["kubernetes", "helm"];

fn packaged() -> Vec<String> {
    let in_folders = |krate: &String| FOLDERS.iter().any(|folder| krate.starts_with(&format!("{folder}/")));
    crates().into_iter().filter(in_folders).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

#[test]
fn a_readme_has_an_example_that_runs() {
    let mut breaches = Vec::new();
    for krate in packaged() {
        if !read(&format!("{krate}/README.md")).contains("\n```rust\n") {
            breaches.push(format!("{krate}/README.md has no block of Rust"));
        }
        if !read(&format!("{krate}/src/lib.rs")).contains("#[doc = include_str!(\"../README.md\")]") {
            breaches.push(format!("{krate}/src/lib.rs does not run the examples of README.md"));
        }
    }
    none(breaches, "write what the crate is, a short example and what it is not; include the README for doctests");
}

#[test]
fn a_manifest_describes_the_package() {
    let mut breaches = Vec::new();
    for krate in packaged() {
        let manifest = read(&format!("{krate}/Cargo.toml"));
        let keys = ["description", "license", "readme", "version", "rust-version"];
        let has = |key: &str| manifest.lines().any(|line| line.split(['.', ' ', '=']).next() == Some(key));
        breaches.extend(keys.into_iter().filter(|key| !has(key)).map(|key| format!("{krate}/Cargo.toml: no {key}")));
    }
    none(breaches, "add the key, or take it from the workspace");
}

#[test]
fn packages_depend_on_packages_with_versions() {
    let names: Vec<String> = packaged().iter().map(|krate| krate.rsplit('/').next().unwrap().to_string()).collect();
    let workspace = read("Cargo.toml");
    let mut breaches = Vec::new();
    for krate in packaged() {
        for used in dependencies(&krate) {
            if !names.contains(&used) {
                breaches.push(format!("{krate} uses {used}, which is in neither folder"));
            }
            let line = workspace.lines().find(|line| line.starts_with(&format!("switchboard-{used} = ")));
            if !line.is_some_and(|line| line.contains("version = ")) {
                breaches.push(format!("switchboard-{used} has no version in the workspace's Cargo.toml"));
            }
        }
    }
    none(breaches, "move the code down, or write the version beside the path");
}

#[test]
fn packages_include_no_file_of_their_surroundings() {
    let include = Regex::new(r#"(?:include(?:_str|_bytes)?!\(|#\[path = )\s*"([^"]+)""#).unwrap();
    let mut breaches = Vec::new();
    for krate in packaged() {
        // Files of tests as well: the archive contains them.
        for (path, text) in sources(&krate) {
            for found in include.captures_iter(&text) {
                let file = resolved(&path, &found[1]);
                if !file.starts_with(&krate) {
                    breaches.push(format!("{}: {}", path.display(), file.display()));
                }
            }
        }
    }
    none(breaches, "move the file into the crate's folder, link it there, or use a constant of the crate that has it");
}

#[test]
fn a_readme_links_to_no_file_of_its_surroundings() {
    let link = Regex::new(r"\]\(([^)#:]+)\)").unwrap();
    let mut breaches = Vec::new();
    for krate in packaged() {
        let readme = format!("{krate}/README.md");
        for found in link.captures_iter(&read(&readme)) {
            let file = resolved(Path::new(&readme), &found[1]);
            if !file.starts_with(&krate) || !root().join(&file).exists() {
                breaches.push(format!("{readme}: {}", &found[1]));
            }
        }
        if !root().join(&krate).join("LICENSE").is_file() {
            breaches.push(format!("{krate}/LICENSE is missing"));
        }
    }
    none(breaches, "name the page without a link: the archive has no files above the crate's folder");
}

/// Literals that name the project although their crate is useful without it: file, reason.
const NAMED: &[(&str, &str)] =
    &[("kubernetes/cluster/src/auth/certificates.rs", "the name of the authority, to which issued certificates refer")];

#[test]
fn texts_do_not_name_the_project() {
    let mut breaches = Vec::new();
    for (path, text) in packaged().iter().flat_map(|krate| production(&format!("{krate}/src"))) {
        let is_excused = NAMED.iter().any(|(file, _)| path == Path::new(file));
        let literals = prose(&text).into_iter().filter(|piece| piece.kind == Kind::Literal && !is_excused);
        let named = literals.filter(|piece| piece.text.to_lowercase().contains("switchboard"));
        breaches.extend(named.map(|piece| format!("{}:{}: {}", path.display(), piece.line, piece.text)));
    }
    none(breaches, "take the name as a parameter, or move the text to the crate that has the name");
}

/// Path of an included file from the root.
fn resolved(from: &Path, included: &str) -> PathBuf {
    let mut path = from.parent().unwrap_or(Path::new("")).to_path_buf();
    for part in Path::new(included).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

#[test]
fn included_paths_are_resolved() {
    assert_eq!(resolved(Path::new("a/b/src/lib.rs"), "../data/x"), Path::new("a/b/data/x"));
    assert_eq!(resolved(Path::new("a/b/src/lib.rs"), "../../x"), Path::new("a/x"));
}
