//! Which objects an operator's declared inputs mean, of whatever source: a directory, a cache, a live cluster.
//!
//! ```text
//!            ┌── questions ──▶ source
//! Pruning ───┤                   │      again until nothing is asked: what is referred to is known
//!            └◀── answers ───────┘      when the referring object is
//!    └─▶ Pruned: the objects, each once, in the order they are declared
//! ```
//!
//! ```
//! use switchboard_gather::contract::{InputResources, Rules};
//! use switchboard_gather::prune::Pruning;
//! let inputs = InputResources::read(
//!     "applyConfigurationResources: {exactResources: [{version: v1, resource: configmaps, namespace: shop, name: web}]}",
//! )?;
//! let mut pruning = Pruning::new(&inputs.apply_configuration_resources, Rules::Native);
//! while let [question, ..] = &pruning.questions()[..] {
//!     pruning.answer(question.clone(), Ok(Vec::new())); // nothing there
//! }
//! assert!(pruning.finish()?.objects.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod names;
pub(crate) mod secrets;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;
use switchboard_object::selector;

use crate::contract::{ExactResource, LabelSelector, ResourceList, ResourceReference, ResourceType, Rules};
use crate::input::fits_a_path;
use crate::must_gather::{MustGather, Query};
use crate::original::{Original, OriginalError};

pub use secrets::redact;

/// What a source is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// One object.
    Get(ExactResource),
    /// Objects by label, of a namespace or of all.
    Labelled {
        /// Of which type.
        of: ResourceType,
        /// Of one namespace; of all when empty.
        namespace: String,
        /// With which labels.
        selector: LabelSelector,
    },
    /// Objects made with a `generateName`. A source may answer with more: what was made with another is left out.
    Generated {
        /// Of which type.
        of: ResourceType,
        /// Of one namespace; empty for types without.
        namespace: String,
        /// What their names are made of.
        prefix: String,
    },
}

/// The pruning of one list of inputs.
#[derive(Debug)]
pub struct Pruning<'a> {
    list: &'a ResourceList,
    rules: Rules,
    answers: BTreeMap<Question, Vec<Value>>,
    errors: Vec<String>,
}

/// What is left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pruned {
    /// The objects with the types they were asked for as, in the order of the declaration, each once.
    pub objects: Vec<(ResourceType, Value)>,
    /// References that name nothing that could be a name.
    pub problems: Vec<String>,
}

/// Inputs that could not be gathered; nothing is left then, because part of the inputs is none.
#[derive(Debug, thiserror::Error)]
#[error("could not gather the declared inputs\n  {}", .0.join("\n  "))]
pub struct PruneError(pub Vec<String>);

impl<'a> Pruning<'a> {
    /// Begins with a list of inputs.
    pub fn new(list: &'a ResourceList, rules: Rules) -> Self {
        Self { list, rules, answers: BTreeMap::new(), errors: Vec::new() }
    }

    /// What is to be asked now, each once; nothing when all is answered.
    pub fn questions(&self) -> Vec<Question> {
        let mut asked: BTreeSet<Question> = self.declared().map(|(_, question)| question).collect();
        for reference in &self.list.resource_references {
            asked.extend(self.referred(reference).0.into_iter().map(Question::Get));
        }
        asked.retain(|question| !self.answers.contains_key(question));
        asked.into_iter().collect()
    }

    /// Takes the answer to a question. An object that is not there is no error.
    pub fn answer(&mut self, question: Question, answer: Result<Vec<Value>, String>) {
        let found = answer.unwrap_or_else(|message| {
            self.errors.push(format!("{question}: {message}"));
            Vec::new()
        });
        let kept = found.into_iter().filter(|object| question.means(object)).collect();
        self.answers.insert(question, kept);
    }

    /// The objects.
    ///
    /// # Errors
    /// When a question could not be answered; by the original's rules also when a reference leads nowhere.
    pub fn finish(mut self) -> Result<Pruned, PruneError> {
        let mut problems = Vec::new();
        let mut order: Vec<(ResourceType, Question)> = self.declared().collect();
        for (index, reference) in self.list.resource_references.iter().enumerate() {
            let (targets, wrong) = self.referred(reference);
            order.extend(targets.into_iter().map(|target| (target.of.clone(), Question::Get(target))));
            let said = wrong.into_iter().map(|message| format!("resourceReferences[{index}]: {message}"));
            match self.rules {
                Rules::Native => problems.extend(said),
                Rules::Original => self.errors.extend(said),
            }
        }
        if !self.errors.is_empty() {
            return Err(PruneError(self.errors));
        }
        let mut pruned = Pruned { problems, ..Pruned::default() };
        let mut seen = BTreeSet::new();
        for (of, question) in order {
            for object in self.answers.get(&question).into_iter().flatten() {
                let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_string();
                let odd = [text("namespace"), text("name")].into_iter().find(|part| !fits_a_path(part));
                if let Some(odd) = odd.filter(|_| self.rules == Rules::Native) {
                    pruned.problems.push(format!("{question}: `{odd}` can be no file name; left out"));
                    continue;
                }
                if seen.insert((of.group.clone(), of.resource.clone(), text("namespace"), text("name"))) {
                    pruned.objects.push((of.clone(), object.clone()));
                }
            }
        }
        Ok(pruned)
    }

