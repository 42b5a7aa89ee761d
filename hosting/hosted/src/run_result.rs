//! What came of one run of a program: what the journal keeps, and a plan is made of.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_gather::contract::{ControllerResult, ResourceType};
use switchboard_gather::mutation::{self, Action, Mutation, OutputCluster};
use switchboard_sandbox::egress::ConnectionAttempt;
use switchboard_sandbox::{RunEnd, RunUsage};

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunResult {
    /// How it ended. Its code is not trusted, but kept.
    pub end: RunEnd,
    /// What it cost.
    pub usage: RunUsage,
    /// How its controllers did.
    pub results: Vec<ControllerResult>,
    /// What it wants written.
    pub mutations: Vec<ProgramWrite>,
    /// What could not be understood of its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Where it wanted to connect to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<ConnectionAttempt>,
}

/// One write, as it came out of the output folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgramWrite {
    pub place: String,
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
    /// Of a mutation that was read.
    ///
    /// # Errors
    /// What cannot be read of it.
    pub fn of(mutation: &Mutation) -> Result<Self, String> {
        let wrong = |error: switchboard_object::yaml::YamlError| format!("{mutation}: {}", error.message);
        Ok(Self {
            place: mutation.cluster.to_string(),
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

    /// Whether it only asks what would come of it.
    pub fn is_dry_run(&self) -> bool {
        Action::from_name(&self.action).is_some_and(|action| mutation::is_dry_run(action, &self.body, &self.options))
    }

    /// Whether it tells what happened, and changes nothing.
    pub fn is_event(&self) -> bool {
        matches!(self.of.group.as_str(), "" | "events.k8s.io") && self.of.resource == "events"
    }

    /// Without its body: what the declared outputs are asked about.
    pub fn without_body(&self) -> Option<Mutation> {
        let place = OutputCluster::from_name(&self.place)?;
        let mut bare = Mutation::object(place, Action::from_name(&self.action)?, &self.of, &Value::Null);
        bare.namespace = self.namespace.clone();
        bare.name = self.name.clone();
        bare.generate_name = self.generate_name.clone();
        bare.subresource = self.subresource.clone();
        bare.patch_type = self.patch_type.clone();
        Some(bare)
    }
}
