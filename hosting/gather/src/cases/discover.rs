//! Finds cases: every directory with a `test.yaml`, however deep.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::description::{Description, DescriptionError};

/// What makes a directory a case.
pub const TEST_FILE: &str = "test.yaml";
/// What the program reads.
pub const INPUT_DIRECTORY: &str = "input-dir";
/// What it should want written.
pub const EXPECTED_OUTPUT: &str = "expected-output";
/// How deep directories are looked through.
pub const MAX_DEPTH: usize = 32;

/// A case that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its directory.
    pub directory: PathBuf,
    /// The same, from where the search began; empty when it began there.
    pub relative: PathBuf,
    /// What `test.yaml` says.
    pub description: Description,
    /// Whether there is an expected output. There is none where none is expected.
    pub expects: bool,
}

/// A directory that looks like a case and is none, or cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// It cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// Which file or directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It says nothing that can be understood.
    #[error("could not understand `{}`", path.display())]
    Description {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: DescriptionError,
    },
    /// Something is missing, or no directory of its own.
    #[error("`{}` {problem}", path.display())]
    Incomplete {
        /// What it is about.
        path: PathBuf,
        /// What is wrong.
        problem: &'static str,
    },
}

/// Finds all cases below a directory, by path. Cases that cannot be read do not hide the others.
pub fn discover(root: &Path) -> (Vec<Case>, Vec<DiscoverError>) {
    let mut search = Search { root, cases: Vec::new(), errors: Vec::new() };
    search.look(root, 0);
    (search.cases, search.errors)
}

struct Search<'a> {
    root: &'a Path,
    cases: Vec<Case>,
    errors: Vec<DiscoverError>,
}

impl Search<'_> {
    fn look(&mut self, folder: &Path, depth: usize) {
        let names = match names(folder) {
            Ok(names) => names,
            Err(source) => return self.errors.push(DiscoverError::Read { path: folder.into(), source }),
        };
        let is_case = names.iter().any(|name| name == TEST_FILE);
        if is_case {
            match self.case(folder) {
                Ok(case) => self.cases.push(case),
                Err(error) => self.errors.push(error),
            }
        }
        for name in names {
            // What is in a case's own directories is data, whatever it is called.
            let data = is_case && (name == INPUT_DIRECTORY || name == EXPECTED_OUTPUT);
            let path = folder.join(&name);
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_dir());
            if is_folder && !data && depth < MAX_DEPTH {
                self.look(&path, depth + 1);
            }
        }
    }

    fn case(&self, folder: &Path) -> Result<Case, DiscoverError> {
        let path = folder.join(TEST_FILE);
        let read = |path: &Path| fs::read_to_string(path);
        let text = read(&path).map_err(|source| DiscoverError::Read { path: path.clone(), source })?;
        let description = Description::read(&text).map_err(|source| DiscoverError::Description { path, source })?;
        let input = folder.join(INPUT_DIRECTORY);
        match fs::symlink_metadata(&input) {
            Ok(facts) if facts.is_dir() => {}
            Ok(_) => return Err(incomplete(input, "must be a directory, and no link to one")),
            Err(_) => return Err(incomplete(input, "is missing")),
        }
        let expected = folder.join(EXPECTED_OUTPUT);
        let expects = match fs::symlink_metadata(&expected) {
            Ok(facts) if facts.is_dir() => true,
            Ok(_) => return Err(incomplete(expected, "must be a directory, and no link to one")),
            Err(_) => false,
        };
        let relative = folder.strip_prefix(self.root).unwrap_or(folder).to_path_buf();
        Ok(Case { directory: folder.into(), relative, description, expects })
    }
}

fn incomplete(path: PathBuf, problem: &'static str) -> DiscoverError {
    DiscoverError::Incomplete { path, problem }
}

/// What is in a directory, sorted.
fn names(folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let mut names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TEXT: &str = "{binaryName: ./web, testName: a, description: b, testType: ApplyConfiguration}";

    fn case(root: &Path, name: &str) {
        fs::create_dir_all(root.join(name).join(INPUT_DIRECTORY)).unwrap();
        fs::write(root.join(name).join(TEST_FILE), TEXT).unwrap();
    }

    #[test]
    fn cases_are_found_by_path_however_deep() {
        let root = tempfile::tempdir().unwrap();
        case(root.path(), "b/deep/er");
        case(root.path(), "a");
        fs::create_dir_all(root.path().join("a").join(EXPECTED_OUTPUT)).unwrap();
        case(root.path(), "a/nested");
        // Data that looks like a case is data.
        case(root.path(), "a/input-dir/x");
        let (cases, errors) = discover(root.path());
        assert!(errors.is_empty(), "{errors:?}");
        let found: Vec<_> = cases.iter().map(|case| (case.relative.to_str().unwrap(), case.expects)).collect();
        assert_eq!(found, [("a", true), ("a/nested", false), ("b/deep/er", false)]);
        let (own, _) = discover(&root.path().join("a/nested"));
        assert_eq!(own[0].relative, Path::new(""));
    }

    #[test]
    fn what_is_wrong_is_named_and_hides_nothing() {
        let root = tempfile::tempdir().unwrap();
        case(root.path(), "good");
        for name in ["bad", "empty", "linked"] {
            case(root.path(), name);
        }
        fs::write(root.path().join("bad").join(TEST_FILE), "testName: a").unwrap();
        fs::remove_dir(root.path().join("empty").join(INPUT_DIRECTORY)).unwrap();
        let linked = root.path().join("linked").join(EXPECTED_OUTPUT);
        std::os::unix::fs::symlink(root.path(), &linked).unwrap();
        let (cases, errors) = discover(root.path());
        assert_eq!(cases.len(), 1);
        let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(said[0].starts_with("could not understand `") && said[0].ends_with("bad/test.yaml`"), "{said:?}");
        assert!(said[1].ends_with("empty/input-dir` is missing"), "{said:?}");
        assert!(said[2].ends_with("linked/expected-output` must be a directory, and no link to one"), "{said:?}");
        let (cases, errors) = discover(&root.path().join("none"));
        assert!(cases.is_empty() && errors.len() == 1);
    }
}
