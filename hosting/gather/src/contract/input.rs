//! `input-resources`: the declared inputs of an operator.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_object::field::FieldError;

use super::text::text;
use super::validate;
use super::{ContractError, ContractRules, OutputResources};

/// Declared inputs of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InputResources {
    /// Content of the input directory of `apply-configuration`.
    pub apply_configuration_resources: ResourceList,
    /// Objects that show the state of the operand. Not used yet.
    pub operand_resources: OperandResources,
}

/// A list of objects, selected in four ways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceList {
    /// Objects by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exact_resources: Vec<ExactResource>,
    /// Objects by the `generateName` they were created with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub generated_name_resources: Vec<GeneratedResource>,
    /// Objects by label.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub label_selected_resources: Vec<LabelSelected>,
    /// Objects that other objects refer to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_references: Vec<ResourceReference>,
}

/// Objects of an operand by cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OperandResources {
    /// Objects on the configuration cluster.
    pub configuration_resources: ResourceList,
    /// Objects on the management cluster.
    pub management_resources: ResourceList,
    /// Objects on the user workload cluster.
    pub user_workload_resources: ResourceList,
}

/// Group, version and plural resource name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceType {
    /// API group; empty for the core group.
    #[serde(deserialize_with = "text")]
    pub group: String,
    /// API version that the operator supports.
    #[serde(deserialize_with = "text")]
    pub version: String,
    /// Plural name, such as `configmaps`.
    #[serde(deserialize_with = "text")]
    pub resource: String,
}

/// A single object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ExactResource {
    /// Type of the object.
    #[serde(flatten)]
    pub of: ResourceType,
    /// Namespace; empty for a cluster-scoped object.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name.
    #[serde(deserialize_with = "text")]
    pub name: String,
}

/// Objects created with the same `generateName`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct GeneratedResource {
    /// Type of the objects.
    #[serde(flatten)]
    pub of: ResourceType,
    /// Namespace; empty for cluster-scoped objects.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Value of `generateName`. The key in YAML is `name`.
    #[serde(rename = "name", deserialize_with = "text")]
    pub generated_name: String,
}

/// Objects selected by label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelected {
    /// Type of the objects.
    #[serde(flatten)]
    pub of: ResourceType,
    /// Namespace; empty for all namespaces.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Selector.
    pub label_selector: LabelSelector,
}

/// A label selector in its object form.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Required labels and their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<SelectorExpression>,
}

/// A requirement of a label selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct SelectorExpression {
    /// Label key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// Values for the operators `In` and `NotIn`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// Objects that another object refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceReference {
    /// Referring object.
    pub referring_resource: ExactResource,
    /// `ImplicitNamespacedReference`, `ExplicitNamespacedReference` or `ClusterScopedReference`.
    #[serde(rename = "type", deserialize_with = "text")]
    pub kind: String,
    /// Reference with namespace and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explicit_namespaced_reference: Option<ExplicitReference>,
    /// Reference with a name only, in a fixed namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implicit_namespaced_reference: Option<ImplicitReference>,
    /// Reference to cluster-scoped objects by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_scoped_reference: Option<ClusterScopedReference>,
}

/// Paths to the namespaces and names of referenced objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExplicitReference {
    /// Type of the referenced objects.
    #[serde(flatten)]
    pub of: ResourceType,
    /// JSONPath of the namespaces.
    #[serde(rename = "namespaceJSONPath", deserialize_with = "text")]
    pub namespace_json_path: String,
    /// JSONPath of the names.
    #[serde(rename = "nameJSONPath", deserialize_with = "text")]
    pub name_json_path: String,
}

/// Path to the names of referenced objects in a fixed namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImplicitReference {
    /// Type of the referenced objects.
    #[serde(flatten)]
    pub of: ResourceType,
    /// Namespace of the referenced objects.
    #[serde(deserialize_with = "text")]
    pub namespace: String,
    /// JSONPath of the names.
    #[serde(rename = "nameJSONPath", deserialize_with = "text")]
    pub name_json_path: String,
}

/// Path to the names of referenced cluster-scoped objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterScopedReference {
    /// Type of the referenced objects.
    #[serde(flatten)]
    pub of: ResourceType,
    /// JSONPath of the names.
    #[serde(rename = "nameJSONPath", deserialize_with = "text")]
    pub name_json_path: String,
}

impl InputResources {
    /// Parses the output of `input-resources`.
    ///
    /// # Errors
    /// If the text is not YAML or a field has the wrong type. [`InputResources::validate`] checks the content.
    pub fn read(text: &str) -> Result<Self, ContractError> {
        super::read("input resources", text)
    }

    /// Returns the YAML that `input-resources` prints.
    pub fn to_yaml(&self) -> String {
        super::write(self)
    }

    /// Returns the problems with the paths of their fields.
    pub fn validate(&self, rules: ContractRules) -> Vec<FieldError> {
        validate::input(self, rules)
    }

    /// Adds the outputs on the configuration cluster, like the `input-resources` command: operators read objects before
    /// they write them.
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
    /// Creates a type from group, version and plural name.
    pub fn new(group: &str, version: &str, resource: &str) -> Self {
        Self { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// Returns the `apiVersion` of the objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Whether this is the core Namespace type, whose objects are in special places of a directory.
    pub fn is_namespaces(&self) -> bool {
        self.group.is_empty() && self.resource == "namespaces"
    }
}

impl LabelSelector {
    /// Converts the selector to its JSON form for parsing.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("a selector has string keys")
    }
}

/// Formats the type as `configmaps` or `deployments.apps`.
impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(&self.resource) } else { write!(f, "{}.{}", self.resource, self.group) }
    }
}

/// Formats the object as `configmaps/shop/web` or `namespaces/shop`.
impl fmt::Display for ExactResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.of)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}
