//! Objects to make, change or remove in the course of a coupling.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::field::{Field, ModelError};

/// A stage of an integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
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

impl Event {
    /// All of them, in the order of a life.
    pub const ALL: [Event; 5] = [Event::Created, Event::Coupled, Event::Updated, Event::Decoupled, Event::Deleted];

    /// As users write it.
    pub fn word(self) -> &'static str {
        match self {
            Event::Created => "created",
            Event::Coupled => "coupled",
            Event::Updated => "updated",
            Event::Decoupled => "decoupled",
            Event::Deleted => "deleted",
        }
    }
}

/// What is done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Make it so.
    Apply,
    /// Remove it.
    Delete,
    /// Remove it, wait until it is gone, and make it anew.
    Recreate,
}

/// A template of objects.
#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// A tree whose texts and keys are templates.
    Tree {
        /// Where it is written.
        place: String,
        /// The tree.
        tree: Value,
    },
    /// A template of YAML documents.
    Text {
        /// Where it is written.
        place: String,
        /// The template.
        text: String,
    },
}

/// An entry of `resources` or `resultResources`.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Where it is written, such as `spec.resources[0]`.
    pub place: String,
    /// What is done.
    pub action: Action,
    /// At which events.
    pub when: BTreeSet<Event>,
    /// It stays when plug and socket are taken apart.
    pub retain: bool,
    /// Fields that others manage are taken from them.
    pub force: bool,
    /// In the order they are evaluated.
    pub templates: Vec<Template>,
}

const ACTIONS: [(&str, Action); 3] =
    [("apply", Action::Apply), ("delete", Action::Delete), ("recreate", Action::Recreate)];

impl Resource {
    pub(super) fn read(field: &Field<'_>) -> Result<Self, ModelError> {
        let events = Event::ALL.map(|event| (event.word(), event));
        let mut when = BTreeSet::new();
        for item in field.at("when").items()? {
            when.extend(item.one_of(&events)?);
        }
        if when.is_empty() {
            when.extend([Event::Coupled, Event::Updated]);
        }
        let templates = templates(field)?;
        if templates.is_empty() {
            let problem = "holds no template: give one of template, templates, stringTemplate and stringTemplates";
            return Err(field.wrong(problem));
        }
        Ok(Self {
            place: field.path().to_string(),
            action: field.at("do").one_of(&ACTIONS)?.unwrap_or(Action::Apply),
            when,
            // The seed's spelling and the existing operator's.
            retain: field.at("preserveWhenDecoupled").flag()? || field.at("retainWhenDecoupled").flag()?,
            force: field.at("force").flag()?,
            templates,
        })
    }

    /// Whether what it made goes when plug and socket are taken apart.
    pub fn goes_when_decoupled(&self) -> bool {
        !self.retain && self.action != Action::Delete && !self.when.contains(&Event::Decoupled)
    }
}

fn templates(field: &Field<'_>) -> Result<Vec<Template>, ModelError> {
    let mut found = Vec::new();
    let tree = |field: &Field<'_>, found: &mut Vec<Template>| match field.value() {
        None => Ok(()),
        Some(tree @ Value::Object(_)) => {
            found.push(Template::Tree { place: field.path().to_string(), tree: tree.clone() });
            Ok(())
        }
        Some(_) => Err(field.wrong("is no object: write YAML here, or use stringTemplate")),
    };
    let text = |field: &Field<'_>, found: &mut Vec<Template>| {
        if let Some(text) = field.text()? {
            found.push(Template::Text { place: field.path().to_string(), text });
        }
        Ok::<(), ModelError>(())
    };
    tree(&field.at("template"), &mut found)?;
    field.at("templates").items()?.iter().try_for_each(|item| tree(item, &mut found))?;
    text(&field.at("stringTemplate"), &mut found)?;
    field.at("stringTemplates").items()?.iter().try_for_each(|item| text(item, &mut found))?;
    Ok(found)
}
