//! From files to mutations.

use std::collections::BTreeMap;

use serde_json::Value;

use super::layout::place_of;
use super::{Action, Mutation, Place, index, metadata};
use crate::contract::ControllerResults;
use crate::dump::Problem;

/// Files at the root that are no mutations.
const KNOWN: [&str; 3] = ["controller-results.yaml", "stdout.log", "stderr.log"];

/// What is said of a file that belongs to no mutation.
pub const NO_MUTATION: &str = "is no part of a mutation and was passed over";

/// What an output directory holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directory {
    /// The mutations: in the order of the index, or sorted by file when there is none.
    pub mutations: Vec<Mutation>,
    /// How the controllers did, where it is said.
    pub results: Option<ControllerResults>,
    /// Whether the order is the one they were made in.
    pub ordered: bool,
    /// What could not be read or does not belong there.
    pub problems: Vec<Problem>,
}

/// The three files of a mutation.
#[derive(Default)]
struct Parts<'a> {
    metadata: Option<(&'a str, &'a [u8])>,
    body: Option<(&'a str, &'a [u8])>,
    options: Option<(&'a str, &'a [u8])>,
}

/// Reads the files of an output directory by their paths, and the index beside it.
pub fn read_files(files: &BTreeMap<String, Vec<u8>>, index: Option<&str>) -> Directory {
    let mut directory = Directory::default();
    let mut groups: BTreeMap<(Place, Action, String), Parts<'_>> = BTreeMap::new();
    for (path, content) in files {
        let (place, rest) = place_of(path).unwrap_or((Place::Unspecified, path));
        let action = rest.split_once('/').and_then(|(first, _)| Action::named(first));
        match (action, part(rest)) {
            (Some(action), Some((role, stem))) => {
                let parts = groups.entry((place, action, stem)).or_default();
                match role {
                    "metadata" => parts.metadata = Some((path, content)),
                    "body" => parts.body = Some((path, content)),
                    _ => parts.options = Some((path, content)),
                }
            }
            _ if path == KNOWN[0] => directory.results(path, content),
            _ if KNOWN.contains(&path.as_str()) => {}
            _ => directory.problem(path, NO_MUTATION),
        }
    }
    let mut by_body = BTreeMap::new();
    for ((place, action, _), parts) in groups {
        match mutation(place, action, &parts) {
            Ok((body, mutation)) => drop(by_body.insert(body.to_string(), mutation)),
            Err((file, message)) => directory.problem(&file, &message),
        }
    }
    directory.order(by_body, index);
    directory
}

impl Directory {
    fn problem(&mut self, file: &str, message: &str) {
        self.problems.push(Problem { file: file.into(), line: None, message: message.into() });
    }

    fn results(&mut self, path: &str, content: &[u8]) {
        let Ok(text) = std::str::from_utf8(content) else { return self.problem(path, "is not UTF-8 text") };
        match ControllerResults::read(text) {
            Ok(results) => self.results = Some(results),
            Err(error) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
                self.problem(path, &format!("{error}{cause}"));
            }
        }
    }

    fn order(&mut self, mut by_body: BTreeMap<String, Mutation>, index: Option<&str>) {
        let listed = index.map(index::read);
        match listed {
            Some(Ok(bodies)) if fits(&bodies, &by_body) => {
                self.mutations = bodies.iter().filter_map(|body| by_body.get(body).cloned()).collect();
                self.ordered = true;
                return;
            }
            Some(Ok(_)) => {
                self.problem("index", "does not fit the directory beside it; the order is that of the files")
            }
            Some(Err(message)) => self.problem("index", &format!("cannot be read: {message}")),
            None => {}
        }
        self.mutations = std::mem::take(&mut by_body).into_values().collect();
    }
}

fn fits(bodies: &[String], by_body: &BTreeMap<String, Mutation>) -> bool {
    let listed: std::collections::BTreeSet<&String> = bodies.iter().collect();
    listed.len() == by_body.len() && listed.into_iter().all(|body| by_body.contains_key(body))
}

/// The role of a file, and its path without it. The first marker counts: a name may hold one as well.
fn part(path: &str) -> Option<(&'static str, String)> {
    let (folder, file) = path.rsplit_once('/')?;
    let stem = file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".json"))?;
    let roles = [("metadata", "-metadata-"), ("body", "-body-"), ("options", "-options-")];
    let found = roles.into_iter().filter_map(|(role, marker)| Some((stem.find(marker)?, role, marker)));
    let (at, role, marker) = found.min()?;
    // By something that no path has: `a-2` and `x` are not `a` and `2-x`.
    Some((role, format!("{folder}/{}\0{}", &stem[..at], &stem[at + marker.len()..])))
}

type Wrong = (String, String);

fn mutation<'a>(place: Place, action: Action, parts: &Parts<'a>) -> Result<(&'a str, Mutation), Wrong> {
    let Some((path, body)) = parts.body else {
        let (path, _) = parts.metadata.or(parts.options).unwrap_or_default();
        return Err((path.to_string(), "has no body file beside it".into()));
    };
    let wrong = |message: String| (path.to_string(), message);
    let (_, text) = parts.metadata.ok_or_else(|| wrong("has no metadata file beside it".into()))?;
    let said = std::str::from_utf8(text).map_err(|_| "it is not UTF-8 text".to_string()).and_then(metadata::read);
    let said = said.map_err(|message| wrong(format!("its metadata file cannot be read: {message}")))?;
    let action = said.action.unwrap_or(action);
    let mut mutation = Mutation {
        place,
        action,
        group: said.group,
        version: said.version,
        resource: said.resource,
        subresource: said.subresource,
        kind: String::new(),
        namespace: said.namespace,
        name: said.name,
        generate_name: said.generate_name,
        field_manager: said.field_manager,
        patch_type: said.patch_type,
        controller_instance_name: said.controller_instance_name,
        body: body.to_vec(),
        options: parts.options.unwrap_or_default().1.to_vec(),
    };
    if !action.is_patch() && !body.is_empty() {
        mutation.kind = kind(&mutation).map_err(wrong)?;
    }
    // One that cannot be read is told of by who reads it.
    if let Some(why) = mutation.body_value().ok().and_then(|body| mutation.misshapen(&body)) {
        return Err(wrong(why.to_string()));
    }
    // The original puts a patched Namespace into the namespace it is.
    if mutation.resource_type().is_namespaces() && mutation.namespace == mutation.name {
        mutation.namespace.clear();
    }
    Ok((path, mutation))
}

fn kind(mutation: &Mutation) -> Result<String, String> {
    let body = mutation.body_value().map_err(|error| format!("its body cannot be read: {}", error.message))?;
    let kind = body.get("kind").and_then(Value::as_str).filter(|kind| !kind.is_empty());
    kind.map(str::to_string).ok_or_else(|| "its body has no kind".into())
}
