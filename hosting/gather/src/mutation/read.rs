//! Parsing of mutation files.

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_object::causes::error_chain;

use super::layout::cluster_of;
use super::{Action, Mutation, OutputCluster, index, metadata};
use crate::contract::ControllerResults;
use crate::dump::ReadProblem;

/// Files at the root other than mutations.
const KNOWN: [&str; 3] = ["controller-results.yaml", "stdout.log", "stderr.log"];

/// Message for a file that belongs to no mutation.
pub const NO_MUTATION: &str = "belongs to no mutation and was skipped";

/// Contents of an output directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MutationDirectory {
    /// Mutations in the order of the index, or sorted by file if there is none.
    pub mutations: Vec<Mutation>,
    /// Results of the controllers, if present.
    pub results: Option<ControllerResults>,
    /// Whether the mutations are in the order in which they were made.
    pub ordered: bool,
    /// Files that could not be read or do not belong in the directory.
    pub problems: Vec<ReadProblem>,
}

/// The three files of a mutation.
#[derive(Default)]
struct MutationParts<'a> {
    metadata: Option<(&'a str, &'a [u8])>,
    body: Option<(&'a str, &'a [u8])>,
    options: Option<(&'a str, &'a [u8])>,
}

/// Parses the files of an output directory, given by path, and its index.
pub fn read_files(files: &BTreeMap<String, Vec<u8>>, index: Option<&str>) -> MutationDirectory {
    let mut directory = MutationDirectory::default();
    let mut groups: BTreeMap<(OutputCluster, Action, String), MutationParts<'_>> = BTreeMap::new();
    for (path, content) in files {
        let (place, rest) = cluster_of(path).unwrap_or((OutputCluster::Unspecified, path));
        let action = rest.split_once('/').and_then(|(first, _)| Action::from_name(first));
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

impl MutationDirectory {
    fn problem(&mut self, file: &str, message: &str) {
        self.problems.push(ReadProblem { file: file.into(), line: None, message: message.into() });
    }

    fn results(&mut self, path: &str, content: &[u8]) {
        let Ok(text) = std::str::from_utf8(content) else { return self.problem(path, "is not UTF-8 text") };
        match ControllerResults::read(text) {
            Ok(results) => self.results = Some(results),
            Err(error) => self.problem(path, &error_chain(&error)),
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
            Some(Ok(_)) => self.problem("index", "does not match its directory; mutations are sorted by file name"),
            Some(Err(message)) => self.problem("index", &format!("could not be parsed: {message}")),
            None => {}
        }
        self.mutations = std::mem::take(&mut by_body).into_values().collect();
    }
}

fn fits(bodies: &[String], by_body: &BTreeMap<String, Mutation>) -> bool {
    let listed: std::collections::BTreeSet<&String> = bodies.iter().collect();
    listed.len() == by_body.len() && listed.into_iter().all(|body| by_body.contains_key(body))
}

/// Returns the role of a file and its path without the role. The first marker counts, because a name may contain one.
fn part(path: &str) -> Option<(&'static str, String)> {
    let (folder, file) = path.rsplit_once('/')?;
    let stem = file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".json"))?;
    let roles = [("metadata", "-metadata-"), ("body", "-body-"), ("options", "-options-")];
    let found = roles.into_iter().filter_map(|(role, marker)| Some((stem.find(marker)?, role, marker)));
    let (at, role, marker) = found.min()?;
    // The separator cannot occur in a path: `a-2` and `x` differ from `a` and `2-x`.
    Some((role, format!("{folder}/{}\0{}", &stem[..at], &stem[at + marker.len()..])))
}

type PartError = (String, String);

fn mutation<'a>(
    place: OutputCluster,
    action: Action,
    parts: &MutationParts<'a>,
) -> Result<(&'a str, Mutation), PartError> {
    let Some((path, body)) = parts.body else {
        let (path, _) = parts.metadata.or(parts.options).unwrap_or_default();
        return Err((path.to_string(), "has no body file".into()));
    };
    let wrong = |message: String| (path.to_string(), message);
    let (_, text) = parts.metadata.ok_or_else(|| wrong("has no metadata file".into()))?;
    let metadata_fields = std::str::from_utf8(text).map_err(|_| "not UTF-8 text".to_string()).and_then(metadata::read);
    let metadata_fields =
        metadata_fields.map_err(|message| wrong(format!("its metadata file could not be parsed: {message}")))?;
    let action = metadata_fields.action.unwrap_or(action);
    let mut mutation = Mutation {
        cluster: place,
        action,
        group: metadata_fields.group,
        version: metadata_fields.version,
        resource: metadata_fields.resource,
        subresource: metadata_fields.subresource,
        kind: String::new(),
        namespace: metadata_fields.namespace,
        name: metadata_fields.name,
        generate_name: metadata_fields.generate_name,
        field_manager: metadata_fields.field_manager,
        patch_type: metadata_fields.patch_type,
        controller_instance_name: metadata_fields.controller_instance_name,
        body: body.to_vec(),
        options: parts.options.unwrap_or_default().1.to_vec(),
    };
    if !action.is_patch() && !body.is_empty() {
        mutation.kind = kind(&mutation).map_err(wrong)?;
    }
    // A body that cannot be parsed is reported when it is used.
    if let Some(why) = mutation.body_value().ok().and_then(|body| mutation.body_problem(&body)) {
        return Err(wrong(why.to_string()));
    }
    // library-go puts a patched Namespace into the namespace of the same name.
    if mutation.resource_type().is_namespaces() && mutation.namespace == mutation.name {
        mutation.namespace.clear();
    }
    Ok((path, mutation))
}

fn kind(mutation: &Mutation) -> Result<String, String> {
    let body = mutation.body_value().map_err(|error| format!("its body could not be parsed: {}", error.message))?;
    let kind = body.get("kind").and_then(Value::as_str).filter(|kind| !kind.is_empty());
    kind.map(str::to_string).ok_or_else(|| "its body has no kind".into())
}
