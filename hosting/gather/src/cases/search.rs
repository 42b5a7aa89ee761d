//! Search for cases: every directory with a `test.yaml`, at any depth.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::description::{CaseDescription, DescriptionError};

/// File that marks a directory as a case.
pub const TEST_FILE: &str = "test.yaml";
/// Input of the program.
pub const INPUT_DIRECTORY: &str = "input-dir";
/// Expected output of the program.
pub const EXPECTED_OUTPUT: &str = "expected-output";
/// Maximum depth of the search.
pub const MAX_DEPTH: usize = 32;

/// A test case of an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorCase {
    /// Directory of the case.
    pub directory: PathBuf,
    /// Path relative to the root of the search; empty for the root itself.
    pub relative: PathBuf,
    /// Content of `test.yaml`.
    pub description: CaseDescription,
    /// Whether the case has an expected output. A case that expects no mutations has none.
    pub has_expected_output: bool,
}

/// Error for a directory that looks like a case but is invalid, or that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaseDiscoveryError {
    /// A file or directory cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// Path of the file or directory.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// `test.yaml` is invalid.
    #[error("could not parse `{}`", path.display())]
    Description {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: DescriptionError,
    },
    /// A directory of the case is missing or is not a directory.
    #[error("`{}` {problem}", path.display())]
    Incomplete {
        /// Path of the directory.
        path: PathBuf,
        /// Problem.
        problem: &'static str,
    },
}

/// Finds all cases below a directory, sorted by path. Invalid cases do not hide the others.
pub fn discover(root: &Path) -> (Vec<OperatorCase>, Vec<CaseDiscoveryError>) {
    let mut search = CaseSearch { root, cases: Vec::new(), errors: Vec::new() };
    search.scan(root, 0);
    (search.cases, search.errors)
}

struct CaseSearch<'a> {
    root: &'a Path,
    cases: Vec<OperatorCase>,
    errors: Vec<CaseDiscoveryError>,
}

impl CaseSearch<'_> {
    fn scan(&mut self, folder: &Path, depth: usize) {
        let names = match names(folder) {
            Ok(names) => names,
            Err(source) => return self.errors.push(CaseDiscoveryError::Read { path: folder.into(), source }),
        };
        let is_case = names.iter().any(|name| name == TEST_FILE);
        if is_case {
            match self.case(folder) {
                Ok(case) => self.cases.push(case),
                Err(error) => self.errors.push(error),
            }
        }
        for name in names {
            // The content of a case's own directories is data, whatever its name.
            let data = is_case && (name == INPUT_DIRECTORY || name == EXPECTED_OUTPUT);
            let path = folder.join(&name);
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_dir());
            if is_folder && !data && depth < MAX_DEPTH {
                self.scan(&path, depth + 1);
            }
        }
    }

    fn case(&self, folder: &Path) -> Result<OperatorCase, CaseDiscoveryError> {
        let path = folder.join(TEST_FILE);
        let read = |path: &Path| fs::read_to_string(path);
        let text = read(&path).map_err(|source| CaseDiscoveryError::Read { path: path.clone(), source })?;
        let description =
            CaseDescription::read(&text).map_err(|source| CaseDiscoveryError::Description { path, source })?;
        let input = folder.join(INPUT_DIRECTORY);
        match fs::symlink_metadata(&input) {
            Ok(facts) if facts.is_dir() => {}
            Ok(_) => return Err(incomplete(input, "must be a directory, not a link")),
            Err(_) => return Err(incomplete(input, "is missing")),
        }
        let expected = folder.join(EXPECTED_OUTPUT);
        let expects = match fs::symlink_metadata(&expected) {
            Ok(facts) if facts.is_dir() => true,
            Ok(_) => return Err(incomplete(expected, "must be a directory, not a link")),
            Err(_) => false,
        };
        let relative = folder.strip_prefix(self.root).unwrap_or(folder).to_path_buf();
        Ok(OperatorCase { directory: folder.into(), relative, description, has_expected_output: expects })
    }
}

fn incomplete(path: PathBuf, problem: &'static str) -> CaseDiscoveryError {
    CaseDiscoveryError::Incomplete { path, problem }
}

/// Returns the names in a directory, sorted.
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
    fn cases_are_found_at_any_depth() {
        let root = tempfile::tempdir().unwrap();
        case(root.path(), "b/deep/er");
        case(root.path(), "a");
        fs::create_dir_all(root.path().join("a").join(EXPECTED_OUTPUT)).unwrap();
        case(root.path(), "a/nested");
        // Data that looks like a case is not one.
        case(root.path(), "a/input-dir/x");
        let (cases, errors) = discover(root.path());
        assert!(errors.is_empty(), "{errors:?}");
        let found: Vec<_> =
            cases.iter().map(|case| (case.relative.to_str().unwrap(), case.has_expected_output)).collect();
        assert_eq!(found, [("a", true), ("a/nested", false), ("b/deep/er", false)]);
        let (own, _) = discover(&root.path().join("a/nested"));
        assert_eq!(own[0].relative, Path::new(""));
    }

    #[test]
    fn invalid_cases_are_reported_and_hide_nothing() {
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
        let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(
            messages[0].starts_with("could not parse `") && messages[0].ends_with("bad/test.yaml`"),
            "{messages:?}"
        );
        assert!(messages[1].ends_with("empty/input-dir` is missing"), "{messages:?}");
        assert!(messages[2].ends_with("linked/expected-output` must be a directory, not a link"), "{messages:?}");
        let (cases, errors) = discover(&root.path().join("none"));
        assert!(cases.is_empty() && errors.len() == 1);
    }
}
