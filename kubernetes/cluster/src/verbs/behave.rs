//! How a resource behaves at a write: built-in kinds by their strategy, custom resources by their schema.

use std::sync::Arc;

use serde_json::json;
use switchboard_object::Value;
use switchboard_object::apply::{ResetFields, Typed};
use switchboard_object::field::FieldError;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::schema::{self, Definitions, Schema};
use switchboard_object::status::Status;

use super::{Call, Warnings};
use crate::kinds::{self, Env, Requester, Strategy, World};
use crate::metadata::{self, NameRule};
use crate::resource::{Custom, Resource};
use crate::server::Inner;
use crate::store::Key;
use crate::wire;

/// An `apiVersion` and its schema.
pub(super) type Versioned = (String, Option<Arc<Schema>>);

/// The behaviour of one resource.
pub(super) enum Behaviour<'a> {
    /// A built-in kind.
    BuiltIn(&'static dyn Strategy),
    /// A custom resource, and where its warnings go.
    Custom(&'a Resource, &'a Custom, &'a Warnings),
}

/// What a write may read of the rest of the cluster.
pub(super) struct Neighbours<'a> {
    inner: &'a Inner,
    cluster: &'a str,
}

impl World for Neighbours<'_> {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let record = self.inner.store.get(&Key::new(self.cluster, resource, namespace, name))?;
        Some(wire::parse(&record.bytes))
    }

    fn list(&self, resource: &str, namespace: &str) -> Vec<Value> {
        let namespace = Some(namespace).filter(|n| !n.is_empty());
        let page = self.inner.store.list(&Key::prefix(self.cluster, resource, namespace), None, 0, None);
        page.map(|p| p.records.iter().map(|(_, r)| wire::parse(&r.bytes)).collect()).unwrap_or_default()
    }
}

impl Call {
    /// How this request's resource behaves.
    pub(super) fn behaviour(&self) -> Behaviour<'_> {
        match &self.resource.custom {
            Some(custom) => Behaviour::Custom(&self.resource, custom, &self.warnings),
            None => Behaviour::BuiltIn(kinds::strategy(&self.resource.kind)),
        }
    }

    /// What the request may read of the rest of the cluster.
    pub(super) fn neighbours(&self) -> Neighbours<'_> {
        Neighbours { inner: &self.inner, cluster: self.logical.name() }
    }

    /// Hands `act` the surroundings of the write.
    pub(super) fn with_env<T>(&self, act: impl FnOnce(&Env<'_>) -> T) -> T {
        let mut random = [0u8; 8];
        self.inner.ambient.fill(&mut random);
        let now = self.inner.ambient.now_text();
        let user = Requester {
            name: &self.user.name,
            uid: &self.user.uid,
            groups: &self.user.groups,
            extra: self.user.extra.clone(),
        };
        act(&Env { now: &now, random: u64::from_le_bytes(random), user, world: &self.neighbours() })
    }

    /// The schema as server-side apply reads it.
    pub(super) fn typed<'a>(&'a self, built_in: &'a Definitions, versions: &'a [Versioned]) -> Typed<'a> {
        let schema = self.resource.shape().map(|shape| &*shape.root);
        Typed { definitions: built_in, schema, custom: self.resource.custom.is_some(), versions }
    }

    /// The other versions of the kind, in which managers may have written.
    pub(super) fn versions(&self) -> Vec<Versioned> {
        let (kind, registry) = (&self.resource.kind, self.logical.registry());
        let versions = registry.group(&kind.group).into_iter().flat_map(|group| &group.versions);
        versions
            .filter(|version| *version.name != *kind.version)
            .filter_map(|version| version.get(&self.resource.plural))
            .map(|other| (other.kind.api_version(), other.shape().map(|shape| shape.root.clone())))
            .collect()
    }

    /// The fields this endpoint never takes from a client.
    pub(super) fn reset_fields(&self) -> ResetFields {
        let kind = &self.resource.kind;
        match &self.resource.custom {
            Some(custom) => ResetFields::custom(&kind.api_version(), &self.info.subresource, custom.status),
            None => ResetFields::built_in(&kind.group, &kind.kind, &self.info.subresource),
        }
    }
}

