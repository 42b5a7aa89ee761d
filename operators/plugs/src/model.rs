//! Models of Plug, Socket and DeferredResource in `integration.rock8s.com/v1beta1`.
//!
//! Parsing is as lenient as in integration-operator, and errors name the field.

mod apparatus;
mod consent;
mod deferred;
mod field;
mod interface;
mod resource;
mod side;
#[cfg(test)]
mod tests;
mod var;

use serde_json::Value;
use switchboard_kernel::resource::Resource as Kind;

pub use apparatus::{ApparatusSpec, DEFAULT_IDLE_TIMEOUT_S};
pub use consent::{Consent, ConsentDenied};
pub use deferred::{DeferredResource, WaitFor};
pub use field::{ModelError, SpecField};
pub use interface::{Interface, InterfaceName, InterfaceSchemas, Property, PropertyType};
pub use resource::{CouplingEvent, ObjectTemplate, ResourceAction, ResourceEntry};
pub use side::{SideSpec, ValueSources};
pub use var::{ObjectRef, Var};

/// API group of the three kinds.
pub const GROUP: &str = "integration.rock8s.com";
/// Version of the three kinds.
pub const VERSION: &str = "v1beta1";
/// Finalizer that keeps an object until it is decoupled.
pub const FINALIZER: &str = "integration.rock8s.com/finalizer";
/// Resource of plugs.
pub const PLUGS: Kind = Kind::namespaced(GROUP, VERSION, "Plug", "plugs");
/// Resource of sockets.
pub const SOCKETS: Kind = Kind::namespaced(GROUP, VERSION, "Socket", "sockets");
/// Resource of deferred resources.
pub const DEFERRED_RESOURCES: Kind = Kind::namespaced(GROUP, VERSION, "DeferredResource", "deferredresources");

/// Metadata of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlugMeta {
    /// Name of the object.
    pub name: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Uid of the object; empty if it is read from a file.
    pub uid: String,
    /// Generation of the spec.
    pub generation: i64,
    /// Whether the object is being deleted.
    pub is_deleting: bool,
    /// Whether the object has the finalizer of this crate.
    pub has_finalizer: bool,
    /// Creation time as RFC 3339; empty if the object is read from a file.
    pub created: String,
}

/// A request to integrate with a socket.
#[derive(Clone, Debug)]
pub struct Plug {
    /// Metadata of the plug.
    pub meta: PlugMeta,
    /// Namespace and name of the requested socket.
    pub socket: Option<(String, String)>,
    /// Interface that the plug was written for, if specified.
    pub interface: Option<InterfaceName>,
    /// Fields that plugs and sockets share.
    pub side: SideSpec,
    /// Object as passed to templates, without status and server-managed metadata.
    pub manifest: Value,
}

/// A provider of integrations.
#[derive(Clone, Debug)]
pub struct Socket {
    /// Metadata of the socket.
    pub meta: PlugMeta,
    /// Interface that both sides must satisfy; without an interface, any values are accepted.
    pub interface: Option<Interface>,
    /// Maximum number of coupled plugs.
    pub limit: Option<u32>,
    /// Rules for the namespaces that may use the socket.
    pub consent: Consent,
    /// Whether deletion of the socket deletes its plugs, as in integration-operator. Otherwise the plugs are kept.
    pub deletes_plugs: bool,
    /// Fields that plugs and sockets share.
    pub side: SideSpec,
    /// Object as passed to templates, without status and server-managed metadata.
    pub manifest: Value,
}

impl Plug {
    /// Reads a plug.
    ///
    /// # Errors
    /// [`ModelError`] names the invalid field.
    pub fn read(object: &Value) -> Result<Self, ModelError> {
        let spec = SpecField::root(object).at("spec");
        let meta = PlugMeta::of(object);
        let socket = spec.at("socket");
        let target = match socket.is_set() {
            false => None,
            true => {
                let name = socket.at("name").required_text("the name of the socket to couple to")?;
                let namespace = socket.at("namespace").non_empty_text()?.unwrap_or_else(|| meta.namespace.clone());
                Some((namespace, name))
            }
        };
        let interface = InterfaceName::read(&spec.at("interface"))?;
        Ok(Self { socket: target, interface, side: SideSpec::read(&spec)?, manifest: manifest(object), meta })
    }
}

impl Socket {
    /// Reads a socket.
    ///
    /// # Errors
    /// [`ModelError`] names the invalid field.
    pub fn read(object: &Value) -> Result<Self, ModelError> {
        let spec = SpecField::root(object).at("spec");
        let policy = spec.at("deletionPolicy");
        let deletes_plugs = match policy.non_empty_text()?.as_deref() {
            None | Some("KeepPlugs") => false,
            Some("DeletePlugs") => true,
            Some(_) => return Err(policy.error("must be KeepPlugs or DeletePlugs")),
        };
        Ok(Self {
            meta: PlugMeta::of(object),
            interface: Interface::read(&spec.at("interface"))?,
            limit: spec.at("limit").count()?,
            consent: Consent::read(&spec)?,
            deletes_plugs,
            side: SideSpec::read(&spec)?,
            manifest: manifest(object),
        })
    }
}

impl PlugMeta {
    /// Returns the metadata of an object.
    pub fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let text = |name: &str| metadata[name].as_str().unwrap_or_default().to_string();
        let namespace = Some(text("namespace")).filter(|n| !n.is_empty()).unwrap_or_else(|| "default".to_string());
        Self {
            name: text("name"),
            namespace,
            uid: text("uid"),
            generation: metadata["generation"].as_i64().unwrap_or_default(),
            is_deleting: metadata["deletionTimestamp"].is_string(),
            has_finalizer: metadata["finalizers"].as_array().is_some_and(|all| all.iter().any(|one| one == FINALIZER)),
            created: text("creationTimestamp"),
        }
    }
}

/// Returns the object without fields that change without a change by the user. Otherwise every write would change
/// rendered templates.
fn manifest(object: &Value) -> Value {
    const BOOKKEEPING: [&str; 5] =
        ["resourceVersion", "generation", "managedFields", "finalizers", "deletionGracePeriodSeconds"];
    let mut seen = object.clone();
    if let Some(fields) = seen.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = seen.get_mut("metadata").and_then(Value::as_object_mut) {
        BOOKKEEPING.iter().for_each(|name| drop(metadata.remove(*name)));
        metadata.remove("deletionTimestamp");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(switchboard_kernel::redact::LAST_APPLIED);
        }
    }
    seen
}
