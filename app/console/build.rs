//! Collects the documentation, so that every new page becomes part of the console's help.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let docs = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../docs");
    println!("cargo::rerun-if-changed={}", docs.display());
    let mut pages = BTreeMap::new();
    collect(&docs, &mut pages);
    let mut code = String::from("/// Name and text of every page, by name.\nconst HELP: &[(&str, &str)] = &[\n");
    for (name, path) in pages {
        let _ = writeln!(code, "    ({name:?}, include_str!({:?})),", path.display());
    }
    code.push_str("];\n");
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("help.rs");
    fs::write(out, code).expect("cargo's folder can be written");
}

/// Collects the pages of a folder and its subfolders. Links use the file name only, so two pages with one name would
/// hide each other.
fn collect(folder: &Path, pages: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(folder).expect("the documentation is part of the checkout").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, pages);
        } else if let Some(name) = entry.file_name().to_str().and_then(|name| name.strip_suffix(".md")) {
            let before = pages.insert(name.to_string(), path);
            assert!(before.is_none(), "two pages of the documentation are called {name}.md: rename one");
        }
    }
}
