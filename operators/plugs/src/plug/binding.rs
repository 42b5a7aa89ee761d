//! Secret with the results of a plug, for results that are redacted in the status. Workloads read them there.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::Mutation;

use super::halt::{Continuation, Halt};
use super::run::PlugRun;
use crate::coupling::{PlugState, SECRETS, binding_name, contains};
use crate::model::PLUGS;

impl PlugRun<'_> {
    /// Applies the Secret, or deletes it if no result is redacted.
    pub fn bind(&mut self) -> Result<(), Halt> {
        let (Some(name), Some(result)) = (self.record.binding(), &self.record.result) else {
            return Ok(self.unbind()?);
        };
        let is_key = |key: &str| key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter));
        // If both sides have a result of the same name, the plug's result wins.
        let all = result.socket.iter().chain(&result.plug).filter(|(key, _)| is_key(key));
        let data: Value = all.map(|(key, text)| (key.clone(), Value::from(STANDARD.encode(text)))).collect();
        let plug = &self.record.plug;
        let body = json!({
            "metadata": {"name": name, "namespace": plug.namespace, "ownerReferences": [{
                "apiVersion": PLUGS.api_version(), "kind": PLUGS.kind, "name": plug.name, "uid": plug.uid}]},
            "data": data,
        });
        let live = self.view.get(&SECRETS, &plug.namespace, &name)?.map(|secret| secret.value());
        if live.as_ref().is_some_and(|live| !self.owns(live)) {
            // An adopted Secret would be deleted together with the plug.
            let words = format!("the Secret {name} for secret results belongs to another owner; rename that Secret");
            return Err(Halt::At(PlugState::Failing(words.clone()), Continuation::Blocked(words)));
        }
        if live.is_none_or(|live| !contains(&live, &body)) {
            self.plan.push(Mutation::apply(&SECRETS, body).managed_by("plug:binding").unconditional());
        }
        Ok(())
    }

    /// Deletes the Secret if the plug owns it. The Secret is read only if the status or the record names it.
    pub fn unbind(&mut self) -> Result<(), DecideError> {
        let shown = self.object.as_ref().is_some_and(|object| object["status"]["binding"]["name"].is_string());
        if !shown && self.record.binding().is_none() {
            return Ok(());
        }
        let (namespace, name) = (self.record.plug.namespace.clone(), binding_name(&self.record.plug.name));
        let live = self.view.get(&SECRETS, &namespace, &name)?.map(|secret| secret.value());
        if live.is_some_and(|live| self.owns(&live)) {
            self.plan.push(Mutation::delete(&SECRETS, &namespace, &name));
        }
        Ok(())
    }

    fn owns(&self, secret: &Value) -> bool {
        let owners = secret["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        owners.into_iter().any(|owner| owner["uid"] == self.record.plug.uid.as_str())
    }
}
