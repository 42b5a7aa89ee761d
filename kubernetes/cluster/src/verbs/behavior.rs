//! Behavior of a resource on writes: built-in kinds by their strategy, custom resources by their schema.

use std::sync::Arc;

use serde_json::json;
use switchboard_object::Value;
use switchboard_object::apply::{KindSchema, ResetFields};
use switchboard_object::field::FieldError;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::schema::{self, Definitions, Schema};
use switchboard_object::status::Status;

use super::{ApiCall, RequestWarnings};
use crate::kinds::{self, ClusterReader, KindStrategy, Requester, WriteContext};
use crate::metadata::{self, NameRule};
use crate::resource::{CrdVersion, ServedResource};
use crate::server::ServerState;
use crate::store::StoreKey;
use crate::wire;

/// `apiVersion` and its schema.
pub(super) type VersionedSchema = (String, Option<Arc<Schema>>);

/// Behavior of a resource.
pub(super) enum ResourceBehavior<'a> {
    /// Built-in kind.
    BuiltIn(&'static dyn KindStrategy),
    /// Custom resource, with the receiver of its warnings.
    Custom(&'a ServedResource, &'a CrdVersion, &'a RequestWarnings),
}

/// Read access of a write to the other objects of the cluster.
pub(super) struct StoreReader<'a> {
    inner: &'a ServerState,
    cluster: &'a str,
}

impl ClusterReader for StoreReader<'_> {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let record = self.inner.store.get(&StoreKey::new(self.cluster, resource, namespace, name))?;
        Some(wire::parse(&record.bytes))
    }

    fn list(&self, resource: &str, namespace: &str) -> Vec<Value> {
        let namespace = Some(namespace).filter(|n| !n.is_empty());
        let page = self.inner.store.list(&StoreKey::prefix(self.cluster, resource, namespace), None, 0, None);
        page.map(|p| p.records.iter().map(|(_, r)| wire::parse(&r.bytes)).collect()).unwrap_or_default()
    }
}

impl ApiCall {
    /// Returns the behavior of the request's resource.
    pub(super) fn behavior(&self) -> ResourceBehavior<'_> {
        match &self.resource.custom {
            Some(custom) => ResourceBehavior::Custom(&self.resource, custom, &self.warnings),
            None => ResourceBehavior::BuiltIn(kinds::strategy(&self.resource.kind)),
        }
    }

    /// Returns read access to the other objects of the cluster.
    pub(super) fn store_reader(&self) -> StoreReader<'_> {
        StoreReader { inner: &self.inner, cluster: self.logical.name() }
    }

    /// Calls `act` with the context of the write.
    pub(super) fn with_write_context<T>(&self, act: impl FnOnce(&WriteContext<'_>) -> T) -> T {
        let mut random = [0u8; 8];
        self.inner.clock_and_rng.fill(&mut random);
        let now = self.inner.clock_and_rng.now_text();
        let user = Requester {
            name: &self.user.name,
            uid: &self.user.uid,
            groups: &self.user.groups,
            extra: self.user.extra.clone(),
        };
        act(&WriteContext { now: &now, random: u64::from_le_bytes(random), user, cluster: &self.store_reader() })
    }

    /// Returns the schemas for server-side apply.
    pub(super) fn typed<'a>(&'a self, built_in: &'a Definitions, versions: &'a [VersionedSchema]) -> KindSchema<'a> {
        let schema = self.resource.schema().map(|shape| &*shape.root);
        KindSchema { definitions: built_in, schema, custom: self.resource.custom.is_some(), versions }
    }

    /// Returns the other versions of the kind, which managed fields may refer to.
    pub(super) fn versions(&self) -> Vec<VersionedSchema> {
        let (kind, registry) = (&self.resource.kind, self.logical.registry());
        let versions = registry.group(&kind.group).into_iter().flat_map(|group| &group.versions);
        versions
            .filter(|version| *version.name != *kind.version)
            .filter_map(|version| version.get(&self.resource.plural))
            .map(|other| (other.kind.api_version(), other.schema().map(|shape| shape.root.clone())))
            .collect()
    }

    /// Returns the fields that this endpoint never takes from a client.
    pub(super) fn reset_fields(&self) -> ResetFields {
        let kind = &self.resource.kind;
        match &self.resource.custom {
            Some(custom) => ResetFields::custom(&kind.api_version(), &self.info.subresource, custom.status),
            None => ResetFields::built_in(&kind.group, &kind.kind, &self.info.subresource),
        }
    }
}

