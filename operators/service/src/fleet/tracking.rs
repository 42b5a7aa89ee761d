//! How Argo CDs know what they deployed. A unit that moves is found again by its new one only if both know it by the same.

use serde_json::Value;
use switchboard_gitops::fleet::setup::{Reach, configuration};
use switchboard_ledger::rows::EngineInstance;

use super::{Fleet, FleetError};

/// Argo CD's own settings.
const SETTINGS: &str = "argocd-cm";

/// What both ends of a move must say alike, in those settings.
const ALIKE: [&str; 2] = ["application.resourceTrackingMethod", "installationID"];

/// Settings that the service relies on: those of which `fleet add` makes more than an empty object.
const RELIED_ON: [&str; 2] = [SETTINGS, "argocd-cmd-params-cm"];

impl Fleet {
    /// Whether two instances know what they deployed by the same. One without settings is no Argo CD of a release, and is not judged.
    pub(super) async fn alike(&self, source: &EngineInstance, target: &EngineInstance) -> Result<(), FleetError> {
        let (from, to) =
            (self.settings(&source.namespace, SETTINGS).await?, self.settings(&target.namespace, SETTINGS).await?);
        let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
        for key in ALIKE {
            let (from, to) = (said(&from, key), said(&to, key));
            if from != to {
                return Err(FleetError::NotTaken {
                    namespace: target.namespace.clone(),
                    why: format!(
                        "says `{key}: {to}` in its ConfigMap `{SETTINGS}`, and that of the unit in `{}` says `{key}: {from}`: it would not know what was deployed",
                        source.namespace
                    ),
                    hint: "give both Argo CDs the same, and start them anew; `fleet add` makes it `annotation+label` where there is no such ConfigMap yet",
                });
            }
        }
        Ok(())
    }

    /// What an Argo CD of a namespace was told otherwise than the service relies on, for people.
    ///
    /// # Errors
    /// When the cluster does not answer.
    pub async fn differences(&self, namespace: &str) -> Result<Vec<String>, FleetError> {
        let mut differences = Vec::new();
        let wanted = configuration(namespace, "", Reach::Namespace);
        for wanted in wanted.iter().filter(|one| RELIED_ON.iter().any(|name| one["metadata"]["name"] == *name)) {
            let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
            let Some(live) = self.settings(namespace, name).await? else { continue };
            for (key, wanted) in wanted["data"].as_object().into_iter().flatten() {
                let (wanted, live) = (wanted.as_str().unwrap_or_default(), said(&live, key));
                // Several lines are somebody's list, and as good as ours.
                if live != wanted && !wanted.contains('\n') {
                    differences.push(format!("ConfigMap `{name}` says `{key}: {live}`, not `{wanted}`"));
                }
            }
            if !said(&live, ALIKE[1]).is_empty() {
                differences.push(format!("ConfigMap `{name}` says `{}: {}`", ALIKE[1], said(&live, ALIKE[1])));
            }
        }
        Ok(differences)
    }

    async fn settings(&self, namespace: &str, name: &str) -> Result<Option<Value>, FleetError> {
        Ok(self.engine.get("v1", "ConfigMap", namespace, name).await?)
    }
}

/// What settings say; nothing is Argo CD's own choice.
fn said<'a>(settings: &'a Value, key: &str) -> &'a str {
    settings["data"][key].as_str().unwrap_or_default()
}
