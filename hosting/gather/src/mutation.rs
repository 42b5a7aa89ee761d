//! Mutation directories: the writes of an operator as files.
//!
//! ```text
//! OUT/
//!   controller-results.yaml
//!   {Configuration,Management,UserWorkload,Unspecified}/
//!     {Create,Update,UpdateStatus,Patch,PatchStatus,Apply,ApplyStatus,Delete}/
//!       {cluster-scoped-resources,namespaces/<ns>}/<group|core>/<resource>/
//!         <hash>-{metadata,body,options}-<name>.yaml
//! OUT.index.yaml          the order; outside the directory, because library-go's reader rejects unknown files
//! ```
//!
//! The layout is byte for byte that of library-go's `manifestclient`. Where one request would overwrite another there,
//! the second one gets its own prefix, which every reader accepts. The index contains the order and repetitions.

mod files;
mod index;
mod layout;
mod lossless;
mod metadata;
mod read;
mod validity;

use std::fmt;

use serde_json::Value;
use switchboard_object::kind::GroupVersion;
use switchboard_object::{json, yaml};

use crate::contract::ResourceType;
use lossless::to_yaml;

pub(crate) use files::append;
pub use files::{WriteError, index_path, read_directory, write_directory};
pub use layout::{Layout, MutationFiles, NameKey, Naming};
pub use read::{MutationDirectory, NO_MUTATION, read_files};

/// Action on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Server-side apply.
    Apply,
    /// Server-side apply of the status.
    ApplyStatus,
    /// Create.
    Create,
    /// Delete.
    Delete,
    /// Patch.
    Patch,
    /// Patch of the status.
    PatchStatus,
    /// Update.
    Update,
    /// Update of the status.
    UpdateStatus,
}

/// Cluster of the operator that a mutation is written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutputCluster {
    /// Cluster with the configuration that users write.
    Configuration,
    /// Cluster with the components that manage the platform.
    Management,
    /// Cluster with the users' workloads.
    UserWorkload,
    /// No cluster: the mutation is not declared, or the directory does not specify a cluster.
    #[default]
    Unspecified,
}

/// A write of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// Target cluster.
    pub cluster: OutputCluster,
    /// Action.
    pub action: Action,
    /// API group; empty for the core group.
    pub group: String,
    /// API version of the request.
    pub version: String,
    /// Plural resource name.
    pub resource: String,
    /// Subresource other than `status`, such as `scale`; empty for none. library-go supports none of them.
    pub subresource: String,
    /// Kind in the body: `DeleteOptions` for a deletion, empty for a patch.
    pub kind: String,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// Name; empty if the API server generates it.
    pub name: String,
    /// Prefix for a generated name.
    pub generate_name: String,
    /// Field manager of a patch or apply. For other actions it is in the options.
    pub field_manager: String,
    /// Media type of a patch; empty for other actions.
    pub patch_type: String,
    /// Controller that wrote the mutation; empty if unknown.
    pub controller_instance_name: String,
    /// Body as in its file.
    pub body: Vec<u8>,
    /// Options as in their file; empty for none.
    pub options: Vec<u8>,
}

impl Action {
    /// All actions, sorted by name.
    pub const ALL: [Action; 8] = [
        Action::Apply,
        Action::ApplyStatus,
        Action::Create,
        Action::Delete,
        Action::Patch,
        Action::PatchStatus,
        Action::Update,
        Action::UpdateStatus,
    ];

    /// Returns the action of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.to_string() == name)
    }

    /// Whether the body is a patch instead of an object.
    pub fn is_patch(self) -> bool {
        matches!(self, Action::Patch | Action::PatchStatus)
    }

    /// Whether the action is a server-side apply.
    pub fn is_apply(self) -> bool {
        matches!(self, Action::Apply | Action::ApplyStatus)
    }

    /// Whether the action writes the status.
    pub fn is_status(self) -> bool {
        matches!(self, Action::ApplyStatus | Action::PatchStatus | Action::UpdateStatus)
    }
}

impl OutputCluster {
    /// Clusters for which operators declare outputs.
    pub const DECLARED: [OutputCluster; 3] =
        [OutputCluster::Configuration, OutputCluster::Management, OutputCluster::UserWorkload];
    /// All cluster folders of an output directory.
    pub const ALL: [OutputCluster; 4] = [
        OutputCluster::Configuration,
        OutputCluster::Management,
        OutputCluster::UserWorkload,
        OutputCluster::Unspecified,
    ];

    /// Returns the cluster of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.to_string() == name)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for OutputCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Mutation {
    /// Creates a write whose body is an object: create, update, apply, and their status variants. Name, namespace and
    /// kind come from the body.
    pub fn object(place: OutputCluster, action: Action, of: &ResourceType, body: &Value) -> Self {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        Self {
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            generate_name: text("/metadata/generateName"),
            body: to_yaml(body).into_bytes(),
            ..Self::of(place, action, of)
        }
    }

