//! What an operator wants written, as files: mutation directories.
//!
//! ```text
//! OUT/
//!   controller-results.yaml
//!   {Configuration,Management,UserWorkload,Unspecified}/
//!     {Create,Update,UpdateStatus,Patch,PatchStatus,Apply,ApplyStatus,Delete}/
//!       {cluster-scoped-resources,namespaces/<ns>}/<group|core>/<resource>/
//!         <hash>-{metadata,body,options}-<name>.yaml
//! OUT.index.yaml          the order, beside the directory: readers of the original refuse files they do not know
//! ```
//!
//! The layout is library-go's `manifestclient`, to the byte. Where that lets one request overwrite another, here the second gets
//! a prefix of its own, which every reader accepts; the order and repetitions stand in the index.

mod files;
mod fit;
mod index;
mod layout;
mod metadata;
mod read;

use std::fmt;

use serde_json::Value;
use switchboard_object::kind::GroupVersion;
use switchboard_object::{json, yaml};

use crate::contract::ResourceType;

pub(crate) use files::append;
pub use files::{WriteError, index_path, read_directory, write_directory};
pub use layout::{LaidOut, Layout, NameKey, Naming};
pub use read::{Directory, NO_MUTATION, read_files};

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Server-side apply.
    Apply,
    /// Server-side apply of the status.
    ApplyStatus,
    /// Make it.
    Create,
    /// Remove it.
    Delete,
    /// Change parts of it.
    Patch,
    /// Change parts of its status.
    PatchStatus,
    /// Replace it.
    Update,
    /// Replace its status.
    UpdateStatus,
}

/// On which of the operator's clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Where the configuration that users write lives.
    Configuration,
    /// Where what manages the platform runs.
    Management,
    /// Where users run their workloads.
    UserWorkload,
    /// Nowhere: it is not declared, or the directory does not say.
    #[default]
    Unspecified,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// On which cluster.
    pub place: Place,
    /// What is done.
    pub action: Action,
    /// The API group; empty for the core group.
    pub group: String,
    /// The version it is written in.
    pub version: String,
    /// The plural resource name.
    pub resource: String,
    /// A subresource other than `status`, such as `scale`; empty for none. The original knows none of them.
    pub subresource: String,
    /// The kind the body says it is of: `DeleteOptions` for a deletion, empty for a patch.
    pub kind: String,
    /// Its namespace; empty when it has none.
    pub namespace: String,
    /// Its name; empty when the server makes one.
    pub name: String,
    /// What the server makes a name of.
    pub generate_name: String,
    /// The field manager of a patch or an apply; others have theirs in the options.
    pub field_manager: String,
    /// The media type of a patch; empty for everything else.
    pub patch_type: String,
    /// The controller that wrote it; empty when it did not say.
    pub controller_instance_name: String,
    /// The body as it stands in its file.
    pub body: Vec<u8>,
    /// The options as they stand in their file; empty for none.
    pub options: Vec<u8>,
}

impl Action {
    /// All eight, sorted by name.
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

    /// The action of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.to_string() == name)
    }

    /// Its body is a patch and no object.
    pub fn is_patch(self) -> bool {
        matches!(self, Action::Patch | Action::PatchStatus)
    }

    /// It is server-side apply.
    pub fn is_apply(self) -> bool {
        matches!(self, Action::Apply | Action::ApplyStatus)
    }

    /// It writes the status.
    pub fn is_status(self) -> bool {
        matches!(self, Action::ApplyStatus | Action::PatchStatus | Action::UpdateStatus)
    }
}

impl Place {
    /// The three that operators declare outputs for.
    pub const DECLARED: [Place; 3] = [Place::Configuration, Place::Management, Place::UserWorkload];
    /// All four folders of an output directory.
    pub const ALL: [Place; 4] = [Place::Configuration, Place::Management, Place::UserWorkload, Place::Unspecified];

    /// The place of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.to_string() == name)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Mutation {
    /// A write with an object for its body: create, update, apply, and their status twins. Name, namespace and kind are the
    /// body's.
    pub fn object(place: Place, action: Action, of: &ResourceType, body: &Value) -> Self {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        Self {
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            generate_name: text("/metadata/generateName"),
            body: yaml::to_string(body).into_bytes(),
            ..Self::of(place, action, of)
        }
    }

