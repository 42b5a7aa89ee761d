//! The values a user gives: files, then `--set-json`, `--set`, `--set-string`, `--set-file` and `--set-literal`, each over
//! those before.

use switchboard_object::{Map, Value, json};

use crate::strvals::{Kind, SetError, set};
use crate::typed::DecodeError;
use crate::values;

/// What was asked for, in the order it was asked for within each kind.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// `-f`: names of files.
    pub files: Vec<String>,
    /// `--set-json`.
    pub json: Vec<String>,
    /// `--set`.
    pub typed: Vec<String>,
    /// `--set-string`.
    pub text: Vec<String>,
    /// `--set-file`.
    pub from_files: Vec<String>,
    /// `--set-literal`.
    pub literal: Vec<String>,
}

/// Values that cannot be read, in Helm's words.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    /// A file that cannot be read.
    #[error("{0}")]
    Read(String),
    /// A file that is no values.
    #[error("failed to parse {file}: {problem}")]
    Parse {
        /// The file.
        file: String,
        /// What is wrong.
        problem: DecodeError,
    },
    /// `--set-json` with an object that is none.
    #[error("failed parsing --set-json data JSON: {0}")]
    Object(String),
    /// `--set-json` with a line that is none.
    #[error("failed parsing --set-json data {0}")]
    Json(String),
    /// Any other.
    #[error("failed parsing {option} data: {problem}")]
    Set {
        /// The option.
        option: &'static str,
        /// What is wrong.
        problem: SetError,
    },
}

impl Given {
    /// The values. Files are read by `read`, which gets their names and answers their bytes, or why not.
    ///
    /// # Errors
    /// When something cannot be read or understood.
    pub fn values(&self, read: &dyn Fn(&str) -> Result<Vec<u8>, String>) -> Result<Map, GivenError> {
        let mut all = Map::new();
        for file in &self.files {
            let bytes = read(file).map_err(GivenError::Read)?;
            let parsed = values::read_bytes(&bytes);
            let parsed = parsed.map_err(|problem| GivenError::Parse { file: file.clone(), problem })?;
            values::merge(&mut all, parsed);
        }
        for line in &self.json {
            let trimmed = line.trim();
            if trimmed.starts_with('{') {
                let document = json::read(trimmed.as_bytes()).map_err(|_| GivenError::Object(line.clone()))?;
                if let Value::Object(map) = values::floats(document.value) {
                    values::merge(&mut all, map);
                }
            } else {
                set(line, &Kind::Json, &mut all).map_err(|_| GivenError::Json(line.clone()))?;
            }
        }
        let from_file = |name: &str| read(name).and_then(|bytes| text_of_file(name, bytes)).map(Value::String);
        let options: [(&'static str, &Vec<String>, Kind<'_>); 4] = [
            ("--set", &self.typed, Kind::Typed),
            ("--set-string", &self.text, Kind::Text),
            ("--set-file", &self.from_files, Kind::File(&from_file)),
            ("--set-literal", &self.literal, Kind::Literal),
        ];
        for (option, lines, kind) in &options {
            for line in *lines {
                set(line, kind, &mut all).map_err(|problem| GivenError::Set { option, problem })?;
            }
        }
        Ok(all)
    }
}

/// A file's bytes as a value. Values are text: what is none would be changed on the way.
///
/// # Errors
/// In words, when it is no UTF-8.
pub fn text_of_file(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    let hint = "give it encoded, for example by base64, and let the template decode it";
    String::from_utf8(bytes).map_err(|_| format!("{name} is not UTF-8, and values are text\nhint: {hint}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_that_is_no_text_is_refused_and_not_changed() {
        let given = Given { from_files: vec!["a=key.p12".to_string()], ..Given::default() };
        let error = given.values(&|_| Ok(vec![0x30, 0x82, 0xff])).unwrap_err().to_string();
        assert!(error.contains("key.p12 is not UTF-8") && error.contains("hint: give it encoded"), "{error}");
        let values = given.values(&|_| Ok("grün".into())).unwrap();
        assert_eq!(values["a"], "grün");
    }
}
