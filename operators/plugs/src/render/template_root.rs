//! What templates see.

use serde_json::{Value as Json, json};
use switchboard_template::{JsonNumbers, Value};

use super::{CouplingPair, CouplingSide, PerSide, Values};

/// The root of templates, built up as a coupling goes on.
#[derive(Clone)]
pub struct TemplateRoot(Json);

impl TemplateRoot {
    /// One object alone: at `created` and `deleted` there is no other yet, or any more.
    pub fn alone(side: CouplingSide, object: &Json) -> Self {
        Self(json!({side.as_str(): object}))
    }

    /// Both objects.
    pub fn pair(pair: CouplingPair<'_>) -> Self {
        Self::recorded(&pair.plug.manifest, &pair.socket.manifest)
    }

    /// Both objects as they were recorded.
    pub fn recorded(plug: &Json, socket: &Json) -> Self {
        Self(json!({"plug": plug, "socket": socket}))
    }

    /// With the preliminary values.
    #[must_use]
    pub fn data(self, data: &PerSide<Values>) -> Self {
        self.with("plugData", &data.plug).with("socketData", &data.socket)
    }

    /// With the configurations.
    #[must_use]
    pub fn config(self, config: &PerSide<Values>) -> Self {
        self.with("plugConfig", &config.plug).with("socketConfig", &config.socket)
    }

    /// With the results; `result` is that of the side whose templates these are.
    #[must_use]
    pub fn result(self, result: &PerSide<Values>, own: CouplingSide) -> Self {
        self.with("plugResult", &result.plug).with("socketResult", &result.socket).with("result", result.of(own))
    }

    /// With values under a name.
    #[must_use]
    pub fn with(mut self, name: &str, values: &Values) -> Self {
        self.0[name] = json!(values);
        self
    }

    /// As templates take it.
    pub fn value(&self) -> Value {
        Value::from_json(&self.0, JsonNumbers::Float)
    }
}
