//! What is known of a coupling, and what its objects show of it.
//!
//! Each plug has one record, from its first sight to its end: a Secret beside it, because the configurations it holds may be
//! secret. It says which socket the plug is coupled to, which event is under way and how far it came, and which objects were
//! made as whom. Teardown works from the record alone, so it needs neither the inputs nor the socket.

mod condition;
mod content;
mod notice;
mod record;
mod storage;
#[cfg(test)]
mod tests;

pub use condition::{Condition, Shown, Stand, conditions, shown};
pub use content::{Content, hash, holds};
pub use notice::{Notice, notice};
pub use record::{Identity, Made, Pending, Record, Snapshot, Told};
pub use storage::{
    ADMITTED_LABEL, COUPLED_LABEL, FAILING_LABEL, PLUG_ANNOTATION, PLUG_UID_LABEL, RECORD_TYPE, SECRETS, SOCKET_LABEL,
    StorageError, load, record_name, stored,
};