    /// What can be asked without knowing anything, in the order of the declaration.
    fn declared(&self) -> impl Iterator<Item = (ResourceType, Question)> {
        let list = self.list;
        let exact = list.exact_resources.iter().map(|one| (one.of.clone(), Question::Get(one.clone())));
        let generated = list.generated_name_resources.iter().filter(|_| self.rules == Rules::Native).map(|one| {
            let (of, namespace, prefix) = (one.of.clone(), one.namespace.clone(), one.generated_name.clone());
            (of.clone(), Question::Generated { of, namespace, prefix })
        });
        let labelled = list.label_selected_resources.iter().map(|one| {
            let (of, namespace, selector) = (one.of.clone(), one.namespace.clone(), one.label_selector.clone());
            (of.clone(), Question::Labelled { of, namespace, selector })
        });
        let referring = list.resource_references.iter().map(|one| &one.referring_resource);
        let referring = referring.map(|one| (one.of.clone(), Question::Get(one.clone())));
        exact.chain(generated).chain(labelled).chain(referring)
    }

    /// The objects a reference leads to, and what is wrong with it; nothing while the referring object is not known.
    fn referred(&self, reference: &ResourceReference) -> (Vec<ExactResource>, Vec<String>) {
        let referring = self.answers.get(&Question::Get(reference.referring_resource.clone()));
        let Some(object) = referring.and_then(|found| found.first()) else { return Default::default() };
        match self.rules {
            Rules::Native => names::referred(reference, object),
            Rules::Original => names::referred_as_original(reference, object),
        }
    }
}

impl Question {
    fn means(&self, object: &Value) -> bool {
        match self {
            Question::Get(_) => true,
            Question::Generated { prefix, .. } => object["metadata"]["generateName"] == prefix.as_str(),
            Question::Labelled { selector, .. } => {
                let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
                selector::LabelSelector::from_object(Some(&selector.to_value())).is_ok_and(|s| s.matches(labels))
            }
        }
    }
}

/// `configmaps/shop/web`, `configmaps in shop by label`.
impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (of, namespace, how) = match self {
            Question::Get(one) => return one.fmt(f),
            Question::Labelled { of, namespace, .. } => (of, namespace, "by label".to_string()),
            Question::Generated { of, namespace, prefix } => (of, namespace, format!("made with {prefix}")),
        };
        if namespace.is_empty() { write!(f, "{of} {how}") } else { write!(f, "{of} in {namespace} {how}") }
    }
}

/// The inputs of an operator in a directory.
///
/// # Errors
/// When the directory has an input in another version than the declared one.
pub fn prune(list: &ResourceList, from: &MustGather, rules: Rules) -> Result<Pruned, PruneError> {
    prune_from(list, rules, |question| ask(question, from))
}

/// The same as the original does it: read by its rules, and given up at the first reference that leads nowhere.
///
/// # Errors
/// As said, and whatever the original cannot read.
pub fn prune_as_original(list: &ResourceList, from: &Original) -> Result<Pruned, PruneError> {
    prune_from(list, Rules::Original, |question| ask_as_original(question, from))
}

fn prune_from(
    list: &ResourceList,
    rules: Rules,
    mut answer: impl FnMut(&Question) -> Result<Vec<Value>, String>,
) -> Result<Pruned, PruneError> {
    let mut pruning = Pruning::new(list, rules);
    loop {
        let questions = pruning.questions();
        if questions.is_empty() {
            return pruning.finish();
        }
        for question in questions {
            let answer = answer(&question);
            pruning.answer(question, answer);
        }
    }
}

fn ask_as_original(question: &Question, from: &Original) -> Result<Vec<Value>, String> {
    let said = |error: OriginalError| error.to_string();
    match question {
        Question::Get(one) => Ok(from.get(&one.of, &one.namespace, &one.name).map_err(said)?.into_iter().collect()),
        Question::Generated { .. } => Ok(Vec::new()),
        Question::Labelled { of, namespace, .. } => {
            // Labels are looked at when the answer is taken.
            let list = from.list(of, namespace, "").map_err(said)?;
            Ok(list["items"].as_array().cloned().unwrap_or_default())
        }
    }
}

fn ask(question: &Question, from: &MustGather) -> Result<Vec<Value>, String> {
    let (of, query) = match question {
        Question::Get(one) => {
            let found = from.get(&one.of, &one.namespace, &one.name).map_err(|error| error.to_string())?;
            return Ok(found.cloned().into_iter().collect());
        }
        Question::Generated { of, namespace, .. } => (of, Query::all(namespace)),
        Question::Labelled { of, namespace, selector } => {
            let labels = selector::LabelSelector::from_object(Some(&selector.to_value()));
            let labels = labels.map_err(|error| error.to_string())?;
            (of, Query { labels, ..Query::all(namespace) })
        }
    };
    // A type the directory knows nothing of has no objects there.
    if from.kind(of).is_none() {
        return Ok(Vec::new());
    }
    let found = from.list(of, &query).map_err(|error| error.to_string())?;
    Ok(found.into_iter().cloned().collect())
}

#[cfg(test)]
mod tests;
