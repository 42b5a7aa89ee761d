//! Table of known defects of upstream projects, with the tests that show their absence here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Entry of one defect.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DefectRow {
    /// Names of tests, or files and folders of cases relative to the root.
    #[serde(default)]
    by: Vec<String>,
    /// Missing part, and the reason.
    later: Option<String>,
}

/// Checks that a table has an entry for each defect, and that the tests of each entry exist in the sources below these
/// folders.
///
/// # Errors
/// The problem with the table.
pub fn check(table: &str, listed: impl IntoIterator<Item = String>, folders: &[&str]) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join(table)).map_err(|error| format!("{table}: {error}"))?;
    let rows: BTreeMap<String, DefectRow> =
        serde_saphyr::from_str(&text).map_err(|error| format!("{table}: {error}"))?;
    let (has, listed): (BTreeSet<&String>, BTreeSet<String>) = (rows.keys().collect(), listed.into_iter().collect());
    if has != listed.iter().collect() {
        return Err(format!("{table} is about {has:?}, and should be about {listed:?}"));
    }
    let mut code = String::new();
    folders.iter().for_each(|folder| sources(&root.join(folder), &mut code));
    for (defect, row) in &rows {
        if row.by.is_empty() && row.later.is_none() {
            return Err(format!("{table}: {defect} has no test"));
        }
        for name in &row.by {
            if !root.join(name).exists() && !code.contains(&format!("fn {name}()")) {
                return Err(format!("{table}: {defect} names {name}, which is not there"));
            }
        }
    }
    Ok(())
}

fn sources(folder: &Path, found: &mut String) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
        found.push_str(&std::fs::read_to_string(file).unwrap_or_default());
    }
    folders.iter().for_each(|folder| sources(folder, found));
}
