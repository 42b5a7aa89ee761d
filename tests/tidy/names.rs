//! Names of types and modules.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use crate::{MAX_REPEATED_TYPE_NAMES, none, rust_files};

/// Type and module names that say nothing to a reader who knows Kubernetes: participles, pronouns, question words and images. Compared
/// without case and underscores, in singular.
const DENIED: &[&str] = &[
    "act",
    "again",
    "asked",
    "attendant",
    "attend",
    "begun",
    "bell",
    "belonging",
    "burial",
    "called",
    "came",
    "caught",
    "conceal",
    "crowd",
    "desk",
    "doorbell",
    "echo",
    "entrance",
    "ended",
    "fit",
    "form",
    "found",
    "given",
    "givenup",
    "going",
    "guest",
    "happening",
    "held",
    "kept",
    "known",
    "left",
    "looping",
    "loss",
    "made",
    "moment",
    "mine",
    "named",
    "news",
    "other",
    "outside",
    "outward",
    "pace",
    "paint",
    "parting",
    "picture",
    "piece",
    "place",
    "pretence",
    "pretending",
    "pulse",
    "reach",
    "reaching",
    "refill",
    "ring",
    "roomless",
    "roster",
    "said",
    "scene",
    "scrub",
    "secrecy",
    "seen",
    "settle",
    "shelf",
    "standing",
    "stray",
    "taken",
    "talk",
    "telling",
    "telltale",
    "term",
    "told",
    "trouble",
    "twin",
    "unfit",
    "unlessrung",
    "veil",
    "visitor",
    "wake",
    "wanted",
    "way",
    "went",
    "what",
    "where",
    "which",
    "who",
    "whom",
    "whose",
    "woken",
    "word",
    "wrong",
];

/// Name, and the files that define a type of that name.
fn types() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in rust_files() {
        for name in types_in(&text) {
            found.entry(name).or_default().push(path.display().to_string());
        }
    }
    found
}

/// Names of the types that a file defines.
fn types_in(text: &str) -> Vec<String> {
    let definition = Regex::new(r"^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union|type) ([A-Z]\w*)").unwrap();
    let mut found = Vec::new();
    let mut in_impl = false;
    for line in text.lines() {
        // An associated type is defined by its trait, not where it is implemented.
        in_impl = (in_impl || (line.starts_with("impl") && !line.ends_with('}'))) && line != "}";
        if let Some(name) = definition.captures(line).filter(|_| !in_impl || !line.contains("type ")) {
            found.push(name[1].to_string());
        }
    }
    found
}

/// Names of the modules that stand inside of a file.
fn inline_modules(text: &str) -> Vec<String> {
    let module = Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?mod (\w+) \{").unwrap();
    module.captures_iter(text).map(|found| found[1].to_string()).collect()
}

#[test]
fn definitions_are_found() {
    let text = "impl A for B {}\ntype C = D;\nimpl E for F {\n    type G = H;\n}\npub struct I;\npub(crate) mod j {\n}\nmod k;\n";
    assert_eq!(types_in(text), ["C", "I"]);
    assert_eq!(inline_modules(text), ["j"]);
}

fn is_denied(name: &str) -> bool {
    let plain = name.replace('_', "").to_lowercase();
    DENIED.contains(&plain.as_str()) || DENIED.contains(&plain.trim_end_matches('s'))
}

#[test]
fn types_and_modules_are_nouns_of_the_ecosystem() {
    let mut breaches: BTreeSet<String> = BTreeSet::new();
    for (name, places) in types().into_iter().filter(|(name, _)| is_denied(name)) {
        breaches.extend(places.iter().map(|place| format!("{place}: type {name}")));
    }
    for (path, text) in rust_files() {
        let inline = inline_modules(&text).into_iter().filter(|name| is_denied(name));
        breaches.extend(inline.map(|name| format!("{}: module {name}", path.display())));
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let folder =
            path.parent().and_then(|p| p.file_name()).map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
        if is_denied(&name) || is_denied(&folder) {
            breaches.insert(format!("{}: module", path.display()));
        }
    }
    none(breaches.into_iter().collect(), "name it by the word of client-go, kube-rs, Argo CD, Helm or PostgreSQL");
}

#[test]
fn a_type_name_has_one_meaning() {
    let repeated: Vec<(String, Vec<String>)> = types().into_iter().filter(|(_, places)| places.len() > 2).collect();
    let shown = |(name, places): &(String, Vec<String>)| format!("{name}: {}", places.join(", "));
    let breaches: Vec<String> = repeated.iter().map(shown).collect();
    let count = breaches.len();
    let breaches = if count > MAX_REPEATED_TYPE_NAMES { breaches } else { Vec::new() };
    none(
        breaches,
        &format!(
            "{count} names are defined three times or more, at most {MAX_REPEATED_TYPE_NAMES} may be: qualify them"
        ),
    );
}
