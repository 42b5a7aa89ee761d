//! A dump in memory: objects, logs, and what could not be read.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;
use switchboard_object::kind::GroupVersionKind;

use crate::content::{self, Found, Wrong};
use crate::discovery::{Discovery, Documents, shown_by};
use crate::kinds::{Kinds, kind_of};
use crate::layout::{Hint, Place, is_stray, place};
use crate::source::{Entry, Passed, SourceError, walk};

/// Longest file of objects that is read.
const MAX_OBJECT_FILE_BYTES: u64 = 512 << 20;
/// Most bytes of logs that are kept.
const MAX_LOG_BYTES: u64 = 1 << 30;

/// What a dump holds.
#[derive(Debug, Default)]
pub struct Dump {
    /// The objects, one per key, sorted by group, resource, namespace and name.
    pub objects: Vec<Object>,
    /// The logs of containers.
    pub logs: Vec<Log>,
    /// What is served where it was made: as its documents say, or the carried ones where it has none, and as its CRDs and
    /// objects show.
    pub discovery: Discovery,
    /// What could not be read, in the order it was met.
    pub problems: Vec<Problem>,
}

/// An object of a dump.
#[derive(Clone, Debug)]
pub struct Object {
    /// Group, version and kind.
    pub kind: GroupVersionKind,
    /// The resource name.
    pub plural: String,
    /// Objects of this kind live in namespaces.
    pub namespaced: bool,
    /// Neither the built-in kinds nor the dump's CRDs know it; name and scope come from the path and the object.
    pub inferred: bool,
    /// The object as it was dumped.
    pub value: Value,
}

/// A container's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Of the run before the current one.
    pub previous: bool,
    /// What it wrote.
    pub text: Vec<u8>,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as a path inside the dump.
    pub file: String,
    /// The line, where one is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

/// How far the reading is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files looked at.
    pub files: usize,
    /// Objects found.
    pub objects: usize,
    /// Bytes of the files looked at.
    pub bytes: u64,
}

/// Reads a dump. `progress` is called after each file.
///
/// # Guarantees
/// - A file that cannot be read is a problem and does not hide the rest. // test: a_bad_file_is_named_and_the_rest_is_read
/// - Of a damaged archive what stands before the damage is read.         // test: of_a_cut_archive_the_whole_part_is_read
/// - Of an object that stands in several files, the newest is kept.      // test: the_newest_of_several_is_kept
///
/// # Errors
/// When the dump itself cannot be opened, is no archive, or is larger than the bounds.
pub fn read(path: &Path, progress: impl FnMut(Progress)) -> Result<Dump, SourceError> {
    read_by(path, Reader::default(), progress)
}

/// Reads the objects of a must-gather-like directory alone: no logs, and files that have no business among objects are named.
pub(crate) fn read_objects(path: &Path) -> Result<Dump, SourceError> {
    read_by(path, Reader { objects_alone: true, ..Reader::default() }, |_| {})
}

fn read_by(path: &Path, mut reader: Reader, mut progress: impl FnMut(Progress)) -> Result<Dump, SourceError> {
    let mut problems = Vec::new();
    let walked = walk(
        path,
        |entry| {
            let result = reader.file(entry);
            progress(reader.progress);
            result
        },
        |Passed { path, why }| {
            problems.push(Problem { file: path, line: None, message: format!("passed over: {why}") })
        },
    );
    match walked {
        Ok(()) => {}
        // What stands before the damage is whole.
        Err(SourceError::Archive { path, entry, source }) if reader.progress.files > 0 => {
            let message = format!("damaged behind entry {entry}, what stands before it is served: {source}");
            problems.push(Problem { file: path.display().to_string(), line: None, message });
        }
        Err(error) => return Err(error),
    }
    let mut dump = reader.finish();
    dump.problems.extend(problems);
    Ok(dump)
}

#[derive(Default)]
struct Reader {
    found: Vec<(Value, Option<Hint>)>,
    logs: Vec<Log>,
    log_bytes: u64,
    problems: Vec<Problem>,
    progress: Progress,
    documents: Documents,
    /// Logs are passed over, stray files named, and kinds known of which the carried documents know.
    objects_alone: bool,
}

impl Reader {
    fn file(&mut self, entry: Entry<'_>) -> io::Result<()> {
        self.progress.files += 1;
        self.progress.bytes += entry.bytes;
        let place = place(&entry.path);
        if self.objects_alone && is_stray(&entry.path) {
            let message = "passed over: it is no YAML or JSON file where objects are expected".into();
            self.problem(&entry.path, Wrong { line: None, message });
            return Ok(());
        }
        match place {
            Place::Other => Ok(()),
            Place::Log { .. } if self.objects_alone => Ok(()),
            Place::Objects(hint) => self.objects(entry, Some(hint)),
            Place::Perhaps if Documents::has(&entry.path) => self.document(entry),
            Place::Perhaps => self.objects(entry, None),
            Place::Log { namespace, pod, container, previous } => {
                self.log_bytes += entry.bytes;
                if self.log_bytes > MAX_LOG_BYTES {
                    let message = format!("not kept: the logs before it fill {} MiB", MAX_LOG_BYTES >> 20);
                    self.problem(&entry.path, Wrong { line: None, message });
                    return Ok(());
                }
                let mut text = Vec::new();
                entry.content.read_to_end(&mut text)?;
                if previous || !text.is_empty() {
                    self.logs.push(Log { namespace, pod, container, previous, text });
                }
                Ok(())
            }
        }
    }

