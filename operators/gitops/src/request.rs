//! Requests of units: their inputs and the time.

use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_kernel::operator::{DecideError, Unit};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::view::{Question, View};
use switchboard_sql::DbTimestamp;

use crate::error::ServiceError;
use crate::flow::DecisionTime;
use crate::resources::NAMESPACES;
use crate::tenant::TenantNamespace;

/// Inputs of a unit of the backend. The journal stores them without the values of Secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitRequest {
    /// Time of the decision, RFC 3339, to the microsecond.
    pub now: String,
    /// Time of the decision to the second, as in conditions.
    pub stamp: String,
    /// Namespace of the unit.
    pub namespace: String,
    /// Name of the unit.
    pub name: String,
    /// Uid of the namespace; `None` if it is deleted.
    pub tenant: Option<String>,
    /// Whether the namespace is deleted or terminating.
    #[serde(default)]
    pub is_terminating: bool,
    /// Object of the unit; `None` if it is deleted.
    pub object: Option<Value>,
    /// Environment or deployment that the object refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referenced: Option<Value>,
    /// Secret that the object refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Value>,
}

impl Question for UnitRequest {
    type Answer = Plan;
    const KIND: &'static str = "gitops-unit";
}

impl UnitRequest {
    /// Returns the request of a unit with its object.
    ///
    /// # Errors
    /// When the view lacks the namespace.
    pub fn of(unit: &Unit, view: &View, object: Option<Value>) -> Result<UnitRequest, DecideError> {
        let namespace = view.get_ignoring_status(&NAMESPACES, "", unit.namespace())?;
        let namespace = namespace.map(|namespace| namespace.value());
        let goes = |namespace: &Value| !text(namespace, "/metadata/deletionTimestamp").is_empty();
        let is_terminating = namespace.as_ref().is_none_or(goes);
        let uid = namespace.map(|namespace| text(&namespace, "/metadata/uid"));
        Ok(UnitRequest {
            now: view.now().to_string(),
            stamp: stamp(view),
            namespace: unit.namespace().to_string(),
            name: unit.name().to_string(),
            tenant: uid,
            is_terminating,
            object,
            referenced: None,
            secret: None,
        })
    }

    /// Asks for the plan of the unit.
    ///
    /// # Errors
    /// When there is no response.
    pub fn query(
        self,
        view: &View,
        answer: impl FnOnce(UnitRequest) -> Result<Plan, String>,
    ) -> Result<Plan, DecideError> {
        view.ask(self, answer).map_err(DecideError::Failed)
    }

    /// Returns a digest of all inputs that matter for the decision, without the time and the status.
    pub fn fingerprint(&self) -> Vec<u8> {
        let object = self.object.as_ref().map(|object| {
            let meta = &object["metadata"];
            json!([meta["uid"], meta["deletionTimestamp"], object["spec"]])
        });
        let secret = self.secret.as_ref().map(|secret| json!([secret["type"], secret["data"]]));
        let all = json!([self.namespace, self.name, self.tenant, self.is_terminating, object, self.referenced, secret]);
        digest(&SHA256, all.to_string().as_bytes()).as_ref().to_vec()
    }

    /// Returns the tenant's namespace, if it exists.
    pub fn tenant(&self) -> Option<TenantNamespace> {
        let uid = self.tenant.as_deref()?;
        Some(TenantNamespace { name: self.namespace.clone(), uid: uid.into() })
    }

    /// Returns the time of the request.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub fn now(&self) -> Result<DecisionTime<'_>, ServiceError> {
        now(&self.now, &self.stamp)
    }

    /// Returns the object as its kind.
    ///
    /// # Errors
    /// When it has another form.
    pub fn typed<T: serde::de::DeserializeOwned>(&self) -> Result<Option<T>, ServiceError> {
        Ok(self.object.clone().map(serde_json::from_value).transpose()?)
    }
}

/// Returns both forms of a time.
///
/// # Errors
/// When it cannot be parsed.
pub fn now<'a>(now: &str, stamp: &'a str) -> Result<DecisionTime<'a>, ServiceError> {
    let at: Timestamp = now.parse()?;
    Ok(DecisionTime { timestamp: DbTimestamp::from_unix_us(at.as_microsecond()), text: stamp })
}

/// Returns the time of a decision to the second.
pub fn stamp(view: &View) -> String {
    view.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Adds the type to a Secret, by which the journal redacts it.
pub fn secret(mut object: Value) -> Value {
    object["apiVersion"] = "v1".into();
    object["kind"] = "Secret".into();
    object
}

/// Returns a text of an object; empty if it is missing.
pub fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string()
}
