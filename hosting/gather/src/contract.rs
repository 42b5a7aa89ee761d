//! Output of an operator's commands in the multi-operator contract: declared inputs, declared outputs, and results of a
//! run.
//!
//! ```text
//! <operator> input-resources      ─▶ InputResources    (YAML on stdout)
//! <operator> output-resources     ─▶ OutputResources   (YAML on stdout)
//! <operator> apply-configuration  ─▶ ControllerResults (controller-results.yaml)
//! ```
//!
//! Documents are read and written like `sigs.k8s.io/yaml`: unknown keys are ignored, and a key without a value counts
//! as missing.

mod input;
mod output;
mod results;
mod text;
mod validate;

pub use input::{
    ClusterScopedReference, ExactResource, ExplicitReference, GeneratedResource, ImplicitReference, InputResources,
    LabelSelected, LabelSelector, OperandResources, ResourceList, ResourceReference, ResourceType, SelectorExpression,
};
pub use output::{OutputList, OutputResources, WILDCARD};
pub use results::{ControllerError, ControllerResult, ControllerResults, ControllerStatus, is_cut_short_by_panic};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_object::yaml::{self, YamlError};

/// Rules of the contract. Switchboard's rules are wider or safer than those of multi-operator-manager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContractRules {
    /// Rules of Switchboard.
    #[default]
    Native,
    /// Rules of multi-operator-manager and its client, including their gaps, as with `--compat`.
    MultiOperatorManager,
}

/// Error for an invalid document of the contract.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// The document is not YAML.
    #[error("could not parse the {document}")]
    Yaml {
        /// Name of the document.
        document: &'static str,
        /// Problem and line.
        #[source]
        source: YamlError,
    },
    /// A field of the document has the wrong type.
    #[error("could not decode the {document}")]
    Shape {
        /// Name of the document.
        document: &'static str,
        /// Problem.
        #[source]
        source: serde_json::Error,
    },
}

fn read<T: DeserializeOwned + Default>(document: &'static str, text: &str) -> Result<T, ContractError> {
    let read = yaml::read(text).map_err(|source| ContractError::Yaml { document, source })?;
    match without_nulls(read.value) {
        Value::Null => Ok(T::default()),
        value => serde_json::from_value(value).map_err(|source| ContractError::Shape { document, source }),
    }
}

fn write(document: &impl Serialize) -> String {
    yaml::to_string(&serde_json::to_value(document).expect("documents of the contract have string keys"))
}

/// In Go, a key without a value leaves the field unchanged.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
