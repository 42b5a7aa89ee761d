//! Which files a mutation becomes.

use std::collections::BTreeMap;

use ring::digest::{Context, SHA256, digest};

use super::{Mutation, Place, metadata};
use crate::contract::Rules;

/// The longest name of a file on the file systems there are.
const MAX_FILE_NAME_BYTES: usize = 255;
/// What stands around the object's name: the longest prefix, `-metadata-` and `.yaml`.
const AROUND_NAME_BYTES: usize = 32;

/// Under which key a metadata file has the object's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameKey {
    /// `name`, as today's library-go.
    #[default]
    Name,
    /// `mame`, as the library-go of 2024 that multi-operator-manager is built with.
    Mame,
    /// Both, so that either reads it.
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

/// How files are named and filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// Under which key the object's name stands.
    pub key: NameKey,
    /// By the original's rules a request overwrites another one with the same file name.
    pub rules: Rules,
    /// Actions stand at the root, without a folder for the cluster.
    pub bare: bool,
}

/// Names given so far in one directory.
#[derive(Debug, Default)]
pub struct Layout {
    naming: Naming,
    /// By the path the original gives a body: the digests of those that wanted it, and the number each got.
    taken: BTreeMap<String, BTreeMap<[u8; 32], usize>>,
}

/// The files of one mutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaidOut {
    /// The path of the body, from the root of the directory: what the index says.
    pub body: String,
    /// Path and content; none when the very same stands there already.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Layout {
    /// A directory in which no name is given yet.
    pub fn new(naming: Naming) -> Self {
        Self { naming, taken: BTreeMap::new() }
    }

    /// The files of the next mutation.
    pub fn add(&mut self, mutation: &Mutation) -> LaidOut {
        let metadata = metadata::text(mutation, self.naming.key).into_bytes();
        let content = [("metadata", &metadata), ("body", &mutation.body), ("options", &mutation.options)];
        let whole = whole(&content);
        let hash = hash(&mutation.body, &mutation.options);
        let first = self.path(mutation, &hash, "body");
        let taken = self.taken.entry(first).or_default();
        let (known, next) = (taken.get(&whole).copied(), taken.len() + 1);
        let native = self.naming.rules == Rules::Native;
        let number = if native { *taken.entry(whole).or_insert(next) } else { 1 };
        let prefix = if number == 1 { hash } else { format!("{hash}-{number}") };
        let path = |role: &str| self.path(mutation, &prefix, role);
        if native && known.is_some() {
            return LaidOut { body: path("body"), files: Vec::new() };
        }
        let kept = content.iter().filter(|(role, bytes)| *role != "options" || !bytes.is_empty());
        LaidOut { body: path("body"), files: kept.map(|(role, bytes)| (path(role), bytes.to_vec())).collect() }
    }

    fn path(&self, mutation: &Mutation, prefix: &str, role: &str) -> String {
        let mut parts: Vec<String> = Vec::new();
        if !self.naming.bare {
            parts.push(mutation.place.to_string());
        }
        parts.push(mutation.action.to_string());
        match mutation.namespace.as_str() {
            "" => parts.push("cluster-scoped-resources".into()),
            namespace => parts.extend(["namespaces".into(), safe(namespace)]),
        }
        parts.push(if mutation.group.is_empty() { "core".into() } else { safe(&mutation.group) });
        parts.push(safe(&mutation.resource));
        if !mutation.subresource.is_empty() {
            parts.push(safe(&mutation.subresource));
        }
        let name = safe(&format!("{}{}", mutation.name, mutation.generate_name));
        let name = if self.naming.rules == Rules::Native { fitting(&name) } else { &name };
        parts.push(format!("{prefix}-{role}-{name}.yaml"));
        parts.join("/")
    }
}

/// The place of a path of an output directory, and the path behind it.
pub(super) fn place_of(path: &str) -> Option<(Place, &str)> {
    let (first, rest) = path.split_once('/')?;
    Some((Place::named(first)?, rest))
}

/// The last two bytes of the body's digest; of the options' when there is no body.
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

/// A part of a path that stays one part: colons as the original writes them, nothing that leads elsewhere.
fn safe(part: &str) -> String {
    match part {
        "." | ".." => "-DOTS-".into(),
        _ => part.replace(':', "-COLON-").replace('/', "-SLASH-").replace('\0', "-NUL-"),
    }
}

/// As much of a name as a file's name has room for; the whole one stands in the metadata.
fn fitting(name: &str) -> &str {
    let mut end = name.len().min(MAX_FILE_NAME_BYTES - AROUND_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}
