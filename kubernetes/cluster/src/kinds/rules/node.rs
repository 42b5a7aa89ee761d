//! Nodes.

use serde_json::json;

use super::super::builtin::Rules;
use super::{items, push};

/// A new node is not ready until somebody says so.
pub(super) const NODE: Rules = Rules {
    admit: |object, old, _| {
        const NOT_READY: &str = "node.kubernetes.io/not-ready";
        let tainted = |t: &serde_json::Value| t["key"] == NOT_READY && t["effect"] == "NoSchedule";
        if old.is_none() && !items(object, "/spec/taints").iter().any(tainted) {
            push(&mut object["spec"]["taints"], json!({"key": NOT_READY, "effect": "NoSchedule"}));
        }
        Ok(())
    },
    ..Rules::NONE
};
