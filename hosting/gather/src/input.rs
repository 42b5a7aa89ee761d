//! Input directories of operators.
//!
//! The directories contain only list files, because library-go's reader ignores single files next to lists; Namespaces
//! in the places where that reader expects them; and discovery documents reduced to the needed resources. Unchanged
//! files are not rewritten.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use serde_json::Value;
use switchboard_object::{json, yaml};

use crate::contract::{ContractRules, ResourceType};
use crate::discovery::{API_FILE, APIS_FILE, Discovery};
use crate::prune::PrunedInputs;

/// An object for an input directory.
#[derive(Clone, Debug)]
pub struct InputObject<'a> {
    /// Type under which the operator reads the object.
    pub of: Cow<'a, ResourceType>,
    /// Kind.
    pub kind: Cow<'a, str>,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: Cow<'a, str>,
    /// Name.
    pub name: Cow<'a, str>,
    /// Object as JSON.
    pub json: Cow<'a, [u8]>,
    /// Revision of the object, if equal revisions with equal lengths imply equal objects. Then the bytes are not
    /// compared to detect a change.
    pub revision: Option<u64>,
}

/// Format of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputFormat {
    /// JSON, which YAML readers parse as well, and faster.
    #[default]
    Json,
    /// YAML, for users.
    Yaml,
}

/// Result of writing a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputWriteResult {
    /// Number of written files.
    pub written: usize,
    /// Number of unchanged files.
    pub unchanged: usize,
    /// Number of removed files.
    pub removed: usize,
}

/// Error of updating a directory.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A file or folder cannot be accessed.
    #[error("could not update `{}`", path.display())]
    Io {
        /// Path.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A name is not a valid path segment.
    #[error("`{0}` is not a valid file name")]
    Name(String),
    /// An object is not JSON.
    #[error("could not parse object {name}")]
    Object {
        /// Name of the object.
        name: String,
        /// Cause.
        #[source]
        source: json::JsonError,
    },
}

type Digest = [u8; 32];

/// A directory owned by Switchboard. All other files in it are removed.
#[derive(Debug)]
pub struct InputFolder {
    root: PathBuf,
    form: InputFormat,
    rules: ContractRules,
    /// Digests of the files' inputs; `None` before the first write.
    known: Option<BTreeMap<String, Digest>>,
}

impl InputFolder {
    /// Manages a directory, which is created on the first write. With the rules of multi-operator-manager, Namespaces
    /// are written where its pruner puts them.
    pub fn new(root: &Path, form: InputFormat, rules: ContractRules) -> Self {
        Self { root: root.into(), form, rules, known: None }
    }

    /// Writes these objects, in the given order, and these documents.
    ///
    /// # Guarantees
    /// - A file whose objects have not changed is not touched. // test: unchanged_files_are_not_touched
    /// - A file is replaced as a whole.                        // test: files_are_replaced_whole
    ///
    /// # Errors
    /// If a file cannot be written or removed. The directory is inconsistent then; the next write repairs it.
    pub fn write(
        &mut self,
        objects: &[InputObject<'_>],
        discovery: Option<&Discovery>,
    ) -> Result<InputWriteResult, InputError> {
        let lists = self.lists(objects)?;
        let known = self.known.take();
        let (mut next, mut written) = (BTreeMap::new(), InputWriteResult::default());
        for (path, objects) in &lists {
            let digest = digest(objects);
            self.file(path, digest, known.as_ref(), &mut written, || self.render(objects))?;
            next.insert(path.clone(), digest);
        }
        for (file, document) in discovery.into_iter().flat_map(|d| [(API_FILE, d.api()), (APIS_FILE, d.apis())]) {
            let content = json::to_vec(document);
            let digest = digest_of(&content);
            let text = || {
                Ok(if self.form == InputFormat::Yaml {
                    yaml::to_string(document).into_bytes()
                } else {
                    content.clone()
                })
            };
            self.file(file, digest, known.as_ref(), &mut written, text)?;
            next.insert(file.to_string(), digest);
        }
        let old = match known {
            Some(known) => known.into_keys().collect(),
            None => self.existing_files()?,
        };
        written.removed = self.remove(old.iter().filter(|path| !next.contains_key(*path)))?;
        self.known = Some(next);
        Ok(written)
    }

    /// Returns the objects of each file. Objects of one type and namespace are usually adjacent, so their path is
    /// computed once.
    fn lists<'o, 'a>(
        &self,
        objects: &'o [InputObject<'a>],
    ) -> Result<BTreeMap<String, Vec<&'o InputObject<'a>>>, InputError> {
        let mut lists = BTreeMap::new();
        for run in objects.chunk_by(|one, next| one.of == next.of && one.namespace == next.namespace) {
            run.iter().try_for_each(check_path_segments)?;
            let first = &run[0];
            if self.has_own_file(first) {
                lists.extend(run.iter().map(|one| (self.path_of(one), vec![one])));
            } else {
                lists.entry(self.path_of(first)).or_insert_with(Vec::new).extend(run);
            }
        }
        Ok(lists)
    }

