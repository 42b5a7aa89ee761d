//! What is known of a coupling, and what its objects show of it.
//!
//! Each plug has one record, from its first sight to its end: a Secret, because the configurations it holds may be secret, in a
//! namespace of the operator's own, because whoever writes one decides who acts as whom. It says which socket the plug is coupled to, which event is under way and how far it came, and which objects were
//! made as whom. Teardown works from the record alone, so it needs neither the inputs nor the socket.

mod condition;
mod content;
mod notice;
mod record;
mod storage;
#[cfg(test)]
mod tests;

pub use condition::{Condition, Shown, Stand, conditions, shown};
pub use content::{Content, folded, hash, holds};
pub use notice::{Notice, notice, warning};
pub use record::{Identity, Made, Pending, Record, Snapshot, Told, binding_name, called};
pub use storage::{
    ADMITTED_LABEL, COUPLED_LABEL, FAILING_LABEL, PLUG_ANNOTATION, PLUG_NAMESPACE_LABEL, PLUG_UID_LABEL, RECORD_TYPE,
    SECRETS, SOCKET_LABEL, StorageError, former_name, load, record_name, stored,
};
