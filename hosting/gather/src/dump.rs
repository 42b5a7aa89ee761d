//! A dump in memory: objects, logs, and problems.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;
use switchboard_object::kind::GroupVersionKind;

use crate::content::{self, ContentError, LocatedObject};
use crate::discovery::{Discovery, DiscoveryDocuments, types_of_objects};
use crate::kinds::{KindIndex, kind_of};
use crate::layout::{FileRole, ResourceHint, file_role, is_stray};
use crate::source::{DumpEntry, SkippedFile, SourceError, walk};

/// Maximum size of a file with objects.
const MAX_OBJECT_FILE_BYTES: u64 = 512 << 20;
/// Maximum bytes of logs.
const MAX_LOG_BYTES: u64 = 1 << 30;

/// Contents of a dump.
#[derive(Debug, Default)]
pub struct Dump {
    /// Objects, one per key, sorted by group, resource, namespace and name.
    pub objects: Vec<DumpedObject>,
    /// Logs of containers.
    pub logs: Vec<ContainerLog>,
    /// Resources that the dumped cluster serves: from its discovery documents, or the bundled ones if it has none, plus
    /// those that its CRDs and objects show.
    pub discovery: Discovery,
    /// Problems in the order of reading.
    pub problems: Vec<ReadProblem>,
}

/// An object of a dump.
#[derive(Clone, Debug)]
pub struct DumpedObject {
    /// Group, version and kind.
    pub kind: GroupVersionKind,
    /// Plural resource name.
    pub plural: String,
    /// Whether objects of this kind are namespaced.
    pub namespaced: bool,
    /// Whether resource name and scope were inferred from the path and the object, because neither the built-in kinds
    /// nor the dump's CRDs define the kind.
    pub inferred: bool,
    /// Object as dumped.
    pub value: Value,
}

/// Log of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerLog {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// Name of the container.
    pub container: String,
    /// Whether the log is from the previous run of the container.
    pub previous: bool,
    /// Content.
    pub text: Vec<u8>,
}

/// A file or object that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadProblem {
    /// Path of the file in the dump.
    pub file: String,
    /// Line, if known.
    pub line: Option<usize>,
    /// Problem.
    pub message: String,
}

/// Progress of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadProgress {
    /// Files visited.
    pub files: usize,
    /// Objects found.
    pub objects: usize,
    /// Bytes of the visited files.
    pub bytes: u64,
}

/// Reads a dump and calls `progress` after each file.
///
/// # Guarantees
/// - A file that cannot be read is reported and does not hide the rest. // test: invalid_files_are_reported_and_the_rest_is_read
/// - Of a damaged archive, all files before the damage are read.        // test: files_before_the_damage_of_an_archive_are_read
/// - Of an object in several files, the newest version is kept.         // test: the_newest_version_of_an_object_is_kept
///
/// # Errors
/// If the dump cannot be opened, is not an archive, or exceeds a limit.
pub fn read(path: &Path, progress: impl FnMut(ReadProgress)) -> Result<Dump, SourceError> {
    read_with(path, DumpReader::default(), progress)
}

/// Reads only the objects of a must-gather directory: no logs, and stray files among the objects are reported.
pub(crate) fn read_objects(path: &Path) -> Result<Dump, SourceError> {
    read_with(path, DumpReader { objects_alone: true, ..DumpReader::default() }, |_| {})
}

fn read_with(path: &Path, mut reader: DumpReader, mut progress: impl FnMut(ReadProgress)) -> Result<Dump, SourceError> {
    let mut problems = Vec::new();
    let walked = walk(
        path,
        |entry| {
            let result = reader.file(entry);
            progress(reader.progress);
            result
        },
        |SkippedFile { path, why }| {
            problems.push(ReadProblem { file: path, line: None, message: format!("skipped: {why}") })
        },
    );
    match walked {
        Ok(()) => {}
        // Files before the damage are complete.
        Err(SourceError::Archive { path, entry, source }) if reader.progress.files > 0 => {
            let message = format!("archive is damaged after entry {entry}, only earlier entries are read: {source}");
            problems.push(ReadProblem { file: path.display().to_string(), line: None, message });
        }
        Err(error) => return Err(error),
    }
    let mut dump = reader.finish();
    dump.problems.extend(problems);
    Ok(dump)
}

#[derive(Default)]
struct DumpReader {
    found: Vec<(Value, Option<ResourceHint>)>,
    logs: Vec<ContainerLog>,
    log_bytes: u64,
    problems: Vec<ReadProblem>,
    progress: ReadProgress,
    documents: DiscoveryDocuments,
    /// Whether only objects are read: logs are skipped, stray files reported, and the kinds of the bundled documents
    /// known.
    objects_alone: bool,
}