    /// Whether the object has its own file.
    fn has_own_file(&self, object: &InputObject<'_>) -> bool {
        object.of.is_namespaces() && self.rules == ContractRules::Native
    }

    fn path_of(&self, object: &InputObject<'_>) -> String {
        let group = group_of(object);
        let resource = &object.of.resource;
        match &*object.namespace {
            _ if self.has_own_file(object) => format!("namespaces/{0}/{0}.yaml", object.name),
            "" => format!("cluster-scoped-resources/{group}/{resource}.yaml"),
            namespace => format!("namespaces/{namespace}/{group}/{resource}.yaml"),
        }
    }

    fn file(
        &self,
        path: &str,
        digest: Digest,
        known: Option<&BTreeMap<String, Digest>>,
        written: &mut InputWriteResult,
        content: impl Fn() -> Result<Vec<u8>, InputError>,
    ) -> Result<(), InputError> {
        if known.and_then(|known| known.get(path)) == Some(&digest) {
            written.unchanged += 1;
            return Ok(());
        }
        let (content, target) = (content()?, self.root.join(path));
        // The content of an existing directory is only known after reading it.
        if known.is_none() && fs::read(&target).is_ok_and(|found| found == content) {
            written.unchanged += 1;
            return Ok(());
        }
        written.written += 1;
        replace(&target, &content).map_err(|source| InputError::Io { path: target, source })
    }

    fn render(&self, objects: &[&InputObject<'_>]) -> Result<Vec<u8>, InputError> {
        let Some(first) = objects.first() else { return Ok(Vec::new()) };
        let single = self.has_own_file(first);
        let json: Cow<'_, [u8]> = if single { Cow::Borrowed(&first.json) } else { list(first, objects).into() };
        if self.form == InputFormat::Json && !single {
            return Ok(json.into_owned());
        }
        let read = json::read(&json).map_err(|source| InputError::Object { name: first.name.to_string(), source })?;
        let mut value = read.value;
        if let Value::Object(fields) = &mut value {
            // The items of a list inherit these fields. A single object needs its own.
            fields.entry("apiVersion").or_insert_with(|| first.of.api_version().into());
            fields.entry("kind").or_insert_with(|| first.kind.as_ref().into());
        }
        Ok(if self.form == InputFormat::Json { json::to_vec(&value) } else { yaml::to_string(&value).into_bytes() })
    }

    fn existing_files(&self) -> Result<BTreeSet<String>, InputError> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![self.root.clone()];
        while let Some(folder) = waiting.pop() {
            let failed = |source| InputError::Io { path: folder.clone(), source };
            let entries = match fs::read_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(failed)?,
            };
            for entry in entries {
                let entry = entry.map_err(failed)?;
                if entry.file_type().map_err(failed)?.is_dir() {
                    waiting.push(entry.path());
                } else if let Ok(path) = entry.path().strip_prefix(&self.root) {
                    found.insert(path.to_string_lossy().into_owned());
                }
            }
        }
        Ok(found)
    }

    fn remove<'p>(&self, paths: impl Iterator<Item = &'p String>) -> Result<usize, InputError> {
        let mut removed = 0;
        for path in paths {
            let target = self.root.join(path);
            match fs::remove_file(&target) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(InputError::Io { path: target, source: error });
                }
                _ => removed += 1,
            }
            // Remove folders that became empty. Removing any other folder fails.
            let folders = target.ancestors().skip(1).take_while(|folder| *folder != self.root);
            folders.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
        }
        Ok(removed)
    }
}

