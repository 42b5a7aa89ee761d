//! Selection of an operator's declared inputs from any source: a directory, a cache, a live cluster.
//!
//! ```text
//!               ┌── queries ──▶ source
//! InputPruner ──┤                  │      repeated until no query is pending: references are only
//!               └◀── results ──────┘      known once the referring object is
//!    └─▶ PrunedInputs: the objects, each once, in the order of their declaration
//! ```
//!
//! ```
//! use switchboard_gather::contract::{ContractRules, InputResources};
//! use switchboard_gather::prune::InputPruner;
//! let inputs = InputResources::read(
//!     "applyConfigurationResources: {exactResources: [{version: v1, resource: configmaps, namespace: shop, name: web}]}",
//! )?;
//! let mut pruner = InputPruner::new(&inputs.apply_configuration_resources, ContractRules::Native);
//! while let [query, ..] = &pruner.pending_queries()[..] {
//!     pruner.add_result(query.clone(), Ok(Vec::new())); // no such object
//! }
//! assert!(pruner.finish()?.objects.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod references;
pub(crate) mod secrets;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;
use switchboard_object::selector;

use crate::contract::{ContractRules, ExactResource, LabelSelector, ResourceList, ResourceReference, ResourceType};
use crate::input::is_path_segment;
use crate::manifest_client::{ManifestClient, ManifestClientError};
use crate::must_gather::{MustGather, MustGatherQuery};

pub use secrets::redact;

/// A query to a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InputQuery {
    /// A single object.
    Get(ExactResource),
    /// Objects by label, in one namespace or in all.
    ByLabel {
        /// Type of the objects.
        of: ResourceType,
        /// Namespace; empty for all namespaces.
        namespace: String,
        /// Label selector.
        selector: LabelSelector,
    },
    /// Objects created with a `generateName`. A source may return more; objects created with another one are dropped.
    ByGenerateName {
        /// Type of the objects.
        of: ResourceType,
        /// Namespace; empty for cluster-scoped types.
        namespace: String,
        /// Value of `generateName`.
        prefix: String,
    },
}

/// Selection of one list of inputs.
#[derive(Debug)]
pub struct InputPruner<'a> {
    list: &'a ResourceList,
    rules: ContractRules,
    results: BTreeMap<InputQuery, Vec<Value>>,
    errors: Vec<String>,
}

/// Selected inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrunedInputs {
    /// Objects and the types under which they are declared, in the order of the declaration, each once.
    pub objects: Vec<(ResourceType, Value)>,
    /// References whose values cannot be names.
    pub problems: Vec<String>,
}

/// Error for inputs that could not be gathered. There is no partial result, because an operator needs all inputs.
#[derive(Debug, thiserror::Error)]
#[error("could not gather the declared inputs\n  {}", .0.join("\n  "))]
pub struct PruneError(pub Vec<String>);

impl<'a> InputPruner<'a> {
    /// Starts the selection of a list of inputs.
    pub fn new(list: &'a ResourceList, rules: ContractRules) -> Self {
        Self { list, rules, results: BTreeMap::new(), errors: Vec::new() }
    }

    /// Returns the queries that can be made now, each once, or none if all have results.
    pub fn pending_queries(&self) -> Vec<InputQuery> {
        let mut queries: BTreeSet<InputQuery> = self.declared().map(|(_, query)| query).collect();
        for reference in &self.list.resource_references {
            queries.extend(self.referenced(reference).0.into_iter().map(InputQuery::Get));
        }
        queries.retain(|query| !self.results.contains_key(query));
        queries.into_iter().collect()
    }

    /// Adds the result of a query. A missing object is not an error.
    pub fn add_result(&mut self, query: InputQuery, result: Result<Vec<Value>, String>) {
        let found = result.unwrap_or_else(|message| {
            self.errors.push(format!("{query}: {message}"));
            Vec::new()
        });
        let kept = found.into_iter().filter(|object| query.selects(object)).collect();
        self.results.insert(query, kept);
    }

    /// Returns the objects.
    ///
    /// # Errors
    /// If a query failed or, with the rules of multi-operator-manager, a reference leads nowhere.
    pub fn finish(mut self) -> Result<PrunedInputs, PruneError> {
        let mut problems = Vec::new();
        let mut order: Vec<(ResourceType, InputQuery)> = self.declared().collect();
        for (index, reference) in self.list.resource_references.iter().enumerate() {
            let (targets, wrong) = self.referenced(reference);
            order.extend(targets.into_iter().map(|target| (target.of.clone(), InputQuery::Get(target))));
            let messages = wrong.into_iter().map(|message| format!("resourceReferences[{index}]: {message}"));
            match self.rules {
                ContractRules::Native => problems.extend(messages),
                ContractRules::MultiOperatorManager => self.errors.extend(messages),
            }
        }
        if !self.errors.is_empty() {
            return Err(PruneError(self.errors));
        }
        let mut pruned = PrunedInputs { problems, ..PrunedInputs::default() };
        let mut seen = BTreeSet::new();
        for (of, query) in order {
            for object in self.results.get(&query).into_iter().flatten() {
                let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_string();
                let odd = [text("namespace"), text("name")].into_iter().find(|part| !is_path_segment(part));
                if let Some(odd) = odd.filter(|_| self.rules == ContractRules::Native) {
                    pruned.problems.push(format!("{query}: `{odd}` is not a valid file name; skipped"));
                    continue;
                }
                if seen.insert((of.group.clone(), of.resource.clone(), text("namespace"), text("name"))) {
                    pruned.objects.push((of.clone(), object.clone()));
                }
            }
        }
        Ok(pruned)
    }

