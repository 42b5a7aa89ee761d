//! Cases of multi-operator-manager and library-go, stored next to the checkout.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use switchboard_gather::contract::{ContractRules, InputResources, ResourceType};
use switchboard_gather::discovery::Discovery;
use switchboard_gather::input::{InputFolder, InputFormat};
use switchboard_gather::manifest_client::ManifestClient;
use switchboard_gather::must_gather::{MustGather, MustGatherQuery};
use switchboard_gather::mutation::{Layout, Mutation, NameKey, Naming, read_directory};
use switchboard_gather::prune::{prune, prune_compat};
use switchboard_object::yaml;
use switchboard_suite::shared_data::shared_data;

fn folders(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}

fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut waiting) = (BTreeMap::new(), vec![root.to_path_buf()]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap());
            }
        }
    }
    found
}

/// Reads a directory and writes it again. The files must be identical.
#[track_caller]
fn round_trip(root: &Path, naming: Naming) -> Vec<Mutation> {
    let read = read_directory(root).unwrap();
    assert_eq!(read.problems, [], "{}", root.display());
    let mut layout = Layout::new(naming);
    let mut written: BTreeMap<String, Vec<u8>> = read.mutations.iter().flat_map(|one| layout.add(one).files).collect();
    if let Some(results) = &read.results {
        written.insert("controller-results.yaml".into(), results.to_yaml().into_bytes());
    }
    let expected = files(root);
    assert_eq!(written.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{}", root.display());
    for (path, content) in expected {
        assert_eq!(String::from_utf8_lossy(&written[&path]), String::from_utf8_lossy(&content), "{path}");
    }
    read.mutations
}

/// Writes mutations again whose original bytes are not kept.
#[track_caller]
fn assert_rewritten(mutations: &[Mutation]) {
    for mutation in mutations {
        let value = mutation.body_value().unwrap();
        assert_eq!(yaml::to_string(&value), String::from_utf8_lossy(&mutation.body), "{mutation}");
    }
}

#[test]
fn the_writer_fixtures_are_written_again() {
    let Some(data) = shared_data("mom") else { return };
    let naming = Naming { bare: true, ..Naming::default() };
    let cases = folders(&data.join("manifestclient/mutation-tests"));
    assert_eq!(cases.len(), 9);
    let all: Vec<Mutation> = cases.iter().flat_map(|case| round_trip(case, naming)).collect();
    assert_eq!(all.len(), 10);
    assert_rewritten(&all);
}

#[test]
fn the_expected_outputs_of_the_sample_operator_are_written_again() {
    let Some(data) = shared_data("mom") else { return };
    let naming = Naming { key: NameKey::Mame, ..Naming::default() };
    let cases = folders(&data.join("sample-operator-tests"));
    assert_eq!(cases.len(), 5);
    let all: Vec<Mutation> = cases.iter().flat_map(|case| round_trip(&case.join("expected-output"), naming)).collect();
    assert!(all.len() > 15, "{}", all.len());
    assert_rewritten(&all);
}

fn parsed(root: &Path) -> BTreeMap<String, Value> {
    let read = |bytes: Vec<u8>| yaml::read(&String::from_utf8(bytes).unwrap()).unwrap().value;
    files(root).into_iter().map(|(path, content)| (path, read(content))).collect()
}

#[test]
fn dumps_are_pruned_as_the_original_prunes_them() {
    let Some(data) = shared_data("mom") else { return };
    let cases = folders(&data.join("prune"));
    assert_eq!(cases.len(), 4);
    for case in cases {
        let inputs = fs::read_to_string(case.join("input-resources.yaml")).unwrap();
        let inputs = InputResources::read(&inputs).unwrap();
        assert_eq!(inputs.validate(ContractRules::MultiOperatorManager), [], "{}", case.display());
        let from = MustGather::open(&case.join("input-dir")).unwrap();
        for rules in [ContractRules::Native, ContractRules::MultiOperatorManager] {
            let list = &inputs.apply_configuration_resources;
            let pruned = match rules {
                ContractRules::Native => prune(list, &from, rules).unwrap(),
                ContractRules::MultiOperatorManager => {
                    prune_compat(list, &ManifestClient::new(&case.join("input-dir"))).unwrap()
                }
            };
            assert_eq!(pruned.problems, [] as [&str; 0]);
            for form in [InputFormat::Json, InputFormat::Yaml] {
                let to = tempfile::tempdir().unwrap();
                InputFolder::new(to.path(), form, rules).write(&pruned.input(), None).unwrap();
                assert_eq!(parsed(to.path()), parsed(&case.join("expected-output")), "{}", case.display());
            }
        }
    }
}

fn names(from: &MustGather, group: &str, resource: &str, namespace: &str) -> Vec<String> {
    let of = ResourceType::new(group, "v1", resource);
    let found = from.list(&of, &MustGatherQuery::all(namespace)).unwrap();
    found.into_iter().map(|object| object["metadata"]["name"].as_str().unwrap().to_string()).collect()
}

fn has(from: &MustGather, group: &str, resource: &str, namespace: &str, name: &str) -> bool {
    from.get(&ResourceType::new(group, "v1", resource), namespace, name).unwrap().is_some()
}

#[test]
fn the_reader_fixtures_are_read() {
    let Some(data) = shared_data("mom") else { return };
    let from = MustGather::open(&data.join("manifestclient/must-gather-01")).unwrap();
    assert_eq!(from.problems(), []);
    assert!(has(&from, "config.openshift.io", "featuregates", "", "cluster"));
    assert!(!has(&from, "config.openshift.io", "featuregates", "", "missing"));
    assert!(has(&from, "", "secrets", "openshift-apiserver", "default-dockercfg-nrrk8"));
    assert!(has(&from, "", "secrets", "openshift-apiserver", "pull-secret"));
    assert!(has(&from, "", "namespaces", "", "openshift-apiserver"));
    assert!(!names(&from, "config.openshift.io", "featuregates", "").is_empty());
    assert_eq!(names(&from, "apiextensions.k8s.io", "customresourcedefinitions", "").len(), 2);
    assert_eq!(names(&from, "apps", "deployments", "").len(), 3);
    assert_eq!(names(&from, "", "namespaces", "").len(), 3);
    assert_eq!(names(&from, "", "secrets", "non-existent-namespace").len(), 0);
    assert_eq!(names(&from, "config.openshift.io", "clusteroperators", "").len(), 0);
    assert_eq!(names(&from, "", "secrets", "openshift-apiserver").len(), 11);
    // multi-operator-manager ignores a single file next to a list.
    let original = ManifestClient::new(&data.join("manifestclient/must-gather-01"));
    let list = original.list(&ResourceType::new("", "v1", "secrets"), "openshift-apiserver", "").unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 10);
}

#[test]
fn a_dump_brings_its_own_discovery_or_none() {
    let Some(data) = shared_data("mom") else { return };
    let from = MustGather::open(&data.join("manifestclient/must-gather-02")).unwrap();
    assert!(from.discovery().served(&ResourceType::new("", "v1", "configmaps")).is_some());
    assert_ne!(from.discovery(), Discovery::bundled());
    assert_eq!(names(&from, "certificates.k8s.io", "certificatesigningrequests", "").len(), 0);
    assert!(!has(&from, "", "configmaps", "non-existent-namespace", "openshift-apiserver"));
    let from = MustGather::open(&data.join("manifestclient/no-namespaces")).unwrap();
    assert_eq!(from.discovery(), Discovery::bundled());
    assert_eq!(names(&from, "config.openshift.io", "featuregates", "").len(), 1);
    assert_eq!(names(&from, "config.openshift.io", "apiservers", "").len(), 1);
    assert_eq!(names(&from, "", "namespaces", "").len(), 0);
}
