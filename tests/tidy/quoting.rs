//! Quotes in texts that reproduce Go's. `{:?}` quotes as Rust does, which differs for control and non-printable characters.

use std::path::Path;

use regex::Regex;

use crate::production::production;
use crate::source::{Kind, prose};
use crate::{is_test, none};

/// Folders whose texts are those of kube-apiserver, Go, Helm and Argo CD.
const FOLDERS: &[&str] = &["kubernetes", "helm", "app/cli/src/template", "operators/engine/src"];

/// Files that format with `{:?}`: file, reason.
const EXCUSED: &[(&str, &str)] = &[
    ("helm/chart/src/render/types.rs", "JSON of a version, which is ASCII"),
    ("kubernetes/cluster/src/kinds/rules/service.rs", "JSON of a protocol, which is one of three words"),
    ("kubernetes/cluster/src/openapi.rs", "input of a hash"),
];

/// Lines of a source whose literals quote as Rust does.
fn rust_quotes(source: &str) -> Vec<usize> {
    let debug = Regex::new(r"\{\w*:#?\?\}").unwrap();
    let literals = prose(source).into_iter().filter(|piece| piece.kind == Kind::Literal);
    literals.filter(|piece| debug.is_match(&piece.text)).map(|piece| piece.line).collect()
}

#[test]
fn texts_quote_as_go_does() {
    let is_excused = |path: &str| EXCUSED.iter().any(|(file, _)| *file == path);
    let mut breaches = Vec::new();
    for (path, text) in FOLDERS.iter().flat_map(|folder| production(folder)) {
        let path = path.display().to_string();
        if !is_test(Path::new(&path)) && !is_excused(&path) {
            breaches.extend(rust_quotes(&text).into_iter().map(|line| format!("{path}:{line}")));
        }
    }
    none(breaches, "use switchboard_object::quote: `quote`, or `quote_for_time` in texts of Go's time");
}

#[test]
fn excuses_are_needed() {
    let is_needed = |file: &str| production(file).iter().any(|(_, text)| !rust_quotes(text).is_empty());
    let stale = EXCUSED.iter().filter(|(file, _)| !is_needed(file)).map(|(file, _)| file.to_string()).collect();
    none(stale, "remove the row from EXCUSED");
}
