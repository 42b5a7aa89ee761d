//! Sources of a crate without its tests.

use std::path::{Path, PathBuf};

use regex::Regex;

use crate::rust_files;

/// Returns the Rust files below a folder, as paths from the root.
pub fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    rust_files().filter(|(path, _)| path.starts_with(folder)).collect()
}

/// Module under `#[cfg(test)]` inside a file.
const INLINE: &str = r"(?s)#\[cfg\(test\)\]\s*(pub(?:\(crate\))? )?mod \w+ \{.*?\n\}";

/// Returns the Rust files below a folder without modules under `#[cfg(test)]`, in files of their own or inline.
pub fn production(folder: &str) -> Vec<(PathBuf, String)> {
    let inline = Regex::new(INLINE).unwrap();
    let declared = Regex::new(r"#\[cfg\(test\)\]\s*(?:pub(?:\(crate\))? )?mod (\w+);").unwrap();
    let all = sources(folder);
    let modules: Vec<PathBuf> = all
        .iter()
        .flat_map(|(path, text)| declared.captures_iter(text).map(|found| children(path).join(&found[1])))
        .collect();
    let is_test = |path: &Path| modules.iter().any(|m| path.starts_with(m) || path == m.with_extension("rs"));
    let others = all.into_iter().filter(|(path, _)| !is_test(path));
    others.map(|(path, text)| (path, inline.replace_all(&text, "").into_owned())).collect()
}

/// Folder of the modules that a file declares.
fn children(file: &Path) -> PathBuf {
    match file.file_name().and_then(|name| name.to_str()) {
        Some("lib.rs" | "main.rs") => file.parent().unwrap_or(file).to_path_buf(),
        _ => file.with_extension(""),
    }
}

#[test]
fn production_leaves_out_modules_of_tests() {
    let files = production("kubernetes/object/src/quantity");
    let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    assert_eq!(children(Path::new("a/src/lib.rs")), Path::new("a/src"));
    assert_eq!(children(Path::new("a/src/b.rs")), Path::new("a/src/b"));
    assert!(names.contains(&"kubernetes/object/src/quantity/decimal.rs".to_string()), "{names:?}");
    let all = production("kubernetes/object/src");
    assert!(all.iter().all(|(path, _)| !path.ends_with("quantity/tests.rs")), "tests.rs is a module of tests");
}
