//! Documents and their order.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn documents_are_split_at_lines_with_dashes() {
    let text = "\n\nkind: A\n--- \n---kind: B\n  x\n---\n# c\n";
    let parts: Vec<&str> = split(text).into_iter().map(|(_, text)| text).collect();
    assert_eq!(parts, ["kind: A\n", "kind: B\n  x\n", "# c\n"]);
    for (offset, part) in split(text) {
        assert_eq!(&text[offset..offset + part.len()], part);
    }
    assert!(split(" \n---\n---").is_empty());
}

#[test]
fn kinds_are_sorted_in_install_order_then_by_name() {
    let kinds = ["Zoo", "Ingress", "Secret", "Apple", "Namespace", "Secret"];
    let text: String =
        kinds.iter().enumerate().map(|(n, kind)| format!("---\nkind: {kind}\nmetadata: {{name: n{n}}}\n")).collect();
    let sorted = sort(&BTreeMap::from([("c/templates/a.yaml".to_string(), Arc::new(text))])).unwrap();
    let names: Vec<&str> = sorted.manifests.iter().map(|manifest| manifest.name.as_str()).collect();
    assert_eq!(names, ["n4", "n2", "n5", "n1", "n3", "n0"]);
}

#[test]
fn hooks_are_separated() {
    let text = "kind: Job\nmetadata: {annotations: {helm.sh/hook: 'pre-install,test-success', helm.sh/hook-weight: '-3'}}\n---\nkind: Pod\nmetadata: {annotations: {helm.sh/hook: unheard}}\n";
    let sorted = sort(&BTreeMap::from([("a".to_string(), Arc::new(text.to_string()))])).unwrap();
    assert!(sorted.manifests.is_empty());
    assert_eq!(sorted.hooks.len(), 1, "hooks with unknown events are dropped");
    assert_eq!((sorted.hooks[0].weight, sorted.hooks[0].is_test()), (-3, true));
}
