//! A field of a datafile, and the way to others through `$ref`: whatever is wrong knows its file, line and name.

use serde_json::Value;

use crate::problem::Problem;
use crate::source::{Bundle, Datafile};

/// A value in a datafile.
#[derive(Clone, Debug)]
pub struct Field<'b> {
    bundle: &'b Bundle,
    file: &'b Datafile,
    pointer: String,
    value: &'b Value,
}

type Outcome<T> = Result<T, Problem>;

impl<'b> Field<'b> {
    /// A datafile as a whole.
    pub fn of(bundle: &'b Bundle, file: &'b Datafile) -> Self {
        Self { bundle, file, pointer: String::new(), value: file.value() }
    }

    /// The file it stands in.
    pub fn file(&self) -> &'b Datafile {
        self.file
    }

    /// What stands there.
    pub fn value(&self) -> &'b Value {
        self.value
    }

    /// Its name in its file: `managed[0].spec`.
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

    /// Something is wrong here.
    pub fn problem(&self, message: impl std::fmt::Display) -> Problem {
        let problem = Problem::of_file(&self.file.path, message).at_line(self.file.line(&self.pointer));
        Problem { field: self.name(), ..problem }
    }

    /// A field of it, `$ref` followed; `None` when it is absent or null.
    ///
    /// # Errors
    /// When this is no map, or the file referred to is not there.
    pub fn get(&self, key: &str) -> Outcome<Option<Self>> {
        self.literal(key)?.map(Self::followed).transpose()
    }

    /// A field of it as it is written.
    ///
    /// # Errors
    /// When this is no map.
    pub fn literal(&self, key: &str) -> Outcome<Option<Self>> {
        let Value::Object(map) = self.value else {
            return Err(self.problem(format!("must be a map of fields, not {}", shown(self.value))));
        };
        let found = map.get(key).filter(|value| !value.is_null());
        Ok(found.map(|value| self.at(&key.replace('~', "~0").replace('/', "~1"), value)))
    }

    /// A field that must be there.
    ///
    /// # Errors
    /// When it is not.
    pub fn need(&self, key: &str) -> Outcome<Self> {
        self.get(key)?.ok_or_else(|| self.problem(format!("has no `{key}`")))
    }

    /// Its elements, `$ref`s not followed.
    ///
    /// # Errors
    /// When it is no list.
    pub fn list(&self) -> Outcome<Vec<Self>> {
        let Value::Array(list) = self.value else {
            return Err(self.problem(format!("must be a list, not {}", shown(self.value))));
        };
        Ok(list.iter().enumerate().map(|(index, value)| self.at(&index.to_string(), value)).collect())
    }

    /// The text; a number is its digits, as the server gives it out.
    ///
    /// # Errors
    /// When it is neither.
    pub fn text(&self) -> Outcome<String> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            other => Err(self.problem(format!("must be a text, not {}", shown(other)))),
        }
    }

    /// The flag.
    ///
    /// # Errors
    /// When it is something else.
    pub fn flag(&self) -> Outcome<bool> {
        self.value.as_bool().ok_or_else(|| self.problem(format!("must be true or false, not {}", shown(self.value))))
    }

    /// The whole number.
    ///
    /// # Errors
    /// When it is something else.
    pub fn integer(&self) -> Outcome<i64> {
        self.value.as_i64().ok_or_else(|| self.problem(format!("must be a whole number, not {}", shown(self.value))))
    }

    /// The text of a field that must be there.
    ///
    /// # Errors
    /// When it is not there or no text.
    pub fn need_text(&self, key: &str) -> Outcome<String> {
        self.need(key)?.text()
    }

    /// The text of a field, if it is there.
    ///
    /// # Errors
    /// When it is no text.
    pub fn some_text(&self, key: &str) -> Outcome<Option<String>> {
        self.get(key)?.map(|field| field.text()).transpose()
    }

    /// What the path leads to, through `$ref`s: `ocm.orgId`.
    ///
    /// # Errors
    /// As [`Field::get`].
    pub fn along(&self, path: &str) -> Outcome<Option<Self>> {
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

    /// The file a `$ref` names; itself when it is none.
    ///
    /// # Errors
    /// When the file is not there.
    pub fn followed(self) -> Outcome<Self> {
        let Some(path) = reference(self.value) else { return Ok(self) };
        match self.bundle.file(path) {
            Some(file) => Ok(Self::of(self.bundle, file)),
            None => {
                let broken = self.bundle.problems().iter().find(|problem| *problem.file == *path);
                let problem = match broken {
                    Some(broken) => self.problem(format!("refers to {path}, which cannot be read: {}", broken.message)),
                    None => self.problem(format!("refers to {path}, which does not exist")),
                };
                Err(match broken.is_none().then(|| self.near(path)).flatten() {
                    Some(near) => problem.hint(format!("did you mean {near}?")),
                    None => problem,
                })
            }
        }
    }

    fn near(&self, path: &str) -> Option<&'b str> {
        let base = path.rsplit('/').next()?;
        self.bundle.files().map(|file| &*file.path).find(|other| other.rsplit('/').next() == Some(base))
    }
}

/// The path of an object that is a `$ref` and nothing else.
pub fn reference(value: &Value) -> Option<&str> {
    value.as_object().filter(|map| map.len() == 1)?.get("$ref")?.as_str()
}

fn shown(value: &Value) -> String {
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
    fn a_problem_knows_its_file_line_and_field_through_references() {
        let bundle = Bundle::of_texts([
            ("/a.yml", "$schema: /a\nitems:\n- to: {$ref: /b.yml}\n- to: {$ref: /else/b.yml}\n- to: 3\n"),
            ("/b.yml", "$schema: /b\nname: [1]\n"),
        ]);
        let a = Field::of(&bundle, bundle.file("/a.yml").unwrap());
        let items = a.need("items").unwrap().list().unwrap();
        let wrong = items[0].need("to").unwrap().need_text("name").unwrap_err();
        assert_eq!(wrong.to_string(), "/b.yml:2: name: must be a text, not a list");
        let missing = items[1].need("to").unwrap_err();
        assert_eq!(missing.to_string(), "/a.yml:4: items[1].to: refers to /else/b.yml, which does not exist");
        assert_eq!(missing.hint.as_deref(), Some("did you mean /b.yml?"));
        assert_eq!(items[2].need("to").unwrap().text().unwrap(), "3");
        assert_eq!(a.along("items.x").unwrap_err().message, "must be a map of fields, not a list");
    }
}
