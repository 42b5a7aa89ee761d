//! Changes during the measurement, the same for every hosting mode.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use crate::cluster::{StudyCluster, instance, until};

/// Interval between two changes.
const PACE: Duration = Duration::from_secs(10);

/// A change and its expected effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptedChange {
    /// Changes the text of a banner, which must be shown.
    Banner,
    /// Changes the number of replicas, which the Deployment must have.
    Replicas,
    /// Reports the Deployment as running, which the Beacon must report.
    RolledOut,
    /// Deletes an object of the operator, which must be recreated.
    Drift,
    /// Changes an object that no operator reads, of a kind that all of them read. No effect is expected.
    Noise,
}

const CHANGES: [ScriptedChange; 5] = [
    ScriptedChange::Banner,
    ScriptedChange::Noise,
    ScriptedChange::Replicas,
    ScriptedChange::RolledOut,
    ScriptedChange::Drift,
];

/// Script of a study.
pub struct StudyScript {
    /// Duration.
    pub duration: Duration,
    /// Number of operators.
    pub operators: usize,
}

impl StudyScript {
    /// Creates a script.
    pub fn new(duration: Duration, operators: usize) -> Self {
        Self { duration, operators }
    }

    /// Returns the changes: time, operator and change.
    pub fn changes(&self) -> Vec<(Duration, usize, ScriptedChange)> {
        let count = (self.duration.as_secs() / PACE.as_secs()).max(1) as usize;
        let change = |number: usize| {
            (PACE * number as u32, number / CHANGES.len() % self.operators, CHANGES[number % CHANGES.len()])
        };
        (0..count).map(change).collect()
    }

    /// Performs the script, and returns the delay of each effect.
    pub fn play(&self, ground: &StudyCluster) -> Vec<Duration> {
        let begin = Instant::now();
        let mut delays = Vec::new();
        for (number, (at, operator, change)) in self.changes().into_iter().enumerate() {
            std::thread::sleep(at.saturating_sub(begin.elapsed()));
            delays.extend(apply_change(change, ground, &instance(operator), number));
        }
        std::thread::sleep(self.duration.saturating_sub(begin.elapsed()));
        delays
    }
}

/// Performs a change and waits for its effect.
fn apply_change(change: ScriptedChange, ground: &StudyCluster, name: &str, number: usize) -> Option<Duration> {
    let config = format!("/api/v1/namespaces/beacon-{name}/configmaps/beacon-config");
    let deployment = format!("/apis/apps/v1/namespaces/beacon-{name}/deployments/beacon");
    let beacon = format!("/apis/beacon.example.com/v1/beacons/{name}");
    match change {
        ScriptedChange::Banner => {
            let path = format!("/api/v1/namespaces/beacon-operator-{name}/configmaps/harbour");
            ground.merge(&path, &json!({"data": {"text": format!("Change {number}.")}}));
            let shown = format!("Change {number}.\n");
            let shows = |map: Value| map["data"]["beacon.txt"].as_str().is_some_and(|text| text.starts_with(&shown));
            Some(until("the new banner", || shows(ground.get(&config))))
        }
        ScriptedChange::Replicas => {
            let wanted = 1 + number % 7;
            ground.merge(&beacon, &json!({"spec": {"replicas": wanted}}));
            Some(until("the replicas", || ground.get(&deployment)["spec"]["replicas"] == wanted))
        }
        ScriptedChange::RolledOut => {
            let found = ground.get(&deployment);
            let (generation, wanted) = (&found["metadata"]["generation"], &found["spec"]["replicas"]);
            let up = json!({"observedGeneration": generation, "replicas": wanted, "updatedReplicas": wanted,
                "readyReplicas": wanted, "availableReplicas": wanted});
            ground.merge(&format!("{deployment}/status"), &json!({"status": up}));
            let said = |beacon: Value| beacon["status"]["readyReplicas"] == *wanted;
            Some(until("the progress of the roll-out", || said(ground.get(&beacon))))
        }
        ScriptedChange::Drift => {
            ground.send(Method::DELETE, &config, "application/json", &Value::Null);
            Some(until("what was deleted", || !ground.get(&config).is_null()))
        }
        ScriptedChange::Noise => {
            let path = "/api/v1/namespaces/default/configmaps/noise?fieldManager=study&force=true";
            let noise = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "noise"},
                "data": {"number": number.to_string()}});
            ground.send(Method::PATCH, path, "application/apply-patch+yaml", &noise);
            None
        }
    }
}
