//! Kinds that are served in several versions and stored in one.
//!
//! - Some built-in kinds are stored in another group or version: see [`crate::kinds::convert`].
//! - Custom resources are stored in their storage version; other versions differ by their schema only.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use switchboard_object::schema;

use super::ApiCall;
use crate::kinds::convert;
use crate::store::StoredObject;
use crate::wire::{self, ObjectTemplate};

/// Conversion between store and client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StorageConversion {
    None,
    BuiltIn,
    Custom,
}

impl ApiCall {
    fn conversion(&self) -> StorageConversion {
        match &self.resource.custom {
            Some(_) => StorageConversion::Custom,
            None if convert::stored(&self.resource.kind).is_some() => StorageConversion::BuiltIn,
            None => StorageConversion::None,
        }
    }

    /// Returns the resource in the store, `<plural>[.<group>]`.
    pub fn stored_resource(&self) -> String {
        match (self.conversion(), convert::stored(&self.resource.kind)) {
            (StorageConversion::BuiltIn, Some(stored)) => stored.resource.to_string(),
            _ => self.resource.group_resource().to_string(),
        }
    }

    /// Returns a stored object in the version of this request.
    pub fn read(&self, record: &StoredObject) -> Value {
        let mut object = wire::parse(&record.bytes);
        match self.conversion() {
            StorageConversion::None => {}
            StorageConversion::BuiltIn => {
                convert::from_stored(&self.resource.kind, &mut object);
                object["apiVersion"] = self.resource.kind.api_version().into();
            }
            StorageConversion::Custom => self.convert_to_version(&mut object),
        }
        object
    }

    /// Returns a stored object as served: unchanged, unless it was written in another version or with an older schema.
    pub fn served(&self, record: &StoredObject) -> Bytes {
        let as_it_is = match (self.conversion(), &self.resource.custom) {
            (StorageConversion::None, _) => true,
            (StorageConversion::Custom, Some(custom)) => {
                record.revision >= custom.since && record.bytes.starts_with(self.envelope().as_bytes())
            }
            _ => false,
        };
        if as_it_is {
            return record.bytes.clone();
        }
        ObjectTemplate::new(&self.read(record), self.resource.custom.is_some()).with_revision(record.revision)
    }

    /// Whether the stored form differs from the served form.
    pub fn is_converted(&self) -> bool {
        match (self.conversion(), &self.resource.custom) {
            (StorageConversion::None, _) => false,
            (StorageConversion::Custom, Some(custom)) => *custom.storage_version != *self.resource.kind.version,
            _ => true,
        }
    }

    /// Converts an object that was just encoded for the store to its served form. Its revision, if any, does not
    /// change.
    pub fn to_served(&self, record: &StoredObject) -> Bytes {
        let object = self.read(record);
        let template = ObjectTemplate::new(&object, self.resource.custom.is_some());
        match ApiCall::metadata(&object, "resourceVersion").parse() {
            Ok(revision) => template.with_revision(revision),
            Err(_) => template.without_revision(),
        }
    }

    /// Converts an object to this request's version of its CRD.
    fn convert_to_version(&self, object: &mut Value) {
        let custom = self.resource.custom.as_ref();
        let storage = custom.and_then(|c| c.storage_schema.as_ref()).and_then(|shape| shape.get());
        // The object is first decoded with the schema of its storage version.
        if let Some(shape) = storage.and_then(|shape| shape.custom.as_ref()) {
            prune_and_default(shape, object);
        }
        object["apiVersion"] = self.resource.kind.api_version().into();
        if let Some(shape) = self.resource.schema().and_then(|shape| shape.custom.as_ref()) {
            // The requested version prunes fields that it does not declare, but does not set its defaults; those apply
            // to objects written in that version.
            let _ = shape.read(object);
            if storage.is_none() {
                shape.default(object);
            }
        }
    }

    /// Returns the storage form of the object.
    pub(super) fn template(&self, object: &Value) -> ObjectTemplate {
        let custom = self.resource.custom.as_ref();
        let stored = match (self.conversion(), custom) {
            (StorageConversion::BuiltIn, _) => {
                let mut stored = object.clone();
                convert::to_stored(&self.resource.kind, &mut stored);
                stored
            }
            (StorageConversion::Custom, Some(custom)) if *custom.storage_version != *self.resource.kind.version => {
                let mut stored = object.clone();
                stored["apiVersion"] = format!("{}/{}", self.resource.kind.group, custom.storage_version).into();
                let shape = custom.storage_schema.as_ref().and_then(|shape| shape.get());
                if let Some(shape) = shape.and_then(|shape| shape.custom.as_ref()) {
                    prune_and_default(shape, &mut stored);
                }
                stored
            }
            _ => return ObjectTemplate::new(object, custom.is_some()),
        };
        ObjectTemplate::new(&stored, custom.is_some())
    }
}

/// Drops fields that the schema does not declare, and sets defaults.
fn prune_and_default(shape: &Arc<schema::CustomSchema>, object: &mut Value) {
    // The object was readable when it was stored; a changed schema must not make it unreadable.
    let _ = shape.read(object);
    shape.default(object);
}
