//! Helm's own test cases of `.helmignore`.
#![allow(clippy::unwrap_used)]

use super::*;

#[track_caller]
fn check(rules: &str, path: &str, folder: bool, ignored: bool) {
    assert_eq!(IgnoreRules::read(rules).unwrap().ignores(path, folder), ignored, "{rules} {path}");
}

#[test]
fn rules_match_as_in_helm() {
    check("helm.txt", "helm.txt", false, true);
    check("helm.*", "helm.txt", false, true);
    check("tiller.*", "cargo/a.txt", false, false);
    check("*/a.txt", "cargo/a.txt", false, true);
    check("cargo/*.txt", "cargo/a.txt", false, true);
    check("*.txt", "mast/a.txt", false, true);
    check("cargo/", "cargo", true, true);
    check("cargo/", "cargo", false, false);
    check("/a.txt", "a.txt", false, true);
    check("/a.txt", "cargo/a.txt", false, false);
    check("/cargo/a.txt", "cargo/a.txt", false, true);
    check("# a comment\n\n  a.txt  ", "a.txt", false, true);
    check("a.txt", "", false, false);
}

#[test]
fn negation_differs_from_git() {
    check("!helm.txt", "helm.txt", false, false);
    check("!helm.txt", "tiller.txt", false, true);
    check("!*.txt", "cargo", true, true);
    check("!cargo/", "mast/", true, true);
}

#[test]
fn hidden_templates_are_always_ignored() {
    let rules = IgnoreRules::default().with_defaults();
    assert!(rules.ignores("templates/.hidden.yaml", false));
    assert!(!rules.ignores("templates/shown.yaml", false));
}

#[test]
fn invalid_rules_are_errors() {
    assert_eq!(IgnoreRules::read("a/**").unwrap_err(), IgnoreRuleError::DoubleStar);
    assert_eq!(IgnoreRules::read("[").unwrap_err().to_string(), "syntax error in pattern");
}
