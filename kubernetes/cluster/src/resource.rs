//! What the server serves: one [`Resource`] per group, version and plural name, built in or from a CRD.

use std::sync::Arc;

use switchboard_object::kind::{GroupResource, GroupVersion, GroupVersionKind};

mod shape;

pub use shape::{LazyShape, Shape};

/// A kind the server serves under one group and version.
#[derive(Debug)]
pub struct Resource {
    /// Group, version and kind of its objects.
    pub kind: GroupVersionKind,
    /// The plural name in paths: `deployments`.
    pub plural: Arc<str>,
    /// The singular name: `deployment`.
    pub singular: Arc<str>,
    /// The kind of its lists: `DeploymentList`.
    pub list_kind: Arc<str>,
    /// Short names for the command line: `deploy`.
    pub short_names: Vec<Arc<str>>,
    /// Categories, such as `all`.
    pub categories: Vec<Arc<str>>,
    /// Objects live in namespaces.
    pub namespaced: bool,
    /// Verbs of the resource itself, in discovery's order.
    pub verbs: Vec<Arc<str>>,
    /// `status`, `scale`, `log`, `token`, ... with their verbs and the kind they speak.
    pub subresources: Vec<Subresource>,
    /// The schema of its objects, read when it is first asked for.
    pub shape: LazyShape,
    /// What a CRD states beyond that; `None` for built-in kinds.
    pub custom: Option<Arc<Custom>>,
}

/// A subresource as discovery lists it.
#[derive(Clone, Debug)]
pub struct Subresource {
    /// `status`, `scale`, `token`, ...
    pub name: Arc<str>,
    /// The kind it reads and writes.
    pub kind: GroupVersionKind,
    /// Its verbs.
    pub verbs: Vec<Arc<str>>,
}

/// What a CRD version states beyond names and schema.
#[derive(Clone, Debug, Default)]
pub struct Custom {
    /// The version its objects are stored in.
    pub storage_version: Arc<str>,
    /// `additionalPrinterColumns`.
    pub columns: Vec<Column>,
    /// `selectableFields`, as JSON paths.
    pub selectable_fields: Vec<Arc<str>>,
    /// `subresources.scale`, when there is one.
    pub scale: Option<Scale>,
    /// `subresources.status` is on.
    pub status: bool,
    /// `spec.preserveUnknownFields` or a schema that keeps everything.
    pub preserve_unknown: bool,
    /// `deprecationWarning` of the version, when it is deprecated.
    pub deprecation: Option<Arc<str>>,
    /// The CRD is being deleted: nothing new is made.
    pub terminating: bool,
    /// The schema of the version objects are stored in.
    pub storage_shape: Option<Arc<LazyShape>>,
    /// The revision of the CRD all this is from. Objects written before it may lack what it says.
    pub since: u64,
}

/// A printer column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The header.
    pub name: Arc<str>,
    /// `string`, `integer`, `number`, `boolean`, `date`.
    pub kind: Arc<str>,
    /// The OpenAPI format, or empty.
    pub format: Arc<str>,
    /// What `kubectl explain` of the column would say.
    pub description: Arc<str>,
    /// 0 is always shown, more only with `-o wide`.
    pub priority: i32,
    /// Where the cell's value is, as a kubectl JSON path.
    pub path: Arc<str>,
}

/// `subresources.scale` of a CRD, as JSON paths.
#[derive(Clone, Debug, Default)]
pub struct Scale {
    /// `specReplicasPath`.
    pub spec_replicas: Arc<str>,
    /// `statusReplicasPath`.
    pub status_replicas: Arc<str>,
    /// `labelSelectorPath`, when given.
    pub label_selector: Option<Arc<str>>,
}

impl Resource {
    /// The name in error messages and storage: `deployments.apps`.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.kind.group.as_str(), &*self.plural)
    }

    /// Group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(self.kind.group.as_str(), self.kind.version.as_str())
    }

    /// The schema of its objects, when one is known.
    pub fn shape(&self) -> Option<&Shape> {
        self.shape.get()
    }

    /// Discovery lists that verb for the resource itself.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| &**v == verb)
    }

    /// The subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| &*s.name == name)
    }
}
