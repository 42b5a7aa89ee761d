//! Field of a datafile, with access to others through `$ref`. Problems contain the file, line and name of the field.

use serde_json::Value;

use crate::problem::DataProblem;
use crate::source::{Bundle, Datafile};

/// Value in a datafile.
#[derive(Clone, Debug)]
pub struct DataField<'b> {
    bundle: &'b Bundle,
    file: &'b Datafile,
    pointer: String,
    value: &'b Value,
}

type FieldResult<T> = Result<T, DataProblem>;

impl<'b> DataField<'b> {
    /// Returns a datafile as a whole.
    pub fn root(bundle: &'b Bundle, file: &'b Datafile) -> Self {
        Self { bundle, file, pointer: String::new(), value: file.value() }
    }

    /// Returns the file of the field.
    pub fn file(&self) -> &'b Datafile {
        self.file
    }

    /// Returns the value.
    pub fn value(&self) -> &'b Value {
        self.value
    }

    /// Returns the name of the field in its file: `managed[0].spec`.
    pub fn name(&self) -> String {
        let mut name = String::new();
        for part in self.pointer.split('/').skip(1) {
            match part.parse::<usize>() {
                Ok(index) => name.push_str(&format!("[{index}]")),
                Err(_) => {
                    let dot = if name.is_empty() { "" } else { "." };
                    name.push_str(&format!("{dot}{}", part.replace("~1", "/").replace("~0", "~")));
                }
            }
        }
        name
    }

    /// Creates a problem with this field.
    pub fn problem(&self, message: impl std::fmt::Display) -> DataProblem {
        let problem = DataProblem::of_file(&self.file.path, message).at_line(self.file.line(&self.pointer));
        DataProblem { field: self.name(), ..problem }
    }

    /// Returns a child field with its `$ref` resolved; `None` if it is missing or null.
    ///
    /// # Errors
    /// If this field is not a map, or the referenced file does not exist.
    pub fn get(&self, key: &str) -> FieldResult<Option<Self>> {
        self.literal(key)?.map(Self::resolved).transpose()
    }

    /// Returns a child field without resolving its `$ref`.
    ///
    /// # Errors
    /// If this field is not a map.
    pub fn literal(&self, key: &str) -> FieldResult<Option<Self>> {
        let Value::Object(map) = self.value else {
            return Err(self.problem(format!("must be a map of fields, not {}", type_description(self.value))));
        };
        let found = map.get(key).filter(|value| !value.is_null());
        Ok(found.map(|value| self.at(&key.replace('~', "~0").replace('/', "~1"), value)))
    }

    /// Returns a required child field.
    ///
    /// # Errors
    /// If the field is missing or cannot be resolved.
    pub fn required(&self, key: &str) -> FieldResult<Self> {
        self.get(key)?.ok_or_else(|| self.problem(format!("has no `{key}`")))
    }

    /// Returns the elements of a list without resolving their `$ref`s.
    ///
    /// # Errors
    /// If this field is not a list.
    pub fn list(&self) -> FieldResult<Vec<Self>> {
        let Value::Array(list) = self.value else {
            return Err(self.problem(format!("must be a list, not {}", type_description(self.value))));
        };
        Ok(list.iter().enumerate().map(|(index, value)| self.at(&index.to_string(), value)).collect())
    }

    /// Returns the text. A number becomes its digits, as the server returns it.
    ///
    /// # Errors
    /// If the value is neither a text nor a number.
    pub fn text(&self) -> FieldResult<String> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            other => Err(self.problem(format!("must be a text, not {}", type_description(other)))),
        }
    }

    /// Returns the boolean.
    ///
    /// # Errors
    /// If the value is not a boolean.
    pub fn flag(&self) -> FieldResult<bool> {
        self.value
            .as_bool()
            .ok_or_else(|| self.problem(format!("must be true or false, not {}", type_description(self.value))))
    }

    /// Returns the integer.
    ///
    /// # Errors
    /// If the value is not an integer.
    pub fn integer(&self) -> FieldResult<i64> {
        self.value
            .as_i64()
            .ok_or_else(|| self.problem(format!("must be a whole number, not {}", type_description(self.value))))
    }

    /// Returns the text of a required child field.
    ///
    /// # Errors
    /// If the field is missing or not a text.
    pub fn required_text(&self, key: &str) -> FieldResult<String> {
        self.required(key)?.text()
    }

    /// Returns the text of an optional child field.
    ///
    /// # Errors
    /// If the field is not a text.
    pub fn optional_text(&self, key: &str) -> FieldResult<Option<String>> {
        self.get(key)?.map(|field| field.text()).transpose()
    }

    /// Follows a path of fields and `$ref`s: `ocm.orgId`.
    ///
    /// # Errors
    /// The errors of [`DataField::get`].
    pub fn follow_path(&self, path: &str) -> FieldResult<Option<Self>> {
        let mut field = self.clone();
        for part in path.split('.').filter(|part| !part.is_empty()) {
            match field.get(part)? {
                Some(next) => field = next,
                None => return Ok(None),
            }
        }
        Ok(Some(field))
    }

    fn at(&self, key: &str, value: &'b Value) -> Self {
        Self { bundle: self.bundle, file: self.file, pointer: format!("{}/{key}", self.pointer), value }
    }

    /// Returns the file that a `$ref` names, or the field itself if it is not a `$ref`.
    ///
    /// # Errors
    /// If the file does not exist.
    pub fn resolved(self) -> FieldResult<Self> {
        let Some(path) = reference(self.value) else { return Ok(self) };
        match self.bundle.file(path) {
            Some(file) => Ok(Self::root(self.bundle, file)),
            None => {
                let broken = self.bundle.problems().iter().find(|problem| *problem.file == *path);
                let problem = match broken {
                    Some(broken) => self.problem(format!("refers to {path}, which cannot be read: {}", broken.message)),
                    None => self.problem(format!("refers to {path}, which does not exist")),
                };
                Err(match broken.is_none().then(|| self.similar_path(path)).flatten() {
                    Some(near) => problem.hint(format!("did you mean {near}?")),
                    None => problem,
                })
            }
        }
    }

    fn similar_path(&self, path: &str) -> Option<&'b str> {
        let base = path.rsplit('/').next()?;
        self.bundle.files().map(|file| &*file.path).find(|other| other.rsplit('/').next() == Some(base))
    }
}

