//! Messages for writes that the API server refused: the field that requested the object, and a hint.

use switchboard_kernel::operator::ServiceAccount;
use switchboard_kernel::view::WriteRejection;

use crate::coupling::AppliedObject;
use crate::rbac::with_hint;

/// Returns the message of a refusal. `made` are the objects to apply, `owner` is the plug or socket whose apparatus may
/// be affected, and `account` is the service account of that apparatus.
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
            format!("{message}; leave the field to its manager, or take it over with force: true")
        }
        message if message.contains("is forbidden") && found.is_some() => with_hint(message, &account),
        message => message.clone(),
    };
    if place.is_empty() { message } else { format!("{place}: {message}") }
}

/// Whether a retry is useless without a change by the user. Messages of a busy server are not final.
pub(crate) fn is_final(message: &str) -> bool {
    let said = ["is forbidden", "is invalid", "denied the request", "Apply failed with"];
    said.iter().any(|words| message.contains(words)) || is_namespace_missing(message)
}

/// Whether the refusal concerns the pod or Service of an apparatus.
pub(crate) fn is_of_apparatus(refusal: &WriteRejection) -> bool {
    let object = &refusal.object;
    is_final(&refusal.message) && is_apparatus_object(object.table.resource.kind.as_ref(), &object.name)
}

fn is_apparatus_object(kind: &str, name: &str) -> bool {
    matches!(kind, "Pod" | "Service") && name.ends_with("-apparatus")
}

/// Whether the namespace does not exist any more, so that its objects do not exist either.
fn is_namespace_missing(message: &str) -> bool {
    message.contains("namespaces \"") && message.contains("not found")
}

fn is_in_namespace(made: &AppliedObject, namespace: &str) -> bool {
    made.namespace.is_empty() || made.namespace == namespace
}
