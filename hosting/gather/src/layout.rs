//! Role of a file in a dump, derived from its path.
//!
//! ```text
//! <anything>/cluster-scoped-resources/<group>/<resource>.yaml            list
//! <anything>/cluster-scoped-resources/<group>/<resource>/<name>.yaml     single
//! <anything>/namespaces/<ns>/<group>/<resource>.yaml                     list
//! <anything>/namespaces/<ns>/<group>/<resource>/<name>.yaml              single
//! <anything>/namespaces/<ns>/<ns>.yaml                                   the Namespace itself
//! <anything>/cluster-scoped-resources/core/namespaces/<ns>.yaml          the Namespace itself
//! <anything>/namespaces/<ns>/pods/<pod>/<pod>.yaml                       single
//! <anything>/namespaces/<ns>/pods/<pod>/<c>/<c>/logs/current.log         log
//! ```

/// Role of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileRole {
    /// YAML or JSON in a place for objects.
    Objects(ResourceHint),
    /// YAML or JSON in another place, which is read if it contains objects.
    MaybeObjects,
    /// Log of a container.
    Log { namespace: String, pod: String, container: String, previous: bool },
    /// Any other file, which is not read.
    Other,
}

/// Group, resource and scope from the path; empty if the path does not contain them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceHint {
    pub group: String,
    pub plural: String,
    pub namespace: Option<String>,
}

/// Returns the role of a path with `/` separators.
pub(crate) fn file_role(path: &str) -> FileRole {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let file = parts.last().copied().unwrap_or_default();
    if let Some(log) = log(&parts) {
        return log;
    }
    let stem = [".yaml", ".yml", ".json"].iter().find_map(|ending| file.strip_suffix(ending));
    let Some(stem) = stem else { return FileRole::Other };
    // The innermost marker counts, because dumps contain dumps.
    let marker = (0..parts.len() - 1).rfind(|at| is_marker(&parts, *at));
    let Some(at) = marker else { return FileRole::MaybeObjects };
    let behind = &parts[at + 1..];
    let hint = match parts[at] {
        "namespaces" => namespaced(behind, stem),
        _ => resource(behind, stem, None),
    };
    hint.map_or(FileRole::MaybeObjects, FileRole::Objects)
}

/// Whether the folder name marks the start of a known structure. `namespaces` is also a resource, which must-gathers
/// store as `cluster-scoped-resources/core/namespaces/<name>.yaml`.
fn is_marker(parts: &[&str], at: usize) -> bool {
    let single = at + 2 == parts.len();
    match (parts[at], &parts[..at]) {
        ("cluster-scoped-resources", _) => true,
        ("namespaces", [.., "cluster-scoped-resources", "core"] | [.., "namespaces", _, "core"]) => !single,
        ("namespaces", _) => true,
        _ => false,
    }
}

/// Whether a file among objects cannot be one: it is directly in `namespaces`, or in a folder of single objects with
/// another extension or in a subfolder. Files under `pods` do not count.
pub(crate) fn is_stray(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let named = [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending));
    let Some(at) = parts.iter().position(|p| matches!(*p, "cluster-scoped-resources" | "namespaces")) else {
        return false;
    };
    match (parts[at], &parts[at + 1..]) {
        ("namespaces", [_file]) => true,
        ("namespaces", [_, "pods", ..]) => false,
        ("namespaces", [_, _group, _plural, _file]) | ("cluster-scoped-resources", [_group, _plural, _file]) => !named,
        ("namespaces", [_, _, _, _, ..]) | ("cluster-scoped-resources", [_, _, _, ..]) => true,
        _ => false,
    }
}

fn namespaced(behind: &[&str], stem: &str) -> Option<ResourceHint> {
    match behind {
        [namespace, _file] if *namespace == stem => {
            Some(ResourceHint { plural: "namespaces".into(), ..ResourceHint::default() })
        }
        // `pods` is in the position of a group, with a folder for each pod.
        [namespace, "pods", _pod, _file] => Some(ResourceHint {
            plural: "pods".into(),
            namespace: Some(namespace.to_string()),
            ..ResourceHint::default()
        }),
        [namespace, rest @ ..] if rest.len() >= 2 => resource(rest, stem, Some(namespace.to_string())),
        _ => None,
    }
}

fn resource(behind: &[&str], stem: &str, namespace: Option<String>) -> Option<ResourceHint> {
    let plural = match behind {
        [_group, _file] => stem,
        [_group, plural, _file] => plural,
        _ => return None,
    };
    let group = if behind[0] == "core" { "" } else { behind[0] };
    Some(ResourceHint { group: group.into(), plural: plural.into(), namespace })
}

fn log(parts: &[&str]) -> Option<FileRole> {
    let previous = match *parts.last()? {
        "current.log" => false,
        "previous.log" | "previous.insecure.log" => true,
        _ => return None,
    };
    let at = parts.iter().rposition(|p| *p == "pods")?;
    let namespace = parts.get(at.checked_sub(1)?)?;
    let [pod, container, .., "logs", _file] = parts.get(at + 1..)? else { return None };
    Some(FileRole::Log {
        namespace: namespace.to_string(),
        pod: pod.to_string(),
        container: container.to_string(),
        previous,
    })
}
