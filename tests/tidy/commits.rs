//! Commit subjects.

use std::process::Command;

use regex::Regex;

use crate::{none, root};

/// Last commit before subjects had rules.
const UNCHECKED: &str = "09c0b3c071f0de3d7e93481feb23a091dac1eb89";
const MAX_SUBJECT_CHARACTERS: usize = 72;
/// Verbs that say nothing about a change.
const VAGUE: &str = r"^(Let|Say|Tell|Have|Know|Take|Ask|Hold)\b";

/// Returns the rule that a subject breaks.
fn breach(subject: &str) -> Option<&'static str> {
    let (_, summary) = match subject.split_once(": ").filter(|(area, _)| !area.contains(' ') || area.contains(", ")) {
        Some(parts) => parts,
        None => return Some("names no area"),
    };
    let vague = Regex::new(&format!("(?i){VAGUE}")).unwrap();
    match () {
        () if subject.chars().count() > MAX_SUBJECT_CHARACTERS => Some("is longer than 72 characters"),
        () if vague.is_match(summary) => Some("opens with a vague verb"),
        () => None,
    }
}

#[test]
fn subjects_name_an_area_and_a_change() {
    // A source archive has no history. A shallow clone, or a history of its own, may lack the last commit without rules: then
    // every commit that is there is judged.
    if !root().join(".git").exists() {
        return;
    }
    let log = |range: &str| {
        let output =
            Command::new("git").current_dir(root()).args(["log", "--no-merges", "--format=%h %s", range]).output();
        let output = output.map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    };
    let subjects = log(&format!("{UNCHECKED}..HEAD")).or_else(|_| log("HEAD"));
    let subjects = subjects.unwrap_or_else(|error: String| panic!("could not read the history: {error}"));
    let judged = subjects.lines().filter_map(|line| Some((line, breach(line.split_once(' ')?.1)?)));
    none(
        judged.map(|(line, why)| format!("{line}: {why}")).collect(),
        "`area: imperative summary`, 72 characters at most",
    );
}

#[test]
fn subjects_are_judged() {
    assert_eq!(breach("ledger: skip batching for sequential transactions"), None);
    assert_eq!(breach("docs, cli: name the project"), None);
    assert_eq!(breach("Let a few in a row read"), Some("names no area"));
    assert_eq!(breach("ledger: let a few in a row read"), Some("opens with a vague verb"));
    assert_eq!(breach(&format!("ledger: {}", "x".repeat(80))), Some("is longer than 72 characters"));
}
