//! `input-resources`: what an operator reads.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_object::field::FieldError;

use super::text::text;
use super::validate;
use super::{ContractError, OutputResources, Rules};

/// What an operator reads to decide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InputResources {
    /// What the input directory of `apply-configuration` holds.
    pub apply_configuration_resources: ResourceList,
    /// What says how the operand does. Nobody reads it yet.
    pub operand_resources: OperandResources,
}

/// Objects, named in one of four ways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceList {
    /// By name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exact_resources: Vec<ExactResource>,
    /// By the `generateName` they were made with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub generated_name_resources: Vec<GeneratedResource>,
    /// By label.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub label_selected_resources: Vec<LabelSelected>,
    /// By what another object says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_references: Vec<ResourceReference>,
}

/// The objects of an operand, by the cluster they live on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OperandResources {
    /// On the configuration cluster.
    pub configuration_resources: ResourceList,
    /// On the management cluster.
    pub management_resources: ResourceList,
    /// On the user workload cluster.
    pub user_workload_resources: ResourceList,
}

/// Group, version and plural resource name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceType {
    /// The API group; empty for the core group.
    #[serde(deserialize_with = "text")]
    pub group: String,
    /// The version the operator understands.
    #[serde(deserialize_with = "text")]
    pub version: String,
    /// The plural name, such as `configmaps`.
    #[serde(deserialize_with = "text")]
    pub resource: String,
}

/// One object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ExactResource {
    /// Of which type.
    #[serde(flatten)]
    pub of: ResourceType,
    /// Its namespace; empty when it has none.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    #[serde(deserialize_with = "text")]
    pub name: String,
}

/// Objects made with one `generateName`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct GeneratedResource {
    /// Of which type.
    #[serde(flatten)]
    pub of: ResourceType,
    /// Their namespace; empty when they have none.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// What their names begin with. The key is `name` all the same.
    #[serde(rename = "name", deserialize_with = "text")]
    pub generated_name: String,
}

/// Objects with certain labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelected {
    /// Of which type.
    #[serde(flatten)]
    pub of: ResourceType,
    /// Of one namespace; of all when empty.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Which of them.
    pub label_selector: LabelSelector,
}

/// A label selector in its object form.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels with the values they must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<SelectorExpression>,
}

/// One requirement of a label selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct SelectorExpression {
    /// The label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values compared with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// Objects that another object names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceReference {
    /// The object that names them.
    pub referring_resource: ExactResource,
    /// `ImplicitNamespacedReference`, `ExplicitNamespacedReference` or `ClusterScopedReference`.
    #[serde(rename = "type", deserialize_with = "text")]
    pub kind: String,
    /// It says namespace and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explicit_namespaced_reference: Option<ExplicitReference>,
    /// It says the name; the namespace is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implicit_namespaced_reference: Option<ImplicitReference>,
    /// It says the name of objects without a namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_scoped_reference: Option<ClusterScopedReference>,
}

/// Where an object says the namespace and the name of others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExplicitReference {
    /// Of which type the others are.
    #[serde(flatten)]
    pub of: ResourceType,
    /// Finds namespaces.
    #[serde(rename = "namespaceJSONPath", deserialize_with = "text")]
    pub namespace_json_path: String,
    /// Finds names.
    #[serde(rename = "nameJSONPath", deserialize_with = "text")]
    pub name_json_path: String,
}

/// Where an object says the name of others in a known namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImplicitReference {
    /// Of which type the others are.
    #[serde(flatten)]
    pub of: ResourceType,
    /// Their namespace.
    #[serde(deserialize_with = "text")]
    pub namespace: String,
    /// Finds names.
    #[serde(rename = "nameJSONPath", deserialize_with = "text")]
    pub name_json_path: String,
}

/// Where an object says the name of others that have no namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterScopedReference {
    /// Of which type the others are.
    #[serde(flatten)]
    pub of: ResourceType,
    /// Finds names.
    #[serde(rename = "nameJSONPath", deserialize_with = "text")]
    pub name_json_path: String,
}

impl InputResources {
    /// Reads what `input-resources` prints.
    ///
    /// # Errors
    /// When it is not YAML, or of another shape. What it says is checked by [`InputResources::validate`].
    pub fn read(text: &str) -> Result<Self, ContractError> {
        super::read("input resources", text)
    }

    /// The YAML that `input-resources` prints.
    pub fn to_yaml(&self) -> String {
        super::write(self)
    }

    /// What is wrong with it, each with the path of the field.
    pub fn validate(&self, rules: Rules) -> Vec<FieldError> {
        validate::input(self, rules)
    }

    /// Adds what the operator writes to the configuration cluster, as the command does: it is read before it is written.
    #[must_use]
    pub fn with_outputs(mut self, outputs: &OutputResources) -> Self {
        let inputs = &mut self.apply_configuration_resources;
        inputs.exact_resources.extend(outputs.configuration_resources.exact_resources.iter().cloned());
        inputs
            .generated_name_resources
            .extend(outputs.configuration_resources.generated_name_resources.iter().cloned());
        self
    }
}

impl ResourceType {
    /// A type by group, version and plural name.
    pub fn new(group: &str, version: &str, resource: &str) -> Self {
        Self { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// The `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Core namespaces, which are found in places of their own.
    pub fn is_namespaces(&self) -> bool {
        self.group.is_empty() && self.resource == "namespaces"
    }
}

impl LabelSelector {
    /// The form selectors are read from.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("a selector has string keys")
    }
}

/// `configmaps`, `deployments.apps`.
impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(&self.resource) } else { write!(f, "{}.{}", self.resource, self.group) }
    }
}

/// `configmaps/shop/web`, `namespaces/shop`.
impl fmt::Display for ExactResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.of)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}
