#![allow(clippy::unwrap_used)]

use super::*;
use crate::must_gather::{MustGather, MustGatherQuery};

fn object(resource: &str, kind: &str, namespace: &str, name: &str, extra: &str) -> InputObject<'static> {
    let api = if resource == "deployments" { "apps" } else { "" };
    let json = format!(r#"{{"kind":"{kind}","metadata":{{"name":"{name}","namespace":"{namespace}"}},"x":"{extra}"}}"#);
    InputObject {
        of: Cow::Owned(ResourceType::new(api, "v1", resource)),
        kind: kind.to_string().into(),
        namespace: namespace.to_string().into(),
        name: name.to_string().into(),
        json: json.into_bytes().into(),
        revision: None,
    }
}

fn files(root: &Path) -> Vec<String> {
    let folder = InputFolder::new(root, InputFormat::Json, ContractRules::Native);
    folder.existing_files().unwrap().into_iter().collect()
}

fn some() -> Vec<InputObject<'static>> {
    vec![
        object("configmaps", "ConfigMap", "shop", "a", "1"),
        object("configmaps", "ConfigMap", "shop", "b", "1"),
        object("deployments", "Deployment", "shop", "web", "1"),
        object("namespaces", "Namespace", "", "shop", "1"),
        object("nodes", "Node", "", "n1", "1"),
    ]
}

#[test]
fn objects_are_in_list_files_and_namespaces_in_their_own_files() {
    for form in [InputFormat::Json, InputFormat::Yaml] {
        let root = tempfile::tempdir().unwrap();
        let written = InputFolder::new(root.path(), form, ContractRules::Native)
            .write(&some(), Some(Discovery::bundled()))
            .unwrap();
        assert_eq!(written, InputWriteResult { written: 6, unchanged: 0, removed: 0 });
        let expected = [
            "aggregated-discovery-api.yaml",
            "aggregated-discovery-apis.yaml",
            "cluster-scoped-resources/core/nodes.yaml",
            "namespaces/shop/apps/deployments.yaml",
            "namespaces/shop/core/configmaps.yaml",
            "namespaces/shop/shop.yaml",
        ];
        assert_eq!(files(root.path()), expected);
        let read = MustGather::open(root.path()).unwrap();
        assert_eq!(read.problems(), []);
        let maps = read.list(&ResourceType::new("", "v1", "configmaps"), &MustGatherQuery::all("")).unwrap();
        assert_eq!(maps.len(), 2);
        assert_eq!((maps[0]["apiVersion"].as_str(), maps[0]["kind"].as_str()), (Some("v1"), Some("ConfigMap")));
        assert_eq!(read.discovery(), Discovery::bundled());
    }
}

#[test]
fn unchanged_files_are_not_touched() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = InputFolder::new(root.path(), InputFormat::Json, ContractRules::Native);
    folder.write(&some(), None).unwrap();
    // Unchanged files are not read, so changes by other programs stay.
    fs::write(root.path().join("cluster-scoped-resources/core/nodes.yaml"), "mine").unwrap();
    let mut objects = some();
    objects[1] = object("configmaps", "ConfigMap", "shop", "b", "2");
    assert_eq!(folder.write(&objects, None).unwrap(), InputWriteResult { written: 1, unchanged: 3, removed: 0 });
    assert_eq!(fs::read(root.path().join("cluster-scoped-resources/core/nodes.yaml")).unwrap(), b"mine");
    objects.retain(|object| object.of.resource != "deployments");
    assert_eq!(folder.write(&objects, None).unwrap(), InputWriteResult { written: 0, unchanged: 3, removed: 1 });
    assert!(!root.path().join("namespaces/shop/apps").exists() && root.path().join("namespaces/shop/core").exists());
}

#[test]
fn existing_directories_are_updated() {
    let root = tempfile::tempdir().unwrap();
    InputFolder::new(root.path(), InputFormat::Json, ContractRules::Native).write(&some(), None).unwrap();
    fs::write(root.path().join("namespaces/README.txt"), "stray").unwrap();
    fs::write(root.path().join("namespaces/shop/core/configmaps.yaml"), "half").unwrap();
    let mut folder = InputFolder::new(root.path(), InputFormat::Json, ContractRules::Native);
    assert_eq!(folder.write(&some(), None).unwrap(), InputWriteResult { written: 1, unchanged: 3, removed: 1 });
}

#[test]
fn files_are_replaced_whole() {
    use std::io::Read;
    let root = tempfile::tempdir().unwrap();
    let mut folder = InputFolder::new(root.path(), InputFormat::Json, ContractRules::Native);
    folder.write(&some(), None).unwrap();
    let path = root.path().join("cluster-scoped-resources/core/nodes.yaml");
    let mut open = fs::File::open(&path).unwrap();
    let before = fs::read(&path).unwrap();
    folder.write(&[object("nodes", "Node", "", "n2", "2")], None).unwrap();
    let mut seen = Vec::new();
    open.read_to_end(&mut seen).unwrap();
    assert_eq!(seen, before, "a reader that has the file open reads the old one to its end");
    assert!(String::from_utf8(fs::read(&path).unwrap()).unwrap().contains("n2"));
    assert_eq!(files(root.path()), ["cluster-scoped-resources/core/nodes.yaml"]);
}

#[test]
fn a_name_cannot_lead_out_of_the_directory() {
    let root = tempfile::tempdir().unwrap();
    let refused = InputFolder::new(root.path(), InputFormat::Json, ContractRules::Native)
        .write(&[object("nodes", "Node", "..", "n", "")], None);
    assert_eq!(refused.unwrap_err().to_string(), "`..` is not a valid file name");
}

#[test]
fn objects_with_a_new_revision_are_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let mut input = InputFolder::new(folder.path(), InputFormat::Json, ContractRules::Native);
    let at = |revision, text| vec![InputObject { revision, ..object("configmaps", "ConfigMap", "shop", "a", text) }];
    assert_eq!(input.write(&at(Some(1), "one"), None).unwrap().written, 1);
    assert_eq!(input.write(&at(Some(1), "one"), None).unwrap().written, 0);
    assert_eq!(input.write(&at(Some(2), "two"), None).unwrap().written, 1);
    // The object becomes larger, for example because managed fields are added.
    assert_eq!(input.write(&at(Some(2), "two, and who wrote it"), None).unwrap().written, 1);
}
