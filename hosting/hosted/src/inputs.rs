//! What a program declared to read, read from a view. Every read is tracked: it is what wakes the program again.

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

/// The objects of an input, each once, by type, namespace and name.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunInputs(BTreeMap<ResourceType, ObjectsByName>);

impl RunInputs {
    /// Reads what a contract declares. A kind that is not known yet parks the run, but all of them are asked for first, so
    /// that one wait is enough.
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

    /// As an input folder takes them.
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

    /// A number for what is in it: which objects, at which revisions.
    pub fn fingerprint(&self) -> String {
        let mut context = Context::new(&SHA256);
        for (of, objects) in &self.0 {
            for part in [&of.group, &of.version, &of.resource] {
                context.update(part.as_bytes());
                context.update(b"/");
            }
            for ((namespace, name), object) in objects {
                // No name has a line in it.
                context.update(namespace.as_bytes());
                context.update(b"/");
                context.update(name.as_bytes());
                context.update(b"\n");
                context.update(&object.revision.to_le_bytes());
            }
        }
        context.finish().as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// How many objects.
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
    /// A type that nobody serves has no objects.
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
            // Places that are one have the same objects.
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
                    // References lead to objects by name.
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
                // A refusal says more than a wait.
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

/// How long a `generateName` may be and be whole in the name: the server adds five characters, and names have 63.
const MAX_PREFIX: usize = 58;

/// What of a `generateName` stands in the names that are made with it.
pub(crate) fn name_prefix(prefix: &str) -> &str {
    &prefix[..prefix.floor_char_boundary(MAX_PREFIX)]
}

/// Whether an object was made with that `generateName`.
pub(crate) fn is_generated_with(object: &Object, prefix: &str) -> bool {
    // The name tells most of the others apart without the object being read.
    object.key.name.starts_with(name_prefix(prefix))
        && object.value().pointer("/metadata/generateName").and_then(Value::as_str) == Some(prefix)
}

/// A selector as text: `app=web,tier in (a,b),!old`.
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
