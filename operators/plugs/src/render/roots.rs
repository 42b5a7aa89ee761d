//! What templates see.

use serde_json::{Value as Json, json};
use switchboard_template::{Numbers, Value};

use super::{Both, Pair, Values, Who};

/// The root of templates, built up as a coupling goes on.
#[derive(Clone)]
pub struct Roots(Json);

impl Roots {
    /// One object alone: at `created` and `deleted` there is no other yet, or any more.
    pub fn alone(who: Who, object: &Json) -> Self {
        Self(json!({who.word(): object}))
    }

    /// Both objects.
    pub fn pair(pair: Pair<'_>) -> Self {
        Self::recorded(&pair.plug.seen, &pair.socket.seen)
    }

    /// Both objects as they were recorded.
    pub fn recorded(plug: &Json, socket: &Json) -> Self {
        Self(json!({"plug": plug, "socket": socket}))
    }

    /// With the preliminary values.
    #[must_use]
    pub fn data(self, data: &Both<Values>) -> Self {
        self.with("plugData", &data.plug).with("socketData", &data.socket)
    }

    /// With the configurations.
    #[must_use]
    pub fn config(self, config: &Both<Values>) -> Self {
        self.with("plugConfig", &config.plug).with("socketConfig", &config.socket)
    }

    /// With the results; `result` is that of the side whose templates these are.
    #[must_use]
    pub fn result(self, result: &Both<Values>, own: Who) -> Self {
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
        Value::from_json(&self.0, Numbers::Float)
    }
}
