//! The files of one commit, read within bounds. Links are followed inside of the repository and nowhere else.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use crate::error::GitError;
use crate::git::Git;
use crate::refs::Commit;

/// How many files may be read at once.
pub const MAX_FILES: usize = 20_000;
/// How large a file may be that is read.
pub const MAX_FILE_BYTES: u64 = 16 << 20;
/// How large all files may be that are read at once.
pub const MAX_TREE_BYTES: u64 = 256 << 20;
/// How long the list of a commit's files may be.
const MAX_LIST_BYTES: usize = 128 << 20;
/// How many links a repository may have.
const MAX_LINKS: usize = 20_000;
/// How long a link may be.
const MAX_LINK_BYTES: u64 = 4096;
/// How many links are followed for one name.
const MAX_HOPS: usize = 32;
/// How many folders may be entered through links, one in the other.
const MAX_DEPTH: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File {
        id: String,
        bytes: u64,
    },
    /// Where it leads.
    Link(String),
}

/// The files of one commit. They are read from the cache when asked for.
#[derive(Clone, Debug)]
pub struct Tree {
    git: Git,
    repository: PathBuf,
    commit: Commit,
    entries: BTreeMap<String, Entry>,
}

impl Tree {
    pub(crate) fn list(git: &Git, repository: PathBuf, commit: Commit) -> Result<Self, GitError> {
        let arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", commit.as_str()];
        let said = git.local(&repository, "list the files", &arguments, Vec::new(), MAX_LIST_BYTES)?;
        let mut tree = Self { git: git.clone(), repository, commit, entries: BTreeMap::new() };
        let mut links = Vec::new();
        for line in said.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let line = String::from_utf8_lossy(line);
            let Some((about, path)) = line.split_once('\t') else { continue };
            let about: Vec<&str> = about.split_whitespace().collect();
            // A submodule is another repository, and is not followed.
            let [mode, "blob", id, bytes] = about[..] else { continue };
            let bytes = bytes.parse().unwrap_or(u64::MAX);
            if mode == "120000" {
                if bytes > MAX_LINK_BYTES || links.len() >= MAX_LINKS {
                    return Err(GitError::Link(path.to_string()));
                }
                links.push((path.to_string(), id.to_string()));
            } else {
                tree.entries.insert(path.to_string(), Entry::File { id: id.to_string(), bytes });
            }
        }
        let targets = tree.read(links.iter().map(|(_, id)| id.as_str()))?;
        for ((path, _), target) in links.into_iter().zip(targets) {
            tree.entries.insert(path, Entry::Link(String::from_utf8_lossy(&target).into_owned()));
        }
        Ok(tree)
    }

    /// Whose files these are.
    pub fn commit(&self) -> &Commit {
        &self.commit
    }

    /// Whether there is a folder of this path; the empty path is the repository itself.
    ///
    /// # Errors
    /// When a link on the way leads elsewhere.
    pub fn has_folder(&self, path: &str) -> Result<bool, GitError> {
        let real = self.real(path)?;
        Ok(real.is_empty() || self.below(&real).next().is_some())
    }

    /// A file's bytes; none when there is no such file.
    ///
    /// # Errors
    /// When it is too large, or a link on the way leads elsewhere.
    pub fn file(&self, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let real = self.real(path)?;
        let Some(Entry::File { id, bytes }) = self.entries.get(&real) else { return Ok(None) };
        check(path, *bytes)?;
        Ok(self.read([id.as_str()].into_iter())?.pop())
    }

    /// The files below a folder, by their names from there, in order; links stand for what they lead to.
    ///
    /// # Errors
    /// When there is no such folder, a link leads elsewhere or nowhere, or there is more than the bounds let through.
    pub fn files(&self, folder: &str) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
        if !self.has_folder(folder)? {
            return Err(GitError::NoPath(folder.to_string()));
        }
        let mut found = BTreeMap::new();
        self.gather(&self.real(folder)?, "", 0, &mut found)?;
        let mut all = 0;
        for (name, (_, bytes)) in &found {
            check(name, *bytes)?;
            all += bytes;
        }
        if all > MAX_TREE_BYTES || found.len() > MAX_FILES {
            return Err(GitError::TooLarge { what: format!("{folder:?}"), most: MAX_TREE_BYTES, unit: "bytes" });
        }
        let contents = self.read(found.values().map(|(id, _)| *id))?;
        Ok(found.into_keys().zip(contents).collect())
    }

    fn gather<'a>(
        &'a self,
        folder: &str,
        prefix: &str,
        depth: usize,
        found: &mut BTreeMap<String, (&'a str, u64)>,
    ) -> Result<(), GitError> {
        for (path, entry) in self.below(folder) {
            let rest = path[folder.len()..].trim_start_matches('/');
            let name = if prefix.is_empty() { rest.to_string() } else { format!("{prefix}/{rest}") };
            if found.len() > MAX_FILES {
                return Err(GitError::TooLarge { what: "the folder".into(), most: MAX_FILES as u64, unit: "files" });
            }
            if let Entry::File { id, bytes } = entry {
                found.insert(name, (id, *bytes));
                continue;
            }
            let real = self.real(path)?;
            match self.entries.get(&real) {
                Some(Entry::File { id, bytes }) => drop(found.insert(name, (id, *bytes))),
                _ if depth >= MAX_DEPTH => return Err(GitError::Link(path.to_string())),
                _ if self.below(&real).next().is_some() => self.gather(&real, &name, depth + 1, found)?,
                _ => return Err(GitError::NoPath(path.to_string())),
            }
        }
        Ok(())
    }

    fn below<'a>(&'a self, folder: &str) -> impl Iterator<Item = (&'a str, &'a Entry)> + use<'a> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let from = self.entries.range(prefix.clone()..);
        from.take_while(move |(path, _)| path.starts_with(&prefix)).map(|(path, entry)| (path.as_str(), entry))
    }

    /// The path without links, dots and doubled strokes.
    fn real(&self, path: &str) -> Result<String, GitError> {
        let leads_out = || GitError::Link(path.to_string());
        let mut waiting: VecDeque<String> = path.split('/').map(ToString::to_string).collect();
        let mut real: Vec<String> = Vec::new();
        let mut hops = 0;
        while let Some(part) = waiting.pop_front() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    real.pop().ok_or_else(leads_out)?;
                    continue;
                }
                _ => real.push(part),
            }
            if let Some(Entry::Link(target)) = self.entries.get(&real.join("/")) {
                hops += 1;
                if hops > MAX_HOPS || target.starts_with('/') {
                    return Err(leads_out());
                }
                real.pop();
                target.split('/').rev().for_each(|part| waiting.push_front(part.to_string()));
            }
        }
        Ok(real.join("/"))
    }

    /// The bytes of these files, in their order.
    fn read<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Result<Vec<Vec<u8>>, GitError> {
        let mut input = Vec::new();
        let mut count = 0;
        for id in ids {
            input.extend_from_slice(format!("{id}\n").as_bytes());
            count += 1;
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        let most = MAX_TREE_BYTES as usize + count * HEADER_BYTES;
        let said = self.git.local(&self.repository, "read the files", &["cat-file", "--batch"], input, most)?;
        let mut rest = &said[..];
        let mut contents = Vec::with_capacity(count);
        while contents.len() < count {
            let (content, behind) = part(rest).ok_or_else(|| GitError::NoCommit(self.commit.to_string()))?;
            contents.push(content.to_vec());
            rest = behind;
        }
        Ok(contents)
    }
}

/// What `cat-file --batch` writes around a file: its id, its type, its size.
const HEADER_BYTES: usize = 128;

/// One file of what `cat-file --batch` writes: `<id> blob <size>`, the bytes, a line's end.
fn part(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let header = std::str::from_utf8(&text[..end]).ok()?;
    let size: usize = header.split(' ').nth(2)?.parse().ok()?;
    let begin = end + 1;
    Some((text.get(begin..begin + size)?, text.get(begin + size + 1..)?))
}

fn check(name: &str, bytes: u64) -> Result<(), GitError> {
    match bytes > MAX_FILE_BYTES {
        true => Err(GitError::TooLarge { what: format!("the file {name}"), most: MAX_FILE_BYTES, unit: "bytes" }),
        false => Ok(()),
    }
}
