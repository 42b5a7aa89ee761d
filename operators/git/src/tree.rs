//! Files of one commit, read within limits. Symbolic links are followed inside the repository only.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use crate::error::GitError;
use crate::git::Git;
use crate::refs::Commit;

/// Maximum number of files in one read.
pub const MAX_FILES: usize = 20_000;
/// Maximum size of a file.
pub const MAX_FILE_BYTES: u64 = 16 << 20;
/// Maximum size of all files in one read.
pub const MAX_TREE_BYTES: u64 = 256 << 20;
/// Maximum size of the list of a commit's files.
const MAX_LIST_BYTES: usize = 128 << 20;
/// Maximum number of symbolic links in a commit.
const MAX_LINKS: usize = 20_000;
/// Maximum length of a symbolic link's target.
const MAX_LINK_BYTES: u64 = 4096;
/// Maximum number of links followed to resolve one path.
const MAX_HOPS: usize = 32;
/// Maximum nesting of folders reached through links.
const MAX_DEPTH: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
enum TreeEntry {
    File {
        id: String,
        bytes: u64,
    },
    /// Symbolic link with its target.
    Link(String),
}

/// Files of one commit, read from the cache on demand.
#[derive(Clone, Debug)]
pub struct CommitTree {
    git: Git,
    repository: PathBuf,
    commit: Commit,
    entries: BTreeMap<String, TreeEntry>,
}

