//! Kinds that are served in more than one form and stored in one.
//!
//! - Some built-in kinds are stored in another group or version: see [`crate::kinds::convert`].
//! - Custom resources are stored in their storage version; other versions differ by their schema only.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use switchboard_object::schema;

use super::Call;
use crate::kinds::convert;
use crate::store::Record;
use crate::wire::{self, Template};

/// What has to be done between the store and the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    BuiltIn,
    Custom,
}

impl Call {
    fn conversion(&self) -> Change {
        match &self.resource.custom {
            Some(_) => Change::Custom,
            None if convert::stored(&self.resource.kind).is_some() => Change::BuiltIn,
            None => Change::None,
        }
    }

    /// `<plural>[.<group>]` in the store.
    pub fn stored_resource(&self) -> String {
        match (self.conversion(), convert::stored(&self.resource.kind)) {
            (Change::BuiltIn, Some(stored)) => stored.resource.to_string(),
            _ => self.resource.group_resource().to_string(),
        }
    }

    /// A stored object in the version of this request.
    pub fn read(&self, record: &Record) -> Value {
        let mut object = wire::parse(&record.bytes);
        match self.conversion() {
            Change::None => {}
            Change::BuiltIn => {
                convert::from_stored(&self.resource.kind, &mut object);
                object["apiVersion"] = self.resource.kind.api_version().into();
            }
            Change::Custom => self.renew(&mut object),
        }
        object
    }

    /// A stored object as it is served: as it is, unless it was written in another form or by an older schema.
    pub fn served(&self, record: &Record) -> Bytes {
        let as_it_is = match (self.conversion(), &self.resource.custom) {
            (Change::None, _) => true,
            (Change::Custom, Some(custom)) => {
                record.revision >= custom.since && record.bytes.starts_with(self.envelope().as_bytes())
            }
            _ => false,
        };
        if as_it_is {
            return record.bytes.clone();
        }
        Template::new(&self.read(record), self.resource.custom.is_some()).at(record.revision)
    }

    /// What is stored is not what is served.
    pub fn is_converted(&self) -> bool {
        match (self.conversion(), &self.resource.custom) {
            (Change::None, _) => false,
            (Change::Custom, Some(custom)) => *custom.storage_version != *self.resource.kind.version,
            _ => true,
        }
    }

    /// An object that was just encoded for the store, as it is served; its revision (if any) stays what it says.
    pub fn reserved(&self, record: &Record) -> Bytes {
        let object = self.read(record);
        let template = Template::new(&object, self.resource.custom.is_some());
        match Call::metadata(&object, "resourceVersion").parse() {
            Ok(revision) => template.at(revision),
            Err(_) => template.without_revision(),
        }
    }

    /// The object as this request's version of its CRD has it.
    fn renew(&self, object: &mut Value) {
        let custom = self.resource.custom.as_ref();
        let storage = custom.and_then(|c| c.storage_shape.as_ref()).and_then(|shape| shape.get());
        // What is stored is first read by the schema of its own version.
        if let Some(shape) = storage.and_then(|shape| shape.custom.as_ref()) {
            by_schema(shape, object);
        }
        object["apiVersion"] = self.resource.kind.api_version().into();
        if let Some(shape) = self.resource.shape().and_then(|shape| shape.custom.as_ref()) {
            // The version asked for drops what it does not name, but its defaults are for what is written in it.
            let _ = shape.read(object);
            if storage.is_none() {
                shape.default(object);
            }
        }
    }

    /// The object in the form it is stored in.
    pub(super) fn template(&self, object: &Value) -> Template {
        let custom = self.resource.custom.as_ref();
        let stored = match (self.conversion(), custom) {
            (Change::BuiltIn, _) => {
                let mut stored = object.clone();
                convert::to_stored(&self.resource.kind, &mut stored);
                stored
            }
            (Change::Custom, Some(custom)) if *custom.storage_version != *self.resource.kind.version => {
                let mut stored = object.clone();
                stored["apiVersion"] = format!("{}/{}", self.resource.kind.group, custom.storage_version).into();
                let shape = custom.storage_shape.as_ref().and_then(|shape| shape.get());
                if let Some(shape) = shape.and_then(|shape| shape.custom.as_ref()) {
                    by_schema(shape, &mut stored);
                }
                stored
            }
            _ => return Template::new(object, custom.is_some()),
        };
        Template::new(&stored, custom.is_some())
    }
}

/// Drops what the schema does not name and sets what it has defaults for.
fn by_schema(shape: &Arc<schema::Custom>, object: &mut Value) {
    // What was stored once was readable then; a schema that changed cannot make it unreadable.
    let _ = shape.read(object);
    shape.default(object);
}