/// Returns the path of an object that contains a `$ref` and nothing else.
pub fn reference(value: &Value) -> Option<&str> {
    value.as_object().filter(|map| map.len() == 1)?.get("$ref")?.as_str()
}

fn type_description(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_string(),
        Value::Array(_) => "a list".to_string(),
        Value::Object(_) => "a map".to_string(),
        other => {
            let text: String = other.to_string().chars().take(64).collect();
            format!("`{text}`")
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_problem_has_its_file_line_and_field_through_references() {
        let bundle = Bundle::from_texts([
            ("/a.yml", "$schema: /a\nitems:\n- to: {$ref: /b.yml}\n- to: {$ref: /else/b.yml}\n- to: 3\n"),
            ("/b.yml", "$schema: /b\nname: [1]\n"),
        ]);
        let a = DataField::root(&bundle, bundle.file("/a.yml").unwrap());
        let items = a.required("items").unwrap().list().unwrap();
        let wrong = items[0].required("to").unwrap().required_text("name").unwrap_err();
        assert_eq!(wrong.to_string(), "/b.yml:2: name: must be a text, not a list");
        let missing = items[1].required("to").unwrap_err();
        assert_eq!(missing.to_string(), "/a.yml:4: items[1].to: refers to /else/b.yml, which does not exist");
        assert_eq!(missing.hint.as_deref(), Some("did you mean /b.yml?"));
        assert_eq!(items[2].required("to").unwrap().text().unwrap(), "3");
        assert_eq!(a.follow_path("items.x").unwrap_err().message, "must be a map of fields, not a list");
    }
}
