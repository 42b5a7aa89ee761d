//! Collects the documentation, so that a new page of it is help without a further line.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    let docs = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../docs");
    println!("cargo::rerun-if-changed={}", docs.display());
    let mut names: Vec<String> = fs::read_dir(&docs)
        .expect("the documentation is part of the checkout")
        .filter_map(|entry| Some(entry.ok()?.file_name().into_string().ok()?.strip_suffix(".md")?.to_string()))
        .collect();
    names.sort();
    let mut code = String::from("/// Name and text of every page, by name.\nconst HELP: &[(&str, &str)] = &[\n");
    for name in names {
        let path = docs.join(format!("{name}.md"));
        let _ = writeln!(code, "    ({name:?}, include_str!({:?})),", path.display());
    }
    code.push_str("];\n");
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("help.rs");
    fs::write(out, code).expect("cargo's folder can be written");
}
