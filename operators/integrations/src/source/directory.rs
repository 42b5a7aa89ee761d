//! Directory with app-interface YAML, read like the bundler does.
//!
//! Files with `.yml`, `.yaml` and `.json` are read, except hidden ones, with their paths from the data directory. The
//! data directory is the given one or its subdirectory `data`, as in app-interface repositories.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{
    Bundle, Datafile, FieldLines, FileSetDigest, MAX_BUNDLE_BYTES, MAX_FILE_BYTES, MAX_FILES, schema_guess, yaml,
};
use crate::problem::DataProblem;

/// Error of reading a source as a whole.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file system error.
    #[error("could not read {}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// The directory changes continuously.
    #[error("{} changed while it was read", .0.display())]
    Changing(PathBuf),
    /// The source exceeds a limit.
    #[error("{0} contains more than {1}")]
    TooLarge(String, String),
    /// The file is not a bundle.
    #[error("could not read the bundle {0}\nhint: use the output of qontract-bundler: JSON with `data`, plain or gzip")]
    Bundle(String, #[source] serde_json::Error),
    /// The bundle is truncated or has another compression format.
    #[error("could not unpack the bundle {0}")]
    Packed(String, #[source] std::io::Error),
}

/// Maximum number of attempts to read a changing directory.
const ATTEMPTS: usize = 5;
/// Delay between attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// Returns the data directory of a directory.
pub fn root(dir: &Path) -> PathBuf {
    let data = dir.join("data");
    if data.is_dir() { data } else { dir.to_path_buf() }
}

/// Reads a directory. An unreadable file is a problem; an unreadable directory is an error.
///
/// If files change while they are read, for example by a checkout, the directory is read again, so that a bundle never
/// mixes two commits.
///
/// # Errors
/// If the directory cannot be listed, exceeds a limit, or changes continuously.
pub fn read(dir: &Path) -> Result<Bundle, SourceError> {
    read_with(dir, &mut || {})
}

/// Reads a directory and calls `meanwhile` before the check for changes.
fn read_with(dir: &Path, meanwhile: &mut dyn FnMut()) -> Result<Bundle, SourceError> {
    let root = root(dir);
    for attempt in 1..=ATTEMPTS {
        let before = file_stamps(&root)?;
        let bundle = read_once(dir, &root, before.keys())?;
        meanwhile();
        if file_stamps(&root)? == before {
            return Ok(bundle);
        }
        if attempt < ATTEMPTS {
            std::thread::sleep(PAUSE);
        }
    }
    Err(SourceError::Changing(dir.to_path_buf()))
}

/// Change times, size and inode of a file, which identify its version.
type FileStamp = (i64, i64, u64, u64);

fn file_stamps(root: &Path) -> Result<BTreeMap<PathBuf, Option<FileStamp>>, SourceError> {
    let mut paths = Vec::new();
    walk(root, &mut paths)?;
    let stamp = |path: &PathBuf| {
        let found = fs::symlink_metadata(path).ok()?;
        Some((found.ctime(), found.ctime_nsec(), found.size(), found.ino()))
    };
    Ok(paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect())
}

fn read_once<'a>(dir: &Path, root: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> Result<Bundle, SourceError> {
    let mut builder = BundleBuilder::default();
    for path in paths {
        let relative = path.strip_prefix(root).unwrap_or(path);
        let name = format!("/{}", relative.to_string_lossy());
        match bytes(path) {
            Ok(bytes) => builder.add(&name, &bytes),
            Err(error) => builder.problems.push(DataProblem::of_file(&name, format!("could not be read: {error}"))),
        }
        if builder.bytes > MAX_BUNDLE_BYTES {
            return Err(SourceError::TooLarge(dir.display().to_string(), format!("{MAX_BUNDLE_BYTES} bytes")));
        }
    }
    Ok(builder.finish())
}

/// Reads files from another origin, such as a commit, by their paths from the data directory.
pub fn from_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Bundle {
    let mut files: Vec<(String, Vec<u8>)> = files.into_iter().filter(|(name, _)| is_data(name)).collect();
    files.sort();
    let mut builder = BundleBuilder::default();
    files.iter().for_each(|(name, bytes)| builder.add(&format!("/{}", name.trim_start_matches('/')), bytes));
    builder.finish()
}

/// Whether the bundler would read the file.
pub fn is_data(path: &str) -> bool {
    let hidden = path.split('/').any(|part| part.starts_with('.') && part.len() > 1);
    !hidden && [".yml", ".yaml", ".json"].iter().any(|end| path.ends_with(end))
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) -> Result<(), SourceError> {
    let failed = |error| SourceError::Read(dir.to_path_buf(), error);
    let mut entries = fs::read_dir(dir).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Links are not followed, because they may lead out of the data or be circular.
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() && !name.starts_with('.') {
            walk(&entry.path(), found)?;
        } else if kind.is_file() && is_data(&name) {
            found.push(entry.path());
        }
        if found.len() > MAX_FILES {
            return Err(SourceError::TooLarge(dir.display().to_string(), format!("{MAX_FILES} files")));
        }
    }
    Ok(())
}

fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[derive(Default)]
struct BundleBuilder {
    files: Vec<Datafile>,
    problems: Vec<DataProblem>,
    /// Schemas of unreadable files.
    named: BTreeMap<Arc<str>, String>,
    sum: FileSetDigest,
    bytes: u64,
}

impl BundleBuilder {
    fn add(&mut self, name: &str, bytes: &[u8]) {
        self.sum.file(name, bytes);
        self.bytes += bytes.len() as u64;
        match parse_datafile(name, bytes) {
            Ok(file) => self.files.push(file),
            Err(problem) => {
                self.named.extend(schema_guess::schema(bytes).map(|schema| (Arc::from(name), schema)));
                self.problems.push(problem);
            }
        }
    }

    fn finish(self) -> Bundle {
        Bundle::new(self.sum.finish(), self.files, self.problems).with_schemas(self.named)
    }
}

fn parse_datafile(name: &str, bytes: &[u8]) -> Result<Datafile, DataProblem> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(DataProblem::of_file(name, format!("is larger than {MAX_FILE_BYTES} bytes")));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| DataProblem::of_file(name, "is not UTF-8"))?;
    let (value, lines) = if name.ends_with(".json") {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| DataProblem::of_file(name, &error).at_line(Some(error.line())))?;
        (value, FieldLines::default())
    } else {
        yaml::read_with_lines(text)
            .map_err(|error| DataProblem::of_file(name, &error.message).at_line(Some(error.line)))?
    };
    let Value::Object(map) = &value else {
        return Err(DataProblem::of_file(name, "is not a map of fields").at_line(Some(1)));
    };
    if !map.get("$schema").is_some_and(Value::is_string) {
        return Err(DataProblem::of_file(name, "has no `$schema`").at_line(Some(1)));
    }
    Ok(Datafile::new(name, value, lines))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn files_are_read_like_the_bundler_and_invalid_ones_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join("data").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a.yml", "$schema: /x-1.yml\nname: a\n");
        write("sub/b.json", "{\"$schema\": \"/x-1.yml\", \"name\": \"b\"}");
        write("sub/.hidden.yml", "[");
        write("notes.txt", "[");
        write("bad.yml", "$schema: /x-1.yml\nname: [\n");
        write("none.yaml", "name: c\n");
        let bundle = read(dir.path()).unwrap();
        let paths: Vec<&str> = bundle.files().map(|file| &*file.path).collect();
        assert_eq!(paths, ["/a.yml", "/sub/b.json"]);
        let problems: Vec<String> = bundle.problems().iter().map(ToString::to_string).collect();
        assert!(problems[0].starts_with("/bad.yml:"), "{problems:?}");
        assert_eq!(problems[1], "/none.yaml:1: has no `$schema`");
        let before = bundle.sha().to_string();
        write("a.yml", "$schema: /x-1.yml\nname: other\n");
        assert_ne!(read(dir.path()).unwrap().sha(), before);
        assert!(read(&dir.path().join("missing")).is_err());
    }

    #[test]
    fn a_bundle_never_mixes_two_commits() {
        let dir = tempfile::tempdir().unwrap();
        // Replaces each file by another of the same size, like a checkout.
        let checkout = |text: &str| {
            for name in ["a.yml", "b.yml"] {
                let _ = fs::remove_file(dir.path().join(name));
                fs::write(dir.path().join(name), format!("$schema: /x-1.yml\nname: {text}\n")).unwrap();
            }
        };
        checkout("one");
        let mut reads = 0;
        let bundle = read_with(dir.path(), &mut || {
            reads += 1;
            if reads == 1 {
                checkout("two");
            }
        });
        let bundle = bundle.unwrap();
        let names: Vec<&str> = bundle.files().filter_map(|file| file.value()["name"].as_str()).collect();
        assert_eq!((names, reads), (vec!["two"; 2], 2));
        let mut reads = 0;
        let restless = read_with(dir.path(), &mut || {
            reads += 1;
            fs::write(dir.path().join(format!("{reads}.yml")), "$schema: /x-1.yml\n").unwrap();
        });
        assert!(matches!(restless, Err(SourceError::Changing(_))), "{restless:?}");
        assert_eq!(reads, ATTEMPTS);
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", dir.path().join("out.yml")).unwrap();
        assert_eq!(read(dir.path()).unwrap().files().count(), 0);
    }
}
