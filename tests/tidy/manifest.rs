//! Tables of dependencies in a `Cargo.toml`.

/// Dependencies of the crate itself.
pub const PRODUCTION: &str = "dependencies";
/// Dependencies of tests, examples and benchmarks.
pub const TESTS: &str = "dev-dependencies";
/// Dependencies of `build.rs`.
pub const BUILD: &str = "build-dependencies";

/// Returns the lines of the tables of a kind: `[kind]`, and `[target.'...'.kind]` of a platform. A dependency with a table of its own,
/// `[kind.name]`, is the line `name = {}`, with what its table says between the braces.
pub fn rows(manifest: &str, kind: &str) -> impl Iterator<Item = String> {
    let mut rows = Vec::new();
    let mut is_inside = false;
    let mut own: Option<String> = None;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[').and_then(|header| header.strip_suffix(']')) {
            rows.extend(own.take().map(|row| row + "}"));
            let (table, name) = if header.ends_with(kind) { (header, None) } else { split(header) };
            let is_kind = table == kind || (table.starts_with("target.") && table.ends_with(&format!(".{kind}")));
            is_inside = is_kind && name.is_none();
            own = name.filter(|_| is_kind).map(|name| format!("{name} = {{"));
        } else if let Some(row) = &mut own {
            row.push_str(line);
        } else if is_inside && !line.is_empty() && !line.starts_with('#') {
            rows.push(line.to_string());
        }
    }
    rows.extend(own.map(|row| row + "}"));
    rows.into_iter()
}

/// Table and name of a header `table.name`.
fn split(header: &str) -> (&str, Option<&str>) {
    header.rsplit_once('.').map_or((header, None), |(table, name)| (table, Some(name)))
}

/// Returns the names in the tables of a kind.
pub fn listed(manifest: &str, kind: &str) -> Vec<String> {
    let name = |row: String| row.split(['.', ' ', '=']).next().unwrap_or_default().to_string();
    rows(manifest, kind).map(name).collect()
}

#[test]
fn tables_of_platforms_and_of_one_dependency_are_read() {
    let manifest = "[dependencies]\n# no\na.workspace = true\nb = \"1\"\n\n[target.'cfg(unix)'.dependencies]\nc = \"1\"\n\n[dependencies.d]\nversion = \"1\"\n[dev-dependencies]\ne = \"1\"\n[build-dependencies]\nf = \"1\"\n";
    assert_eq!(listed(manifest, PRODUCTION), ["a", "b", "c", "d"]);
    assert_eq!(listed(manifest, TESTS), ["e"]);
    assert_eq!(listed(manifest, BUILD), ["f"]);
    assert!(rows(manifest, PRODUCTION).any(|row| row == "d = {version = \"1\"}"));
}
