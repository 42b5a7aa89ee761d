//! Fields of an operator that is a separate program.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::report::{ConfigProblem, ErrorCollector};
use super::section::{Section, type_mismatch};
use super::tree::{NodeContent, YamlNode};
use super::{ProcessConfig, value};

const DISK: RangeInclusive<u64> = 1 << 20..=1 << 40;
const PROCESSES: RangeInclusive<u32> = 2..=32_768;

/// Reads the program's fields; `None` if no `command` is set, and then the other fields are errors.
pub(super) fn process(
    section: &mut Section<'_>,
    folder: Option<&Path>,
    findings: &mut ErrorCollector,
) -> Option<ProcessConfig> {
    let command = texts(section, "command", findings);
    let mut config = ProcessConfig::default();
    section.set("live", &mut config.live, findings, value::boolean);
    config.env = env(section, findings);
    config.files = texts(section, "files", findings).iter().map(|text| from(folder, text)).collect();
    config.egress = texts(section, "egress", findings);
    config.controllers = texts(section, "controllers", findings);
    section.set("sandbox", &mut config.sandbox, findings, value::boolean);
    section.set("disk", &mut config.disk_bytes, findings, |v| value::bytes(v, DISK));
    section.set("processes", &mut config.processes, findings, |v| value::count(v, PROCESSES));
    if config.live {
        reject_proxy_variables(section, &config, findings);
    }
    let Some((program, arguments)) = command.split_first().filter(|(program, _)| !program.is_empty()) else {
        if let Some((_, node)) = section.node("command") {
            let problem = ConfigProblem::new("has no program");
            findings.add(node.at, &section.path("command"), problem.hint("write a path, or [path, argument, …]"));
            return Some(config);
        }
        if let Some((field, node)) = FIELDS.iter().find_map(|field| Some((field, section.node(field)?.1))) {
            let problem = ConfigProblem::new("requires a `command`");
            findings.add(node.at, &section.path(field), problem.hint("remove it: this operator is built in"));
        }
        return None;
    };
    // A name without a slash is searched in `PATH`; anything else is a path.
    config.program = if program.contains('/') { from(folder, program) } else { PathBuf::from(program) };
    config.arguments = arguments.to_vec();
    if let Some((_, node)) = section.node("egress").filter(|_| !config.live) {
        let problem = ConfigProblem::new("requires `live: true`: without it the program has no network access");
        findings.add(node.at, &section.path("egress"), problem.hint("add `live: true`, or remove `egress`"));
    }
    Some(config)
}

/// Refuses proxy variables: connections leave through the proxy of `egress`, and no other proxy is reachable.
fn reject_proxy_variables(section: &mut Section<'_>, config: &ProcessConfig, findings: &mut ErrorCollector) {
    let proxy = |name: &&String| PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy));
    let Some((_, node)) = section.node("env") else { return };
    for name in config.env.keys().filter(proxy) {
        let problem = ConfigProblem::new(format!("`{name}` is set by Switchboard for live commands"));
        findings.add(node.at, &section.path("env"), problem.hint("remove it; list the allowed hosts in `egress`"));
    }
}

const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"];

const FIELDS: [&str; 9] = ["command", "live", "env", "files", "egress", "controllers", "sandbox", "disk", "processes"];

fn from(folder: Option<&Path>, text: &str) -> PathBuf {
    folder.map_or_else(|| PathBuf::from(text), |folder| folder.join(text))
}

/// Reads a list of texts, or a single text.
pub(super) fn texts(section: &mut Section<'_>, name: &'static str, findings: &mut ErrorCollector) -> Vec<String> {
    let Some((_, node)) = section.node(name) else { return Vec::new() };
    let path = section.path(name);
    let mut text = |node: &YamlNode| {
        let read = match &node.content {
            NodeContent::Scalar(scalar) => value::text(scalar),
            other => Err(type_mismatch("text", other)),
        };
        read.map_err(|problem| findings.add(node.at, &path, problem)).ok()
    };
    match &node.content {
        NodeContent::List(items) => items.iter().filter_map(&mut text).collect(),
        _ => text(node).into_iter().collect(),
    }
}

fn env(section: &mut Section<'_>, findings: &mut ErrorCollector) -> BTreeMap<String, String> {
    let Some(variables) = section.section("env", findings) else { return BTreeMap::new() };
    let mut env = BTreeMap::new();
    for (key, node) in variables.entries() {
        let path = variables.path(&key.name);
        if key.name.is_empty() || key.name.contains(['=', '\0']) {
            findings.add(key.at, &path, ConfigProblem::new("is not a valid variable name"));
        }
        let read = match &node.content {
            NodeContent::Scalar(Value::String(text)) if text.contains('\0') => {
                Err(ConfigProblem::new("must not contain a zero byte"))
            }
            NodeContent::Scalar(Value::String(text)) => Ok(text.clone()),
            NodeContent::Scalar(scalar) => value::text(scalar),
            other => Err(type_mismatch("text", other)),
        };
        match read {
            Ok(text) => drop(env.insert(key.name.clone(), text)),
            Err(problem) => findings.add(node.at, &path, problem),
        }
    }
    env
}