impl Behaviour<'_> {
    /// An update of an object that is not there creates it.
    pub fn creates_on_update(&self) -> bool {
        matches!(self, Self::BuiltIn(strategy) if strategy.allow_create_on_update())
    }

    /// An update without `resourceVersion` is accepted.
    pub fn updates_unconditionally(&self) -> bool {
        matches!(self, Self::BuiltIn(strategy) if strategy.allow_unconditional_update())
    }

    /// Sets defaults.
    pub fn default(&self, object: &mut Value) {
        match self {
            Self::BuiltIn(strategy) => strategy.default(object),
            Self::Custom(resource, ..) => {
                if let Some(shape) = resource.shape() {
                    schema::drop_nulls(&shape.root, object);
                    schema::default(&shape.root, object);
                }
            }
        }
    }

    /// What the built-in admission plugins do.
    pub fn admit(&self, object: &mut Value, old: Option<&Value>, env: &Env<'_>) -> Result<(), Status> {
        match self {
            Self::BuiltIn(strategy) => strategy.admit(object, old, env),
            Self::Custom(..) => Ok(()),
        }
    }

    /// What the built-in admission plugins say once the object is found valid.
    pub fn review(&self, object: &Value, old: Option<&Value>, env: &Env<'_>) -> Result<(), Status> {
        match self {
            Self::BuiltIn(strategy) => strategy.review(object, old, env),
            Self::Custom(..) => Ok(()),
        }
    }

    /// Prepares a new object.
    pub fn prepare_create(&self, object: &mut Value, env: &Env<'_>) -> Result<(), Status> {
        match self {
            Self::BuiltIn(strategy) => strategy.prepare_create(object, env),
            Self::Custom(_, custom, _) => {
                if let (true, Some(fields)) = (custom.status, object.as_object_mut()) {
                    fields.remove("status");
                }
                object["metadata"]["generation"] = json!(1);
                Ok(())
            }
        }
    }

    /// Prepares an update of the object (`subresource` empty) or of a part of it.
    pub fn prepare_update(&self, new: &mut Value, old: &Value, subresource: &str, env: &Env<'_>) -> Result<(), Status> {
        match (self, subresource) {
            (Self::BuiltIn(strategy), "" | "scale") => strategy.prepare_update(new, old, env)?,
            (Self::BuiltIn(strategy), part) => strategy.prepare_subresource_update(part, new, old, env),
            (Self::Custom(..), "status") => prepare_custom_status(new, old),
            (Self::Custom(_, custom, _), _) => prepare_custom_update(new, old, custom.status),
        }
        if subresource.is_empty() && is_definition(new) {
            remember_storage_version(new);
        }
        metadata::keep_system_fields(new, old);
        Ok(())
    }

    /// What is wrong with a new object.
    pub fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        match self {
            Self::BuiltIn(strategy) => {
                let mut errors = strategy.validate_create(object);
                if is_definition(object) {
                    errors.extend(schema::validate_crd(object));
                }
                errors
            }
            Self::Custom(resource, _, warnings) => {
                let rule = NameRule::Subdomain;
                let mut errors = metadata::validate(&object["metadata"], resource.namespaced, rule, "metadata");
                errors.extend(validate_custom(resource, object, None, warnings));
                errors
            }
        }
    }

    /// What is wrong with an update.
    pub fn validate_update(&self, new: &Value, old: &Value, subresource: &str) -> Vec<FieldError> {
        match (self, subresource) {
            (Self::BuiltIn(strategy), "" | "scale") => {
                let mut errors = strategy.validate_update(new, old);
                if is_definition(new) {
                    errors.extend(schema::validate_crd_update(new, old));
                }
                errors
            }
            (Self::BuiltIn(strategy), part) => strategy.validate_subresource_update(part, new, old),
            (Self::Custom(resource, _, warnings), part) => {
                let (meta, was) = (&new["metadata"], &old["metadata"]);
                let mut errors = metadata::validate(meta, resource.namespaced, NameRule::PathSegment, "metadata");
                errors.extend(metadata::validate_update(meta, was, "metadata"));
                // The kind's own validation looks at metadata once more, as upstream's does.
                errors.extend(metadata::validate_update(meta, was, "metadata"));
                errors.extend(match part {
                    "status" => validate_custom_status(resource, new, old, warnings),
                    _ => validate_custom(resource, new, Some(old), warnings),
                });
                errors
            }
        }
    }

    /// The kind a refusal names.
    pub fn refused_kind(&self, kind: &GroupVersionKind) -> GroupVersionKind {
        match self {
            Self::BuiltIn(strategy) => strategy.refused_kind(kind),
            Self::Custom(..) => kind.clone(),
        }
    }

    /// What the client should be warned of.
    pub fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        match self {
            Self::BuiltIn(_) if is_definition(new) => {
                let known = old.map(schema::crd_warnings).unwrap_or_default();
                schema::crd_warnings(new).into_iter().filter(|warning| !known.contains(warning)).collect()
            }
            Self::BuiltIn(strategy) => strategy.warnings(new, old),
            Self::Custom(..) => schema::Custom::warnings(new, old),
        }
    }
}

