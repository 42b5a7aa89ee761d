//! A field and where it stands, so that whatever is wrong can be named.

use std::collections::BTreeMap;

use serde_json::Value;

/// A field that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} {problem}")]
pub struct ModelError {
    /// Which, such as `spec.resources[2].do`.
    pub path: String,
    /// What is wrong with it, and what to do.
    pub problem: String,
}

/// A field of an object, there or not.
#[derive(Clone, Debug)]
pub struct SpecField<'a> {
    path: String,
    value: Option<&'a Value>,
}

impl<'a> SpecField<'a> {
    /// The object itself.
    pub fn root(object: &'a Value) -> Self {
        Self { path: String::new(), value: Some(object) }
    }

    /// A field of it; null is as good as absent.
    pub fn at(&self, name: &str) -> SpecField<'a> {
        let dot = if self.path.is_empty() { "" } else { "." };
        let value = self.value.and_then(|value| value.get(name)).filter(|value| !value.is_null());
        SpecField { path: format!("{}{dot}{name}", self.path), value }
    }

    /// Where it stands.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether there is anything.
    pub fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// What there is.
    pub fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// That something is wrong with it.
    pub fn error(&self, problem: impl Into<String>) -> ModelError {
        ModelError { path: self.path.clone(), problem: problem.into() }
    }

    /// A text.
    ///
    /// # Errors
    /// When it is something else.
    pub fn text(&self) -> Result<Option<String>, ModelError> {
        match self.value {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(_) | Value::Bool(_)) => Err(self.error("is no text: put it in quotes")),
            Some(_) => Err(self.error("is no text")),
        }
    }

    /// A text with something in it.
    ///
    /// # Errors
    /// When it is something else.
    pub fn non_empty_text(&self) -> Result<Option<String>, ModelError> {
        Ok(self.text()?.filter(|text| !text.is_empty()))
    }

    /// A text that must be there; `what` says what for.
    ///
    /// # Errors
    /// When it is missing, empty or something else.
    pub fn required_text(&self, what: &str) -> Result<String, ModelError> {
        self.non_empty_text()?.ok_or_else(|| self.error(format!("is missing: it {what}")))
    }

    /// True or false; false when absent.
    ///
    /// # Errors
    /// When it is something else.
    pub fn flag(&self) -> Result<bool, ModelError> {
        match self.value {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.error("is neither true nor false")),
        }
    }

    /// A count.
    ///
    /// # Errors
    /// When it is no whole number from zero on.
    pub fn count(&self) -> Result<Option<u32>, ModelError> {
        let Some(value) = self.value else { return Ok(None) };
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
        count.map(Some).ok_or_else(|| self.error("is no whole number from 0 on"))
    }

    /// A map of texts.
    ///
    /// # Errors
    /// When it is no map, or holds something else.
    pub fn text_map(&self) -> Result<BTreeMap<String, String>, ModelError> {
        self.entries()?.into_iter().map(|(key, field)| Ok((key, field.text()?.unwrap_or_default()))).collect()
    }

    /// The entries of a map.
    ///
    /// # Errors
    /// When it is no map.
    pub fn entries(&self) -> Result<Vec<(String, SpecField<'a>)>, ModelError> {
        match self.value {
            None => Ok(Vec::new()),
            Some(Value::Object(fields)) => Ok(fields.keys().map(|key| (key.clone(), self.at(key))).collect()),
            Some(_) => Err(self.error("is no map")),
        }
    }

    /// The items of a list.
    ///
    /// # Errors
    /// When it is no list.
    pub fn items(&self) -> Result<Vec<SpecField<'a>>, ModelError> {
        let item = |(number, value): (usize, &'a Value)| SpecField {
            path: format!("{}[{number}]", self.path),
            value: Some(value).filter(|value| !value.is_null()),
        };
        match self.value {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items.iter().enumerate().map(item).collect()),
            Some(_) => Err(self.error("is no list")),
        }
    }

    /// One of several words.
    ///
    /// # Errors
    /// When it is none of them; says which there are.
    pub fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<Option<T>, ModelError> {
        let Some(text) = self.non_empty_text()? else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                Err(self.error(format!("is `{text}`, which is none of {}", known.join(", "))))
            }
        }
    }
}
