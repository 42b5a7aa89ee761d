//! Options of a deletion.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Preconditions, WriteOp};

/// Preconditions and grace period of a deletion, as in Kubernetes' `DeleteOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeleteOptions {
    /// Required UID of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Required resourceVersion of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// Grace period in seconds; the kind's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<u64>,
}

impl DeleteOptions {
    /// Whether no option is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads the options of a deletion request, from its body and, for missing ones, from its query.
    ///
    /// # Errors
    /// A message for users about an invalid option.
    pub fn read(body: &Value, query: &Value) -> Result<(WriteOp, Self), String> {
        let option =
            |field: &str| [body, query].into_iter().filter_map(|o| o.get(field)).find(|value| !value.is_null());
        let text = |value: Option<&Value>, what: &str| match value {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("{what} is not a string")),
        };
        let orphans = match option("orphanDependents").map(Value::as_bool) {
            None => None,
            Some(Some(true)) => Some("Orphan".to_string()),
            Some(Some(false)) => Some("Background".to_string()),
            Some(None) => return Err("orphanDependents is neither true nor false".into()),
        };
        let propagation = text(option("propagationPolicy"), "propagationPolicy")?.or(orphans);
        let grace_seconds = match option("gracePeriodSeconds").map(Value::as_u64) {
            None => None,
            Some(Some(seconds)) => Some(seconds),
            Some(None) => return Err("gracePeriodSeconds is not a non-negative integer".into()),
        };
        let preconditions_field = option("preconditions").unwrap_or(&Value::Null);
        let delete_options = Self {
            uid: text(preconditions_field.get("uid"), "uid")?,
            resource_version: text(preconditions_field.get("resourceVersion"), "resourceVersion")?,
            grace_seconds,
        };
        Ok((WriteOp::Delete { propagation }, delete_options))
    }

    /// Writes the options into a `DeleteOptions` object, with `preconditions` for those that are not set.
    pub fn write(&self, options: &mut Value, preconditions: &Preconditions) {
        let (uid, revision) = match preconditions {
            Preconditions::Exact { uid, revision } => (Some(uid.clone()), Some(revision.to_string())),
            Preconditions::AsRead | Preconditions::Unconditional => (None, None),
        };
        if let Some(uid) = self.uid.clone().or(uid) {
            options["preconditions"]["uid"] = uid.into();
        }
        if let Some(version) = self.resource_version.clone().or(revision) {
            options["preconditions"]["resourceVersion"] = version.into();
        }
        if let Some(seconds) = self.grace_seconds {
            options["gracePeriodSeconds"] = json!(seconds);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_option_is_read_and_written_back() {
        for options in [
            json!({}),
            json!({"preconditions": {"uid": "u"}}),
            json!({"preconditions": {"resourceVersion": "7"}}),
            json!({"preconditions": {"uid": "u", "resourceVersion": "7"}, "gracePeriodSeconds": 0}),
        ] {
            let (operation, delete_options) = DeleteOptions::read(&options, &Value::Null).unwrap();
            assert_eq!(operation, WriteOp::Delete { propagation: None });
            let mut written = json!({});
            delete_options.write(&mut written, &Preconditions::Unconditional);
            assert_eq!(written, options);
            assert_eq!(delete_options.is_empty(), options == json!({}));
        }
    }

    #[test]
    fn the_body_precedes_the_query_and_set_options_precede_read_ones() {
        let query = json!({"propagationPolicy": "Foreground", "gracePeriodSeconds": 5});
        let (operation, delete_options) =
            DeleteOptions::read(&json!({"orphanDependents": true, "gracePeriodSeconds": 1}), &query).unwrap();
        assert_eq!(operation, WriteOp::Delete { propagation: Some("Foreground".into()) });
        assert_eq!(delete_options.grace_seconds, Some(1));
        let (operation, delete_options) =
            DeleteOptions::read(&json!({"orphanDependents": true, "preconditions": {"uid": "mine"}}), &Value::Null)
                .unwrap();
        assert_eq!(operation, WriteOp::Delete { propagation: Some("Orphan".into()) });
        let mut options = json!({});
        delete_options.write(&mut options, &Preconditions::Exact { uid: "seen".into(), revision: 3 });
        assert_eq!(options, json!({"preconditions": {"uid": "mine", "resourceVersion": "3"}}));
    }

    #[test]
    fn invalid_options_are_refused() {
        for options in
            [json!({"gracePeriodSeconds": -1}), json!({"preconditions": {"uid": 7}}), json!({"orphanDependents": "no"})]
        {
            assert!(DeleteOptions::read(&options, &Value::Null).is_err(), "{options}");
        }
    }
}
