//! What a file's place in a dump says about it.
//!
//! ```text
//! <anything>/cluster-scoped-resources/<group>/<resource>.yaml            list
//! <anything>/cluster-scoped-resources/<group>/<resource>/<name>.yaml     single
//! <anything>/namespaces/<ns>/<group>/<resource>.yaml                     list
//! <anything>/namespaces/<ns>/<group>/<resource>/<name>.yaml              single
//! <anything>/namespaces/<ns>/<ns>.yaml                                   the namespace itself
//! <anything>/cluster-scoped-resources/core/namespaces/<ns>.yaml          the same
//! <anything>/namespaces/<ns>/pods/<pod>/<pod>.yaml                       single
//! <anything>/namespaces/<ns>/pods/<pod>/<c>/<c>/logs/current.log         log
//! ```

/// What a file is, by its path alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// YAML or JSON where objects are expected.
    Objects(Hint),
    /// YAML or JSON somewhere else: taken when it holds objects, passed over when not.
    Perhaps,
    /// A container's log.
    Log { namespace: String, pod: String, container: String, previous: bool },
    /// Nothing we read.
    Other,
}

/// Group, resource and scope as the path states them; empty where it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint {
    pub group: String,
    pub plural: String,
    pub namespace: Option<String>,
}

/// Reads a path of `/`-separated names.
pub(crate) fn place(path: &str) -> Place {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let file = parts.last().copied().unwrap_or_default();
    if let Some(log) = log(&parts) {
        return log;
    }
    let stem = [".yaml", ".yml", ".json"].iter().find_map(|ending| file.strip_suffix(ending));
    let Some(stem) = stem else { return Place::Other };
    // The innermost marker counts: dumps hold dumps.
    let marker = (0..parts.len() - 1).rfind(|at| is_marker(&parts, *at));
    let Some(at) = marker else { return Place::Perhaps };
    let behind = &parts[at + 1..];
    let hint = match parts[at] {
        "namespaces" => namespaced(behind, stem),
        _ => resource(behind, stem, None),
    };
    hint.map_or(Place::Perhaps, Place::Objects)
}

/// Whether the folder there says where what is behind it belongs. `namespaces` is a resource of its own as well, which
/// must-gathers keep as `cluster-scoped-resources/core/namespaces/<name>.yaml`.
fn is_marker(parts: &[&str], at: usize) -> bool {
    let single = at + 2 == parts.len();
    match (parts[at], &parts[..at]) {
        ("cluster-scoped-resources", _) => true,
        ("namespaces", [.., "cluster-scoped-resources", "core"] | [.., "namespaces", _, "core"]) => !single,
        ("namespaces", _) => true,
        _ => false,
    }
}

/// A file among objects that cannot be one: in `namespaces` itself, or in a folder of single objects with another ending or in a
/// folder of its own. What a dump keeps under `pods` is not meant.
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

fn namespaced(behind: &[&str], stem: &str) -> Option<Hint> {
    match behind {
        [namespace, _file] if *namespace == stem => Some(Hint { plural: "namespaces".into(), ..Hint::default() }),
        // `pods` stands where a group would, with a folder for each pod.
        [namespace, "pods", _pod, _file] => {
            Some(Hint { plural: "pods".into(), namespace: Some(namespace.to_string()), ..Hint::default() })
        }
        [namespace, rest @ ..] if rest.len() >= 2 => resource(rest, stem, Some(namespace.to_string())),
        _ => None,
    }
}

fn resource(behind: &[&str], stem: &str, namespace: Option<String>) -> Option<Hint> {
    let plural = match behind {
        [_group, _file] => stem,
        [_group, plural, _file] => plural,
        _ => return None,
    };
    let group = if behind[0] == "core" { "" } else { behind[0] };
    Some(Hint { group: group.into(), plural: plural.into(), namespace })
}

fn log(parts: &[&str]) -> Option<Place> {
    let previous = match *parts.last()? {
        "current.log" => false,
        "previous.log" | "previous.insecure.log" => true,
        _ => return None,
    };
    let at = parts.iter().rposition(|p| *p == "pods")?;
    let namespace = parts.get(at.checked_sub(1)?)?;
    let [pod, container, .., "logs", _file] = parts.get(at + 1..)? else { return None };
    Some(Place::Log {
        namespace: namespace.to_string(),
        pod: pod.to_string(),
        container: container.to_string(),
        previous,
    })
}
