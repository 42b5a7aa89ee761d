//! Mutations of a directory as the kernel's: what the arbiter orders and the applier carries out.

use std::borrow::Cow;

use serde_json::Value;
use switchboard_gather::discovery::Discovery;
use switchboard_gather::mutation::{Action, Mutation, Place as Folder, is_dry_run};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{self, Act, Expect, PatchForm, Terms};
use switchboard_kernel::resource::Resource;

/// The kernel's form of a mutation.
///
/// # Errors
/// When it asks for something that cannot be carried out as it stands; for people.
pub fn planned(mutation: &Mutation, discovery: &Discovery) -> Result<plan::Mutation, String> {
    let body = mutation.body_value().map_err(|error| format!("its body cannot be read: {}", error.message))?;
    let options = mutation.options_value().map_err(|error| format!("its options cannot be read: {}", error.message))?;
    if is_dry_run(mutation.action, &body, &options) {
        return Err("it was a dry run".into());
    }
    if let Some(why) = mutation.unfit(&body) {
        return Err(why);
    }
    let subresource = match (mutation.action.is_status(), mutation.subresource.as_str()) {
        (true, _) => Some("status".to_string()),
        (false, "") => None,
        (false, other) => Some(other.to_string()),
    };
    let (act, terms) = act(mutation, body, &options)?;
    Ok(plan::Mutation {
        place: place(mutation.place),
        resource: resource(mutation, discovery)?,
        namespace: mutation.namespace.clone(),
        name: mutation.name.clone(),
        subresource,
        act,
        expect: Expect::Anything,
        terms,
        field_manager: options["fieldManager"].as_str().map(str::to_string),
        field_validation: options["fieldValidation"].as_str().map(str::to_string),
        user: None,
    })
}

/// A folder without a cluster's name is carried out on the one there is.
fn place(folder: Folder) -> Place {
    match folder {
        Folder::Configuration | Folder::Unspecified => Place::Configuration,
        Folder::Management => Place::Management,
        Folder::UserWorkload => Place::UserWorkload,
    }
}

fn resource(mutation: &Mutation, discovery: &Discovery) -> Result<Resource, String> {
    let of = mutation.resource_type();
    let served = discovery.served(&of);
    let names_kind = !matches!(mutation.action, Action::Delete | Action::Patch | Action::PatchStatus);
    let (kind, namespaced) = match served {
        Some(served) => (served.kind.kind.clone(), served.namespaced),
        // A kind that a CRD of the same directory brings.
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

fn act(mutation: &Mutation, body: Value, options: &Value) -> Result<(Act, Terms), String> {
    let act = match mutation.action {
        Action::Create => Act::Create(body),
        Action::Update | Action::UpdateStatus => Act::Update(body),
        Action::Apply | Action::ApplyStatus => Act::Apply { body, force: options["force"] == true },
        Action::Patch | Action::PatchStatus => Act::Patch { form: form(&mutation.patch_type)?, body },
        Action::Delete => return Terms::read(&body, options),
    };
    Ok((act, Terms::default()))
}

fn form(patch_type: &str) -> Result<PatchForm, String> {
    match patch_type {
        "application/json-patch+json" => Ok(PatchForm::Json),
        "application/merge-patch+json" => Ok(PatchForm::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchForm::Strategic),
        other => Err(format!("`{other}` is no kind of patch")),
    }
}

#[cfg(test)]
mod tests;
