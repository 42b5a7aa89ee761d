//! Objects to make, change or remove in the course of a coupling.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::field::{ModelError, SpecField};

/// A stage of an integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CouplingEvent {
    /// The plug or socket was made.
    Created,
    /// Plug and socket were brought together.
    Coupled,
    /// What one of them brings has changed.
    Updated,
    /// They were taken apart.
    Decoupled,
    /// The plug or socket goes.
    Deleted,
}

impl CouplingEvent {
    /// All of them, in the order of a life.
    pub const ALL: [CouplingEvent; 5] = [
        CouplingEvent::Created,
        CouplingEvent::Coupled,
        CouplingEvent::Updated,
        CouplingEvent::Decoupled,
        CouplingEvent::Deleted,
    ];

    /// As users write it.
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

/// What is done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ResourceAction {
    /// Make it so.
    Apply,
    /// Remove it.
    Delete,
    /// Remove it, wait until it is gone, and make it anew.
    Recreate,
}

/// A template of objects.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectTemplate {
    /// A tree whose texts and keys are templates.
    Tree {
        /// Where it is written.
        path: String,
        /// The tree.
        tree: Value,
    },
    /// A template of YAML documents.
    Text {
        /// Where it is written.
        path: String,
        /// The template.
        text: String,
    },
}

/// An entry of `resources` or `resultResources`.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceEntry {
    /// Where it is written, such as `spec.resources[0]`.
    pub path: String,
    /// What is done.
    pub action: ResourceAction,
    /// At which events.
    pub when: BTreeSet<CouplingEvent>,
    /// It stays when plug and socket are taken apart.
    pub retain: bool,
    /// Fields that others manage are taken from them.
    pub force: bool,
    /// In the order they are evaluated.
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
            let problem = "holds no template: give one of template, templates, stringTemplate and stringTemplates";
            return Err(field.error(problem));
        }
        Ok(Self {
            path: field.path().to_string(),
            action: field.at("do").one_of(&ACTIONS)?.unwrap_or(ResourceAction::Apply),
            when,
            // The seed's spelling and the existing operator's.
            retain: field.at("preserveWhenDecoupled").flag()? || field.at("retainWhenDecoupled").flag()?,
            force: field.at("force").flag()?,
            templates,
        })
    }

    /// Whether what it made goes when plug and socket are taken apart.
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
        Some(_) => Err(field.error("is no object: write YAML here, or use stringTemplate")),
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