impl ResourceBehavior<'_> {
    /// Whether an update of a missing object creates it.
    pub fn allows_create_on_update(&self) -> bool {
        matches!(self, Self::BuiltIn(strategy) if strategy.allow_create_on_update())
    }

    /// Whether an update without `resourceVersion` is accepted.
    pub fn allows_unconditional_update(&self) -> bool {
        matches!(self, Self::BuiltIn(strategy) if strategy.allow_unconditional_update())
    }

    /// Sets defaults.
    pub fn default(&self, object: &mut Value) {
        match self {
            Self::BuiltIn(strategy) => strategy.default(object),
            Self::Custom(resource, ..) => {
                if let Some(shape) = resource.schema() {
                    schema::drop_nulls(&shape.root, object);
                    schema::default(&shape.root, object);
                }
            }
        }
    }

    /// Applies the built-in mutating admission plugins.
    pub fn admit(&self, object: &mut Value, old: Option<&Value>, env: &WriteContext<'_>) -> Result<(), Status> {
        match self {
            Self::BuiltIn(strategy) => strategy.admit(object, old, env),
            Self::Custom(..) => Ok(()),
        }
    }

    /// Applies the built-in validating admission plugins, after validation.
    pub fn review(&self, object: &Value, old: Option<&Value>, env: &WriteContext<'_>) -> Result<(), Status> {
        match self {
            Self::BuiltIn(strategy) => strategy.review(object, old, env),
            Self::Custom(..) => Ok(()),
        }
    }

    /// Prepares a new object.
    pub fn prepare_create(&self, object: &mut Value, env: &WriteContext<'_>) -> Result<(), Status> {
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
    pub fn prepare_update(
        &self,
        new: &mut Value,
        old: &Value,
        subresource: &str,
        env: &WriteContext<'_>,
    ) -> Result<(), Status> {
        match (self, subresource) {
            (Self::BuiltIn(strategy), "" | "scale") => strategy.prepare_update(new, old, env)?,
            (Self::BuiltIn(strategy), part) => strategy.prepare_subresource_update(part, new, old, env),
            (Self::Custom(..), "status") => prepare_custom_status(new, old),
            (Self::Custom(_, custom, _), _) => prepare_custom_update(new, old, custom.status),
        }
        if subresource.is_empty() && is_definition(new) {
            add_stored_version(new);
        }
        metadata::keep_system_fields(new, old);
        Ok(())
    }

    /// Validates a new object.
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

    /// Validates an update.
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
                // The kind's own validation validates metadata again, as in kube-apiserver.
                errors.extend(metadata::validate_update(meta, was, "metadata"));
                errors.extend(match part {
                    "status" => validate_custom_status(resource, new, old, warnings),
                    _ => validate_custom(resource, new, Some(old), warnings),
                });
                errors
            }
        }
    }

    /// Returns the kind that an error names.
    pub fn error_kind(&self, kind: &GroupVersionKind) -> GroupVersionKind {
        match self {
            Self::BuiltIn(strategy) => strategy.error_kind(kind),
            Self::Custom(..) => kind.clone(),
        }
    }

    /// Returns the warnings for the client.
    pub fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        match self {
            Self::BuiltIn(_) if is_definition(new) => {
                let known = old.map(schema::crd_warnings).unwrap_or_default();
                schema::crd_warnings(new).into_iter().filter(|warning| !known.contains(warning)).collect()
            }
            Self::BuiltIn(strategy) => strategy.warnings(new, old),
            Self::Custom(..) => schema::CustomSchema::warnings(new, old),
        }
    }
}

fn is_definition(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition" && object["apiVersion"] == "apiextensions.k8s.io/v1"
}

/// Adds the storage version to a CRD's `storedVersions`.
fn add_stored_version(crd: &mut Value) {
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let storage = versions.filter(|v| v["storage"] == true).map(|v| v["name"].clone()).next();
    let stored = crd["status"]["storedVersions"].as_array_mut();
    if let (Some(storage), Some(stored)) = (storage, stored)
        && !stored.contains(&storage)
    {
        stored.push(storage);
    }
}

fn validate_custom(
    resource: &ServedResource,
    new: &Value,
    old: Option<&Value>,
    warnings: &RequestWarnings,
) -> Vec<FieldError> {
    let Some(shape) = resource.schema().and_then(|shape| shape.custom.as_ref()) else { return Vec::new() };
    // An embedded resource has no rule for its name.
    let embedded = |metadata: &Value, path: &str| metadata::validate_embedded(metadata, path);
    let (mut errors, warned) = shape.validate(new, old, &embedded);
    warned.into_iter().for_each(|text| warnings.add(text));
    errors.extend(validate_scale(resource, new, true));
    errors
}

/// Validates that the scale subresource's fields are numbers and text.
fn validate_scale(resource: &ServedResource, new: &Value, with_spec: bool) -> Vec<FieldError> {
    let Some(scale) = resource.custom.as_ref().and_then(|custom| custom.scale.as_ref()) else { return Vec::new() };
    let spec = with_spec.then_some(&*scale.spec_replicas);
    schema::CustomSchema::validate_scale(new, spec, &scale.status_replicas, scale.label_selector.as_deref())
}

fn validate_custom_status(
    resource: &ServedResource,
    new: &Value,
    old: &Value,
    warnings: &RequestWarnings,
) -> Vec<FieldError> {
    let Some(shape) = resource.schema().and_then(|shape| shape.custom.as_ref()) else { return Vec::new() };
    let (mut errors, warned) = shape.validate_status(new, old);
    warned.into_iter().for_each(|text| warnings.add(text));
    errors.extend(validate_scale(resource, new, false));
    errors
}

/// Prepares a status write of a custom resource, which only changes the status and its managed fields.
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
