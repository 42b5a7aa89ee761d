//! Section `topology`: real cluster and namespace mapping of each cluster type.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::Value;
use switchboard_object::name;

use super::report::{self, ConfigProblem, ErrorCollector};
use super::section::{Section, display_value};
use super::tree::{NodeContent, SourcePosition};
use super::value;
use crate::topology::{ClusterName, ClusterTypeOverlap, NamespaceCollision, NamespaceMapping, Topology};

pub(super) fn topology(
    section: Option<Section<'_>>,
    clusters_at: SourcePosition,
    names: Vec<&ClusterName>,
    findings: &mut ErrorCollector,
) -> Option<Topology> {
    let only = match names[..] {
        [only] => Some(only.clone()),
        _ => None,
    };
    let Some(mut section) = section else {
        if only.is_none() {
            let problem = ConfigProblem::new(format!("is required with {} clusters", names.len()));
            let hint = "set `configuration`, `management` and `userWorkload` under `topology`";
            findings.add(clusters_at, "topology", problem.hint(hint));
        }
        return only.map(|only| Topology::standalone(&only));
    };
    let known: Vec<&str> = names.iter().map(|name| &*name.0).collect();
    let place = |section: &mut Section<'_>, field: &'static str, findings: &mut ErrorCollector| {
        let written = section.node(field).is_some();
        let named = section.take(field, findings, |v| cluster(v, &known));
        if !written && only.is_none() {
            let problem = ConfigProblem::new("is required with several clusters");
            findings.add(section.at, &section.path(field), problem.hint(report::list_known(&known)));
        }
        named.or_else(|| only.clone())
    };
    let configuration = place(&mut section, "configuration", findings);
    let management = place(&mut section, "management", findings);
    let user_workload = place(&mut section, "userWorkload", findings);
    let (at, path) = (section.at, section.path("namespaces"));
    let namespaces = section.section("namespaces", findings).map(|section| namespace_mappings(section, findings));
    section.close(findings);
    let topology = Topology::of([configuration?, management?, user_workload?]);
    let Some(namespaces) = namespaces else { return Some(topology) };
    topology.with_namespaces(namespaces?).map_err(|meeting| findings.add(at, &path, overlap_problem(&meeting))).ok()
}

fn cluster(value: &Value, known: &[&str]) -> Result<ClusterName, ConfigProblem> {
    let name = value::text(value)?;
    if known.contains(&name.as_str()) {
        return Ok(ClusterName::new(&name));
    }
    Err(ConfigProblem::new(format!("unknown cluster {}", display_value(value))).suggest(&name, known))
}

fn namespace_mappings(mut section: Section<'_>, findings: &mut ErrorCollector) -> Option<[NamespaceMapping; 3]> {
    let mut place = |field: &'static str, findings: &mut ErrorCollector| {
        section
            .section(field, findings)
            .map_or(Some(NamespaceMapping::identity()), |section| namespace_mapping(section, findings))
    };
    let places = ["configuration", "management", "userWorkload"].map(|field| place(field, findings));
    section.close(findings);
    let [configuration, management, user_workload] = places;
    Some([configuration?, management?, user_workload?])
}

fn namespace_mapping(mut section: Section<'_>, findings: &mut ErrorCollector) -> Option<NamespaceMapping> {
    let prefix = section.take("prefix", findings, prefix).unwrap_or_default();
    let mut named = BTreeMap::new();
    if let Some(names) = section.section("named", findings) {
        for (key, node) in names.entries() {
            let path = names.path(&key.name);
            let real = match &node.content {
                NodeContent::Scalar(real) => namespace(real),
                _ => Err(ConfigProblem::new("must be the name of the real namespace")),
            };
            match real {
                Ok(real) => drop(named.insert(key.name.clone(), real)),
                Err(problem) => findings.add(node.at, &path, problem),
            }
        }
    }
    let (at, path) = (section.at, section.own_path().to_string());
    section.close(findings);
    NamespaceMapping::new(&prefix, named)
        .map_err(|collision| findings.add(at, &path, collision_problem(&collision)))
        .ok()
}

fn prefix(value: &Value) -> Result<String, ConfigProblem> {
    let text = value::text(value)?;
    // A prefix is valid if a namespace that starts with it is.
    match name::dns1123_label(&format!("{text}a")).is_empty() {
        true => Ok(text),
        false => Err(ConfigProblem::new(format!("{} is not a valid namespace prefix", display_value(value)))
            .hint("use lowercase letters, digits and `-`, such as `acme-`")),
    }
}

fn namespace(value: &Value) -> Result<String, ConfigProblem> {
    let text = value::text(value)?;
    match name::dns1123_label(&text).is_empty() {
        true => Ok(text),
        false => Err(ConfigProblem::new(format!("{} is not a valid namespace name", display_value(value)))
            .hint("use lowercase letters, digits and `-`, at most 63 characters")),
    }
}

fn collision_problem(collision: &NamespaceCollision) -> ConfigProblem {
    let hint = "map each namespace to a different name: change this name, or map the second namespace as well";
    ConfigProblem::new(collision.to_string()).hint(hint)
}

fn overlap_problem(meeting: &ClusterTypeOverlap) -> ConfigProblem {
    let why = meeting.source().map(ToString::to_string).unwrap_or_default();
    let hint = "use the same mapping for both, prefixes that do not start with each other, or different clusters";
    ConfigProblem::new(format!("{meeting}, where {why}")).hint(hint)
}
