//! Built-in kinds served in another group or version than they are stored in.

use bytes::Bytes;
use switchboard_object::Value;

use crate::kinds::convert;
use crate::resource::Resource;
use crate::wire::{self, Template};

/// Where objects of the resource are stored, when it is not under its own name.
pub(super) fn stored_elsewhere(resource: &Resource) -> Option<&'static str> {
    if resource.custom.is_some() {
        return None;
    }
    convert::stored(&resource.kind).map(|stored| stored.resource)
}

/// A stored object as the resource shows it.
pub(super) fn read(resource: &Resource, stored: &Bytes) -> Value {
    let mut object = wire::parse(stored);
    if stored_elsewhere(resource).is_some() {
        convert::from_stored(&resource.kind, &mut object);
    }
    object["apiVersion"] = resource.kind.api_version().into();
    object
}

/// The bytes of a stored object as the resource shows it; most kinds are shown as they are stored.
pub(super) fn served(resource: &Resource, stored: &Bytes) -> Bytes {
    if stored_elsewhere(resource).is_none() {
        return stored.clone();
    }
    let object = read(resource, stored);
    let template = Template::new(&object, false);
    match object["metadata"]["resourceVersion"].as_str().and_then(|r| r.parse().ok()) {
        Some(revision) => template.at(revision),
        None => template.without_revision(),
    }
}

/// An object of the resource in the form it is stored in.
pub(super) fn template(resource: &Resource, object: &Value) -> Template {
    if stored_elsewhere(resource).is_none() {
        return Template::new(object, resource.custom.is_some());
    }
    let mut object = object.clone();
    convert::to_stored(&resource.kind, &mut object);
    Template::new(&object, false)
}
