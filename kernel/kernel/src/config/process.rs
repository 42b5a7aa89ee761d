//! The fields of an operator that is a program of its own.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::report::{Findings, Problem};
use super::section::{Section, wanted};
use super::tree::{Content, Node};
use super::{ProcessConfig, value};

const DISK: RangeInclusive<u64> = 1 << 20..=1 << 40;
const PROCESSES: RangeInclusive<u32> = 2..=32_768;

/// What is said of the program; nothing when no `command` is given, and then the other fields are out of place.
pub(super) fn process(
    section: &mut Section<'_>,
    folder: Option<&Path>,
    findings: &mut Findings,
) -> Option<ProcessConfig> {
    let command = texts(section, "command", findings);
    let mut config = ProcessConfig::default();
    section.set("live", &mut config.live, findings, value::truth);
    config.env = env(section, findings);
    config.files = texts(section, "files", findings).iter().map(|text| from(folder, text)).collect();
    config.egress = texts(section, "egress", findings);
    config.controllers = texts(section, "controllers", findings);
    section.set("sandbox", &mut config.sandbox, findings, value::truth);
    section.set("disk", &mut config.disk_bytes, findings, |v| value::bytes(v, DISK));
    section.set("processes", &mut config.processes, findings, |v| value::count(v, PROCESSES));
    if config.live {
        free_of_proxies(section, &config, findings);
    }
    let Some((program, arguments)) = command.split_first().filter(|(program, _)| !program.is_empty()) else {
        if let Some((_, node)) = section.node("command") {
            let problem = Problem::new("names no program");
            findings.add(node.at, &section.path("command"), problem.hint("a path, or [path, argument, …]"));
            return Some(config);
        }
        if let Some((field, node)) = FIELDS.iter().find_map(|field| Some((field, section.node(field)?.1))) {
            let problem = Problem::new("is for operators with a `command`, which this one has not");
            findings.add(
                node.at,
                &section.path(field),
                problem.hint("leave it out: this operator is part of this binary"),
            );
        }
        return None;
    };
    // A bare name is looked for where programs are; anything else is a path.
    config.program = if program.contains('/') { from(folder, program) } else { PathBuf::from(program) };
    config.arguments = arguments.to_vec();
    if let Some((_, node)) = section.node("egress").filter(|_| !config.live) {
        let problem = Problem::new("is for operators with `live: true`: without it there is no network at all");
        findings.add(node.at, &section.path("egress"), problem.hint("add `live: true`, or leave `egress` out"));
    }
    Some(config)
}

/// Whoever leaves does so through the proxy of `egress`; another one would be reached by nobody.
fn free_of_proxies(section: &mut Section<'_>, config: &ProcessConfig, findings: &mut Findings) {
    let proxy = |name: &&String| PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy));
    let Some((_, node)) = section.node("env") else { return };
    for name in config.env.keys().filter(proxy) {
        let problem = Problem::new(format!("`{name}` is set for every live command"));
        findings.add(node.at, &section.path("env"), problem.hint("leave it out; `egress` says where it may go"));
    }
}

const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"];

const FIELDS: [&str; 9] = ["command", "live", "env", "files", "egress", "controllers", "sandbox", "disk", "processes"];

fn from(folder: Option<&Path>, text: &str) -> PathBuf {
    folder.map_or_else(|| PathBuf::from(text), |folder| folder.join(text))
}

/// A list of texts, or one text alone.
pub(super) fn texts(section: &mut Section<'_>, name: &'static str, findings: &mut Findings) -> Vec<String> {
    let Some((_, node)) = section.node(name) else { return Vec::new() };
    let path = section.path(name);
    let mut text = |node: &Node| {
        let read = match &node.content {
            Content::Scalar(scalar) => value::text(scalar),
            other => Err(wanted("text", other)),
        };
        read.map_err(|problem| findings.add(node.at, &path, problem)).ok()
    };
    match &node.content {
        Content::List(items) => items.iter().filter_map(&mut text).collect(),
        _ => text(node).into_iter().collect(),
    }
}

fn env(section: &mut Section<'_>, findings: &mut Findings) -> BTreeMap<String, String> {
    let Some(variables) = section.section("env", findings) else { return BTreeMap::new() };
    let mut env = BTreeMap::new();
    for (key, node) in variables.entries() {
        let path = variables.path(&key.name);
        if key.name.is_empty() || key.name.contains(['=', '\0']) {
            findings.add(key.at, &path, Problem::new("is no name for a variable"));
        }
        let read = match &node.content {
            Content::Scalar(Value::String(text)) if text.contains('\0') => {
                Err(Problem::new("must not hold a zero byte"))
            }
            Content::Scalar(Value::String(text)) => Ok(text.clone()),
            Content::Scalar(scalar) => value::text(scalar),
            other => Err(wanted("text", other)),
        };
        match read {
            Ok(text) => drop(env.insert(key.name.clone(), text)),
            Err(problem) => findings.add(node.at, &path, problem),
        }
    }
    env
}
