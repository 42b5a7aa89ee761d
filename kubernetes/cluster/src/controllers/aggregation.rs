//! Aggregated cluster roles: their rules are those of the roles that their selectors match.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use switchboard_object::selector::LabelSelector;

use super::client::{ControllerClient, RequestFailure};
use crate::store::StoreKey;

const RESOURCE: &str = "clusterroles.rbac.authorization.k8s.io";
const MANAGER: &str = "clusterrole-aggregation-controller";

/// Updates the rules of every aggregated role.
pub(super) async fn aggregate(api: &ControllerClient, _cluster: &Arc<str>) -> Result<(), RequestFailure> {
    let roles: Vec<(StoreKey, Value)> =
        api.keys(RESOURCE, None).into_iter().filter_map(|key| api.object(&key).map(|role| (key, role))).collect();
    for (key, role) in &roles {
        let Some(rules) = aggregated(role, roles.iter().map(|(_, other)| other)) else { continue };
        if rules == role["rules"] || (rules == json!([]) && role["rules"].is_null()) {
            continue;
        }
        let apply = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": key.name()}, "rules": rules,
        });
        let query = format!("?fieldManager={MANAGER}&force=true");
        api.send_object_request(Method::PATCH, key, &query, "application/apply-patch+yaml", &apply).await?;
    }
    Ok(())
}

/// Returns the rules that a role should have; `None` if it is not aggregated.
pub(super) fn aggregated<'a>(role: &Value, roles: impl Iterator<Item = &'a Value> + Clone) -> Option<Value> {
    let selectors = role.pointer("/aggregationRule/clusterRoleSelectors")?.as_array().filter(|s| !s.is_empty())?;
    let mut rules: Vec<Value> = Vec::new();
    for selector in selectors {
        let Ok(selector) = LabelSelector::from_object(Some(selector)) else { continue };
        for other in roles.clone().filter(|other| other["metadata"]["name"] != role["metadata"]["name"]) {
            if !selector.matches(other["metadata"]["labels"].as_object()) {
                continue;
            }
            for rule in other["rules"].as_array().into_iter().flatten() {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    Some(rules.into())
}