    /// Returns the queries that depend on no object, in the order of the declaration.
    fn declared(&self) -> impl Iterator<Item = (ResourceType, InputQuery)> {
        let list = self.list;
        let exact = list.exact_resources.iter().map(|one| (one.of.clone(), InputQuery::Get(one.clone())));
        let generated =
            list.generated_name_resources.iter().filter(|_| self.rules == ContractRules::Native).map(|one| {
                let (of, namespace, prefix) = (one.of.clone(), one.namespace.clone(), one.generated_name.clone());
                (of.clone(), InputQuery::ByGenerateName { of, namespace, prefix })
            });
        let labelled = list.label_selected_resources.iter().map(|one| {
            let (of, namespace, selector) = (one.of.clone(), one.namespace.clone(), one.label_selector.clone());
            (of.clone(), InputQuery::ByLabel { of, namespace, selector })
        });
        let referring = list.resource_references.iter().map(|one| &one.referring_resource);
        let referring = referring.map(|one| (one.of.clone(), InputQuery::Get(one.clone())));
        exact.chain(generated).chain(labelled).chain(referring)
    }

    /// Returns the referenced objects and the problems of a reference, or nothing before the referring object is known.
    fn referenced(&self, reference: &ResourceReference) -> (Vec<ExactResource>, Vec<String>) {
        let referring = self.results.get(&InputQuery::Get(reference.referring_resource.clone()));
        let Some(object) = referring.and_then(|found| found.first()) else { return Default::default() };
        match self.rules {
            ContractRules::Native => references::referenced(reference, object),
            ContractRules::MultiOperatorManager => references::referenced_compat(reference, object),
        }
    }
}

impl InputQuery {
    fn selects(&self, object: &Value) -> bool {
        match self {
            InputQuery::Get(_) => true,
            InputQuery::ByGenerateName { prefix, .. } => object["metadata"]["generateName"] == prefix.as_str(),
            InputQuery::ByLabel { selector, .. } => {
                let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
                selector::LabelSelector::from_object(Some(&selector.to_value())).is_ok_and(|s| s.matches(labels))
            }
        }
    }
}

/// Formats the query as `configmaps/shop/web` or `configmaps in shop by label`.
impl fmt::Display for InputQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (of, namespace, how) = match self {
            InputQuery::Get(one) => return one.fmt(f),
            InputQuery::ByLabel { of, namespace, .. } => (of, namespace, "by label".to_string()),
            InputQuery::ByGenerateName { of, namespace, prefix } => {
                (of, namespace, format!("with generateName {prefix}"))
            }
        };
        if namespace.is_empty() { write!(f, "{of} {how}") } else { write!(f, "{of} in {namespace} {how}") }
    }
}

/// Selects an operator's inputs from a directory.
///
/// # Errors
/// If the directory contains an input in another version than the declared one.
pub fn prune(list: &ResourceList, from: &MustGather, rules: ContractRules) -> Result<PrunedInputs, PruneError> {
    prune_from(list, rules, |query| query_must_gather(query, from))
}

/// Selects an operator's inputs like multi-operator-manager: with its reader, and failing at the first reference that
/// leads nowhere.
///
/// # Errors
/// If a reference leads nowhere, or a file cannot be read.
pub fn prune_compat(list: &ResourceList, from: &ManifestClient) -> Result<PrunedInputs, PruneError> {
    prune_from(list, ContractRules::MultiOperatorManager, |query| query_manifest_client(query, from))
}

fn prune_from(
    list: &ResourceList,
    rules: ContractRules,
    mut result: impl FnMut(&InputQuery) -> Result<Vec<Value>, String>,
) -> Result<PrunedInputs, PruneError> {
    let mut pruning = InputPruner::new(list, rules);
    loop {
        let queries = pruning.pending_queries();
        if queries.is_empty() {
            return pruning.finish();
        }
        for query in queries {
            let result = result(&query);
            pruning.add_result(query, result);
        }
    }
}

fn query_manifest_client(query: &InputQuery, from: &ManifestClient) -> Result<Vec<Value>, String> {
    let messages = |error: ManifestClientError| error.to_string();
    match query {
        InputQuery::Get(one) => {
            Ok(from.get(&one.of, &one.namespace, &one.name).map_err(messages)?.into_iter().collect())
        }
        InputQuery::ByGenerateName { .. } => Ok(Vec::new()),
        InputQuery::ByLabel { of, namespace, .. } => {
            // Labels are checked when the result is added.
            let list = from.list(of, namespace, "").map_err(messages)?;
            Ok(list["items"].as_array().cloned().unwrap_or_default())
        }
    }
}

fn query_must_gather(query: &InputQuery, from: &MustGather) -> Result<Vec<Value>, String> {
    let (of, query) = match query {
        InputQuery::Get(one) => {
            let found = from.get(&one.of, &one.namespace, &one.name).map_err(|error| error.to_string())?;
            return Ok(found.cloned().into_iter().collect());
        }
        InputQuery::ByGenerateName { of, namespace, .. } => (of, MustGatherQuery::all(namespace)),
        InputQuery::ByLabel { of, namespace, selector } => {
            let labels = selector::LabelSelector::from_object(Some(&selector.to_value()));
            let labels = labels.map_err(|error| error.to_string())?;
            (of, MustGatherQuery { labels, ..MustGatherQuery::all(namespace) })
        }
    };
    // The directory has no objects of an unknown type.
    if from.kind(of).is_none() {
        return Ok(Vec::new());
    }
    let found = from.list(of, &query).map_err(|error| error.to_string())?;
    Ok(found.into_iter().cloned().collect())
}

#[cfg(test)]
mod tests;