    /// Creates a patch. A JSON patch is stored as YAML, any other patch as the bytes of the request.
    ///
    /// # Errors
    /// If a JSON patch is not JSON.
    pub fn patch(
        place: OutputCluster,
        action: Action,
        of: &ResourceType,
        (namespace, name): (&str, &str),
        patch_type: &str,
        sent: &[u8],
    ) -> Result<Self, json::JsonError> {
        let body = match patch_type {
            "application/json-patch+json" => to_yaml(&json::read(sent)?.value).into_bytes(),
            _ => sent.to_vec(),
        };
        let (namespace, name, patch_type) = (namespace.to_string(), name.to_string(), patch_type.to_string());
        Ok(Self { namespace, name, patch_type, body, ..Self::of(place, action, of) })
    }

    /// Creates a deletion. The body is the `DeleteOptions`.
    pub fn delete(place: OutputCluster, of: &ResourceType, (namespace, name): (&str, &str), options: &Value) -> Self {
        let kind = options["kind"].as_str().unwrap_or_default().to_string();
        let body = to_yaml(options).into_bytes();
        Self { kind, namespace: namespace.into(), name: name.into(), body, ..Self::of(place, Action::Delete, of) }
    }

    fn of(place: OutputCluster, action: Action, of: &ResourceType) -> Self {
        Self {
            cluster: place,
            action,
            group: of.group.clone(),
            version: of.version.clone(),
            resource: of.resource.clone(),
            subresource: String::new(),
            kind: String::new(),
            namespace: String::new(),
            name: String::new(),
            generate_name: String::new(),
            field_manager: String::new(),
            patch_type: String::new(),
            controller_instance_name: String::new(),
            body: Vec::new(),
            options: Vec::new(),
        }
    }

    /// Sets the options of the request. A patch or apply takes its field manager from them.
    #[must_use]
    pub fn with_options(mut self, options: &Value) -> Self {
        let empty = options.as_object().is_none_or(serde_json::Map::is_empty);
        self.options = if empty { Vec::new() } else { to_yaml(options).into_bytes() };
        if self.action.is_patch() || self.action.is_apply() {
            self.field_manager = options["fieldManager"].as_str().unwrap_or_default().to_string();
        }
        self
    }

    /// Sets the controller.
    #[must_use]
    pub fn with_controller(self, controller: &str) -> Self {
        Self { controller_instance_name: controller.into(), ..self }
    }

    /// Sets a subresource other than the status.
    #[must_use]
    pub fn with_subresource(self, subresource: &str) -> Self {
        Self { subresource: subresource.into(), ..self }
    }

    /// Returns the type of the object.
    pub fn resource_type(&self) -> ResourceType {
        ResourceType::new(&self.group, &self.version, &self.resource)
    }

    /// Parses the body.
    ///
    /// # Errors
    /// If the body is neither JSON nor YAML.
    pub fn body_value(&self) -> Result<Value, yaml::YamlError> {
        value_of(&self.body)
    }

    /// Parses the options; null if there are none.
    ///
    /// # Errors
    /// If the options are neither JSON nor YAML.
    pub fn options_value(&self) -> Result<Value, yaml::YamlError> {
        value_of(&self.options)
    }

    /// Whether the object is an event, which only reports and changes nothing.
    pub fn is_event(&self) -> bool {
        self.resource == "events" && matches!(self.group.as_str(), "" | "events.k8s.io")
    }

    /// Whether the request is a dry run. A body or options that cannot be parsed do not count as one.
    pub fn is_dry_run(&self) -> bool {
        let [body, options] = [self.body_value(), self.options_value()].map(Result::unwrap_or_default);
        is_dry_run(self.action, &body, &options)
    }

    /// Returns the id that multi-operator-manager uses: `Create-ConfigMap.v1./web[shop]`.
    pub fn id(&self) -> String {
        let parsed = self.body_value().ok().filter(|_| !self.action.is_patch());
        let version = parsed.as_ref().and_then(|body| GroupVersion::parse(body["apiVersion"].as_str()?));
        let GroupVersion { group, version } = version.unwrap_or_else(|| GroupVersion::new("", ""));
        let Self { action, kind, name, generate_name, namespace, .. } = self;
        format!("{action}-{kind}.{version}.{group}/{name}{generate_name}[{namespace}]")
    }
}

/// Whether a request is a dry run. A deletion may specify it in its body.
pub fn is_dry_run(action: Action, body: &Value, options: &Value) -> bool {
    let says = |options: &Value| match options.get("dryRun") {
        None | Some(Value::Null) => false,
        Some(Value::Array(stages)) => !stages.is_empty(),
        Some(_) => true,
    };
    says(options) || action == Action::Delete && says(body)
}

fn value_of(bytes: &[u8]) -> Result<Value, yaml::YamlError> {
    // No lossy conversion here: the result would be written as if it were intended.
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        let problem = "not UTF-8 text".to_string();
        yaml::YamlError { message: format!("yaml: line {line}: {problem}"), problem, line, column }
    })?;
    Ok(yaml::read(text)?.value)
}

/// Formats the mutation as `Update deployments.apps/shop/web` or `UpdateStatus ingresses.config.openshift.io/cluster`.
impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.action, self.resource_type())?;
        if !self.namespace.is_empty() {
            write!(f, "/{}", self.namespace)?;
        }
        write!(f, "/{}{}", self.name, self.generate_name)?;
        if self.subresource.is_empty() { Ok(()) } else { write!(f, " {}", self.subresource) }
    }
}

#[cfg(test)]
mod tests;
