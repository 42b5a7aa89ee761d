//! `output-resources`: what an operator may write, and where.

use serde::{Deserialize, Serialize};

use super::{ContractError, ExactResource, GeneratedResource, Rules};
use crate::mutation::{Action, Mutation, Place};

/// As the name or the namespace of an exact resource: any. Native operators may declare a kind whole. No object can be called so,
/// so who does not know the word allows nothing.
pub const EVERY: &str = "*";

/// What an operator may write. Anything else it may not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OutputResources {
    /// On the configuration cluster.
    pub configuration_resources: OutputList,
    /// On the management cluster.
    pub management_resources: OutputList,
    /// On the user workload cluster.
    pub user_workload_resources: OutputList,
}

/// What an operator may write on one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OutputList {
    /// Objects by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exact_resources: Vec<ExactResource>,
    /// Objects by the `generateName` they are made with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub generated_name_resources: Vec<GeneratedResource>,
    /// Namespaces in which it may write events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub eventing_namespaces: Vec<String>,
}

impl OutputResources {
    /// Reads what `output-resources` prints.
    ///
    /// # Errors
    /// When it is not YAML, or of another shape.
    pub fn read(text: &str) -> Result<Self, ContractError> {
        super::read("output resources", text)
    }

    /// The YAML that `output-resources` prints.
    pub fn to_yaml(&self) -> String {
        super::write(self)
    }

    /// What may be written at a place; nothing that is unspecified.
    pub fn list(&self, place: Place) -> Option<&OutputList> {
        match place {
            Place::Configuration => Some(&self.configuration_resources),
            Place::Management => Some(&self.management_resources),
            Place::UserWorkload => Some(&self.user_workload_resources),
            Place::Unspecified => None,
        }
    }

    /// The places at which a mutation is allowed. The operator writes it to each of them.
    pub fn places(&self, mutation: &Mutation, rules: Rules) -> Vec<Place> {
        let allowed = |place: &Place| self.list(*place).is_some_and(|list| list.allows(mutation, rules));
        Place::DECLARED.into_iter().filter(allowed).collect()
    }
}

impl OutputList {
    /// Whether a mutation is allowed: an event in a namespace of events, an object by name, one by `generateName`.
    ///
    /// By our rules an object that has both a name and a `generateName` in its body is matched by its name, and a declared
    /// `generateName` allows changing what was made with it. The original matches neither.
    pub fn allows(&self, mutation: &Mutation, rules: Rules) -> bool {
        if mutation.is_event() && self.eventing_namespaces.contains(&mutation.namespace) {
            return true;
        }
        let any = |declared: &str| rules == Rules::Native && declared == EVERY;
        let same = |of: &super::ResourceType, namespace: &str| {
            let here = namespace == mutation.namespace || any(namespace);
            of.group == mutation.group && of.resource == mutation.resource && here
        };
        let named = match rules {
            Rules::Native => !mutation.name.is_empty(),
            Rules::Original => mutation.generate_name.is_empty(),
        };
        let exact = |one: &ExactResource| {
            same(&one.of, &one.namespace) && (named && one.name == mutation.name || any(&one.name))
        };
        let generated = |one: &GeneratedResource| same(&one.of, &one.namespace) && generates(one, mutation, rules);
        self.exact_resources.iter().any(exact) || self.generated_name_resources.iter().any(generated)
    }
}

fn generates(declared: &GeneratedResource, mutation: &Mutation, rules: Rules) -> bool {
    let prefix = &declared.generated_name;
    if mutation.name.is_empty() {
        return mutation.generate_name == *prefix;
    }
    // The body says what the name was made of, where it has one; a patch or a deletion shows the name alone.
    let made_of_it = match mutation.action {
        Action::Create => false,
        _ if mutation.generate_name.is_empty() => !prefix.is_empty() && mutation.name.starts_with(prefix.as_str()),
        _ => mutation.generate_name == *prefix,
    };
    rules == Rules::Native && made_of_it
}
