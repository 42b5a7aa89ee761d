//! Root values of templates.

use serde_json::{Value as Json, json};
use switchboard_template::{JsonNumbers, Value};

use super::{CouplingPair, CouplingSide, PerSide, Values};

/// Root value of templates, extended as a coupling proceeds.
#[derive(Clone)]
pub struct TemplateRoot(Json);

impl TemplateRoot {
    /// Creates a root with one object, for `created` and `deleted`, when there is no pair.
    pub fn alone(side: CouplingSide, object: &Json) -> Self {
        Self(json!({side.as_str(): object}))
    }

    /// Creates a root with both objects.
    pub fn pair(pair: CouplingPair<'_>) -> Self {
        Self::recorded(&pair.plug.manifest, &pair.socket.manifest)
    }

    /// Creates a root with both recorded objects.
    pub fn recorded(plug: &Json, socket: &Json) -> Self {
        Self(json!({"plug": plug, "socket": socket}))
    }

    /// Adds the preliminary values.
    #[must_use]
    pub fn data(self, data: &PerSide<Values>) -> Self {
        self.with("plugData", &data.plug).with("socketData", &data.socket)
    }

    /// Adds the configs.
    #[must_use]
    pub fn config(self, config: &PerSide<Values>) -> Self {
        self.with("plugConfig", &config.plug).with("socketConfig", &config.socket)
    }

    /// Adds the results. `result` is the result of the side that owns the templates.
    #[must_use]
    pub fn result(self, result: &PerSide<Values>, own: CouplingSide) -> Self {
        self.with("plugResult", &result.plug).with("socketResult", &result.socket).with("result", result.of(own))
    }

    /// Adds values under a name.
    #[must_use]
    pub fn with(mut self, name: &str, values: &Values) -> Self {
        self.0[name] = json!(values);
        self
    }

    /// Returns the root as a template value.
    pub fn value(&self) -> Value {
        Value::from_json(&self.0, JsonNumbers::Float)
    }
}