    fn objects(&mut self, mut entry: Entry<'_>, hint: Option<Hint>) -> io::Result<()> {
        let Some(bytes) = self.bytes(&mut entry)? else { return Ok(()) };
        match (text(&bytes).and_then(|text| Ok((text, content::objects(text)?))), &hint) {
            (Ok((text, objects)), _) => self.keep(&entry.path, text, objects, hint),
            (Err(wrong), Some(_)) => self.problem(&entry.path, wrong),
            // Elsewhere in a dump there is much that is no object and need not be.
            (Err(_), None) => {}
        }
        Ok(())
    }

    fn document(&mut self, mut entry: Entry<'_>) -> io::Result<()> {
        let Some(bytes) = self.bytes(&mut entry)? else { return Ok(()) };
        if let Err(wrong) = text(&bytes).and_then(|text| self.documents.take(&entry.path, text)) {
            self.problem(&entry.path, wrong);
        }
        Ok(())
    }

    /// The content of a file; none of one that is too long, which is named.
    fn bytes(&mut self, entry: &mut Entry<'_>) -> io::Result<Option<Vec<u8>>> {
        if entry.bytes > MAX_OBJECT_FILE_BYTES {
            let message = format!("not read: longer than {} MiB", MAX_OBJECT_FILE_BYTES >> 20);
            self.problem(&entry.path, Wrong { line: None, message });
            return Ok(None);
        }
        let mut bytes = Vec::new();
        (&mut *entry.content).take(MAX_OBJECT_FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn keep(&mut self, file: &str, text: &str, objects: Vec<Found>, hint: Option<Hint>) {
        let mut bad = Vec::new();
        for object in objects {
            match content::lack(&object.value) {
                None => {
                    self.progress.objects += 1;
                    self.found.push((object.value, hint.clone()));
                }
                Some(what) => bad.push((object, what)),
            }
        }
        if hint.is_some() {
            content::locate(text, bad).into_iter().for_each(|wrong| self.problem(file, wrong));
        }
    }

    fn problem(&mut self, file: &str, wrong: Wrong) {
        self.problems.push(Problem { file: file.into(), line: wrong.line, message: wrong.message });
    }

    fn finish(self) -> Dump {
        let said = self.documents.or_carried();
        let mut kinds = Kinds::built_in();
        match self.objects_alone {
            true => said.groups().for_each(|group| kinds.learn_group(group)),
            false => self.documents.groups().for_each(|group| kinds.learn_group(group)),
        }
        for (object, _) in &self.found {
            match object["kind"].as_str() {
                Some("CustomResourceDefinition") => kinds.learn(object),
                Some("APIGroupDiscovery") => kinds.learn_group(object),
                _ => {}
            }
        }
        let mut by_key: BTreeMap<[String; 4], Object> = BTreeMap::new();
        for (value, hint) in self.found {
            // What a cluster said about its kinds is no object of it.
            let Some(kind) = kind_of(&value).filter(|k| k.group != "apidiscovery.k8s.io") else { continue };
            let (resource, inferred) = kinds.resource(&kind, &value, hint.as_ref());
            let object = Object { kind, plural: resource.plural, namespaced: resource.namespaced, inferred, value };
            let object = settle_namespace(object, hint.as_ref());
            let key = key(&object);
            match by_key.get(&key) {
                // Of two that are equally new the later one counts: single files are read behind lists.
                Some(kept) if revision(kept) > revision(&object) => {}
                _ => {
                    by_key.insert(key, object);
                }
            }
        }
        let objects: Vec<Object> = by_key.into_values().collect();
        let discovery = said.with(shown_by(&objects));
        Dump { objects, logs: self.logs, discovery, problems: self.problems }
    }
}

/// A namespaced object that lost its namespace gets that of its folder; a cluster-scoped one has none.
fn settle_namespace(mut object: Object, hint: Option<&Hint>) -> Object {
    let stated = object.value.pointer("/metadata/namespace").is_some();
    let folder = hint.and_then(|h| h.namespace.clone());
    if let (true, false, Some(namespace)) = (object.namespaced, stated, folder) {
        object.value["metadata"]["namespace"] = namespace.into();
    }
    if !object.namespaced
        && let Some(metadata) = object.value.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("namespace");
    }
    object
}

fn key(object: &Object) -> [String; 4] {
    let part = |pointer: &str| object.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
    [object.kind.group.clone(), object.plural.clone(), part("/metadata/namespace"), part("/metadata/name")]
}

fn revision(object: &Object) -> u64 {
    let text = object.value.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    text.and_then(|t| t.parse().ok()).unwrap_or_default()
}

fn text(bytes: &[u8]) -> Result<&str, Wrong> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        Wrong { line: Some(line), message: "not UTF-8 text".into() }
    })
}
