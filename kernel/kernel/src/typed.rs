//! Typed reads, writes and declarations, for the types of `k8s-openapi` and kube's `CustomResource` derive.
//!
//! ```text
//!  View ──typed()──▶ TypedView ──get::<ConfigMap>──▶ ConfigMap       decoded from the object that was read
//!  &ConfigMap ──▶ Plan::apply ──▶ Mutation                           the same mutation as a dynamic one
//! ```
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use switchboard_kernel::operator::{DecideError, Unit};
//! use switchboard_kernel::plan::Plan;
//! use switchboard_kernel::view::View;
//!
//! fn decide(unit: &Unit, view: &View) -> Result<Plan, DecideError> {
//!     let Some(mut map) = view.typed().get::<ConfigMap>(unit.namespace(), unit.name())? else {
//!         return Ok(Plan::nothing());
//!     };
//!     map.metadata.name = Some(format!("copy-of-{}", unit.name()));
//!     let mut plan = Plan::nothing();
//!     plan.apply(&map)?;
//!     Ok(plan)
//! }
//! ```
//!
//! Types are a form of what the dynamic interface reads and writes, not a second interface: a typed read is tracked like
//! any other, and a typed write is an ordinary [`Mutation`](crate::plan::Mutation).
//!
//! An object is never replaced from a type: a field that the type does not know would be lost.

mod declaration;
mod writes;

use std::ops::Deref;

use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::object::Object;
use crate::operator::DecideError;
use crate::resource::{Resource, Selection};
use crate::topology::ClusterType;
use crate::view::View;

/// Rust type of a kind: a type of `k8s-openapi`, or one with kube's `CustomResource` derive.
pub trait TypedKind: kube::Resource<DynamicType = (), Scope: KindScope> + Serialize + DeserializeOwned {
    /// Returns the kind, with its API path.
    fn resource() -> Resource {
        Resource {
            group: Self::group(&()),
            version: Self::version(&()),
            kind: Self::kind(&()),
            plural: Self::plural(&()),
            namespaced: Self::Scope::NAMESPACED,
        }
    }
}

impl<K: kube::Resource<DynamicType = (), Scope: KindScope> + Serialize + DeserializeOwned> TypedKind for K {}

/// Scope of a kind: the cluster or a namespace.
pub trait KindScope {
    /// Whether objects are in namespaces.
    const NAMESPACED: bool;
}

impl KindScope for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl KindScope for ClusterResourceScope {
    const NAMESPACED: bool = false;
}

/// View of one cluster type that decodes objects. All other methods are those of the [`View`].
#[derive(Clone, Copy)]
pub struct TypedView<'a> {
    view: &'a View,
    cluster_type: ClusterType,
}

impl View {
    /// Returns this view with typed reads of the configuration cluster.
    pub fn typed(&self) -> TypedView<'_> {
        TypedView { view: self, cluster_type: ClusterType::default() }
    }
}

impl TypedView<'_> {
    /// Reads another cluster type.
    #[must_use]
    pub fn of_cluster(self, cluster_type: ClusterType) -> Self {
        Self { cluster_type, ..self }
    }

    /// Reads an object. `namespace` is empty for cluster-scoped kinds.
    ///
    /// # Errors
    /// Errors of [`View::get`], and [`DecideError::Failed`] with kind, object and field when the object does not have
    /// the shape of its type.
    pub fn get<K: TypedKind>(&self, namespace: &str, name: &str) -> Result<Option<K>, DecideError> {
        self.view.on(self.cluster_type).get(&K::resource(), namespace, name)?.as_ref().map(decode).transpose()
    }

    /// Lists objects, sorted by namespace and name.
    ///
    /// # Errors
    /// Errors of [`View::list`], and those of [`TypedView::get`] for the first object that cannot be decoded.
    pub fn list<K: TypedKind>(&self, selection: &Selection) -> Result<Vec<K>, DecideError> {
        self.view.on(self.cluster_type).list(&K::resource(), selection)?.iter().map(decode).collect()
    }
}

impl Deref for TypedView<'_> {
    type Target = View;

    fn deref(&self) -> &View {
        self.view
    }
}

fn decode<K: TypedKind>(object: &Object) -> Result<K, DecideError> {
    // The position of an error costs time, so that it is searched only after an error.
    object.typed().or_else(|_| serde_path_to_error::deserialize(object.value())).map_err(|error| {
        let kind = K::kind(&());
        let key = &object.key;
        let name = match key.namespace.is_empty() {
            true => key.name.to_string(),
            false => format!("{}/{}", key.namespace, key.name),
        };
        let field = match error.path().to_string() {
            root if root == "." => String::new(),
            path => format!("field {path}: "),
        };
        // The cause quotes the value.
        let cause = match kind == "Secret" {
            true => "not of the expected type".to_string(),
            false => error.inner().to_string(),
        };
        DecideError::failed(format!("could not decode {kind} {name}: {field}{cause}"))
    })
}

#[cfg(test)]
mod tests;
