//! Resources that the server serves: one [`ServedResource`] per group, version and plural name, built in or from a CRD.

use std::sync::Arc;

use switchboard_object::kind::{GroupResource, GroupVersion, GroupVersionKind};

mod resource_schema;

pub use resource_schema::{LazySchema, ResourceSchema};

/// Kind that is served in one group and version.
#[derive(Debug)]
pub struct ServedResource {
    /// Group, version and kind of its objects.
    pub kind: GroupVersionKind,
    /// Plural name in paths: `deployments`.
    pub plural: Arc<str>,
    /// Singular name: `deployment`.
    pub singular: Arc<str>,
    /// Kind of its lists: `DeploymentList`.
    pub list_kind: Arc<str>,
    /// Short names for the command line: `deploy`.
    pub short_names: Vec<Arc<str>>,
    /// Categories, such as `all`.
    pub categories: Vec<Arc<str>>,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// Verbs of the resource itself, in the order of discovery.
    pub verbs: Vec<Arc<str>>,
    /// `status`, `scale`, `log`, `token`, ... with their verbs and kinds.
    pub subresources: Vec<Subresource>,
    /// Schema of its objects, parsed on first use.
    pub schema: LazySchema,
    /// Properties of a CRD version; `None` for built-in kinds.
    pub custom: Option<Arc<CrdVersion>>,
}

/// Subresource, as in discovery.
#[derive(Clone, Debug)]
pub struct Subresource {
    /// `status`, `scale`, `token`, ...
    pub name: Arc<str>,
    /// Kind of its request and response bodies.
    pub kind: GroupVersionKind,
    /// Verbs.
    pub verbs: Vec<Arc<str>>,
}

/// Properties of a CRD version beyond names and schema.
#[derive(Clone, Debug, Default)]
pub struct CrdVersion {
    /// Storage version.
    pub storage_version: Arc<str>,
    /// `additionalPrinterColumns`.
    pub columns: Vec<PrinterColumn>,
    /// `selectableFields`, as JSON paths.
    pub selectable_fields: Vec<Arc<str>>,
    /// `subresources.scale`.
    pub scale: Option<ScaleSubresource>,
    /// Whether `subresources.status` is enabled.
    pub status: bool,
    /// Whether `spec.preserveUnknownFields` is set, or the schema preserves everything.
    pub preserve_unknown: bool,
    /// `deprecationWarning` of the version, if it is deprecated.
    pub deprecation: Option<Arc<str>>,
    /// Whether the CRD is being deleted, so that no new objects can be created.
    pub terminating: bool,
    /// Schema of the storage version.
    pub storage_schema: Option<Arc<LazySchema>>,
    /// Revision of the CRD. Objects written before it may lack newer defaults and pruning.
    pub since: u64,
}

/// Printer column.
#[derive(Clone, Debug, PartialEq)]
pub struct PrinterColumn {
    /// Header.
    pub name: Arc<str>,
    /// `string`, `integer`, `number`, `boolean`, `date`.
    pub kind: Arc<str>,
    /// OpenAPI format, or empty.
    pub format: Arc<str>,
    /// Description.
    pub description: Arc<str>,
    /// 0 is always shown, higher values only with `-o wide`.
    pub priority: i32,
    /// Path of the cell's value, as a kubectl JSONPath.
    pub path: Arc<str>,
}

/// `subresources.scale` of a CRD, as JSON paths.
#[derive(Clone, Debug, Default)]
pub struct ScaleSubresource {
    /// `specReplicasPath`.
    pub spec_replicas: Arc<str>,
    /// `statusReplicasPath`.
    pub status_replicas: Arc<str>,
    /// `labelSelectorPath`, if set.
    pub label_selector: Option<Arc<str>>,
}

impl ServedResource {
    /// Returns the name in error messages and storage: `deployments.apps`.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.kind.group.as_str(), &*self.plural)
    }

    /// Returns group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(self.kind.group.as_str(), self.kind.version.as_str())
    }

    /// Returns the schema of its objects, if one is known.
    pub fn schema(&self) -> Option<&ResourceSchema> {
        self.schema.get()
    }

    /// Whether discovery lists the verb for the resource itself.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| &**v == verb)
    }

    /// Returns the subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| &*s.name == name)
    }
}
