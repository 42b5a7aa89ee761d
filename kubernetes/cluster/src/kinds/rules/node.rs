//! Nodes.

use serde_json::json;

use super::super::builtin::KindRules;
use super::{items, push};

/// Rules of nodes. A new node is not ready until a client reports it as ready.
pub(super) const NODE: KindRules = KindRules {
    admit: |object, old, _| {
        const NOT_READY: &str = "node.kubernetes.io/not-ready";
        let tainted = |t: &serde_json::Value| t["key"] == NOT_READY && t["effect"] == "NoSchedule";
        if old.is_none() && !items(object, "/spec/taints").iter().any(tainted) {
            push(&mut object["spec"]["taints"], json!({"key": NOT_READY, "effect": "NoSchedule"}));
        }
        Ok(())
    },
    ..KindRules::NONE
};
