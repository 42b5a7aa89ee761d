//! What the API server refused, as its user reads it: which field asked for it, and what to do.

use switchboard_kernel::operator::ServiceAccount;
use switchboard_kernel::view::WriteRejection;

use crate::coupling::AppliedObject;
use crate::rbac::with_hint;

/// The words of a refusal. `made` is what was to be made, `owner` the plug or socket whose program may be meant, `account` whom a
/// program's objects are made as.
pub(crate) fn describe(
    refusal: &WriteRejection,
    made: &[AppliedObject],
    owner: &str,
    account: &ServiceAccount,
) -> String {
    let object = &refusal.object;
    let kind = object.table.resource.kind.as_ref();
    let found = made
        .iter()
        .find(|one| one.kind == kind && *one.name == *object.name && is_in_namespace(one, &object.namespace));
    let program = is_apparatus_object(kind, &object.name);
    let (place, account) = match found {
        Some(made) => {
            let of = ServiceAccount { namespace: made.account.0.clone(), name: made.account.1.clone() };
            (made.path.clone(), of)
        }
        None if program && object.name.starts_with(owner) => ("spec.apparatus".to_string(), account.clone()),
        None => (String::new(), account.clone()),
    };
    let message = match &refusal.message {
        message if message.contains("Apply failed with") => {
            format!("{message}; leave the field to whoever has it, or take it with force: true")
        }
        message if message.contains("is forbidden") && found.is_some() => with_hint(message, &account),
        message => message.clone(),
    };
    if place.is_empty() { message } else { format!("{place}: {message}") }
}

/// Whether to try again is of no use until somebody changes something. A server that is busy, or was asked at the wrong moment, says
/// other words.
pub(crate) fn is_final(message: &str) -> bool {
    let said = ["is forbidden", "is invalid", "denied the request", "Apply failed with"];
    said.iter().any(|words| message.contains(words)) || is_namespace_missing(message)
}

/// Whether it is the pod of a program, or the service before it, that may not be made.
pub(crate) fn is_of_apparatus(refusal: &WriteRejection) -> bool {
    let object = &refusal.object;
    is_final(&refusal.message) && is_apparatus_object(object.table.resource.kind.as_ref(), &object.name)
}

fn is_apparatus_object(kind: &str, name: &str) -> bool {
    matches!(kind, "Pod" | "Service") && name.ends_with("-apparatus")
}

/// The namespace is not there any more. Whatever was in it is gone too.
fn is_namespace_missing(message: &str) -> bool {
    message.contains("namespaces \"") && message.contains("not found")
}

fn is_in_namespace(made: &AppliedObject, namespace: &str) -> bool {
    made.namespace.is_empty() || made.namespace == namespace
}
