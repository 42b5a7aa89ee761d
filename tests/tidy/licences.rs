//! Licences and sources of the crates linked into the binary. `make deny` checks more, but must be built first.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::{none, root};

/// The strings of a list of .config/deny.toml.
fn listed(deny: &str, list: &str) -> Vec<String> {
    let body = deny.split(&format!("\n{list} = [")).nth(1).unwrap().split("\n]").next().unwrap();
    body.split('"').skip(1).step_by(2).map(str::to_string).collect()
}

/// Whether a licence expression leaves a choice that is allowed.
fn allowed(expression: &str, allow: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").replace(" WITH ", "-WITH-");
    let mut words = spaced.split_whitespace().peekable();
    any(&mut words, allow)
}

type Tokens<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Tokens, allow: &[String]) -> bool {
    let mut held = all(words, allow);
    while words.next_if_eq(&"OR").is_some() {
        held |= all(words, allow);
    }
    held
}

fn all(words: &mut Tokens, allow: &[String]) -> bool {
    let mut held = one(words, allow);
    while words.next_if_eq(&"AND").is_some() {
        held &= one(words, allow);
    }
    held
}

fn one(words: &mut Tokens, allow: &[String]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let held = any(words, allow);
        words.next();
        return held;
    }
    words.next().is_some_and(|id| allow.iter().any(|allowed| *allowed == id.replace("-WITH-", " WITH ")))
}

#[test]
fn licences_and_sources_are_those_allowed() {
    let deny = fs::read_to_string(root().join(".config/deny.toml")).unwrap();
    let allow = listed(&deny, "allow");
    let exceptions: Vec<&str> = deny.lines().filter_map(|l| l.split("crate = \"").nth(1)?.split('"').next()).collect();
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("cargo tells what it builds");
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let used: BTreeSet<&str> = nodes.iter().map(|node| node["id"].as_str().unwrap()).collect();
    let mut breaches = vec![];
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let foreign = package["source"].as_str().filter(|_| used.contains(package["id"].as_str().unwrap()));
        let Some(source) = foreign else { continue };
        if !source.starts_with("registry+") {
            breaches.push(format!("{name} is from {source}"));
        }
        let licence = package["license"].as_str().unwrap_or("none");
        if !exceptions.contains(&name) && !allowed(licence, &allow) {
            breaches.push(format!("{name} is licensed under {licence}"));
        }
    }
    none(breaches, "choose another crate, or allow it in .config/deny.toml with its reason");
}

#[test]
fn a_licence_is_a_choice_or_a_sum() {
    let allow = ["MIT".to_string(), "ISC".to_string(), "A WITH b".to_string()];
    for good in ["MIT", "GPL OR MIT", "GPL/MIT", "(GPL OR MIT) AND ISC", "A WITH b OR GPL"] {
        assert!(allowed(good, &allow), "{good}");
    }
    for bad in ["GPL", "GPL AND MIT", "(GPL OR A) AND MIT", "A", ""] {
        assert!(!allowed(bad, &allow), "{bad}");
    }
}
