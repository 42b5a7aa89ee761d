#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_gather::contract::{InputResources, OutputResources};
use switchboard_gather::discovery::Discovery;
use switchboard_kernel::resource::{ListQuery, ObjectKey, Resource, TableKey};
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_kernel::view::Reader;
use switchboard_object::selector::LabelSelector as Labels;

use super::*;
use crate::declaration::declaration;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const NAMESPACES: Resource = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");

const OUTPUTS: &str = r#"
configurationResources:
  exactResources: [{group: "", version: v1, resource: configmaps, namespace: home, name: c}]
userWorkloadResources:
  exactResources: [{group: "", version: v1, resource: configmaps, namespace: work, name: c}]
"#;

/// Objects of several clusters, each with the label `of: team` and the name of its cluster.
#[derive(Default)]
struct FakeClusters(Vec<Object>);

impl FakeClusters {
    fn with(mut self, cluster: &str, resource: &Resource, namespace: &str, name: &str) -> Self {
        let metadata = json!({"name": name, "namespace": namespace, "labels": {"of": "team"}});
        let json = json!({"metadata": metadata, "on": cluster}).to_string().into_bytes().into();
        let table = TableKey { cluster: ClusterName::new(cluster), resource: Arc::new(resource.clone()) };
        let key = ObjectKey { table, namespace: namespace.into(), name: name.into() };
        self.0.push(Object { key, revision: 1, json });
        self
    }
}

impl Reader for FakeClusters {
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>> {
        Some(self.0.iter().find(|object| object.key == *key).cloned())
    }

    fn list(&self, query: &ListQuery, selector: &Labels) -> Option<Vec<Object>> {
        let meant = |object: &&Object| {
            object.key.table == query.table
                && query.selection.namespace.as_ref().is_none_or(|namespace| *namespace == object.key.namespace)
                && selector.matches(Some(&object.labels()))
        };
        Some(self.0.iter().filter(meant).cloned().collect())
    }

    fn revision(&self, _cluster: &ClusterName) -> u64 {
        1
    }
}

/// Returns the inputs as `cluster namespace/name`. The user workload cluster is `edge`, all others are `main`.
fn read(inputs: &str, clusters: FakeClusters) -> Vec<String> {
    let contract =
        Contract { inputs: InputResources::read(inputs).unwrap(), outputs: OutputResources::read(OUTPUTS).unwrap() };
    let (kinds, _) = ContractKinds::of(&contract, &Discovery::default());
    let declared = Arc::new(declaration(&contract, &kinds, None).inputs);
    let topology = Topology::of(["main", "main", "edge"].map(ClusterName::new));
    let view = View::new(Arc::new(clusters), Arc::new(topology), declared, Timestamp(0));
    let inputs = RunInputs::read(&contract, &kinds, &view).unwrap();
    let shown = |object: &Object| {
        format!("{} {}/{}", object.value()["on"].as_str().unwrap(), object.key.namespace, object.key.name)
    };
    inputs.0.values().flat_map(BTreeMap::values).map(shown).collect()
}

#[test]
fn a_namespace_is_read_where_the_program_writes_in_it() {
    let inputs = r#"
applyConfigurationResources:
  exactResources:
  - {group: "", version: v1, resource: namespaces, name: home}
  - {group: "", version: v1, resource: namespaces, name: work}
  - {group: "", version: v1, resource: namespaces, name: other}
"#;
    let both = ["main", "edge"].iter().flat_map(|cluster| ["home", "work", "other"].map(|name| (*cluster, name)));
    let clusters = both.fold(FakeClusters::default(), |all, (on, name)| all.with(on, &NAMESPACES, "", name));
    assert_eq!(read(inputs, clusters), ["main /home", "main /other", "edge /work"]);
    let selected = r#"
applyConfigurationResources:
  labelSelectedResources:
  - {group: "", version: v1, resource: namespaces, labelSelector: {matchLabels: {of: team}}}
"#;
    let clusters = FakeClusters::default().with("main", &NAMESPACES, "", "home").with("edge", &NAMESPACES, "", "work");
    assert_eq!(read(selected, clusters), ["main /home", "edge /work"]);
}

#[test]
fn a_selection_over_all_namespaces_is_read_on_every_cluster_that_is_written_on() {
    let inputs = r#"
applyConfigurationResources:
  labelSelectedResources:
  - {group: "", version: v1, resource: configmaps, labelSelector: {matchLabels: {of: team}}}
"#;
    let clusters = FakeClusters::default()
        .with("main", &CONFIG_MAPS, "home", "a")
        .with("main", &CONFIG_MAPS, "work", "both")
        .with("edge", &CONFIG_MAPS, "work", "both")
        .with("edge", &CONFIG_MAPS, "home", "both")
        .with("main", &CONFIG_MAPS, "home", "both")
        .with("edge", &CONFIG_MAPS, "work", "b")
        .with("edge", &CONFIG_MAPS, "elsewhere", "c");
    let expected = ["edge elsewhere/c", "main home/a", "main home/both", "edge work/b", "edge work/both"];
    assert_eq!(read(inputs, clusters), expected, "of two with one name that is read which is where others are written");
}
