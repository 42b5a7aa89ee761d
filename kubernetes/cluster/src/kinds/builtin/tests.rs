#![allow(clippy::unwrap_used)]

use super::*;

/// Checks that every kind in discovery is a built-in kind.
#[test]
fn every_kind_served_has_its_facts() {
    let discovery: Value = serde_json::from_str(switchboard_object::DISCOVERY).unwrap();
    for group in discovery.as_object().unwrap().values().flat_map(|d| d["items"].as_array().unwrap()) {
        let name = group["metadata"]["name"].as_str().unwrap_or("");
        for version in group["versions"].as_array().unwrap() {
            for resource in version["resources"].as_array().unwrap() {
                let kind = resource["responseKind"]["kind"].as_str().unwrap();
                let kind = GroupVersionKind::new(name, version["version"].as_str().unwrap(), kind);
                let builtin = find(&kind).unwrap_or_else(|| panic!("{kind} has no line in kinds.txt"));
                assert_eq!(builtin.namespaced(), resource["scope"] == "Namespaced", "{kind}");
                assert!(!go_struct::fields(builtin.definition).is_empty(), "{kind} has an unknown definition");
            }
        }
    }
}

#[test]
fn every_word_is_known() {
    let known = [
        "cluster",
        "status",
        "status-kept",
        "status-only",
        "generation",
        "generation+annotations",
        "generation+labels",
        "generation-first",
        "generation-later",
        "conditional",
        "upsert",
        "plain",
        "again",
        "light",
    ];
    for (kind, builtin) in KINDS.iter() {
        let odd = builtin.words.iter().find(|w| !known.contains(w));
        assert!(odd.is_none(), "{kind}: {odd:?}");
    }
}
