//! What is known of a coupling, and what its objects show of it.
//!
//! Each plug has one record, from its first sight to its end: a Secret, because the configurations it holds may be secret, in a
//! namespace of the operator's own, because whoever writes one decides who acts as whom. It says which socket the plug is coupled to, which event is under way and how far it came, and which objects were
//! made as whom. Teardown works from the record alone, so it needs neither the inputs nor the socket.

mod condition;
mod content;
mod events;
mod record;
mod storage;
#[cfg(test)]
mod tests;

pub use condition::{PlugState, StatusCondition, StatusExtras, conditions, plug_status};
pub use content::{CouplingContent, contains, fold_string_data, hash};
pub use events::{EventKind, kubernetes_event, warning_event};
pub use record::{
    AppliedObject, ConfigAnswer, CouplingRecord, CouplingSnapshot, ObjectIdentity, PendingEvent, binding_name,
    call_step,
};
pub use storage::{
    ADMITTED_LABEL, COUPLED_LABEL, FAILING_LABEL, PLUG_ANNOTATION, PLUG_NAMESPACE_LABEL, PLUG_UID_LABEL, RECORD_TYPE,
    SECRETS, SOCKET_LABEL, StorageError, from_secret, legacy_record_name, record_name, to_secret,
};
