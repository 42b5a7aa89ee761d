//! `output-resources`: the declared outputs of an operator, by cluster.

use serde::{Deserialize, Serialize};

use super::{ContractError, ContractRules, ExactResource, GeneratedResource};
use crate::mutation::{Action, Mutation, OutputCluster};

/// Wildcard for the name or namespace of an exact resource. Native operators can declare a whole kind with it. It is
/// not a valid name, so readers that do not support it allow nothing.
pub const WILDCARD: &str = "*";

/// Declared outputs of an operator. All other writes are forbidden.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OutputResources {
    /// Outputs on the configuration cluster.
    pub configuration_resources: OutputList,
    /// Outputs on the management cluster.
    pub management_resources: OutputList,
    /// Outputs on the user workload cluster.
    pub user_workload_resources: OutputList,
}

/// Declared outputs on one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OutputList {
    /// Objects by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exact_resources: Vec<ExactResource>,
    /// Objects by the `generateName` they are created with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub generated_name_resources: Vec<GeneratedResource>,
    /// Namespaces in which the operator may write events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub eventing_namespaces: Vec<String>,
}

impl OutputResources {
    /// Parses the output of `output-resources`.
    ///
    /// # Errors
    /// If the text is not YAML or a field has the wrong type.
    pub fn read(text: &str) -> Result<Self, ContractError> {
        super::read("output resources", text)
    }

    /// Returns the YAML that `output-resources` prints.
    pub fn to_yaml(&self) -> String {
        super::write(self)
    }

    /// Returns the outputs declared for a cluster, or `None` for `Unspecified`.
    pub fn list(&self, place: OutputCluster) -> Option<&OutputList> {
        match place {
            OutputCluster::Configuration => Some(&self.configuration_resources),
            OutputCluster::Management => Some(&self.management_resources),
            OutputCluster::UserWorkload => Some(&self.user_workload_resources),
            OutputCluster::Unspecified => None,
        }
    }

    /// Returns the clusters on which a mutation is allowed. The operator writes it to each of them.
    pub fn clusters_for(&self, mutation: &Mutation, rules: ContractRules) -> Vec<OutputCluster> {
        let allowed = |place: &OutputCluster| self.list(*place).is_some_and(|list| list.allows(mutation, rules));
        OutputCluster::DECLARED.into_iter().filter(allowed).collect()
    }
}

impl OutputList {
    /// Whether a mutation is allowed: an event in an eventing namespace, an object by name, or one by `generateName`.
    ///
    /// With native rules, an object with both a name and a `generateName` in its body is matched by its name, and a
    /// declared `generateName` allows changes to the created objects. multi-operator-manager matches neither.
    pub fn allows(&self, mutation: &Mutation, rules: ContractRules) -> bool {
        if mutation.is_event() && self.eventing_namespaces.contains(&mutation.namespace) {
            return true;
        }
        let any = |declared: &str| rules == ContractRules::Native && declared == WILDCARD;
        let same = |of: &super::ResourceType, namespace: &str| {
            let here = namespace == mutation.namespace || any(namespace);
            of.group == mutation.group && of.resource == mutation.resource && here
        };
        let named = match rules {
            ContractRules::Native => !mutation.name.is_empty(),
            ContractRules::MultiOperatorManager => mutation.generate_name.is_empty(),
        };
        let exact = |one: &ExactResource| {
            same(&one.of, &one.namespace) && (named && one.name == mutation.name || any(&one.name))
        };
        let generated = |one: &GeneratedResource| same(&one.of, &one.namespace) && generates(one, mutation, rules);
        self.exact_resources.iter().any(exact) || self.generated_name_resources.iter().any(generated)
    }
}

fn generates(declared: &GeneratedResource, mutation: &Mutation, rules: ContractRules) -> bool {
    let prefix = &declared.generated_name;
    if mutation.name.is_empty() {
        return mutation.generate_name == *prefix;
    }
    // The body contains the `generateName`, if there is one. A patch or deletion only has the name.
    let made_of_it = match mutation.action {
        Action::Create => false,
        _ if mutation.generate_name.is_empty() => !prefix.is_empty() && mutation.name.starts_with(prefix.as_str()),
        _ => mutation.generate_name == *prefix,
    };
    rules == ContractRules::Native && made_of_it
}
