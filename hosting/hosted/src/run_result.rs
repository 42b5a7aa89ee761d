//! Result of one run of a program, as stored in the journal and used for the plan.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_gather::contract::{ControllerResult, ResourceType};
use switchboard_gather::mutation::{self, Action, Mutation, OutputCluster};
use switchboard_sandbox::egress::ConnectionAttempt;
use switchboard_sandbox::{ProgramEnd, RunUsage};

/// Result of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunResult {
    /// End of the process. The exit code is recorded, but not trusted.
    pub end: ProgramEnd,
    /// Resource usage.
    pub usage: RunUsage,
    /// Controller results.
    pub results: Vec<ControllerResult>,
    /// Writes from the output folder.
    pub mutations: Vec<ProgramWrite>,
    /// Problems with the output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Connection attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<ConnectionAttempt>,
}

/// One write from the output folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgramWrite {
    pub cluster_type: String,
    pub action: String,
    pub of: ResourceType,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field_manager: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub patch_type: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub controller: String,
    pub body: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub options: Value,
}

impl ProgramWrite {
    /// Converts a mutation from the output folder.
    ///
    /// # Errors
    /// The problem with the mutation.
    pub fn of(mutation: &Mutation) -> Result<Self, String> {
        let wrong = |error: switchboard_object::yaml::YamlError| format!("{mutation}: {}", error.message);
        Ok(Self {
            cluster_type: mutation.cluster.to_string(),
            action: mutation.action.to_string(),
            of: mutation.resource_type(),
            subresource: mutation.subresource.clone(),
            namespace: mutation.namespace.clone(),
            name: mutation.name.clone(),
            generate_name: mutation.generate_name.clone(),
            field_manager: mutation.field_manager.clone(),
            patch_type: mutation.patch_type.clone(),
            controller: mutation.controller_instance_name.clone(),
            body: mutation.body_value().map_err(wrong)?,
            options: mutation.options_value().map_err(wrong)?,
        })
    }

    /// Whether the write is a dry run.
    pub fn is_dry_run(&self) -> bool {
        Action::from_name(&self.action).is_some_and(|action| mutation::is_dry_run(action, &self.body, &self.options))
    }

    /// Whether the write is a Kubernetes Event.
    pub fn is_event(&self) -> bool {
        matches!(self.of.group.as_str(), "" | "events.k8s.io") && self.of.resource == "events"
    }

    /// Returns the mutation without its body, to check it against the declared outputs.
    pub fn without_body(&self) -> Option<Mutation> {
        let cluster_type = OutputCluster::from_name(&self.cluster_type)?;
        let mut bare = Mutation::object(cluster_type, Action::from_name(&self.action)?, &self.of, &Value::Null);
        bare.namespace = self.namespace.clone();
        bare.name = self.name.clone();
        bare.generate_name = self.generate_name.clone();
        bare.subresource = self.subresource.clone();
        bare.patch_type = self.patch_type.clone();
        Some(bare)
    }
}