    /// A patch. A JSON patch is kept as YAML, any other as the bytes that were sent.
    ///
    /// # Errors
    /// When a JSON patch is not JSON.
    pub fn patch(
        place: Place,
        action: Action,
        of: &ResourceType,
        (namespace, name): (&str, &str),
        patch_type: &str,
        sent: &[u8],
    ) -> Result<Self, json::JsonError> {
        let body = match patch_type {
            "application/json-patch+json" => yaml::to_string(&json::read(sent)?.value).into_bytes(),
            _ => sent.to_vec(),
        };
        let (namespace, name, patch_type) = (namespace.to_string(), name.to_string(), patch_type.to_string());
        Ok(Self { namespace, name, patch_type, body, ..Self::of(place, action, of) })
    }

    /// A deletion; the body is the `DeleteOptions`.
    pub fn delete(place: Place, of: &ResourceType, (namespace, name): (&str, &str), options: &Value) -> Self {
        let kind = options["kind"].as_str().unwrap_or_default().to_string();
        let body = yaml::to_string(options).into_bytes();
        Self { kind, namespace: namespace.into(), name: name.into(), body, ..Self::of(place, Action::Delete, of) }
    }

    fn of(place: Place, action: Action, of: &ResourceType) -> Self {
        Self {
            place,
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

    /// With the options of its request. A patch or an apply takes its field manager from them.
    #[must_use]
    pub fn with_options(mut self, options: &Value) -> Self {
        let empty = options.as_object().is_none_or(serde_json::Map::is_empty);
        self.options = if empty { Vec::new() } else { yaml::to_string(options).into_bytes() };
        if self.action.is_patch() || self.action.is_apply() {
            self.field_manager = options["fieldManager"].as_str().unwrap_or_default().to_string();
        }
        self
    }

    /// By a controller.
    #[must_use]
    pub fn by(self, controller: &str) -> Self {
        Self { controller_instance_name: controller.into(), ..self }
    }

    /// Of a subresource other than the status.
    #[must_use]
    pub fn on(self, subresource: &str) -> Self {
        Self { subresource: subresource.into(), ..self }
    }

    /// Its type.
    pub fn resource_type(&self) -> ResourceType {
        ResourceType::new(&self.group, &self.version, &self.resource)
    }

    /// The body as a value.
    ///
    /// # Errors
    /// When it is neither JSON nor YAML.
    pub fn body_value(&self) -> Result<Value, yaml::YamlError> {
        value_of(&self.body)
    }

    /// The options as a value; null when there are none.
    ///
    /// # Errors
    /// When they are neither JSON nor YAML.
    pub fn options_value(&self) -> Result<Value, yaml::YamlError> {
        value_of(&self.options)
    }

    /// Whether it tells what happened, and changes nothing.
    pub fn is_event(&self) -> bool {
        self.resource == "events" && matches!(self.group.as_str(), "" | "events.k8s.io")
    }

    /// Whether it only asks what would come of it. What cannot be read does not say so.
    pub fn is_dry_run(&self) -> bool {
        let [body, options] = [self.body_value(), self.options_value()].map(Result::unwrap_or_default);
        is_dry_run(self.action, &body, &options)
    }

    /// As the original names it: `Create-ConfigMap.v1./web[shop]`.
    pub fn id(&self) -> String {
        let said = self.body_value().ok().filter(|_| !self.action.is_patch());
        let version = said.as_ref().and_then(|body| GroupVersion::parse(body["apiVersion"].as_str()?));
        let GroupVersion { group, version } = version.unwrap_or_else(|| GroupVersion::new("", ""));
        let Self { action, kind, name, generate_name, namespace, .. } = self;
        format!("{action}-{kind}.{version}.{group}/{name}{generate_name}[{namespace}]")
    }
}

/// Whether a request only asks what would come of it. A deletion may say so in its body.
pub fn is_dry_run(action: Action, body: &Value, options: &Value) -> bool {
    let says = |options: &Value| match options.get("dryRun") {
        None | Some(Value::Null) => false,
        Some(Value::Array(stages)) => !stages.is_empty(),
        Some(_) => true,
    };
    says(options) || action == Action::Delete && says(body)
}

fn value_of(bytes: &[u8]) -> Result<Value, yaml::YamlError> {
    // Not what comes closest to it: it would be written as if it were meant.
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        let problem = "it is not UTF-8 text".to_string();
        yaml::YamlError { message: format!("yaml: line {line}: {problem}"), problem, line, column }
    })?;
    Ok(yaml::read(text)?.value)
}

/// `Update deployments.apps/shop/web`, `UpdateStatus ingresses.config.openshift.io/cluster`.
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