fn is_definition(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition" && object["apiVersion"] == "apiextensions.k8s.io/v1"
}

/// A CRD remembers every version objects were ever stored in.
fn remember_storage_version(crd: &mut Value) {
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let storage = versions.filter(|v| v["storage"] == true).map(|v| v["name"].clone()).next();
    let stored = crd["status"]["storedVersions"].as_array_mut();
    if let (Some(storage), Some(stored)) = (storage, stored)
        && !stored.contains(&storage)
    {
        stored.push(storage);
    }
}

fn validate_custom(resource: &Resource, new: &Value, old: Option<&Value>, warnings: &Warnings) -> Vec<FieldError> {
    let Some(shape) = resource.shape().and_then(|shape| shape.custom.as_ref()) else { return Vec::new() };
    // A resource inside of another one has no rules for its name.
    let embedded = |metadata: &Value, path: &str| metadata::validate_embedded(metadata, path);
    let (mut errors, warned) = shape.validate(new, old, &embedded);
    warned.into_iter().for_each(|text| warnings.add(text));
    errors.extend(validate_scale(resource, new, true));
    errors
}

/// What the scale subresource reads must be numbers and text.
fn validate_scale(resource: &Resource, new: &Value, with_spec: bool) -> Vec<FieldError> {
    let Some(scale) = resource.custom.as_ref().and_then(|custom| custom.scale.as_ref()) else { return Vec::new() };
    let spec = with_spec.then_some(&*scale.spec_replicas);
    schema::Custom::validate_scale(new, spec, &scale.status_replicas, scale.label_selector.as_deref())
}

fn validate_custom_status(resource: &Resource, new: &Value, old: &Value, warnings: &Warnings) -> Vec<FieldError> {
    let Some(shape) = resource.shape().and_then(|shape| shape.custom.as_ref()) else { return Vec::new() };
    let (mut errors, warned) = shape.validate_status(new, old);
    warned.into_iter().for_each(|text| warnings.add(text));
    errors.extend(validate_scale(resource, new, false));
    errors
}

/// A status write of a custom resource changes the status and who owns it, nothing else.
fn prepare_custom_status(new: &mut Value, old: &Value) {
    let mut kept = old.clone();
    match (new.get("status"), kept.as_object_mut()) {
        (Some(status), Some(fields)) => {
            fields.insert("status".into(), status.clone());
        }
        (None, Some(fields)) => {
            fields.remove("status");
        }
        _ => {}
    }
    for field in ["managedFields", "resourceVersion"] {
        match new["metadata"].get(field) {
            Some(value) => kept["metadata"][field] = value.clone(),
            None => {
                kept["metadata"].as_object_mut().map(|m| m.remove(field));
            }
        }
    }
    *new = kept;
}

fn prepare_custom_update(new: &mut Value, old: &Value, has_status: bool) {
    if let (true, Some(fields)) = (has_status, new.as_object_mut()) {
        match old.get("status") {
            Some(status) => fields.insert("status".into(), status.clone()),
            None => fields.remove("status"),
        };
    }
    let content = |object: &Value| {
        let mut fields = object.as_object().cloned().unwrap_or_default();
        fields.remove("metadata");
        fields
    };
    let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
    let changed = content(new) != content(old);
    new["metadata"]["generation"] = json!(if changed { generation + 1 } else { generation });
}
