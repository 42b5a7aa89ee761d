//! Sources of the data: directories, bundles and servers. Each is read into a [`Bundle`].

pub mod bundle;
pub mod directory;
pub mod graphql;
mod lines;
mod plain_scalar;
mod schema_guess;
pub mod watcher;
pub mod yaml;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use ring::digest::{Context, SHA256, digest};
use serde_json::Value;
use serde_json::value::RawValue;

pub use lines::FieldLines;

use crate::problem::DataProblem;

/// Maximum size of a datafile.
pub const MAX_FILE_BYTES: u64 = 16 << 20;
/// Maximum unpacked size of a bundle.
pub const MAX_BUNDLE_BYTES: u64 = 1 << 30;
/// Maximum number of datafiles.
pub const MAX_FILES: usize = 1_000_000;

/// Datafile with its value and line numbers.
#[derive(Debug)]
pub struct Datafile {
    /// Path from the data directory with a leading `/`, as used by `$ref`.
    pub path: Arc<str>,
    /// `$schema` of the file.
    pub schema: Arc<str>,
    value: OnceLock<Value>,
    /// JSON of the value until it is parsed. Most files of a bundle are never used.
    raw: Option<Box<RawValue>>,
    lines: FieldLines,
}

impl Datafile {
    /// Creates a datafile. Without `$schema`, its schema is empty.
    pub fn new(path: &str, value: Value, lines: FieldLines) -> Self {
        let schema = Arc::from(value.get("$schema").and_then(Value::as_str).unwrap_or_default());
        Self { path: Arc::from(path), schema, value: OnceLock::from(value), raw: None, lines }
    }

    /// Creates a datafile that is parsed on first use.
    pub fn lazy(path: &str, schema: &str, raw: Box<RawValue>) -> Self {
        let (path, schema) = (Arc::from(path), Arc::from(schema));
        Self { path, schema, value: OnceLock::new(), raw: Some(raw), lines: FieldLines::default() }
    }

    /// Returns the value; null if its JSON is nested too deeply.
    pub fn value(&self) -> &Value {
        self.value.get_or_init(|| {
            let raw = self.raw.as_ref().map_or("null", |raw| raw.get());
            serde_json::from_str(raw).unwrap_or(Value::Null)
        })
    }

    /// Returns the line of a field or of the closest enclosing value; `None` if the source has no lines.
    pub fn line(&self, pointer: &str) -> Option<usize> {
        self.lines.line_of(pointer)
    }
}

/// Immutable set of datafiles. A run uses one bundle and never mixes two.
#[derive(Debug, Default)]
pub struct Bundle {
    sha: String,
    commit: Option<String>,
    files: BTreeMap<Arc<str>, Datafile>,
    by_schema: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    problems: Vec<DataProblem>,
    /// Schemas named in unreadable files, by path.
    schemas_of_unread: BTreeMap<Arc<str>, String>,
}

impl Bundle {
    /// Creates a bundle from its SHA, files and problems.
    pub fn new(sha: impl Into<String>, files: impl IntoIterator<Item = Datafile>, problems: Vec<DataProblem>) -> Self {
        let mut bundle = Self { sha: sha.into(), problems, ..Self::default() };
        for file in files {
            let path = file.path.clone();
            if bundle.files.contains_key(&path) {
                bundle.problems.push(DataProblem::of_file(&path, "the path is not unique; the first file is used"));
                continue;
            }
            bundle.by_schema.entry(file.schema.clone()).or_default().push(path.clone());
            bundle.files.insert(path, file);
        }
        bundle.by_schema.values_mut().for_each(|paths| paths.sort());
        bundle
    }

    /// Creates a bundle from YAML texts, for tests and examples. Invalid YAML is added to the problems.
    pub fn from_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        let (mut sum, mut named) = (FileSetDigest::default(), BTreeMap::new());
        for (path, text) in texts {
            sum.file(path, text.as_bytes());
            match yaml::read_with_lines(text) {
                Ok((value, lines)) => files.push(Datafile::new(path, value, lines)),
                Err(error) => {
                    problems.push(DataProblem::of_file(path, &error.message).at_line(Some(error.line)));
                    named.extend(schema_guess::schema(text.as_bytes()).map(|schema| (Arc::from(path), schema)));
                }
            }
        }
        Self::new(sum.finish(), files, problems).with_schemas(named)
    }

    /// Sets the schemas that unreadable files name.
    #[must_use]
    pub(crate) fn with_schemas(mut self, named: BTreeMap<Arc<str>, String>) -> Self {
        self.schemas_of_unread = named;
        self
    }

    /// Sets the commit of the bundle.
    #[must_use]
    pub fn with_commit(mut self, commit: Option<String>) -> Self {
        self.commit = commit;
        self
    }

    /// Returns the SHA-256 of the bundle file or of all files of a directory.
    pub fn sha(&self) -> &str {
        &self.sha
    }

    /// Returns the commit of the bundle, if the source knows it.
    pub fn commit(&self) -> Option<&str> {
        self.commit.as_deref()
    }

    /// Returns the problems of unreadable files.
    pub fn problems(&self) -> &[DataProblem] {
        &self.problems
    }

    /// Returns the problems of unreadable files with their schemas, if known.
    pub fn unread(&self) -> impl Iterator<Item = (&DataProblem, Option<&str>)> {
        self.problems.iter().map(|problem| (problem, self.schemas_of_unread.get(&problem.file).map(String::as_str)))
    }

    /// Returns the problems of unreadable files that may have this schema.
    pub fn unread_of<'a>(&'a self, schema: &'a str) -> impl Iterator<Item = &'a DataProblem> {
        self.unread().filter(move |(_, named)| named.is_none_or(|named| named == schema)).map(|(problem, _)| problem)
    }

    /// Returns a datafile by path.
    pub fn file(&self, path: &str) -> Option<&Datafile> {
        self.files.get(path)
    }

    /// Returns all datafiles, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = &Datafile> {
        self.files.values()
    }

    /// Returns the datafiles of a schema, sorted by path like in the server's answers.
    pub fn of_schema(&self, schema: &str) -> impl Iterator<Item = &Datafile> {
        self.by_schema.get(schema).into_iter().flatten().filter_map(|path| self.files.get(path))
    }
}

/// Returns the hex-encoded SHA-256 of bytes.
pub fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of several files, computed from their paths and digests in order.
pub(crate) struct FileSetDigest(Context);

impl Default for FileSetDigest {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl FileSetDigest {
    pub fn file(&mut self, path: &str, bytes: &[u8]) {
        self.0.update(path.as_bytes());
        self.0.update(&[0]);
        self.0.update(digest(&SHA256, bytes).as_ref());
    }

    pub fn finish(self) -> String {
        hex(self.0.finish().as_ref())
    }
}
