//! Conversion of a planned write to a mutation of the contract.

use serde_json::{Value, json};
use switchboard_gather::mutation::{self, Action, Mutation};

use super::resource_lists::type_of;
use switchboard_kernel::operator::Declaration;
use switchboard_kernel::plan::{Mutation as Wanted, PatchType, Preconditions, WriteOp};
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::View;

/// Returns the mutation with its cluster type, or without one if the operator does not declare it.
pub(super) fn to_contract(
    wanted: &Wanted,
    operator: &str,
    declaration: &Declaration,
    view: &View,
) -> Result<Mutation, String> {
    let place = if is_declared(wanted, declaration) {
        contract_place(wanted.cluster_type)
    } else {
        mutation::OutputCluster::Unspecified
    };
    let of = type_of(&wanted.resource);
    let manager = wanted.field_manager.as_deref().unwrap_or(operator);
    let named = (wanted.namespace.as_str(), wanted.name.as_str());
    let status = wanted.subresource.as_deref() == Some("status");
    let twin = |plain: Action, of_status: Action| if status { of_status } else { plain };
    let mut options = json!({"fieldManager": manager});
    if let Some(how) = &wanted.field_validation {
        options["fieldValidation"] = how.as_str().into();
    }
    let made = match &wanted.operation {
        WriteOp::Create(_) | WriteOp::Delete { .. } if wanted.subresource.is_some() => {
            return Err(format!("could not record `{wanted}`: a subresource is neither created nor deleted"));
        }
        WriteOp::Create(body) => Mutation::object(place, Action::Create, &of, body),
        WriteOp::Update(body) => Mutation::object(place, twin(Action::Update, Action::UpdateStatus), &of, body),
        WriteOp::Apply { body, force } => {
            if *force {
                options["force"] = true.into();
            }
            Mutation::object(place, twin(Action::Apply, Action::ApplyStatus), &of, body)
        }
        WriteOp::Patch { patch_type: form, body } => {
            let action = twin(Action::Patch, Action::PatchStatus);
            Mutation::patch(place, action, &of, named, media_type(*form), body.to_string().as_bytes())
                .map_err(|error| format!("could not record `{wanted}`: {error}"))?
        }
        WriteOp::Delete { propagation } => {
            options = Value::Null;
            let mut body = json!({"apiVersion": of.api_version(), "kind": "DeleteOptions"});
            if let Some(propagation) = propagation {
                body["propagationPolicy"] = propagation.as_str().into();
            }
            if let Some(expected) = delete_preconditions(wanted, view) {
                body["preconditions"] = expected;
            }
            wanted.delete_options.write(&mut body, &Preconditions::Unconditional);
            Mutation::delete(place, &of, named, &body)
        }
    };
    let other = wanted.subresource.as_deref().filter(|_| !status).unwrap_or_default();
    Ok(made.with_options(&options).with_controller(operator).with_subresource(other))
}

fn contract_place(place: ClusterType) -> mutation::OutputCluster {
    match place {
        ClusterType::Configuration => mutation::OutputCluster::Configuration,
        ClusterType::Management => mutation::OutputCluster::Management,
        ClusterType::UserWorkload => mutation::OutputCluster::UserWorkload,
    }
}

fn is_declared(wanted: &Wanted, declaration: &Declaration) -> bool {
    declaration.outputs.iter().any(|output| {
        output.cluster_type == wanted.cluster_type
            && output.covers_kind(&wanted.resource)
            && output.namespace.as_deref().is_none_or(|namespace| namespace == wanted.namespace)
            && output.name.as_deref().is_none_or(|name| name == wanted.name)
    })
}

fn media_type(form: PatchType) -> &'static str {
    match form {
        PatchType::Json => "application/json-patch+json",
        PatchType::Merge => "application/merge-patch+json",
        PatchType::Strategic => "application/strategic-merge-patch+json",
    }
}

/// Returns the preconditions of a deletion. Updates carry their `resourceVersion` in the body.
fn delete_preconditions(wanted: &Wanted, view: &View) -> Option<Value> {
    match &wanted.preconditions {
        Preconditions::Unconditional => None,
        Preconditions::Exact { uid, revision } => Some(json!({"uid": uid, "resourceVersion": revision.to_string()})),
        Preconditions::AsRead => {
            // This read is not tracked: it counts only if the operator read the object.
            let reads = view.reads();
            let seen = |key: &&switchboard_kernel::resource::ObjectKey| {
                *key.table.resource == wanted.resource
                    && *key.namespace == *wanted.namespace
                    && *key.name == *wanted.name
            };
            let revision = (*reads.gets.get(reads.gets.keys().find(seen)?)?)?;
            let object = view.on(wanted.cluster_type).get(&wanted.resource, &wanted.namespace, &wanted.name).ok()??;
            let uid = object.value()["metadata"]["uid"].clone();
            let mut expected = json!({"resourceVersion": revision.to_string()});
            if uid.is_string() {
                expected["uid"] = uid;
            }
            Some(expected)
        }
    }
}
