//! Where the data comes from: a directory, a bundle, a server. Each becomes a [`Bundle`].

pub mod bundle;
pub mod directory;
pub mod follow;
pub mod graphql;
mod guess;
mod lines;
mod plain;
pub mod yaml;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use ring::digest::{Context, SHA256, digest};
use serde_json::Value;
use serde_json::value::RawValue;

pub use lines::Lines;

use crate::problem::Problem;

/// The largest datafile that is read.
pub const MAX_FILE_BYTES: u64 = 16 << 20;
/// The largest bundle that is read, unpacked.
pub const MAX_BUNDLE_BYTES: u64 = 1 << 30;
/// How many datafiles there may be.
pub const MAX_FILES: usize = 1_000_000;

/// One datafile: what it says, and where it says it.
#[derive(Debug)]
pub struct Datafile {
    /// Its path from the data directory, with a leading `/`: what a `$ref` names.
    pub path: Arc<str>,
    /// Its `$schema`.
    pub schema: Arc<str>,
    value: OnceLock<Value>,
    /// Its JSON while nobody has asked for the value: a bundle is mostly files nobody asks for.
    raw: Option<Box<RawValue>>,
    lines: Lines,
}

impl Datafile {
    /// A datafile; one without `$schema` has an empty one.
    pub fn new(path: &str, value: Value, lines: Lines) -> Self {
        let schema = Arc::from(value.get("$schema").and_then(Value::as_str).unwrap_or_default());
        Self { path: Arc::from(path), schema, value: OnceLock::from(value), raw: None, lines }
    }

    /// A datafile that is parsed when its value is asked for.
    pub fn lazy(path: &str, schema: &str, raw: Box<RawValue>) -> Self {
        let (path, schema) = (Arc::from(path), Arc::from(schema));
        Self { path, schema, value: OnceLock::new(), raw: Some(raw), lines: Lines::default() }
    }

    /// What it says; null when its JSON nests deeper than can be read.
    pub fn value(&self) -> &Value {
        self.value.get_or_init(|| {
            let raw = self.raw.as_ref().map_or("null", |raw| raw.get());
            serde_json::from_str(raw).unwrap_or(Value::Null)
        })
    }

    /// The line of a field, or of the nearest thing around it; `None` where the source has no lines.
    pub fn line(&self, pointer: &str) -> Option<usize> {
        self.lines.of(pointer)
    }
}

/// An immutable set of datafiles. A run works on one bundle and never mixes two.
#[derive(Debug, Default)]
pub struct Bundle {
    sha: String,
    commit: Option<String>,
    files: BTreeMap<Arc<str>, Datafile>,
    by_schema: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    problems: Vec<Problem>,
    /// The schemas that files name which could not be read, by path.
    named: BTreeMap<Arc<str>, String>,
}

impl Bundle {
    /// The files under a sha, with what could not be read of them.
    pub fn new(sha: impl Into<String>, files: impl IntoIterator<Item = Datafile>, problems: Vec<Problem>) -> Self {
        let mut bundle = Self { sha: sha.into(), problems, ..Self::default() };
        for file in files {
            let path = file.path.clone();
            if bundle.files.contains_key(&path) {
                bundle.problems.push(Problem::of_file(&path, "the path stands twice; the first is used"));
                continue;
            }
            bundle.by_schema.entry(file.schema.clone()).or_default().push(path.clone());
            bundle.files.insert(path, file);
        }
        bundle.by_schema.values_mut().for_each(|paths| paths.sort());
        bundle
    }

    /// Files given as YAML: for tests and examples. A text that is no YAML is among the problems.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        let (mut sum, mut named) = (Sum::default(), BTreeMap::new());
        for (path, text) in texts {
            sum.file(path, text.as_bytes());
            match yaml::read_with_lines(text) {
                Ok((value, lines)) => files.push(Datafile::new(path, value, lines)),
                Err(error) => {
                    problems.push(Problem::of_file(path, &error.message).at_line(Some(error.line)));
                    named.extend(guess::schema(text.as_bytes()).map(|schema| (Arc::from(path), schema)));
                }
            }
        }
        Self::new(sum.finish(), files, problems).naming(named)
    }

    /// With the schemas that files name which could not be read.
    #[must_use]
    pub(crate) fn naming(mut self, named: BTreeMap<Arc<str>, String>) -> Self {
        self.named = named;
        self
    }

    /// With the commit it was made of.
    #[must_use]
    pub fn of_commit(mut self, commit: Option<String>) -> Self {
        self.commit = commit;
        self
    }

    /// What tells it from every other: the sha256 of the bundle file, or of all files of a directory.
    pub fn sha(&self) -> &str {
        &self.sha
    }

    /// The commit it was made of, where the source knows one.
    pub fn commit(&self) -> Option<&str> {
        self.commit.as_deref()
    }

    /// What could not be read.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What could not be read, with the schema its file names as far as that can be seen.
    pub fn unread(&self) -> impl Iterator<Item = (&Problem, Option<&str>)> {
        self.problems.iter().map(|problem| (problem, self.named.get(&problem.file).map(String::as_str)))
    }

    /// What could not be read and may be of a schema.
    pub fn unread_of<'a>(&'a self, schema: &'a str) -> impl Iterator<Item = &'a Problem> {
        self.unread().filter(move |(_, named)| named.is_none_or(|named| named == schema)).map(|(problem, _)| problem)
    }

    /// A datafile by its path.
    pub fn file(&self, path: &str) -> Option<&Datafile> {
        self.files.get(path)
    }

    /// All datafiles, by path.
    pub fn files(&self) -> impl Iterator<Item = &Datafile> {
        self.files.values()
    }

    /// The datafiles of a schema, by path: the order in which the server gives them out.
    pub fn of_schema(&self, schema: &str) -> impl Iterator<Item = &Datafile> {
        self.by_schema.get(schema).into_iter().flatten().filter_map(|path| self.files.get(path))
    }
}

/// The sha256 of bytes, in hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The sha of several files: of their paths and their shas, in the order they are given.
pub(crate) struct Sum(Context);

impl Default for Sum {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl Sum {
    pub fn file(&mut self, path: &str, bytes: &[u8]) {
        self.0.update(path.as_bytes());
        self.0.update(&[0]);
        self.0.update(digest(&SHA256, bytes).as_ref());
    }

    pub fn finish(self) -> String {
        hex(self.0.finish().as_ref())
    }
}
