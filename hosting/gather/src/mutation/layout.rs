//! File names and contents of mutations.

use std::collections::BTreeMap;

use ring::digest::{Context, SHA256, digest};

use super::{Mutation, OutputCluster, metadata};
use crate::contract::ContractRules;

/// Maximum length of a file name on common file systems.
const MAX_FILE_NAME_BYTES: usize = 255;
/// Bytes of a file name besides the object's name: the longest prefix, `-metadata-` and `.yaml`.
const AROUND_NAME_BYTES: usize = 32;

/// Key of the object's name in metadata files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameKey {
    /// `name`, as in current versions of library-go.
    #[default]
    Name,
    /// `mame`, as in the library-go of 2024 that multi-operator-manager uses.
    Mame,
    /// Both keys, for both kinds of readers.
    Both,
}

impl NameKey {
    pub(super) fn keys(self) -> &'static [&'static str] {
        match self {
            NameKey::Name => &["name"],
            NameKey::Mame => &["mame"],
            NameKey::Both => &["mame", "name"],
        }
    }
}

/// Options for names and contents of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// Key of the object's name.
    pub key: NameKey,
    /// Contract rules. With those of multi-operator-manager, a request overwrites another one with the same file name.
    pub rules: ContractRules,
    /// Whether actions are at the root, without folders for clusters.
    pub bare: bool,
}

/// Names in use in one directory.
#[derive(Debug, Default)]
pub struct Layout {
    naming: Naming,
    /// For each path of a body in library-go's layout: the digests of the mutations with that path and their numbers.
    taken: BTreeMap<String, BTreeMap<[u8; 32], usize>>,
}

/// Files of one mutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutationFiles {
    /// Path of the body from the root of the directory, as in the index.
    pub body: String,
    /// Paths and contents; empty if an identical mutation exists already.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Layout {
    /// Creates the layout of an empty directory.
    pub fn new(naming: Naming) -> Self {
        Self { naming, taken: BTreeMap::new() }
    }

    /// Returns the files of the next mutation.
    pub fn add(&mut self, mutation: &Mutation) -> MutationFiles {
        let metadata = metadata::text(mutation, self.naming.key).into_bytes();
        let content = [("metadata", &metadata), ("body", &mutation.body), ("options", &mutation.options)];
        let whole = whole(&content);
        let hash = hash(&mutation.body, &mutation.options);
        let first = self.path(mutation, &hash, "body");
        let taken = self.taken.entry(first).or_default();
        let (known, next) = (taken.get(&whole).copied(), taken.len() + 1);
        let native = self.naming.rules == ContractRules::Native;
        let number = if native { *taken.entry(whole).or_insert(next) } else { 1 };
        let prefix = if number == 1 { hash } else { format!("{hash}-{number}") };
        let path = |role: &str| self.path(mutation, &prefix, role);
        if native && known.is_some() {
            return MutationFiles { body: path("body"), files: Vec::new() };
        }
        let kept = content.iter().filter(|(role, bytes)| *role != "options" || !bytes.is_empty());
        MutationFiles { body: path("body"), files: kept.map(|(role, bytes)| (path(role), bytes.to_vec())).collect() }
    }

    fn path(&self, mutation: &Mutation, prefix: &str, role: &str) -> String {
        let mut parts: Vec<String> = Vec::new();
        if !self.naming.bare {
            parts.push(mutation.cluster.to_string());
        }
        parts.push(mutation.action.to_string());
        match mutation.namespace.as_str() {
            "" => parts.push("cluster-scoped-resources".into()),
            namespace => parts.extend(["namespaces".into(), safe_segment(namespace)]),
        }
        parts.push(if mutation.group.is_empty() { "core".into() } else { safe_segment(&mutation.group) });
        parts.push(safe_segment(&mutation.resource));
        if !mutation.subresource.is_empty() {
            parts.push(safe_segment(&mutation.subresource));
        }
        let name = safe_segment(&format!("{}{}", mutation.name, mutation.generate_name));
        let name = if self.naming.rules == ContractRules::Native { truncated_name(&name) } else { &name };
        parts.push(format!("{prefix}-{role}-{name}.yaml"));
        parts.join("/")
    }
}

/// Returns the cluster of a path in an output directory, and the rest of the path.
pub(super) fn cluster_of(path: &str) -> Option<(OutputCluster, &str)> {
    let (first, rest) = path.split_once('/')?;
    Some((OutputCluster::from_name(first)?, rest))
}

/// Returns the last two bytes of the body's digest, or of the options' digest if the body is empty.
fn hash(body: &[u8], options: &[u8]) -> String {
    let of = if body.is_empty() { options } else { body };
    if of.is_empty() {
        return "MISSING".into();
    }
    let digest = digest(&SHA256, of);
    let bytes = digest.as_ref();
    bytes[bytes.len() - 2..].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn whole(content: &[(&str, &Vec<u8>); 3]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for (_, bytes) in content {
        context.update(&(bytes.len() as u64).to_le_bytes());
        context.update(bytes);
    }
    let mut out = [0; 32];
    out.copy_from_slice(context.finish().as_ref());
    out
}

/// Escapes a path segment: colons like library-go, and everything that would lead elsewhere.
fn safe_segment(part: &str) -> String {
    match part {
        "." | ".." => "-DOTS-".into(),
        _ => part.replace(':', "-COLON-").replace('/', "-SLASH-").replace('\0', "-NUL-"),
    }
}

/// Truncates a name to fit into a file name. The metadata file contains the whole name.
fn truncated_name(name: &str) -> &str {
    let mut end = name.len().min(MAX_FILE_NAME_BYTES - AROUND_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}
