//! Mutations of typed objects.

use kube::ResourceExt;
use serde_json::{Value, json};

use super::TypedKind;
use crate::operator::DecideError;
use crate::plan::{Mutation, PatchType, Plan};

/// Metadata that the API server sets, and that a write does not contain.
const SERVER_METADATA: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

impl Plan {
    /// Applies the fields of an object with server-side apply, except its status.
    ///
    /// # Errors
    /// Errors of [`Mutation::apply_object`].
    pub fn apply<K: TypedKind>(&mut self, object: &K) -> Result<&mut Self, DecideError> {
        Ok(self.push(Mutation::apply_object(object)?))
    }

    /// Applies the status of an object with server-side apply.
    ///
    /// # Errors
    /// Errors of [`Mutation::apply_status`].
    pub fn apply_status<K: TypedKind>(&mut self, object: &K) -> Result<&mut Self, DecideError> {
        Ok(self.push(Mutation::apply_status(object)?))
    }

    /// Creates an object.
    ///
    /// # Errors
    /// Errors of [`Mutation::create_object`].
    pub fn create<K: TypedKind>(&mut self, object: &K) -> Result<&mut Self, DecideError> {
        Ok(self.push(Mutation::create_object(object)?))
    }

    /// Deletes an object. `namespace` is empty for cluster-scoped kinds.
    pub fn delete<K: TypedKind>(&mut self, namespace: &str, name: &str) -> &mut Self {
        self.push(Mutation::delete(&K::resource(), namespace, name))
    }

    /// Adds a finalizer to an object that was read, unless the object has it.
    pub fn add_finalizer<K: TypedKind>(&mut self, object: &K, finalizer: &str) -> &mut Self {
        let present = object.finalizers();
        if present.iter().any(|one| one == finalizer) {
            return self;
        }
        let all = present.iter().map(String::as_str).chain([finalizer]).collect();
        self.push(finalizers(object, all))
    }

    /// Removes a finalizer from an object that was read, if the object has it.
    pub fn remove_finalizer<K: TypedKind>(&mut self, object: &K, finalizer: &str) -> &mut Self {
        let present = object.finalizers();
        let rest: Vec<&str> = present.iter().map(String::as_str).filter(|one| *one != finalizer).collect();
        if rest.len() == present.len() {
            return self;
        }
        self.push(finalizers(object, rest))
    }
}

impl Mutation {
    /// Applies the fields of an object like [`Mutation::apply`], except its status.
    ///
    /// # Errors
    /// When the object has no name, or no namespace although its kind has, or no JSON form.
    pub fn apply_object<K: TypedKind>(object: &K) -> Result<Self, DecideError> {
        Ok(Self::apply(&K::resource(), body(object, "apply")?))
    }

    /// Creates an object like [`Mutation::create`].
    ///
    /// # Errors
    /// Errors of [`Mutation::apply_object`]; `generateName` is a name.
    pub fn create_object<K: TypedKind>(object: &K) -> Result<Self, DecideError> {
        Ok(Self::create(&K::resource(), body(object, "create")?))
    }

    /// Applies the status of an object, and nothing else of it.
    ///
    /// # Errors
    /// Errors of [`Mutation::apply_object`], and when the object has no status.
    pub fn apply_status<K: TypedKind>(object: &K) -> Result<Self, DecideError> {
        const VERB: &str = "apply the status of";
        let whole = encode(object, VERB)?;
        let Some(status) = whole.get("status").filter(|status| !status.is_null()) else {
            return Err(refused(object, VERB, "status is not set"));
        };
        let mut metadata = json!({"name": object.name_any()});
        if let Some(namespace) = object.namespace() {
            metadata["namespace"] = namespace.into();
        }
        Ok(Self::apply(&K::resource(), json!({"metadata": metadata, "status": status})).status())
    }
}

/// Replaces the finalizers of an object at the revision at which it was read.
fn finalizers<K: TypedKind>(object: &K, all: Vec<&str>) -> Mutation {
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let body = json!({"metadata": {"finalizers": all}});
    Mutation::patch(&K::resource(), &namespace, &name, PatchType::Merge, body)
}

/// Returns the object without its status and without what the API server sets.
fn body<K: TypedKind>(object: &K, verb: &str) -> Result<Value, DecideError> {
    let mut body = encode(object, verb)?;
    if let Some(fields) = body.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        SERVER_METADATA.iter().for_each(|field| _ = metadata.remove(*field));
    }
    Ok(body)
}

fn encode<K: TypedKind>(object: &K, verb: &str) -> Result<Value, DecideError> {
    let metadata = object.meta();
    if metadata.name.is_none() && !(verb == "create" && metadata.generate_name.is_some()) {
        return Err(refused(object, verb, "metadata.name is not set"));
    }
    if K::resource().namespaced != metadata.namespace.is_some() {
        let cause = if K::resource().namespaced { "is not set" } else { "is set, but the kind is cluster-scoped" };
        return Err(refused(object, verb, &format!("metadata.namespace {cause}")));
    }
    serde_json::to_value(object).map_err(|error| refused(object, verb, &error.to_string()))
}

fn refused<K: TypedKind>(object: &K, verb: &str, cause: &str) -> DecideError {
    let namespace = object.namespace().map(|namespace| namespace + "/").unwrap_or_default();
    DecideError::failed(format!("could not {verb} {} {namespace}{}: {cause}", K::kind(&()), object.name_any()))
}
