//! Objects to apply, recreate or delete in the course of a coupling.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::field::{ModelError, SpecField};

/// Lifecycle event of a coupling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CouplingEvent {
    /// The plug or socket was created.
    Created,
    /// Plug and socket were coupled.
    Coupled,
    /// The input of a side has changed.
    Updated,
    /// Plug and socket were decoupled.
    Decoupled,
    /// The plug or socket is being deleted.
    Deleted,
}

impl CouplingEvent {
    /// All events in lifecycle order.
    pub const ALL: [CouplingEvent; 5] = [
        CouplingEvent::Created,
        CouplingEvent::Coupled,
        CouplingEvent::Updated,
        CouplingEvent::Decoupled,
        CouplingEvent::Deleted,
    ];

    /// Returns the name of the event in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            CouplingEvent::Created => "created",
            CouplingEvent::Coupled => "coupled",
            CouplingEvent::Updated => "updated",
            CouplingEvent::Decoupled => "decoupled",
            CouplingEvent::Deleted => "deleted",
        }
    }
}

/// Action on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ResourceAction {
    /// Apply the object.
    Apply,
    /// Delete the object.
    Delete,
    /// Delete the object, wait until it is deleted, and create it again.
    Recreate,
}

/// Template of objects.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectTemplate {
    /// Tree whose strings and keys are templates.
    Tree {
        /// Path of the template in the spec.
        path: String,
        /// Tree.
        tree: Value,
    },
    /// Template that renders YAML documents.
    Text {
        /// Path of the template in the spec.
        path: String,
        /// Template text.
        text: String,
    },
}

/// Entry of `resources` or `resultResources`.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceEntry {
    /// Path of the entry in the spec, such as `spec.resources[0]`.
    pub path: String,
    /// Action on the objects.
    pub action: ResourceAction,
    /// Events that trigger the action.
    pub when: BTreeSet<CouplingEvent>,
    /// Whether the objects are kept when plug and socket are decoupled.
    pub retain: bool,
    /// Whether the apply takes over fields of other field managers.
    pub force: bool,
    /// Templates in order of evaluation.
    pub templates: Vec<ObjectTemplate>,
}

const ACTIONS: [(&str, ResourceAction); 3] =
    [("apply", ResourceAction::Apply), ("delete", ResourceAction::Delete), ("recreate", ResourceAction::Recreate)];

impl ResourceEntry {
    pub(super) fn read(field: &SpecField<'_>) -> Result<Self, ModelError> {
        let events = CouplingEvent::ALL.map(|event| (event.as_str(), event));
        let mut when = BTreeSet::new();
        for item in field.at("when").items()? {
            when.extend(item.one_of(&events)?);
        }
        if when.is_empty() {
            when.extend([CouplingEvent::Coupled, CouplingEvent::Updated]);
        }
        let templates = templates(field)?;
        if templates.is_empty() {
            let problem = "has no template: set one of template, templates, stringTemplate and stringTemplates";
            return Err(field.error(problem));
        }
        Ok(Self {
            path: field.path().to_string(),
            action: field.at("do").one_of(&ACTIONS)?.unwrap_or(ResourceAction::Apply),
            when,
            // The first spelling is that of the specification, the second that of integration-operator.
            retain: field.at("preserveWhenDecoupled").flag()? || field.at("retainWhenDecoupled").flag()?,
            force: field.at("force").flag()?,
            templates,
        })
    }

    /// Whether decoupling removes the objects of the entry.
    pub fn is_removed_when_decoupled(&self) -> bool {
        !self.retain && self.action != ResourceAction::Delete && !self.when.contains(&CouplingEvent::Decoupled)
    }
}

fn templates(field: &SpecField<'_>) -> Result<Vec<ObjectTemplate>, ModelError> {
    let mut found = Vec::new();
    let tree = |field: &SpecField<'_>, found: &mut Vec<ObjectTemplate>| match field.value() {
        None => Ok(()),
        Some(tree @ Value::Object(_)) => {
            found.push(ObjectTemplate::Tree { path: field.path().to_string(), tree: tree.clone() });
            Ok(())
        }
        Some(_) => Err(field.error("must be an object: write YAML here, or use stringTemplate")),
    };
    let text = |field: &SpecField<'_>, found: &mut Vec<ObjectTemplate>| {
        if let Some(text) = field.text()? {
            found.push(ObjectTemplate::Text { path: field.path().to_string(), text });
        }
        Ok::<(), ModelError>(())
    };
    tree(&field.at("template"), &mut found)?;
    field.at("templates").items()?.iter().try_for_each(|item| tree(item, &mut found))?;
    text(&field.at("stringTemplate"), &mut found)?;
    field.at("stringTemplates").items()?.iter().try_for_each(|item| text(item, &mut found))?;
    Ok(found)
}
