//! Conversion of the mutations of a directory to kernel mutations, which the arbiter orders and the applier sends.

use std::borrow::Cow;

use serde_json::Value;
use switchboard_gather::discovery::Discovery;
use switchboard_gather::mutation::{Action, Mutation, OutputCluster as Folder, is_dry_run};
use switchboard_kernel::plan::{self, DeleteOptions, PatchType, Preconditions, WriteOp};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::topology::ClusterType;

/// Converts a mutation of a directory to a kernel mutation.
///
/// # Errors
/// Returns a message for the user if the mutation cannot be applied.
pub fn kernel_mutation(mutation: &Mutation, discovery: &Discovery) -> Result<plan::Mutation, String> {
    let body = mutation.body_value().map_err(|error| format!("could not read its body: {}", error.message))?;
    let options = mutation.options_value().map_err(|error| format!("could not read its options: {}", error.message))?;
    if is_dry_run(mutation.action, &body, &options) {
        return Err("it was a dry run".into());
    }
    if let Some(why) = mutation.invalid_reason(&body) {
        return Err(why);
    }
    let subresource = match (mutation.action.is_status(), mutation.subresource.as_str()) {
        (true, _) => Some("status".to_string()),
        (false, "") => None,
        (false, other) => Some(other.to_string()),
    };
    let (act, terms) = act(mutation, body, &options)?;
    Ok(plan::Mutation {
        cluster_type: place(mutation.cluster),
        resource: resource(mutation, discovery)?,
        namespace: mutation.namespace.clone(),
        name: mutation.name.clone(),
        subresource,
        operation: act,
        preconditions: Preconditions::Unconditional,
        delete_options: terms,
        field_manager: options["fieldManager"].as_str().map(str::to_string),
        field_validation: options["fieldValidation"].as_str().map(str::to_string),
        user: None,
    })
}

/// Mutations in a folder without a cluster type go to the only cluster.
fn place(folder: Folder) -> ClusterType {
    match folder {
        Folder::Configuration | Folder::Unspecified => ClusterType::Configuration,
        Folder::Management => ClusterType::Management,
        Folder::UserWorkload => ClusterType::UserWorkload,
    }
}

fn resource(mutation: &Mutation, discovery: &Discovery) -> Result<Resource, String> {
    let of = mutation.resource_type();
    let served = discovery.served(&of);
    let names_kind = !matches!(mutation.action, Action::Delete | Action::Patch | Action::PatchStatus);
    let (kind, namespaced) = match served {
        Some(served) => (served.kind.kind.clone(), served.namespaced),
        // The type may be defined by a CRD of the same directory.
        None if names_kind && mutation.subresource.is_empty() => {
            (mutation.kind.clone(), !mutation.namespace.is_empty())
        }
        None => return Err(format!("the cluster does not serve {of} in version {}", of.version)),
    };
    Ok(Resource {
        group: Cow::Owned(of.group),
        version: Cow::Owned(of.version),
        kind: Cow::Owned(kind),
        plural: Cow::Owned(of.resource),
        namespaced,
    })
}

fn act(mutation: &Mutation, body: Value, options: &Value) -> Result<(WriteOp, DeleteOptions), String> {
    let act = match mutation.action {
        Action::Create => WriteOp::Create(body),
        Action::Update | Action::UpdateStatus => WriteOp::Update(body),
        Action::Apply | Action::ApplyStatus => WriteOp::Apply { body, force: options["force"] == true },
        Action::Patch | Action::PatchStatus => WriteOp::Patch { patch_type: form(&mutation.patch_type)?, body },
        Action::Delete => return DeleteOptions::read(&body, options),
    };
    Ok((act, DeleteOptions::default()))
}

fn form(patch_type: &str) -> Result<PatchType, String> {
    match patch_type {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchType::Strategic),
        other => Err(format!("unknown patch type `{other}`")),
    }
}

#[cfg(test)]
mod tests;