impl CommitTree {
    pub(crate) fn list(git: &Git, repository: PathBuf, commit: Commit) -> Result<Self, GitError> {
        let arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", commit.as_str()];
        let said = git.run_local(&repository, "list the files", &arguments, Vec::new(), MAX_LIST_BYTES)?;
        let mut tree = Self { git: git.clone(), repository, commit, entries: BTreeMap::new() };
        let mut links = Vec::new();
        for line in said.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let line = String::from_utf8_lossy(line);
            let Some((about, path)) = line.split_once('\t') else { continue };
            let about: Vec<&str> = about.split_whitespace().collect();
            // A submodule is another repository and is not followed.
            let [mode, "blob", id, bytes] = about[..] else { continue };
            let bytes = bytes.parse().unwrap_or(u64::MAX);
            if mode == "120000" {
                if bytes > MAX_LINK_BYTES || links.len() >= MAX_LINKS {
                    return Err(GitError::Link(path.to_string()));
                }
                links.push((path.to_string(), id.to_string()));
            } else {
                tree.entries.insert(path.to_string(), TreeEntry::File { id: id.to_string(), bytes });
            }
        }
        let targets = tree.read(links.iter().map(|(_, id)| id.as_str()))?;
        for ((path, _), target) in links.into_iter().zip(targets) {
            tree.entries.insert(path, TreeEntry::Link(String::from_utf8_lossy(&target).into_owned()));
        }
        Ok(tree)
    }

    /// Commit of the files.
    pub fn commit(&self) -> &Commit {
        &self.commit
    }

    /// Whether the path is a folder. The empty path is the root of the repository.
    ///
    /// # Errors
    /// If a link on the path leads out of the repository.
    pub fn has_folder(&self, path: &str) -> Result<bool, GitError> {
        let real = self.resolve_links(path)?;
        Ok(real.is_empty() || self.entries_under(&real).next().is_some())
    }

    /// Returns the content of a file, or `None` if it does not exist.
    ///
    /// # Errors
    /// If the file is too large, or a link on the path leads out of the repository.
    pub fn file(&self, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let real = self.resolve_links(path)?;
        let Some(TreeEntry::File { id, bytes }) = self.entries.get(&real) else { return Ok(None) };
        check_size(path, *bytes)?;
        Ok(self.read([id.as_str()].into_iter())?.pop())
    }

    /// Returns the files below a folder by their relative names, sorted. Links are replaced by their targets.
    ///
    /// # Errors
    /// If the folder does not exist, a link is broken or leads out of the repository, or a limit is exceeded.
    pub fn files(&self, folder: &str) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
        if !self.has_folder(folder)? {
            return Err(GitError::NoPath(folder.to_string()));
        }
        let mut found = BTreeMap::new();
        self.collect_files(&self.resolve_links(folder)?, "", 0, &mut found)?;
        let mut all = 0;
        for (name, (_, bytes)) in &found {
            check_size(name, *bytes)?;
            all += bytes;
        }
        if all > MAX_TREE_BYTES || found.len() > MAX_FILES {
            return Err(GitError::TooLarge { subject: format!("{folder:?}"), limit: MAX_TREE_BYTES, unit: "bytes" });
        }
        let contents = self.read(found.values().map(|(id, _)| *id))?;
        Ok(found.into_keys().zip(contents).collect())
    }

    fn collect_files<'a>(
        &'a self,
        folder: &str,
        prefix: &str,
        depth: usize,
        found: &mut BTreeMap<String, (&'a str, u64)>,
    ) -> Result<(), GitError> {
        for (path, entry) in self.entries_under(folder) {
            let rest = path[folder.len()..].trim_start_matches('/');
            let name = if prefix.is_empty() { rest.to_string() } else { format!("{prefix}/{rest}") };
            if found.len() > MAX_FILES {
                return Err(GitError::TooLarge {
                    subject: "the folder".into(),
                    limit: MAX_FILES as u64,
                    unit: "files",
                });
            }
            if let TreeEntry::File { id, bytes } = entry {
                found.insert(name, (id, *bytes));
                continue;
            }
            let real = self.resolve_links(path)?;
            match self.entries.get(&real) {
                Some(TreeEntry::File { id, bytes }) => drop(found.insert(name, (id, *bytes))),
                _ if depth >= MAX_DEPTH => return Err(GitError::Link(path.to_string())),
                _ if self.entries_under(&real).next().is_some() => {
                    self.collect_files(&real, &name, depth + 1, found)?
                }
                _ => return Err(GitError::NoPath(path.to_string())),
            }
        }
        Ok(())
    }

    fn entries_under<'a>(&'a self, folder: &str) -> impl Iterator<Item = (&'a str, &'a TreeEntry)> + use<'a> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let from = self.entries.range(prefix.clone()..);
        from.take_while(move |(path, _)| path.starts_with(&prefix)).map(|(path, entry)| (path.as_str(), entry))
    }

    /// Resolves links, dots and repeated slashes of a path.
    fn resolve_links(&self, path: &str) -> Result<String, GitError> {
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
            if let Some(TreeEntry::Link(target)) = self.entries.get(&real.join("/")) {
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

    /// Reads the contents of these objects in their order.
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
        let said = self.git.run_local(&self.repository, "read the files", &["cat-file", "--batch"], input, most)?;
        let mut rest = &said[..];
        let mut contents = Vec::with_capacity(count);
        while contents.len() < count {
            let (content, behind) = next_object(rest).ok_or_else(|| GitError::NoCommit(self.commit.to_string()))?;
            contents.push(content.to_vec());
            rest = behind;
        }
        Ok(contents)
    }
}

/// Upper bound of the header that `cat-file --batch` writes before a file: id, type and size.
const HEADER_BYTES: usize = 128;

/// Splits the first object from the output of `cat-file --batch`: `<id> blob <size>`, the content, a line break.
fn next_object(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let header = std::str::from_utf8(&text[..end]).ok()?;
    let size: usize = header.split(' ').nth(2)?.parse().ok()?;
    let begin = end + 1;
    Some((text.get(begin..begin + size)?, text.get(begin + size + 1..)?))
}

fn check_size(name: &str, bytes: u64) -> Result<(), GitError> {
    match bytes > MAX_FILE_BYTES {
        true => Err(GitError::TooLarge { subject: format!("the file {name}"), limit: MAX_FILE_BYTES, unit: "bytes" }),
        false => Ok(()),
    }
}
