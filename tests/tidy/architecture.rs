//! Rules of ARCHITECTURE.md and of the READMEs of the layers.

use std::fs;

use crate::{BORDERS, LAYERS, crates, none, root};

/// Largest size of ARCHITECTURE.md; a longer map is not read.
const MAX_MAP_BYTES: usize = 28_000;

/// Packages outside of the layers, by folder.
const OTHER_PACKAGES: [&str; 3] = ["examples/greeter", "examples/rogue", "."];

fn map() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// The name of a crate in `folder/name`.
fn name(krate: &str) -> &str {
    krate.rsplit('/').next().unwrap()
}

/// Name of the package in a folder, as headings have it.
fn package(folder: &str) -> &str {
    if folder == "." { "switchboard-suite" } else { name(folder) }
}

/// Folder of the package whose section a heading opens: `### `name``.
fn package_of_heading(line: &str) -> Option<&'static str> {
    let name = line.strip_prefix("### `")?.strip_suffix('`')?;
    BORDERS.iter().map(|(krate, _)| *krate).chain(OTHER_PACKAGES).find(|folder| package(folder) == name)
}

/// Folders of all packages of the workspace.
fn packages() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = [")).unwrap();
    let members = members.split('"').skip(1).step_by(2).filter(|member| !member.ends_with("/*"));
    crates().into_iter().chain(members.map(str::to_string)).collect()
}

#[test]
fn the_map_is_short() {
    let size = map().len();
    let breaches = (size > MAX_MAP_BYTES).then(|| format!("ARCHITECTURE.md: {size} bytes, at most {MAX_MAP_BYTES}"));
    none(breaches.into_iter().collect(), "move details to the lib.rs of the crate they belong to");
}

#[test]
fn the_map_has_a_section_for_every_package() {
    let map = map();
    let sections: Vec<&str> = map.lines().filter_map(package_of_heading).collect();
    let breaches = packages().into_iter().filter(|krate| !sections.contains(&krate.as_str())).collect();
    none(breaches, "add a section ### `name` to ARCHITECTURE.md: purpose, main modules, invariants");
}

#[test]
fn the_map_agrees_with_the_borders() {
    let map = map();
    let table = map.split("\n## Crates\n").nth(1).unwrap_or("").split("\n## ").next().unwrap_or("");
    let mut breaches = Vec::new();
    for (krate, allowed) in BORDERS {
        let row = table.lines().find(|line| line.starts_with(&format!("| `{}` |", name(krate))));
        let cell = row.and_then(|row| row.trim_end_matches('|').rsplit('|').next()).unwrap_or("no row").trim();
        let others = BORDERS.iter().map(|(other, _)| name(other)).filter(|other| *other != name(krate));
        let mut named = crates_in(cell, &others.collect::<Vec<_>>());
        let mut allowed = allowed.to_vec();
        named.sort_unstable();
        allowed.sort_unstable();
        if named != allowed {
            breaches.push(format!("{krate}: {named:?} in the map, {allowed:?} in BORDERS"));
        }
    }
    none(breaches, "correct the last column of the table under ## Crates in ARCHITECTURE.md");
}

/// Crates that a cell of the table lists: `–`, `a, b`, or `all but a, b; c` with crates outside of the layers.
fn crates_in<'a>(cell: &'a str, others: &[&'a str]) -> Vec<&'a str> {
    let Some(rest) = cell.strip_prefix("all but ") else {
        return cell.split(", ").filter(|name| *name != "–").collect();
    };
    let (left_out, more) = rest.split_once("; ").unwrap_or((rest, ""));
    let left_out: Vec<&str> = left_out.split(", ").collect();
    let all = others.iter().copied().filter(|name| !left_out.contains(name));
    all.chain(more.split(", ").filter(|name| !name.is_empty())).collect()
}

/// Paths in a code span: the span itself, or one path per alternative of `a/{b,c}.rs`. A span that is no path has none.
fn paths_in(span: &str) -> Vec<String> {
    let is_path = span.chars().all(|c| c.is_ascii_alphanumeric() || "_./-{},".contains(c));
    let is_file = [".rs", ".md", ".tsv"].iter().any(|end| span.ends_with(end)) || span.ends_with('/');
    if !is_path || !is_file || span.starts_with('/') {
        return Vec::new();
    }
    match span.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (middle, after))) => middle.split(',').map(|part| format!("{before}{part}{after}")).collect(),
        None => vec![span.to_string()],
    }
}

#[test]
fn files_named_in_the_map_exist() {
    let (mut krate, mut fenced, mut breaches) = (None, false, Vec::new());
    for (number, line) in map().lines().enumerate() {
        fenced ^= line.starts_with("```");
        if line.starts_with('#') {
            krate = package_of_heading(line);
        }
        let spans = line.split('`').skip(1).step_by(2).filter(|_| !fenced);
        for path in spans.flat_map(paths_in) {
            let mut folders = vec![root().to_path_buf()];
            folders.extend(krate.into_iter().flat_map(|krate| [root().join(krate).join("src"), root().join(krate)]));
            if !folders.iter().any(|folder| folder.join(&path).exists()) {
                breaches.push(format!("ARCHITECTURE.md:{}: {path}", number + 1));
            }
        }
    }
    none(breaches, "name the file from the root; in a crate's section, from its src folder");
}

#[test]
fn every_layer_has_a_readme_that_names_its_crates() {
    let mut breaches = Vec::new();
    for layer in LAYERS {
        let Ok(readme) = fs::read_to_string(root().join(layer).join("README.md")) else {
            breaches.push(format!("{layer}/README.md is missing"));
            continue;
        };
        let ours = crates().into_iter().filter(|krate| krate.starts_with(&format!("{layer}/")));
        let unnamed = ours.filter(|krate| !readme.contains(&format!("[`{}`](", name(krate))));
        breaches.extend(unnamed.map(|krate| format!("{layer}/README.md has no row for {krate}")));
    }
    none(breaches, "write one page: purpose, a table of the crates, what the layer uses, and what it never does");
}

#[test]
fn paths_differ_from_other_code() {
    assert_eq!(paths_in("core/{run,writes}.rs"), ["core/run.rs", "core/writes.rs"]);
    assert_eq!(paths_in("kernel/"), ["kernel/"]);
    for other in ["Operator::decide", "/api/v1/", "kubectl apply", "a.yaml", "{a,b}"] {
        assert_eq!(paths_in(other), Vec::<String>::new(), "{other}");
    }
}
