//! Access to fields by path, so that errors name the field.

use std::collections::BTreeMap;

use serde_json::Value;

/// Invalid field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} {problem}")]
pub struct ModelError {
    /// Path of the field, such as `spec.resources[2].do`.
    pub path: String,
    /// Problem and hint.
    pub problem: String,
}

/// A field of an object, present or not.
#[derive(Clone, Debug)]
pub struct SpecField<'a> {
    path: String,
    value: Option<&'a Value>,
}

impl<'a> SpecField<'a> {
    /// Returns the object itself as a field.
    pub fn root(object: &'a Value) -> Self {
        Self { path: String::new(), value: Some(object) }
    }

    /// Returns a child field. Null counts as absent.
    pub fn at(&self, name: &str) -> SpecField<'a> {
        let dot = if self.path.is_empty() { "" } else { "." };
        let value = self.value.and_then(|value| value.get(name)).filter(|value| !value.is_null());
        SpecField { path: format!("{}{dot}{name}", self.path), value }
    }

    /// Returns the path of the field.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the field has a value.
    pub fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// Returns the value of the field.
    pub fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// Returns an error about the field.
    pub fn error(&self, problem: impl Into<String>) -> ModelError {
        ModelError { path: self.path.clone(), problem: problem.into() }
    }

    /// Returns a string.
    ///
    /// # Errors
    /// If the value has another type.
    pub fn text(&self) -> Result<Option<String>, ModelError> {
        match self.value {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(_) | Value::Bool(_)) => Err(self.error("must be a string: put the value in quotes")),
            Some(_) => Err(self.error("must be a string")),
        }
    }

    /// Returns a string unless it is empty.
    ///
    /// # Errors
    /// If the value has another type.
    pub fn non_empty_text(&self) -> Result<Option<String>, ModelError> {
        Ok(self.text()?.filter(|text| !text.is_empty()))
    }

    /// Returns a required string. `value` describes the expected value.
    ///
    /// # Errors
    /// If the string is missing, empty or of another type.
    pub fn required_text(&self, value: &str) -> Result<String, ModelError> {
        self.non_empty_text()?.ok_or_else(|| self.error(format!("is missing: set it to {value}")))
    }

    /// Returns a boolean, with false as the default.
    ///
    /// # Errors
    /// If the value has another type.
    pub fn flag(&self) -> Result<bool, ModelError> {
        match self.value {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.error("must be true or false")),
        }
    }

    /// Returns a non-negative integer.
    ///
    /// # Errors
    /// If the value is not a non-negative integer.
    pub fn count(&self) -> Result<Option<u32>, ModelError> {
        let Some(value) = self.value else { return Ok(None) };
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
        count.map(Some).ok_or_else(|| self.error("must be a non-negative integer"))
    }

    /// Returns a string map.
    ///
    /// # Errors
    /// If the value is not a map, or contains other types.
    pub fn text_map(&self) -> Result<BTreeMap<String, String>, ModelError> {
        self.entries()?.into_iter().map(|(key, field)| Ok((key, field.text()?.unwrap_or_default()))).collect()
    }

    /// Returns the entries of a map.
    ///
    /// # Errors
    /// If the value is not a map.
    pub fn entries(&self) -> Result<Vec<(String, SpecField<'a>)>, ModelError> {
        match self.value {
            None => Ok(Vec::new()),
            Some(Value::Object(fields)) => Ok(fields.keys().map(|key| (key.clone(), self.at(key))).collect()),
            Some(_) => Err(self.error("must be a map")),
        }
    }

    /// Returns the items of a list.
    ///
    /// # Errors
    /// If the value is not a list.
    pub fn items(&self) -> Result<Vec<SpecField<'a>>, ModelError> {
        let item = |(number, value): (usize, &'a Value)| SpecField {
            path: format!("{}[{number}]", self.path),
            value: Some(value).filter(|value| !value.is_null()),
        };
        match self.value {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items.iter().enumerate().map(item).collect()),
            Some(_) => Err(self.error("must be a list")),
        }
    }

    /// Returns the meaning of one of several words.
    ///
    /// # Errors
    /// If the value is none of the words. The message lists them.
    pub fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<Option<T>, ModelError> {
        let Some(text) = self.non_empty_text()? else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                Err(self.error(format!("must be one of {}, not `{text}`", known.join(", "))))
            }
        }
    }
}
