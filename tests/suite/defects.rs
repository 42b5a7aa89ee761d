//! Defects of the systems that are taken over, and what shows that we have none of them: a table, held against the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// What is said of one defect.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DefectRow {
    /// Tests by name, or files and folders of cases from the root of the tree.
    #[serde(default)]
    by: Vec<String>,
    /// What is not done, and why.
    later: Option<String>,
}

/// Whether a table has a row for each defect, and each row a test that is there, in the sources below these folders.
///
/// # Errors
/// What is wrong with it.
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
