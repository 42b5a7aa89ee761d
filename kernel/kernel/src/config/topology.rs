//! Which clusters the three places are, and which namespaces theirs are.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::Value;
use switchboard_object::name;

use super::report::{self, Findings, Problem};
use super::section::{Section, value_shown};
use super::tree::{Content, Position};
use super::value;
use crate::place::{ClusterName, Collision, Meeting, Namespaces, Topology};

pub(super) fn topology(
    section: Option<Section<'_>>,
    clusters_at: Position,
    names: Vec<&ClusterName>,
    findings: &mut Findings,
) -> Option<Topology> {
    let only = match names[..] {
        [only] => Some(only.clone()),
        _ => None,
    };
    let Some(mut section) = section else {
        if only.is_none() {
            let problem = Problem::new(format!("is missing, and there are {} clusters", names.len()));
            let hint = "say under `topology` which cluster is configuration, management and userWorkload";
            findings.add(clusters_at, "topology", problem.hint(hint));
        }
        return only.map(|only| Topology::standalone(&only));
    };
    let known: Vec<&str> = names.iter().map(|name| &*name.0).collect();
    let place = |section: &mut Section<'_>, field: &'static str, findings: &mut Findings| {
        let written = section.node(field).is_some();
        let named = section.take(field, findings, |v| cluster(v, &known));
        if !written && only.is_none() {
            let problem = Problem::new("is missing, and there are several clusters");
            findings.add(section.at, &section.path(field), problem.hint(report::all(&known)));
        }
        named.or_else(|| only.clone())
    };
    let configuration = place(&mut section, "configuration", findings);
    let management = place(&mut section, "management", findings);
    let user_workload = place(&mut section, "userWorkload", findings);
    let (at, path) = (section.at, section.path("namespaces"));
    let namespaces = section.section("namespaces", findings).map(|section| worlds(section, findings));
    section.close(findings);
    let topology = Topology::of([configuration?, management?, user_workload?]);
    let Some(namespaces) = namespaces else { return Some(topology) };
    topology.with_namespaces(namespaces?).map_err(|meeting| findings.add(at, &path, met(&meeting))).ok()
}

fn cluster(value: &Value, known: &[&str]) -> Result<ClusterName, Problem> {
    let name = value::text(value)?;
    if known.contains(&name.as_str()) {
        return Ok(ClusterName::new(&name));
    }
    Err(Problem::new(format!("there is no cluster {}", value_shown(value))).meant(&name, known))
}

fn worlds(mut section: Section<'_>, findings: &mut Findings) -> Option<[Namespaces; 3]> {
    let mut place = |field: &'static str, findings: &mut Findings| {
        section.section(field, findings).map_or(Some(Namespaces::same()), |section| world(section, findings))
    };
    let places = ["configuration", "management", "userWorkload"].map(|field| place(field, findings));
    section.close(findings);
    let [configuration, management, user_workload] = places;
    Some([configuration?, management?, user_workload?])
}

fn world(mut section: Section<'_>, findings: &mut Findings) -> Option<Namespaces> {
    let prefix = section.take("prefix", findings, prefix).unwrap_or_default();
    let mut named = BTreeMap::new();
    if let Some(names) = section.section("named", findings) {
        for (key, node) in names.entries() {
            let path = names.path(&key.name);
            let real = match &node.content {
                Content::Scalar(real) => namespace(real),
                _ => Err(Problem::new("must be the name of the real namespace")),
            };
            match real {
                Ok(real) => drop(named.insert(key.name.clone(), real)),
                Err(problem) => findings.add(node.at, &path, problem),
            }
        }
    }
    let (at, path) = (section.at, section.own_path().to_string());
    section.close(findings);
    Namespaces::new(&prefix, named).map_err(|collision| findings.add(at, &path, collided(&collision))).ok()
}

fn prefix(value: &Value) -> Result<String, Problem> {
    let text = value::text(value)?;
    // A prefix is right when a namespace with it is.
    match name::dns1123_label(&format!("{text}a")).is_empty() {
        true => Ok(text),
        false => Err(Problem::new(format!("{} cannot begin the name of a namespace", value_shown(value)))
            .hint("lower case letters, digits and `-`, such as `acme-`")),
    }
}

fn namespace(value: &Value) -> Result<String, Problem> {
    let text = value::text(value)?;
    match name::dns1123_label(&text).is_empty() {
        true => Ok(text),
        false => Err(Problem::new(format!("{} is no name for a namespace", value_shown(value)))
            .hint("lower case letters, digits and `-`, at most 63")),
    }
}

fn collided(collision: &Collision) -> Problem {
    let hint = "give each namespace a real one of its own: choose another name, or name the second one here as well";
    Problem::new(collision.to_string()).hint(hint)
}

fn met(meeting: &Meeting) -> Problem {
    let why = meeting.source().map(ToString::to_string).unwrap_or_default();
    let hint = "give both places the same mapping, or prefixes of which none begins the other, or another cluster";
    Problem::new(format!("{meeting}, where {why}")).hint(hint)
}
