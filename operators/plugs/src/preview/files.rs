//! Objects and answers from files, in place of a cluster and its programs.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::render::{Both, Source, Trouble, Values, Wanted, Who};

/// What was given beside plug and socket.
#[derive(Clone, Debug, Default)]
pub struct Files {
    objects: Vec<Value>,
    answers: Both<Option<Values>>,
}

impl Files {
    /// With these objects; one without a namespace is in `default`.
    pub fn new(objects: Vec<Value>) -> Self {
        Self { objects, answers: Both::default() }
    }

    /// With what the apparatus of a side answers to `/config`.
    #[must_use]
    pub fn answering(mut self, who: Who, values: Values) -> Self {
        *self.answers.of_mut(who) = Some(values);
        self
    }

    /// What the apparatus of a side answers, if that was given.
    pub fn answer(&self, who: Who) -> Option<&Values> {
        self.answers.of(who).as_ref()
    }

    fn find(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<&Value, Trouble> {
        let is = |object: &&Value| {
            let own = object["metadata"]["namespace"].as_str().unwrap_or("default");
            object["apiVersion"] == api_version
                && object["kind"] == kind
                && own == namespace
                && object["metadata"]["name"] == name
        };
        let missing = || Trouble::Missing(format!("{kind} {namespace}/{name} is not among the files"));
        self.objects.iter().find(is).ok_or_else(missing)
    }
}

fn texts(object: &Value, field: &str) -> Values {
    let fields = object[field].as_object().into_iter().flatten();
    fields.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_string()))).collect()
}

impl Source for Files {
    fn config_map(&self, _who: Who, namespace: &str, name: &str) -> Result<Values, Trouble> {
        Ok(texts(self.find("v1", "ConfigMap", namespace, name)?, "data"))
    }

    fn secret(&self, _who: Who, namespace: &str, name: &str) -> Result<Values, Trouble> {
        let secret = self.find("v1", "Secret", namespace, name)?;
        let mut values = Values::new();
        for (key, value) in texts(secret, "data") {
            let bytes = BASE64_STANDARD.decode(&value);
            let bytes = bytes.map_err(|_| Trouble::Wrong(format!("data.{key} of Secret {name} is no base64")))?;
            values.insert(key, String::from_utf8_lossy(&bytes).into_owned());
        }
        // As the API server does when it is written.
        values.extend(texts(secret, "stringData"));
        Ok(values)
    }

    fn object(&self, _who: Who, wanted: &Wanted<'_>) -> Result<Value, Trouble> {
        self.find(wanted.api_version, wanted.kind, wanted.namespace, wanted.name).cloned()
    }
}
