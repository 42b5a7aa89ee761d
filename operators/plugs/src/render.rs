//! From what users wrote to configurations, results and objects.
//!
//! ```text
//!  data:    Secret < inline < ConfigMap
//!  config:  Secret < inline < configTemplate < ConfigMap < apparatus       ─▶ interface ─▶ resources
//!  result:  Secret < inline < resultTemplate < ConfigMap                   ─▶ interface ─▶ resultResources
//! ```
//!
//! It asks a [`Source`] for what it needs and knows nothing of who answers: a view of the cluster, or files.

mod contract;
mod engine;
mod functions;
mod objects;
mod roots;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_kernel::operator::Stop;

use crate::model::{Plug, Socket};

pub use contract::{check_interface, checked, checked_so_far, secret_names};
pub use engine::{Engine, RenderError};
pub use objects::{Rendered, is_name, objects};
pub use roots::Roots;
pub use values::{Given, config, config_before, config_root, data, each, result, result_root, vars};

/// Values by name.
pub type Values = BTreeMap<String, String>;

/// A side of a coupling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Who {
    /// The plug.
    Plug,
    /// The socket.
    Socket,
}

impl Who {
    /// Both, in the order of every event.
    pub const BOTH: [Who; 2] = [Who::Plug, Who::Socket];

    /// As messages name it.
    pub fn word(self) -> &'static str {
        match self {
            Who::Plug => "plug",
            Who::Socket => "socket",
        }
    }
}

/// The same of both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Both<T> {
    /// Of the plug.
    pub plug: T,
    /// Of the socket.
    pub socket: T,
}

impl<T> Both<T> {
    /// That of one side.
    pub fn of(&self, who: Who) -> &T {
        match who {
            Who::Plug => &self.plug,
            Who::Socket => &self.socket,
        }
    }

    /// That of one side, to change it.
    pub fn of_mut(&mut self, who: Who) -> &mut T {
        match who {
            Who::Plug => &mut self.plug,
            Who::Socket => &mut self.socket,
        }
    }
}

/// Plug and socket that are to be brought together.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The plug.
    pub plug: &'a Plug,
    /// The socket.
    pub socket: &'a Socket,
}

impl<'a> Pair<'a> {
    /// What a side brings.
    pub fn side(&self, who: Who) -> &'a crate::model::Side {
        match who {
            Who::Plug => &self.plug.side,
            Who::Socket => &self.socket.side,
        }
    }

    /// Where something is written, as the plug tells of it: a field of its own, or of the socket with that one's name.
    pub fn place(&self, who: Who, field: &str) -> String {
        match who {
            Who::Plug => field.to_string(),
            Who::Socket => format!("socket {}/{}: {field}", self.socket.meta.namespace, self.socket.meta.name),
        }
    }

    /// Trouble with objects of a side, which names the field already.
    pub fn named(&self, who: Who, trouble: Trouble) -> Trouble {
        match who {
            Who::Plug => trouble,
            Who::Socket => trouble.at(&format!("socket {}/{}", self.socket.meta.namespace, self.socket.meta.name)),
        }
    }

    /// Who a side is.
    pub fn meta(&self, who: Who) -> &'a crate::model::Meta {
        match who {
            Who::Plug => &self.plug.meta,
            Who::Socket => &self.socket.meta,
        }
    }
}

/// Why something could not be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Not all was read yet.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// Something is not there yet; nobody needs to act, and its coming is noticed.
    #[error("{0}")]
    Missing(String),
    /// Somebody must change something; the words say what is wrong.
    #[error("{0}")]
    Wrong(String),
}

impl Trouble {
    /// With the place where it is written before it.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        match self {
            Trouble::Stop(stop) => Trouble::Stop(stop),
            Trouble::Missing(words) => Trouble::Missing(format!("{place}: {words}")),
            Trouble::Wrong(words) => Trouble::Wrong(format!("{place}: {words}")),
        }
    }
}

impl From<RenderError> for Trouble {
    fn from(error: RenderError) -> Self {
        Trouble::Wrong(error.to_string())
    }
}

/// Where values come from.
pub trait Source {
    /// The data of a ConfigMap, read as the side's service account.
    ///
    /// # Errors
    /// [`Trouble`] when there is none, or it may not be read.
    fn config_map(&self, who: Who, namespace: &str, name: &str) -> Result<Values, Trouble>;

    /// The data of a Secret, read as the side's service account.
    ///
    /// # Errors
    /// [`Trouble`] when there is none, or it may not be read.
    fn secret(&self, who: Who, namespace: &str, name: &str) -> Result<Values, Trouble>;

    /// An object, read as the side's service account.
    ///
    /// # Errors
    /// [`Trouble`] when there is none, or it may not be read.
    fn object(&self, who: Who, wanted: &Wanted<'_>) -> Result<Value, Trouble>;
}

/// An object that a var names.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Its `apiVersion`.
    pub api_version: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}