/// Writes a temporary file and renames it, so that a reader sees either the old or the new content.
fn replace(target: &Path, content: &[u8]) -> io::Result<()> {
    let folder = target.parent().unwrap_or(target);
    fs::create_dir_all(folder)?;
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    // Readers ignore other files next to list files.
    let beside = target.with_file_name(name);
    fs::write(&beside, content)?;
    fs::rename(&beside, target)
}

fn list(first: &InputObject<'_>, objects: &[&InputObject<'_>]) -> Vec<u8> {
    let head = serde_json::json!({"apiVersion": first.of.api_version(), "kind": format!("{}List", first.kind)});
    let head = head.to_string();
    let mut out = head.trim_end_matches('}').as_bytes().to_vec();
    out.extend_from_slice(b",\"items\":[");
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&object.json);
    }
    out.extend_from_slice(b"]}\n");
    out
}

fn group_of<'o>(object: &'o InputObject<'_>) -> &'o str {
    if object.of.group.is_empty() { "core" } else { &object.of.group }
}

/// Whether a text is a single path segment.
pub(crate) fn is_path_segment(part: &str) -> bool {
    !part.contains(['/', '\0']) && !matches!(part, "." | "..")
}

fn check_path_segments(object: &InputObject<'_>) -> Result<(), InputError> {
    let unfit = |part: &&str| !is_path_segment(part);
    match [group_of(object), &object.of.resource, &object.namespace, &object.name].into_iter().find(unfit) {
        Some(part) => Err(InputError::Name(part.to_string())),
        None => Ok(()),
    }
}

fn digest(objects: &[&InputObject<'_>]) -> Digest {
    let mut context = Context::new(&SHA256);
    for object in objects {
        let named = [&*object.of.group, &*object.of.version, &*object.kind, &*object.namespace, &*object.name];
        named.iter().for_each(|part| add(&mut context, part.as_bytes()));
        match object.revision {
            Some(revision) => {
                add(&mut context, &revision.to_le_bytes());
                add(&mut context, &(object.json.len() as u64).to_le_bytes());
            }
            None => add(&mut context, &object.json),
        }
    }
    finished(context)
}

fn add(context: &mut Context, part: &[u8]) {
    context.update(&(part.len() as u64).to_le_bytes());
    context.update(part);
}

fn finished(context: Context) -> Digest {
    let mut out = [0; 32];
    out.copy_from_slice(context.finish().as_ref());
    out
}

fn digest_of(content: &[u8]) -> Digest {
    let mut context = Context::new(&SHA256);
    add(&mut context, content);
    finished(context)
}

impl PrunedInputs {
    /// Returns the objects for an input directory.
    pub fn input(&self) -> Vec<InputObject<'_>> {
        let text = |value: &Value, pointer: &str| {
            value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string()
        };
        let object = |(of, value): &'_ (ResourceType, Value)| InputObject {
            of: Cow::Owned(of.clone()),
            kind: text(value, "/kind").into(),
            namespace: if of.is_namespaces() { "".into() } else { text(value, "/metadata/namespace").into() },
            name: text(value, "/metadata/name").into(),
            json: Cow::Owned(json::to_vec(value)),
            revision: None,
        };
        self.objects.iter().map(object).collect()
    }
}

#[cfg(test)]
mod tests;
