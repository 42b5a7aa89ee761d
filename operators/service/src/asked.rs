//! What a unit asks through the kernel's door: everything it read, and when.

use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_gitops::flow::Now;
use switchboard_gitops::flow::tenant::Namespace;
use switchboard_kernel::operator::{Stop, Unit};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::view::{Outside, View};
use switchboard_ledger::Moment;

use crate::error::ServiceError;
use crate::resources::NAMESPACES;

/// What a unit of the backend read. The journal keeps it, without the values of Secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// When, as RFC 3339, to the microsecond.
    pub now: String,
    /// The same to the second, as conditions have it.
    pub stamp: String,
    /// The namespace of the unit.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The uid of the namespace; none if it is gone.
    pub tenant: Option<String>,
    /// The namespace is gone, or about to go.
    #[serde(default)]
    pub leaving: bool,
    /// The object of the unit; none if it is gone.
    pub object: Option<Value>,
    /// What it names: an environment, a deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<Value>,
    /// The Secret it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Value>,
}

impl Asked {
    /// For a unit, with its object.
    ///
    /// # Errors
    /// As reading.
    pub fn of(unit: &Unit, view: &View, object: Option<Value>) -> Result<Asked, Stop> {
        let namespace = view.get_but_for_status(&NAMESPACES, "", unit.namespace())?;
        let namespace = namespace.map(|namespace| namespace.value());
        let goes = |namespace: &Value| !text(namespace, "/metadata/deletionTimestamp").is_empty();
        let leaving = namespace.as_ref().is_none_or(goes);
        let uid = namespace.map(|namespace| text(&namespace, "/metadata/uid"));
        Ok(Asked {
            now: view.now().to_string(),
            stamp: stamp(view),
            namespace: unit.namespace().to_string(),
            name: unit.name().to_string(),
            tenant: uid,
            leaving,
            object,
            named: None,
            secret: None,
        })
    }

    /// Asks, and takes the answer for a plan.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn ask(&self, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let answer = outside.ask(serde_json::to_value(self)?).map_err(Stop::Failed)?;
        Ok(serde_json::from_value(answer)?)
    }

    /// As it was asked.
    ///
    /// # Errors
    /// When it is something else.
    pub fn read(request: &Value) -> Result<Asked, ServiceError> {
        Ok(Asked::deserialize(request)?)
    }

    /// All that was read and that something may be decided by, in short: without when, and without what was told.
    pub fn print(&self) -> Vec<u8> {
        let object = self.object.as_ref().map(|object| {
            let meta = &object["metadata"];
            json!([meta["uid"], meta["deletionTimestamp"], object["spec"]])
        });
        let secret = self.secret.as_ref().map(|secret| json!([secret["type"], secret["data"]]));
        let all = json!([self.namespace, self.name, self.tenant, self.leaving, object, self.named, secret]);
        digest(&SHA256, all.to_string().as_bytes()).as_ref().to_vec()
    }

    /// The tenant's namespace, if it is there.
    pub fn tenant(&self) -> Option<Namespace> {
        let uid = self.tenant.as_deref()?;
        Some(Namespace { name: self.namespace.clone(), uid: uid.into() })
    }

    /// The moment of the question.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn now(&self) -> Result<Now<'_>, ServiceError> {
        now(&self.now, &self.stamp)
    }

    /// The object as its kind.
    ///
    /// # Errors
    /// When it is something else.
    pub fn typed<T: serde::de::DeserializeOwned>(&self) -> Result<Option<T>, ServiceError> {
        Ok(self.object.clone().map(serde_json::from_value).transpose()?)
    }
}

/// Both forms of a moment.
///
/// # Errors
/// When it cannot be read.
pub fn now<'a>(now: &str, stamp: &'a str) -> Result<Now<'a>, ServiceError> {
    let at: Timestamp = now.parse()?;
    Ok(Now { moment: Moment::from_unix_us(at.as_microsecond()), text: stamp })
}

/// The time of a decision, to the second.
pub fn stamp(view: &View) -> String {
    view.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A Secret as it is asked with: by its kind the journal knows what to mask.
pub fn secret(mut object: Value) -> Value {
    object["apiVersion"] = "v1".into();
    object["kind"] = "Secret".into();
    object
}

/// A text of an object; empty if there is none.
pub fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string()
}
