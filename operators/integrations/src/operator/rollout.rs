//! Rollout progress: an accepted workload is not yet running.

use serde_json::Value;

/// Maximum number of objects in a message.
const MAX_NAMED: usize = 3;

/// Describes the rollout of a workload; `None` if it has finished or no controller reports its status.
pub fn rollout_progress(live: &Value) -> Option<String> {
    let number = |pointer: &str| live.pointer(pointer).and_then(Value::as_i64);
    let name = live.pointer("/metadata/name")?.as_str()?;
    if !matches!(live.get("kind").and_then(Value::as_str), Some("Deployment" | "StatefulSet")) {
        return None;
    }
    let seen = number("/status/observedGeneration")?;
    let wanted = number("/spec/replicas").unwrap_or(1);
    let ready = number("/status/readyReplicas").unwrap_or_default();
    let updated = number("/status/updatedReplicas").unwrap_or_default();
    if seen < number("/metadata/generation").unwrap_or_default() {
        return Some(format!("{name} to be rolled out"));
    }
    (updated < wanted || ready < wanted).then(|| format!("{name}: {} of {wanted} ready", ready.min(updated)))
}

/// Joins the descriptions into a short message.
pub fn summary(rollouts: &[String]) -> String {
    let more = rollouts.len().saturating_sub(MAX_NAMED);
    let named = rollouts[..rollouts.len().min(MAX_NAMED)].join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live(generation: i64, status: Value) -> Value {
        json!({"kind": "Deployment", "metadata": {"name": "x", "generation": generation}, "spec": {"replicas": 1},
            "status": status})
    }

    /// Spec 8.4, 15: an accepted workload is not yet running.
    #[test]
    fn a_rollout_is_reported_until_it_finishes() {
        let running = json!({"observedGeneration": 2, "updatedReplicas": 1, "readyReplicas": 1});
        assert_eq!(rollout_progress(&live(2, running.clone())), None);
        assert_eq!(rollout_progress(&live(3, running)), Some("x to be rolled out".to_string()));
        let old = json!({"observedGeneration": 2, "updatedReplicas": 0, "readyReplicas": 1});
        assert_eq!(rollout_progress(&live(2, old)), Some("x: 0 of 1 ready".to_string()));
        assert_eq!(rollout_progress(&live(2, json!({}))), None, "no controller says anything");
        let stopped = json!({"kind": "StatefulSet", "metadata": {"name": "x", "generation": 1}, "spec": {"replicas": 0},
            "status": {"observedGeneration": 1}});
        assert_eq!(rollout_progress(&stopped), None);
        assert_eq!(summary(&["a", "b", "c", "d"].map(String::from)), "a, b, c and 1 more");
    }
}
