//! Objects and apparatus answers from files, in place of a cluster.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::render::{ComputeError, CouplingSide, ObjectQuery, PerSide, ValueSource, Values};

/// Input of a preview besides plug and socket.
#[derive(Clone, Debug, Default)]
pub struct PreviewFiles {
    objects: Vec<Value>,
    answers: PerSide<Option<Values>>,
}

impl PreviewFiles {
    /// Creates an input with objects. The default namespace is `default`.
    pub fn new(objects: Vec<Value>) -> Self {
        Self { objects, answers: PerSide::default() }
    }

    /// Adds the answer of a side's apparatus to `/config`.
    #[must_use]
    pub fn with_answer(mut self, side: CouplingSide, values: Values) -> Self {
        *self.answers.of_mut(side) = Some(values);
        self
    }

    /// Returns the answer of a side's apparatus, if it is given.
    pub fn answer(&self, side: CouplingSide) -> Option<&Values> {
        self.answers.of(side).as_ref()
    }

    pub(super) fn objects(&self) -> &[Value] {
        &self.objects
    }

    fn find(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<&Value, ComputeError> {
        let is = |object: &&Value| {
            let own = object["metadata"]["namespace"].as_str().unwrap_or("default");
            object["apiVersion"] == api_version
                && object["kind"] == kind
                && own == namespace
                && object["metadata"]["name"] == name
        };
        let missing = || ComputeError::Missing(format!("{kind} {namespace}/{name} is not among the files"));
        self.objects.iter().find(is).ok_or_else(missing)
    }
}

fn texts(object: &Value, field: &str) -> Values {
    let fields = object[field].as_object().into_iter().flatten();
    fields.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_string()))).collect()
}

impl ValueSource for PreviewFiles {
    fn config_map(&self, _who: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError> {
        Ok(texts(self.find("v1", "ConfigMap", namespace, name)?, "data"))
    }

    fn secret(&self, _who: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError> {
        let secret = self.find("v1", "Secret", namespace, name)?;
        let mut values = Values::new();
        for (key, value) in texts(secret, "data") {
            let bytes = BASE64_STANDARD.decode(&value);
            let bytes =
                bytes.map_err(|_| ComputeError::Invalid(format!("data.{key} of Secret {name} must be base64")))?;
            values.insert(key, String::from_utf8_lossy(&bytes).into_owned());
        }
        // Like the API server on a write.
        values.extend(texts(secret, "stringData"));
        Ok(values)
    }

    fn object(&self, _who: CouplingSide, wanted: &ObjectQuery<'_>) -> Result<Value, ComputeError> {
        self.find(wanted.api_version, wanted.kind, wanted.namespace, wanted.name).cloned()
    }
}
