//! From what users wrote to configurations, results and objects.
//!
//! ```text
//!  data:    Secret < inline < ConfigMap
//!  config:  Secret < inline < configTemplate < ConfigMap < apparatus       ─▶ interface ─▶ resources
//!  result:  Secret < inline < resultTemplate < ConfigMap                   ─▶ interface ─▶ resultResources
//! ```
//!
//! It asks a [`Source`] for what it needs and knows nothing of who answers: a view of the cluster, or files.

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

/// Values by name.
pub type Values = BTreeMap<String, String>;

/// A side of a coupling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CouplingSide {
    /// The plug.
    Plug,
    /// The socket.
    Socket,
}

impl CouplingSide {
    /// Both, in the order of every event.
    pub const BOTH: [CouplingSide; 2] = [CouplingSide::Plug, CouplingSide::Socket];

    /// As messages name it.
    pub fn as_str(self) -> &'static str {
        match self {
            CouplingSide::Plug => "plug",
            CouplingSide::Socket => "socket",
        }
    }
}

/// The same of both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PerSide<T> {
    /// Of the plug.
    pub plug: T,
    /// Of the socket.
    pub socket: T,
}

impl<T> PerSide<T> {
    /// That of one side.
    pub fn of(&self, side: CouplingSide) -> &T {
        match side {
            CouplingSide::Plug => &self.plug,
            CouplingSide::Socket => &self.socket,
        }
    }

    /// That of one side, to change it.
    pub fn of_mut(&mut self, side: CouplingSide) -> &mut T {
        match side {
            CouplingSide::Plug => &mut self.plug,
            CouplingSide::Socket => &mut self.socket,
        }
    }
}

/// Plug and socket that are to be brought together.
#[derive(Clone, Copy)]
pub struct CouplingPair<'a> {
    /// The plug.
    pub plug: &'a Plug,
    /// The socket.
    pub socket: &'a Socket,
}

impl<'a> CouplingPair<'a> {
    /// What a side brings.
    pub fn side(&self, side: CouplingSide) -> &'a crate::model::SideSpec {
        match side {
            CouplingSide::Plug => &self.plug.side,
            CouplingSide::Socket => &self.socket.side,
        }
    }

    /// Where something is written, as the plug tells of it: a field of its own, or of the socket with that one's name.
    pub fn path(&self, side: CouplingSide, field: &str) -> String {
        match side {
            CouplingSide::Plug => field.to_string(),
            CouplingSide::Socket => format!("socket {}/{}: {field}", self.socket.meta.namespace, self.socket.meta.name),
        }
    }

    /// Trouble with objects of a side, which names the field already.
    pub fn with_side(&self, side: CouplingSide, error: ComputeError) -> ComputeError {
        match side {
            CouplingSide::Plug => error,
            CouplingSide::Socket => {
                error.at(&format!("socket {}/{}", self.socket.meta.namespace, self.socket.meta.name))
            }
        }
    }

    /// Who a side is.
    pub fn meta(&self, side: CouplingSide) -> &'a crate::model::PlugMeta {
        match side {
            CouplingSide::Plug => &self.plug.meta,
            CouplingSide::Socket => &self.socket.meta,
        }
    }
}

/// Why something could not be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    /// Not all was read yet.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// Something is not there yet; nobody needs to act, and its coming is noticed.
    #[error("{0}")]
    Missing(String),
    /// Somebody must change something; the words say what is wrong.
    #[error("{0}")]
    Invalid(String),
}

impl ComputeError {
    /// With the place where it is written before it.
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

/// Where values come from.
pub trait ValueSource {
    /// The data of a ConfigMap, read as the side's service account.
    ///
    /// # Errors
    /// [`Trouble`] when there is none, or it may not be read.
    fn config_map(&self, side: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError>;

    /// The data of a Secret, read as the side's service account.
    ///
    /// # Errors
    /// [`Trouble`] when there is none, or it may not be read.
    fn secret(&self, side: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError>;

    /// An object, read as the side's service account.
    ///
    /// # Errors
    /// [`Trouble`] when there is none, or it may not be read.
    fn object(&self, side: CouplingSide, wanted: &ObjectQuery<'_>) -> Result<Value, ComputeError>;
}

/// An object that a var names.
#[derive(Clone, Copy, Debug)]
pub struct ObjectQuery<'a> {
    /// Its `apiVersion`.
    pub api_version: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}
