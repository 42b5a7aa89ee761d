//! What a deletion says of itself: `DeleteOptions`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Act, Expect};

/// What must hold of an object that is deleted, in the words of whoever deletes it, and how long it may take to go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Terms {
    /// It is this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// It was not changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// How long it has to end; as long as its kind says when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<u64>,
}

impl Terms {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The deletion that options ask for: those of the request's body, and those of its query where the body is silent.
    ///
    /// # Errors
    /// What in them cannot be carried out; for people.
    pub fn read(body: &Value, query: &Value) -> Result<(Act, Self), String> {
        let said = |field: &str| [body, query].into_iter().filter_map(|o| o.get(field)).find(|value| !value.is_null());
        let text = |value: Option<&Value>, what: &str| match value {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("its {what} is no text")),
        };
        let orphans = match said("orphanDependents").map(Value::as_bool) {
            None => None,
            Some(Some(true)) => Some("Orphan".to_string()),
            Some(Some(false)) => Some("Background".to_string()),
            Some(None) => return Err("its orphanDependents is neither true nor false".into()),
        };
        let propagation = text(said("propagationPolicy"), "propagationPolicy")?.or(orphans);
        let grace_seconds = match said("gracePeriodSeconds").map(Value::as_u64) {
            None => None,
            Some(Some(seconds)) => Some(seconds),
            Some(None) => return Err("its gracePeriodSeconds is no time".into()),
        };
        let held = said("preconditions").unwrap_or(&Value::Null);
        let terms = Self {
            uid: text(held.get("uid"), "uid")?,
            resource_version: text(held.get("resourceVersion"), "resourceVersion")?,
            grace_seconds,
        };
        Ok((Act::Delete { propagation }, terms))
    }

    /// Puts it into `DeleteOptions`, with what else must hold; its own words come first.
    pub fn write(&self, options: &mut Value, expect: &Expect) {
        let (uid, revision) = match expect {
            Expect::Exactly { uid, revision } => (Some(uid.clone()), Some(revision.to_string())),
            Expect::Seen | Expect::Anything => (None, None),
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
    fn every_part_stands_for_itself_and_comes_back_as_it_was() {
        for options in [
            json!({}),
            json!({"preconditions": {"uid": "u"}}),
            json!({"preconditions": {"resourceVersion": "7"}}),
            json!({"preconditions": {"uid": "u", "resourceVersion": "7"}, "gracePeriodSeconds": 0}),
        ] {
            let (act, terms) = Terms::read(&options, &Value::Null).unwrap();
            assert_eq!(act, Act::Delete { propagation: None });
            let mut written = json!({});
            terms.write(&mut written, &Expect::Anything);
            assert_eq!(written, options);
            assert_eq!(terms.is_empty(), options == json!({}));
        }
    }

    #[test]
    fn the_body_comes_before_the_query_and_its_own_words_before_what_was_seen() {
        let query = json!({"propagationPolicy": "Foreground", "gracePeriodSeconds": 5});
        let (act, terms) = Terms::read(&json!({"orphanDependents": true, "gracePeriodSeconds": 1}), &query).unwrap();
        assert_eq!(act, Act::Delete { propagation: Some("Foreground".into()) });
        assert_eq!(terms.grace_seconds, Some(1));
        let (act, terms) =
            Terms::read(&json!({"orphanDependents": true, "preconditions": {"uid": "mine"}}), &Value::Null).unwrap();
        assert_eq!(act, Act::Delete { propagation: Some("Orphan".into()) });
        let mut options = json!({});
        terms.write(&mut options, &Expect::Exactly { uid: "seen".into(), revision: 3 });
        assert_eq!(options, json!({"preconditions": {"uid": "mine", "resourceVersion": "3"}}));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for options in
            [json!({"gracePeriodSeconds": -1}), json!({"preconditions": {"uid": 7}}), json!({"orphanDependents": "no"})]
        {
            assert!(Terms::read(&options, &Value::Null).is_err(), "{options}");
        }
    }
}
