//! What an operator says of itself in the multi-operator contract: what it reads, what it writes, how its run went.
//!
//! ```text
//! <operator> input-resources      ─▶ InputResources    (YAML on stdout)
//! <operator> output-resources     ─▶ OutputResources   (YAML on stdout)
//! <operator> apply-configuration  ─▶ ControllerResults (controller-results.yaml)
//! ```
//!
//! Read and written as `sigs.k8s.io/yaml` does it: unknown keys are ignored, a key without a value is one left out.

mod input;
mod output;
mod results;
mod text;
mod validate;

pub use input::{
    ClusterScopedReference, ExactResource, ExplicitReference, GeneratedResource, ImplicitReference, InputResources,
    LabelSelected, LabelSelector, OperandResources, ResourceList, ResourceReference, ResourceType, SelectorExpression,
};
pub use output::{EVERY, OutputList, OutputResources};
pub use results::{ControllerError, ControllerResult, ControllerResults, ControllerStatus, is_left_of_panic};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_object::yaml::{self, YamlError};

/// Whose rules apply where ours are wider or safer than the original's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// Ours.
    #[default]
    Native,
    /// Those of multi-operator-manager and its client, with their gaps: what `--compat` asks for.
    Original,
}

/// A document of the contract that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// It is not YAML.
    #[error("could not read the {document}")]
    Yaml {
        /// Which document.
        document: &'static str,
        /// What is wrong, and in which line.
        #[source]
        source: YamlError,
    },
    /// It has another shape.
    #[error("could not understand the {document}")]
    Shape {
        /// Which document.
        document: &'static str,
        /// Where it differs.
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

/// Go leaves a field alone whose key has no value.
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
