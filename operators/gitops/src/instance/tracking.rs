//! Resource tracking of instances. The target of a move only recognizes deployed resources if both instances track them
//! in the same way.

use serde_json::Value;

use crate::instance::fleet::{Fleet, FleetError};
use crate::instance::{InstanceScope, configuration};
use crate::rows::EngineInstance;

/// ConfigMap with the settings of Argo CD.
const ARGOCD_CM: &str = "argocd-cm";

/// Settings that must be the same at both ends of a move.
const TRACKING_KEYS: [&str; 2] = ["application.resourceTrackingMethod", "installationID"];

/// ConfigMaps with required settings, which `fleet add` creates with content.
const REQUIRED_CONFIG_MAPS: [&str; 2] = [ARGOCD_CM, "argocd-cmd-params-cm"];

impl Fleet {
    /// Fails unless two instances track resources in the same way. An instance without the ConfigMap is not checked.
    pub(crate) async fn require_same_tracking(
        &self,
        source: &EngineInstance,
        target: &EngineInstance,
    ) -> Result<(), FleetError> {
        let (from, to) =
            (self.settings(&source.namespace, ARGOCD_CM).await?, self.settings(&target.namespace, ARGOCD_CM).await?);
        let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
        for key in TRACKING_KEYS {
            let (from, to) = (setting(&from, key), setting(&to, key));
            if from != to {
                return Err(FleetError::TargetRefused {
                    namespace: target.namespace.clone(),
                    why: format!(
                        "has `{key}: {to}` in its ConfigMap `{ARGOCD_CM}`, but the current instance in `{}` has `{key}: {from}`, so it would not recognize the deployed resources",
                        source.namespace
                    ),
                    hint: "set the same value on both Argo CD instances and restart them; for an instance without the ConfigMap, `fleet add` sets `annotation+label`",
                });
            }
        }
        Ok(())
    }

    /// Describes the settings of an instance that differ from the required ones.
    ///
    /// # Errors
    /// When the cluster fails.
    pub async fn setting_differences(&self, namespace: &str) -> Result<Vec<String>, FleetError> {
        let mut differences = Vec::new();
        let wanted = configuration(namespace, "", InstanceScope::Namespace);
        for wanted in
            wanted.iter().filter(|one| REQUIRED_CONFIG_MAPS.iter().any(|name| one["metadata"]["name"] == *name))
        {
            let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
            let Some(live) = self.settings(namespace, name).await? else { continue };
            for (key, wanted) in wanted["data"].as_object().into_iter().flatten() {
                let (wanted, live) = (wanted.as_str().unwrap_or_default(), setting(&live, key));
                // A list of several lines is not compared: it may be customized.
                if live != wanted && !wanted.contains('\n') {
                    differences.push(format!("ConfigMap `{name}` has `{key}: {live}` instead of `{wanted}`"));
                }
            }
            if !setting(&live, TRACKING_KEYS[1]).is_empty() {
                differences.push(format!(
                    "ConfigMap `{name}` has `{}: {}`",
                    TRACKING_KEYS[1],
                    setting(&live, TRACKING_KEYS[1])
                ));
            }
        }
        Ok(differences)
    }

    async fn settings(&self, namespace: &str, name: &str) -> Result<Option<Value>, FleetError> {
        Ok(self.engine.get("v1", "ConfigMap", namespace, name).await?)
    }
}

/// Returns a setting; empty means Argo CD's default.
fn setting<'a>(settings: &'a Value, key: &str) -> &'a str {
    settings["data"][key].as_str().unwrap_or_default()
}
