//! The Secret with the results, where one of them is not to be shown: what a status cannot say, a workload reads there.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchboard_kernel::operator::Stop;
use switchboard_kernel::plan::Mutation;

use super::halt::Halt;
use super::work::Work;
use crate::coupling::{SECRETS, holds};
use crate::model::PLUGS;

impl Work<'_> {
    /// Makes it as it should be.
    pub fn bind(&mut self) -> Result<(), Halt> {
        let (Some(name), Some(result)) = (self.record.binding(), &self.record.result) else { return Ok(()) };
        let is_key = |key: &str| key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter));
        // Where both sides have a result of one name, the plug's own counts.
        let all = result.socket.iter().chain(&result.plug).filter(|(key, _)| is_key(key));
        let data: Value = all.map(|(key, text)| (key.clone(), Value::from(STANDARD.encode(text)))).collect();
        let plug = &self.record.plug;
        let body = json!({
            "metadata": {"name": name, "namespace": plug.namespace, "ownerReferences": [{
                "apiVersion": PLUGS.api_version(), "kind": PLUGS.kind, "name": plug.name, "uid": plug.uid}]},
            "data": data,
        });
        let live = self.view.get(&SECRETS, &plug.namespace, &name)?.map(|secret| secret.value());
        if live.is_none_or(|live| !holds(&live, &body)) {
            self.plan.push(Mutation::apply(&SECRETS, body).managed_by("plug:binding").regardless());
        }
        Ok(())
    }

    /// Removes it, when it is the plug's.
    pub fn unbind(&mut self) -> Result<(), Stop> {
        let Some(name) = self.record.binding() else { return Ok(()) };
        let (namespace, uid) = (self.record.plug.namespace.clone(), self.record.plug.uid.clone());
        let live = self.view.get(&SECRETS, &namespace, &name)?.map(|secret| secret.value());
        if live.is_some_and(|live| live["metadata"]["ownerReferences"][0]["uid"] == uid.as_str()) {
            self.plan.push(Mutation::delete(&SECRETS, &namespace, &name));
        }
        Ok(())
    }
}
