//! Reads of the declared inputs from a view. All reads are tracked, so that changes trigger the program.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use ring::digest::{Context, SHA256};
use serde_json::Value;
use switchboard_gather::contract::{ContractRules, LabelSelector, ResourceList, ResourceType};
use switchboard_gather::input::InputObject;
use switchboard_gather::prune::{InputPruner, InputQuery};
use switchboard_kernel::object::Object;
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::resource::Selection;
use switchboard_kernel::view::View;

use crate::contract::Contract;
use crate::declaration::ContractKinds;

/// Objects of a kind, by namespace and name.
type ObjectsByName = BTreeMap<(Arc<str>, Arc<str>), Object>;

/// Objects of an input, by type, namespace and name.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunInputs(BTreeMap<ResourceType, ObjectsByName>);

impl RunInputs {
    /// Reads the declared inputs. All reads are issued before the run parks on an uncached kind, so that one wait
    /// suffices.
    pub fn read(contract: &Contract, kinds: &ContractKinds, view: &View) -> Result<Self, DecideError> {
        let mut reading = InputReader { kinds, view, inputs: Self::default(), stop: None };
        let list = &contract.inputs.apply_configuration_resources;
        for one in &list.exact_resources {
            reading.get(&one.of, &one.namespace, &one.name);
        }
        for one in &list.label_selected_resources {
            let labels = selector(&one.label_selector);
            reading.list(&one.of, &one.namespace, |all| all.with_labels(&labels), |_| true);
        }
        for one in &list.generated_name_resources {
            let (prefix, made) =
                (name_prefix(&one.generated_name), |object: &_| is_generated_with(object, &one.generated_name));
            reading.list(&one.of, &one.namespace, |all| all.with_prefix(prefix), made);
        }
        reading.references(list);
        match reading.stop {
            Some(stop) => Err(stop),
            None => Ok(reading.inputs),
        }
    }

    /// Returns the objects in the form of an input folder.
    pub fn objects<'a>(&'a self, kinds: &'a ContractKinds) -> Vec<InputObject<'a>> {
        let mut all = Vec::with_capacity(self.len());
        for (of, objects) in &self.0 {
            let Some(resource) = kinds.resource(of) else { continue };
            all.extend(objects.iter().map(|((namespace, name), object)| InputObject {
                of: Cow::Borrowed(of),
                kind: resource.kind.as_ref().into(),
                namespace: namespace.as_ref().into(),
                name: name.as_ref().into(),
                json: object.json.as_ref().into(),
                revision: Some(object.revision),
            }));
        }
        all
    }

    /// Returns a digest of the objects and their revisions.
    pub fn fingerprint(&self) -> String {
        let mut context = Context::new(&SHA256);
        for (of, objects) in &self.0 {
            for part in [&of.group, &of.version, &of.resource] {
                context.update(part.as_bytes());
                context.update(b"/");
            }
            for ((namespace, name), object) in objects {
                // Names contain no line break.
                context.update(namespace.as_bytes());
                context.update(b"/");
                context.update(name.as_bytes());
                context.update(b"\n");
                context.update(&object.revision.to_le_bytes());
            }
        }
        context.finish().as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }
}

struct InputReader<'a> {
    kinds: &'a ContractKinds,
    view: &'a View,
    inputs: RunInputs,
    stop: Option<DecideError>,
}

impl InputReader<'_> {
    /// Reads an object. A type that is not served has no objects.
    fn get(&mut self, of: &ResourceType, namespace: &str, name: &str) -> Option<Object> {
        let resource = self.kinds.resource(of)?;
        let namespace = if resource.namespaced { namespace } else { "" };
        let found = self.view.on(self.kinds.cluster_type(of, namespace, name)).get(resource, namespace, name);
        let object = self.accept(found)??;
        self.insert(of, object.clone());
        Some(object)
    }

    fn list(
        &mut self,
        of: &ResourceType,
        namespace: &str,
        some: impl Fn(Selection) -> Selection,
        wanted: impl Fn(&Object) -> bool,
    ) {
        let Some(resource) = self.kinds.resource(of) else { return };
        let all = if namespace.is_empty() || !resource.namespaced {
            Selection::all()
        } else {
            Selection::namespace(namespace)
        };
        let (all, mut read) = (some(all), Vec::new());
        for place in self.kinds.cluster_types(of, namespace) {
            // Cluster types on the same cluster have the same objects.
            if read.iter().any(|other| self.view.topology().is_same(*other, place)) {
                continue;
            }
            read.push(place);
            let found = self.view.on(place).list(resource, &all);
            for object in self.accept(found).into_iter().flatten().filter(&wanted) {
                let (namespace, name) = (&object.key.namespace, &object.key.name);
                let known =
                    self.inputs.0.get(of).is_some_and(|all| all.contains_key(&(namespace.clone(), name.clone())));
                if !known || self.kinds.cluster_type(of, namespace, name) == place {
                    self.insert(of, object);
                }
            }
        }
    }

    fn references(&mut self, list: &ResourceList) {
        let referring = ResourceList { resource_references: list.resource_references.clone(), ..Default::default() };
        let mut pruning = InputPruner::new(&referring, ContractRules::Native);
        loop {
            let questions = pruning.pending_queries();
            if questions.is_empty() {
                break;
            }
            for question in questions {
                let found = match &question {
                    InputQuery::Get(one) => self.get(&one.of, &one.namespace, &one.name),
                    // References name objects directly.
                    InputQuery::ByLabel { .. } | InputQuery::ByGenerateName { .. } => None,
                };
                let found: Vec<Value> = found.iter().map(Object::value).collect();
                pruning.add_result(question, Ok(found));
            }
        }
    }

    fn accept<T>(&mut self, found: Result<T, DecideError>) -> Option<T> {
        match found {
            Ok(found) => Some(found),
            Err(stop) => {
                // A failure takes precedence over a wait.
                if self.stop.is_none() || matches!(stop, DecideError::Failed(_)) {
                    self.stop = Some(stop);
                }
                None
            }
        }
    }

    fn insert(&mut self, of: &ResourceType, object: Object) {
        let inputs = &mut self.inputs.0;
        if !inputs.contains_key(of) {
            inputs.insert(of.clone(), BTreeMap::new());
        }
        let objects = inputs.get_mut(of).expect("it was put there");
        objects.insert((object.key.namespace.clone(), object.key.name.clone()), object);
    }
}

/// Maximum length of a `generateName` prefix in a name: the API server adds five characters, and names have at most 63.
const MAX_PREFIX: usize = 58;

/// Returns the part of a `generateName` that appears in names.
pub(crate) fn name_prefix(prefix: &str) -> &str {
    &prefix[..prefix.floor_char_boundary(MAX_PREFIX)]
}

/// Whether an object was created with that `generateName`.
pub(crate) fn is_generated_with(object: &Object, prefix: &str) -> bool {
    // The name excludes most other objects without parsing them.
    object.key.name.starts_with(name_prefix(prefix))
        && object.value().pointer("/metadata/generateName").and_then(Value::as_str) == Some(prefix)
}

/// Formats a selector: `app=web,tier in (a,b),!old`.
fn selector(selector: &LabelSelector) -> String {
    let equal = selector.match_labels.iter().map(|(key, value)| format!("{key}={value}"));
    let further = selector.match_expressions.iter().map(|one| {
        let values = one.values.join(",");
        match one.operator.as_str() {
            "In" => format!("{} in ({values})", one.key),
            "NotIn" => format!("{} notin ({values})", one.key),
            "DoesNotExist" => format!("!{}", one.key),
            _ => one.key.clone(),
        }
    });
    equal.chain(further).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests;
