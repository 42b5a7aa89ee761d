//! Values from the command line: files, then `--set-json`, `--set`, `--set-string`, `--set-file` and `--set-literal`.
//! Each overrides those before it.

use switchboard_object::{Map, Value, json};

use crate::strvals::{SetError, SetKind, set};
use crate::typed::DecodeError;
use crate::values;

/// Value options of a command, in the given order within each kind.
#[derive(Clone, Debug, Default)]
pub struct ValueOptions {
    /// Names of files from `-f`.
    pub files: Vec<String>,
    /// Lines of `--set-json`.
    pub json: Vec<String>,
    /// Lines of `--set`.
    pub typed: Vec<String>,
    /// Lines of `--set-string`.
    pub text: Vec<String>,
    /// Lines of `--set-file`.
    pub from_files: Vec<String>,
    /// Lines of `--set-literal`.
    pub literal: Vec<String>,
}

/// Error of reading values, with Helm's text.
#[derive(Debug, thiserror::Error)]
pub enum ValueOptionsError {
    /// A file cannot be read.
    #[error("{0}")]
    Read(String),
    /// A file does not contain values.
    #[error("failed to parse {file}: {problem}")]
    Parse {
        /// Name of the file.
        file: String,
        /// Problem.
        problem: DecodeError,
    },
    /// `--set-json` has an invalid object.
    #[error("failed parsing --set-json data JSON: {0}")]
    Object(String),
    /// `--set-json` has an invalid line.
    #[error("failed parsing --set-json data {0}")]
    Json(String),
    /// Another option has an invalid line.
    #[error("failed parsing {option} data: {problem}")]
    Set {
        /// Name of the option.
        option: &'static str,
        /// Problem.
        problem: SetError,
    },
}

impl ValueOptions {
    /// Returns the merged values. `read` returns the bytes of a file, or an error text.
    ///
    /// # Errors
    /// If an option or a file is invalid.
    pub fn values(&self, read: &dyn Fn(&str) -> Result<Vec<u8>, String>) -> Result<Map, ValueOptionsError> {
        let mut all = Map::new();
        for file in &self.files {
            let bytes = read(file).map_err(ValueOptionsError::Read)?;
            let parsed = values::read_bytes(&bytes);
            let parsed = parsed.map_err(|problem| ValueOptionsError::Parse { file: file.clone(), problem })?;
            values::merge(&mut all, parsed);
        }
        for line in &self.json {
            let trimmed = line.trim();
            if trimmed.starts_with('{') {
                let document = json::read(trimmed.as_bytes()).map_err(|_| ValueOptionsError::Object(line.clone()))?;
                if let Value::Object(map) = values::floats(document.value) {
                    values::merge(&mut all, map);
                }
            } else {
                set(line, &SetKind::Json, &mut all).map_err(|_| ValueOptionsError::Json(line.clone()))?;
            }
        }
        let from_file = |name: &str| read(name).and_then(|bytes| text_of_file(name, bytes)).map(Value::String);
        let options: [(&'static str, &Vec<String>, SetKind<'_>); 4] = [
            ("--set", &self.typed, SetKind::Typed),
            ("--set-string", &self.text, SetKind::Text),
            ("--set-file", &self.from_files, SetKind::File(&from_file)),
            ("--set-literal", &self.literal, SetKind::Literal),
        ];
        for (option, lines, kind) in &options {
            for line in *lines {
                set(line, kind, &mut all).map_err(|problem| ValueOptionsError::Set { option, problem })?;
            }
        }
        Ok(all)
    }
}

/// Converts a file's bytes to a text value. Other bytes are rejected, because a value cannot represent them.
///
/// # Errors
/// If the bytes are not UTF-8. The error is a text.
pub fn text_of_file(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    let hint = "encode it, for example in base64, and decode it in the template";
    String::from_utf8(bytes).map_err(|_| format!("{name} is not UTF-8, and values are text\nhint: {hint}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn non_utf8_files_are_rejected() {
        let given = ValueOptions { from_files: vec!["a=key.p12".to_string()], ..ValueOptions::default() };
        let error = given.values(&|_| Ok(vec![0x30, 0x82, 0xff])).unwrap_err().to_string();
        assert!(error.contains("key.p12 is not UTF-8") && error.contains("hint: encode it"), "{error}");
        let values = given.values(&|_| Ok("grün".into())).unwrap();
        assert_eq!(values["a"], "grün");
    }
}
