//! Computation of configs, results and objects from specs.
//!
//! ```text
//!  data:    Secret < inline < ConfigMap
//!  config:  Secret < inline < configTemplate < ConfigMap < apparatus       ─▶ interface ─▶ resources
//!  result:  Secret < inline < resultTemplate < ConfigMap                   ─▶ interface ─▶ resultResources
//! ```
//!
//! A [`ValueSource`] provides all inputs: a view of the cluster, or files.

mod engine;
mod functions;
mod interface;
mod objects;
mod template_root;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_kernel::operator::DecideError;

use crate::model::{Plug, Socket};

pub use engine::{TemplateEngine, TemplateRenderError};
pub use interface::{apply_interface, apply_interface_partially, check_interface, secret_names};
pub use objects::{RenderedObject, is_name, objects};
pub use template_root::TemplateRoot;
pub use values::{
    ValueGroup, config, config_before_apparatus, config_root, data, each_value, result, result_root, vars,
};

/// Named values.
pub type Values = BTreeMap<String, String>;

/// A side of a coupling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CouplingSide {
    /// Plug.
    Plug,
    /// Socket.
    Socket,
}

impl CouplingSide {
    /// Both sides in the order of every event.
    pub const BOTH: [CouplingSide; 2] = [CouplingSide::Plug, CouplingSide::Socket];

    /// Returns the name for messages.
    pub fn as_str(self) -> &'static str {
        match self {
            CouplingSide::Plug => "plug",
            CouplingSide::Socket => "socket",
        }
    }
}

/// A value for each side.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PerSide<T> {
    /// Value of the plug.
    pub plug: T,
    /// Value of the socket.
    pub socket: T,
}

impl<T> PerSide<T> {
    /// Returns the value of a side.
    pub fn of(&self, side: CouplingSide) -> &T {
        match side {
            CouplingSide::Plug => &self.plug,
            CouplingSide::Socket => &self.socket,
        }
    }

    /// Returns a mutable reference to the value of a side.
    pub fn of_mut(&mut self, side: CouplingSide) -> &mut T {
        match side {
            CouplingSide::Plug => &mut self.plug,
            CouplingSide::Socket => &mut self.socket,
        }
    }
}

/// Plug and socket to couple.
#[derive(Clone, Copy)]
pub struct CouplingPair<'a> {
    /// Plug.
    pub plug: &'a Plug,
    /// Socket.
    pub socket: &'a Socket,
}

impl<'a> CouplingPair<'a> {
    /// Returns the shared fields of a side.
    pub fn side(&self, side: CouplingSide) -> &'a crate::model::SideSpec {
        match side {
            CouplingSide::Plug => &self.plug.side,
            CouplingSide::Socket => &self.socket.side,
        }
    }

    /// Returns the path of a field for the status of the plug. A field of the socket gets the socket's name as a
    /// prefix.
    pub fn path(&self, side: CouplingSide, field: &str) -> String {
        match side {
            CouplingSide::Plug => field.to_string(),
            CouplingSide::Socket => format!("socket {}/{}: {field}", self.socket.meta.namespace, self.socket.meta.name),
        }
    }

    /// Adds the socket's name to an error about its objects.
    pub fn with_side(&self, side: CouplingSide, error: ComputeError) -> ComputeError {
        match side {
            CouplingSide::Plug => error,
            CouplingSide::Socket => {
                error.at(&format!("socket {}/{}", self.socket.meta.namespace, self.socket.meta.name))
            }
        }
    }

    /// Returns the metadata of a side.
    pub fn meta(&self, side: CouplingSide) -> &'a crate::model::PlugMeta {
        match side {
            CouplingSide::Plug => &self.plug.meta,
            CouplingSide::Socket => &self.socket.meta,
        }
    }
}

/// Error of a computation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    /// Objects are not cached yet.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// An object does not exist yet. Its creation triggers the unit.
    #[error("{0}")]
    Missing(String),
    /// The input is invalid, and the user must change it.
    #[error("{0}")]
    Invalid(String),
}

impl ComputeError {
    /// Adds the path as a prefix.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        match self {
            ComputeError::Decide(stop) => ComputeError::Decide(stop),
            ComputeError::Missing(words) => ComputeError::Missing(format!("{place}: {words}")),
            ComputeError::Invalid(words) => ComputeError::Invalid(format!("{place}: {words}")),
        }
    }
}

impl From<TemplateRenderError> for ComputeError {
    fn from(error: TemplateRenderError) -> Self {
        ComputeError::Invalid(error.to_string())
    }
}

/// Source of values.
pub trait ValueSource {
    /// Returns the data of a ConfigMap, read as the side's service account.
    ///
    /// # Errors
    /// [`ComputeError`] if the ConfigMap does not exist or must not be read.
    fn config_map(&self, side: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError>;

    /// Returns the data of a Secret, read as the side's service account.
    ///
    /// # Errors
    /// [`ComputeError`] if the Secret does not exist or must not be read.
    fn secret(&self, side: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError>;

    /// Returns an object, read as the side's service account.
    ///
    /// # Errors
    /// [`ComputeError`] if the object does not exist or must not be read.
    fn object(&self, side: CouplingSide, wanted: &ObjectQuery<'_>) -> Result<Value, ComputeError>;
}

/// Object that a var references.
#[derive(Clone, Copy, Debug)]
pub struct ObjectQuery<'a> {
    /// `apiVersion` of the object.
    pub api_version: &'a str,
    /// Kind of the object.
    pub kind: &'a str,
    /// Namespace of the object.
    pub namespace: &'a str,
    /// Name of the object.
    pub name: &'a str,
}