impl DumpReader {
    fn file(&mut self, entry: DumpEntry<'_>) -> io::Result<()> {
        self.progress.files += 1;
        self.progress.bytes += entry.bytes;
        let place = file_role(&entry.path);
        if self.objects_alone && is_stray(&entry.path) {
            let message = "skipped: not a YAML or JSON file of objects".into();
            self.problem(&entry.path, ContentError { line: None, message });
            return Ok(());
        }
        match place {
            FileRole::Other => Ok(()),
            FileRole::Log { .. } if self.objects_alone => Ok(()),
            FileRole::Objects(hint) => self.objects(entry, Some(hint)),
            FileRole::MaybeObjects if DiscoveryDocuments::is_document(&entry.path) => self.document(entry),
            FileRole::MaybeObjects => self.objects(entry, None),
            FileRole::Log { namespace, pod, container, previous } => {
                self.log_bytes += entry.bytes;
                if self.log_bytes > MAX_LOG_BYTES {
                    let message = format!("skipped: earlier logs already fill {} MiB", MAX_LOG_BYTES >> 20);
                    self.problem(&entry.path, ContentError { line: None, message });
                    return Ok(());
                }
                let mut text = Vec::new();
                entry.content.read_to_end(&mut text)?;
                if previous || !text.is_empty() {
                    self.logs.push(ContainerLog { namespace, pod, container, previous, text });
                }
                Ok(())
            }
        }
    }

    fn objects(&mut self, mut entry: DumpEntry<'_>, hint: Option<ResourceHint>) -> io::Result<()> {
        let Some(bytes) = self.bytes(&mut entry)? else { return Ok(()) };
        match (text(&bytes).and_then(|text| Ok((text, content::objects(text)?))), &hint) {
            (Ok((text, objects)), _) => self.add_objects(&entry.path, text, objects, hint),
            (Err(wrong), Some(_)) => self.problem(&entry.path, wrong),
            // Other folders of a dump contain many files that are not objects.
            (Err(_), None) => {}
        }
        Ok(())
    }

    fn document(&mut self, mut entry: DumpEntry<'_>) -> io::Result<()> {
        let Some(bytes) = self.bytes(&mut entry)? else { return Ok(()) };
        if let Err(wrong) = text(&bytes).and_then(|text| self.documents.add(&entry.path, text)) {
            self.problem(&entry.path, wrong);
        }
        Ok(())
    }

    /// Returns the content of a file, or `None` and reports a problem if it is too long.
    fn bytes(&mut self, entry: &mut DumpEntry<'_>) -> io::Result<Option<Vec<u8>>> {
        if entry.bytes > MAX_OBJECT_FILE_BYTES {
            let message = format!("not read: longer than {} MiB", MAX_OBJECT_FILE_BYTES >> 20);
            self.problem(&entry.path, ContentError { line: None, message });
            return Ok(None);
        }
        let mut bytes = Vec::new();
        (&mut *entry.content).take(MAX_OBJECT_FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn add_objects(&mut self, file: &str, text: &str, objects: Vec<LocatedObject>, hint: Option<ResourceHint>) {
        let mut bad = Vec::new();
        for object in objects {
            match content::missing_field(&object.value) {
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

    fn problem(&mut self, file: &str, wrong: ContentError) {
        self.problems.push(ReadProblem { file: file.into(), line: wrong.line, message: wrong.message });
    }

    fn finish(self) -> Dump {
        let discovery_documents = self.documents.or_bundled();
        let mut kinds = KindIndex::built_in();
        match self.objects_alone {
            true => discovery_documents.groups().for_each(|group| kinds.add_group(group)),
            false => self.documents.groups().for_each(|group| kinds.add_group(group)),
        }
        for (object, _) in &self.found {
            match object["kind"].as_str() {
                Some("CustomResourceDefinition") => kinds.add_crd(object),
                Some("APIGroupDiscovery") => kinds.add_group(object),
                _ => {}
            }
        }
        let mut by_key: BTreeMap<[String; 4], DumpedObject> = BTreeMap::new();
        for (value, hint) in self.found {
            // A discovery document is not an object of the cluster.
            let Some(kind) = kind_of(&value).filter(|k| k.group != "apidiscovery.k8s.io") else { continue };
            let (resource, inferred) = kinds.resource(&kind, &value, hint.as_ref());
            let object =
                DumpedObject { kind, plural: resource.plural, namespaced: resource.namespaced, inferred, value };
            let object = normalize_namespace(object, hint.as_ref());
            let key = key(&object);
            match by_key.get(&key) {
                // Of two equally new versions, the later one wins: single files are read after lists.
                Some(kept) if revision(kept) > revision(&object) => {}
                _ => {
                    by_key.insert(key, object);
                }
            }
        }
        let objects: Vec<DumpedObject> = by_key.into_values().collect();
        let discovery = discovery_documents.with_types(types_of_objects(&objects));
        Dump { objects, logs: self.logs, discovery, problems: self.problems }
    }
}

/// Adds the folder's namespace to a namespaced object without one, and removes the namespace of a cluster-scoped
/// object.
fn normalize_namespace(mut object: DumpedObject, hint: Option<&ResourceHint>) -> DumpedObject {
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

fn key(object: &DumpedObject) -> [String; 4] {
    let part = |pointer: &str| object.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
    [object.kind.group.clone(), object.plural.clone(), part("/metadata/namespace"), part("/metadata/name")]
}

fn revision(object: &DumpedObject) -> u64 {
    let text = object.value.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    text.and_then(|t| t.parse().ok()).unwrap_or_default()
}

fn text(bytes: &[u8]) -> Result<&str, ContentError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        ContentError { line: Some(line), message: "not UTF-8 text".into() }
    })
}
