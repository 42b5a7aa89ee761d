//! Record of a coupling, and the status derived from it.
//!
//! Each plug has one record from its first run to its deletion. The record is a Secret, because configs may be secret,
//! and is stored in the operator's own namespace, because its contents determine which service account an object is
//! written as. It holds the coupled socket, the event in progress and its completed steps, and the applied objects with
//! their service accounts. Teardown uses only the record, so it needs neither the inputs nor the socket.

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
