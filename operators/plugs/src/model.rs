//! What users write: Plug, Socket and DeferredResource in `integration.rock8s.com/v1beta1`.
//!
//! Reading is lenient where the existing operator was, and names the field where something cannot be read.

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

/// The API group of the three kinds.
pub const GROUP: &str = "integration.rock8s.com";
/// Their version.
pub const VERSION: &str = "v1beta1";
/// What keeps an object until it was decoupled.
pub const FINALIZER: &str = "integration.rock8s.com/finalizer";
/// The kind of plugs.
pub const PLUGS: Kind = Kind::namespaced(GROUP, VERSION, "Plug", "plugs");
/// The kind of sockets.
pub const SOCKETS: Kind = Kind::namespaced(GROUP, VERSION, "Socket", "sockets");
/// The kind of deferred resources.
pub const DEFERRED_RESOURCES: Kind = Kind::namespaced(GROUP, VERSION, "DeferredResource", "deferredresources");

/// Who an object is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlugMeta {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its uid; empty offline.
    pub uid: String,
    /// Counts changes of its spec.
    pub generation: i64,
    /// It is being deleted.
    pub is_deleting: bool,
    /// It carries our finalizer.
    pub has_finalizer: bool,
    /// When it was made, as RFC 3339; empty offline.
    pub created: String,
}

/// A request to integrate with a socket.
#[derive(Clone, Debug)]
pub struct Plug {
    /// Who it is.
    pub meta: PlugMeta,
    /// The socket it wants: namespace and name.
    pub socket: Option<(String, String)>,
    /// The interface it was written for, when it says so.
    pub interface: Option<InterfaceName>,
    /// What it brings.
    pub side: SideSpec,
    /// The object as templates see it: without status and bookkeeping.
    pub manifest: Value,
}

/// Fulfils requests to integrate.
#[derive(Clone, Debug)]
pub struct Socket {
    /// Who it is.
    pub meta: PlugMeta,
    /// What both sides must and may bring; all passes when absent.
    pub interface: Option<Interface>,
    /// How many plugs may be coupled at a time.
    pub limit: Option<u32>,
    /// Who may use it.
    pub consent: Consent,
    /// Its deletion deletes its plugs, as the existing operator does; they are kept otherwise.
    pub deletes_plugs: bool,
    /// What it brings.
    pub side: SideSpec,
    /// The object as templates see it: without status and bookkeeping.
    pub manifest: Value,
}

impl Plug {
    /// Reads a plug.
    ///
    /// # Errors
    /// [`ModelError`] names the field that cannot be read.
    pub fn read(object: &Value) -> Result<Self, ModelError> {
        let spec = SpecField::root(object).at("spec");
        let meta = PlugMeta::of(object);
        let socket = spec.at("socket");
        let target = match socket.is_set() {
            false => None,
            true => {
                let name = socket.at("name").required_text("names the socket to couple to")?;
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
    /// [`ModelError`] names the field that cannot be read.
    pub fn read(object: &Value) -> Result<Self, ModelError> {
        let spec = SpecField::root(object).at("spec");
        let policy = spec.at("deletionPolicy");
        let deletes_plugs = match policy.non_empty_text()?.as_deref() {
            None | Some("KeepPlugs") => false,
            Some("DeletePlugs") => true,
            Some(_) => return Err(policy.error("is neither KeepPlugs nor DeletePlugs")),
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
    /// Who an object is.
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

/// What changes without its user changing anything is not shown to templates: they would render otherwise with every write.
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
