//! examples/beacon on test clusters: its manifests, its spec and its end state.

use std::fs;

use serde_json::{Value, json};
use switchboard_suite::real::workspace;

use crate::cluster::{TestCluster, until};
use crate::host_process::{FAST_LIMITS, program};

/// Clusters of a beacon: a single one, or one with simulated namespaces for the operator and another one for the users.
#[derive(Clone, Copy)]
pub struct BeaconClusters<'a> {
    pub management: &'a TestCluster,
    pub workload: &'a TestCluster,
    /// Prefix of its namespaces on the management cluster.
    pub prefix: &'a str,
}

fn manifest(file: &str) -> String {
    fs::read_to_string(workspace().join("examples/beacon/manifests").join(file)).unwrap()
}

impl BeaconClusters<'_> {
    /// Returns the manifest with the real namespace names.
    fn real_manifest(&self, file: &str) -> String {
        let prefixed = format!("namespace: {}beacon-operator", self.prefix);
        let text = manifest(file).replace("namespace: beacon-operator", &prefixed);
        let named = format!("kind: Namespace\nmetadata:\n  name: {}beacon-operator", self.prefix);
        text.replace("kind: Namespace\nmetadata:\n  name: beacon-operator", &named)
    }

    /// Installs the definition, and the service account with its rights except for one resource.
    pub fn install(&self, but: Option<&str>) {
        self.until_cleared();
        self.management.apply(&manifest("00-crd.yaml"));
        let missing = but.map(|resource| format!("resources: [{resource}], verbs: [create"));
        let has = |line: &&str| missing.as_ref().is_none_or(|missing| !line.contains(missing));
        let access = self.real_manifest("10-access.yaml").lines().filter(has).collect::<Vec<_>>().join("\n");
        self.management.apply(&access);
        self.workload.apply(&access);
    }

    /// Creates the objects that a user would create.
    pub fn create_objects(&self) {
        self.management.apply(&self.real_manifest("20-beacon.yaml"));
    }

    /// Returns the hosting configuration, with further operators.
    pub fn config(&self, more: &str) -> String {
        let topology = match self.prefix {
            "" => String::new(),
            prefix => format!(
                "topology:\n  configuration: hub\n  management: hub\n  userWorkload: edge\n  namespaces:\n    \
                 configuration: {{prefix: {prefix}}}\n    management: {{prefix: {prefix}}}\n"
            ),
        };
        let (hub, edge) = (self.management.kubeconfig.display(), self.workload.kubeconfig.display());
        let edge = if self.prefix.is_empty() { String::new() } else { format!("  edge: {{kubeconfig: {edge}}}\n") };
        format!(
            "clusters:\n  hub: {{kubeconfig: {hub}}}\n{edge}{topology}operators:\n- name: beacon-operator\n  command: [{}]\n  \
             live: true\n  serviceAccount: {}beacon-operator/beacon-operator\n  {FAST_LIMITS}\n{more}",
            program("beacon-operator").display(),
            self.prefix,
        )
    }

    pub fn deployment(&self) -> String {
        format!("/apis/apps/v1/namespaces/{}beacon/deployments/beacon", self.prefix)
    }

    pub fn banner(&self) -> String {
        format!("/api/v1/namespaces/{}beacon-operator/configmaps/harbour", self.prefix)
    }

    /// Returns the content shown by the beacon.
    pub fn shown_status(&self) -> Value {
        let path = format!("/api/v1/namespaces/{}beacon/configmaps/beacon-config", self.prefix);
        self.management.get(&path)["data"]["beacon.txt"].clone()
    }

    /// Returns status and reason of a condition of the Beacon.
    pub fn condition(&self, kind: &str) -> String {
        let beacon = self.management.get("/apis/beacon.example.com/v1/beacons/cluster");
        let conditions = beacon["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.into_iter().find(|one| one["type"] == kind).unwrap_or_default();
        format!("{} {}", found["status"].as_str().unwrap_or("-"), found["reason"].as_str().unwrap_or("-"))
    }

    /// Waits until all three controllers are done, with a Deployment that does not run.
    pub fn until_settled(&self) {
        let kinds = ["WorkloadDegraded", "SurroundingsDegraded", "Progressing"];
        until("the conditions of all three controllers", || {
            kinds.map(|kind| self.condition(kind)) == ["False AsExpected", "False AsExpected", "True RollingOut"]
        });
        until("the noted surroundings being shown", || {
            self.shown_status() == "The harbour is open.\ncluster v1.36.1\n"
        });
    }

    /// Reports the Deployment as running, as the controllers of a complete cluster would after every change.
    pub fn roll_out(&self) {
        let path = format!("{}/status?fieldManager=suite", self.deployment());
        until("a beacon that is available", || {
            let deployment = self.management.get(&self.deployment());
            let generation = &deployment["metadata"]["generation"];
            if deployment["status"]["observedGeneration"] != *generation {
                let up = json!({"observedGeneration": generation, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
                    "availableReplicas": 2});
                self.management.merge(&path, json!({"status": up}));
            }
            ["Available", "Progressing"].map(|kind| self.condition(kind)) == ["True AsExpected", "False AsExpected"]
        });
    }

    /// Returns all objects of the beacon, with the operator's namespace names, and without fields that differ between
    /// runs.
    pub fn state(&self) -> Value {
        let own = format!("/api/v1/namespaces/{}beacon-operator", self.prefix);
        let maps = self.management.get(&format!("{own}/configmaps"))["items"].as_array().cloned().unwrap_or_default();
        let maps = maps.iter().filter(|map| map["metadata"]["name"] != "kube-root-ca.crt").map(comparable);
        let state = json!({
            "beacon": comparable(&self.management.get("/apis/beacon.example.com/v1/beacons/cluster")),
            "namespace": comparable(&self.management.get(&format!("/api/v1/namespaces/{}beacon", self.prefix))),
            "config": comparable(&self.management.get(&format!("/api/v1/namespaces/{}beacon/configmaps/beacon-config", self.prefix))),
            "deployment": comparable(&self.management.get(&self.deployment())),
            "maps": maps.collect::<Vec<_>>(),
            "info": comparable(&self.workload.get("/api/v1/namespaces/kube-public/configmaps/beacon-info")),
        });
        match self.prefix {
            "" => state,
            prefix => serde_json::from_str(&state.to_string().replace(prefix, "")).unwrap(),
        }
    }

    /// Deletes all objects of the beacon, so that the next test starts from scratch. Deletion of namespaces takes a
    /// while, so the next test waits for it.
    pub fn clear(&self) {
        self.management.delete("/apis/beacon.example.com/v1/beacons/cluster");
        self.workload.delete("/api/v1/namespaces/kube-public/configmaps/beacon-info");
        self.namespaces().iter().for_each(|path| self.management.delete(path));
    }

    fn until_cleared(&self) {
        let goes = |path: &String| !self.management.get(path)["metadata"]["deletionTimestamp"].is_null();
        until("the namespaces before it gone", || !self.namespaces().iter().any(goes));
    }

    fn namespaces(&self) -> [String; 2] {
        ["beacon", "beacon-operator"].map(|name| format!("/api/v1/namespaces/{}{name}", self.prefix))
    }
}

/// Returns an object without fields set by the server or the clock; of managed fields, only the managers are kept.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["uid", "resourceVersion", "generation", "creationTimestamp"] {
            metadata.remove(field);
        }
        let managers = metadata.remove("managedFields").unwrap_or_default();
        let manager = |one: &Value| json!([one["manager"], one["operation"], one["subresource"]]).to_string();
        let mut managers: Vec<String> = managers.as_array().into_iter().flatten().map(manager).collect();
        managers.sort();
        metadata.insert("managers".into(), json!(managers));
    }
    for field in ["apiVersion", "kind"] {
        object.as_object_mut().map(|fields| fields.remove(field));
    }
    // The number of changes of a Deployment is not part of its end state.
    if object.pointer("/status/observedGeneration").is_some() {
        object["status"]["observedGeneration"] = Value::Null;
    }
    if let Some(conditions) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
        conditions.iter_mut().for_each(|one| one["lastTransitionTime"] = Value::Null);
        // The order of the controllers is not part of the end state either.
        conditions.sort_by_key(|one| one["type"].to_string());
    }
    object
}
