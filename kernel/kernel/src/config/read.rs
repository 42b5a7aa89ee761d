//! The fields of `switchboard.yaml`, one function for each map of it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use switchboard_object::name;

use super::console::console;
use super::gitops::gitops;
use super::integrations::integrations;
use super::limits::{self, LimitsConfig, MAX_CONCURRENT};
use super::process::process;
use super::report::{ConfigErrors, Findings, Problem};
use super::section::Section;
use super::topology::topology;
use super::tree::{self, Content, Node, Position};
use super::{ClusterConfig, Config, JournalConfig, Known, OperatorConfig, ProcessConfig, Whole, value};
use crate::limits::GlobalLimits;
use crate::operator::OperatorName;
use crate::place::ClusterName;

const MAX_AGE: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(10 * 365 * 24 * 3600);
const REQUESTS_PER_SECOND: RangeInclusive<u32> = 1..=100_000;
const PROCESS_MEMORY: RangeInclusive<u64> = 1 << 20..=16 << 40;
const MAX_BYTES: RangeInclusive<u64> = 1 << 20..=1 << 40;

pub(super) fn read(file: &str, text: &str, known: Known<'_>) -> Result<Config, ConfigErrors> {
    let mut findings = Findings::default();
    let mut config = Config::default();
    if let Some(root) = tree::read(text, &mut findings) {
        top(&root, Path::new(file).parent(), known, &mut config, &mut findings);
    }
    findings.into_errors(file).map_or(Ok(config), Err)
}

fn top(root: &Node, folder: Option<&Path>, known: Known<'_>, config: &mut Config, findings: &mut Findings) {
    let mut file = Section::open(root, String::new(), findings);
    let named = file.section("clusters", findings).map(|section| clusters(&section, folder, findings));
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        config.clusters = named;
    }
    // Without a topology and with several clusters, the key that names them is where one would look.
    let at = file.node("clusters").map_or(file.at, |(key, _)| key.at);
    let section = file.section("topology", findings);
    if let Some(topology) = topology(section, at, config.clusters.keys().collect(), findings) {
        config.topology = topology;
    }
    if let Some(section) = file.section("limits", findings) {
        config.limits = global_limits(section, findings);
    }
    if let Some(section) = file.section("journal", findings) {
        config.journal = journal(section, findings);
    }
    config.listen = file.take("listen", findings, value::listen).flatten();
    if let Some((_, node)) = file.node("console") {
        config.console = console(node, file.path("console"), findings);
    }
    let mut parts = Vec::new();
    if let Some((_, node)) = file.node("operators") {
        (config.operators, parts) = operators(node, folder, known, findings);
    }
    if let Some(section) = file.section("integrations", findings) {
        config.integrations = integrations(section, folder, findings);
    }
    if let Some(section) = file.section("gitops", findings) {
        config.gitops = Some(gitops(section, folder, findings));
    }
    parts.into_iter().for_each(|part| part.take(config, findings));
    file.close(findings);
}

/// An entry for something that is not hosted by itself.
struct PartEntry {
    name: OperatorName,
    at: Position,
    path: String,
    of: Whole,
    limits: LimitsConfig,
}

impl PartEntry {
    fn read(name: &str, at: Position, mut fields: Section<'_>, of: Whole, findings: &mut Findings) -> Self {
        let mut said = LimitsConfig::default();
        limits::limits(&mut fields, &mut said, findings);
        limits::nested(&mut fields, &mut said, findings);
        let path = fields.own_path().to_string();
        fields.close(findings);
        Self { name: OperatorName::new(name), at, path, of, limits: said }
    }

    /// Nothing is hosted for such an entry, so that without the whole it would be a wish that nobody hears.
    fn take(self, config: &mut Config, findings: &mut Findings) {
        let (is_there, whole) = match self.of {
            Whole::Integrations => (config.integrations.is_some(), "the section `integrations`".to_string()),
            Whole::Gitops => (config.gitops.is_some(), "the section `gitops`".to_string()),
            Whole::Operator(name) => {
                (config.operators.contains_key(&OperatorName::new(name)), format!("the operator `{name}`"))
            }
        };
        if !is_there {
            let problem = Problem::new(format!("is a part of {whole}, which this file has not"));
            findings.add(self.at, &self.path, problem);
        }
        if config.parts.insert(self.name, self.limits).is_some() {
            findings.add(self.at, &self.path, Problem::new("stands here a second time"));
        }
    }
}

fn clusters(
    section: &Section<'_>,
    folder: Option<&Path>,
    findings: &mut Findings,
) -> BTreeMap<ClusterName, ClusterConfig> {
    let mut clusters = BTreeMap::new();
    for (key, node) in section.entries() {
        let path = section.path(&key.name);
        if !name::dns1123_label(&key.name).is_empty() {
            let problem = Problem::new("is no name for a cluster");
            findings.add(key.at, &path, problem.hint("lower case letters, digits and `-`, at most 63"));
        }
        let mut fields = Section::open(node, path, findings);
        let kubeconfig = fields.take("kubeconfig", findings, |v| value::path(v, folder));
        let context = fields.take("context", findings, value::text);
        fields.close(findings);
        clusters.insert(ClusterName::new(&key.name), ClusterConfig { kubeconfig, context });
    }
    clusters
}

fn global_limits(mut section: Section<'_>, findings: &mut Findings) -> GlobalLimits {
    let mut limits = GlobalLimits::default();
    section.set("maxConcurrent", &mut limits.max_concurrent, findings, |v| value::count(v, MAX_CONCURRENT));
    section
        .set("requestsPerSecond", &mut limits.requests_per_second, findings, |v| value::count(v, REQUESTS_PER_SECOND));
    section.set("processMemory", &mut limits.process_memory_bytes, findings, |v| value::bytes(v, PROCESS_MEMORY));
    section.close(findings);
    limits
}

fn journal(mut section: Section<'_>, findings: &mut Findings) -> JournalConfig {
    let mut journal = JournalConfig::default();
    section.set("maxBytes", &mut journal.max_bytes, findings, |v| value::bytes(v, MAX_BYTES));
    section.set("maxAge", &mut journal.max_age, findings, |v| value::span(v, MAX_AGE));
    section.close(findings);
    journal
}

/// Operators by name, or a list of them that each say theirs.
fn operators(
    node: &Node,
    folder: Option<&Path>,
    known: Known<'_>,
    findings: &mut Findings,
) -> (BTreeMap<OperatorName, OperatorConfig>, Vec<PartEntry>) {
    let mut operators = BTreeMap::new();
    let mut parts = Vec::new();
    let mut add = |name: &str, at: Position, mut fields: Section<'_>, findings: &mut Findings| {
        if let Some(of) = known.whole(name) {
            return parts.push(PartEntry::read(name, at, fields, of, findings));
        }
        let process = process(&mut fields, folder, findings);
        let path = fields.own_path().to_string();
        match (&process, known.is_operator(name)) {
            (None, false) => findings.add(at, &path, known.unknown(name)),
            (Some(_), true) => {
                let problem = Problem::new("is an operator of this binary, and cannot have a `command`");
                findings.add(at, &path, problem.hint("give the program another name"));
            }
            (Some(_), false) if !name::dns1123_subdomain(name).is_empty() => {
                let problem = Problem::new("is no name for an operator");
                findings.add(at, &path, problem.hint("lower case letters, digits, `-` and `.`"));
            }
            _ => {}
        }
        if operators.insert(OperatorName::new(name), operator(fields, process, findings)).is_some() {
            findings.add(at, &path, Problem::new("stands here a second time"));
        }
    };
    if let Content::List(items) = &node.content {
        for (index, item) in items.iter().enumerate() {
            let mut fields = Section::open(item, format!("operators[{index}]"), findings);
            match fields.take("name", findings, value::text) {
                Some(name) => add(&name, item.at, fields, findings),
                None => findings.add(item.at, fields.own_path(), Problem::new("has no `name`")),
            }
        }
    } else {
        let section = Section::open(node, "operators".to_string(), findings);
        for (key, node) in section.entries() {
            add(&key.name, key.at, Section::open(node, section.path(&key.name), findings), findings);
        }
    }
    (operators, parts)
}

fn operator(mut section: Section<'_>, process: Option<ProcessConfig>, findings: &mut Findings) -> OperatorConfig {
    let mut config = OperatorConfig { process, ..OperatorConfig::default() };
    section.set("enabled", &mut config.enabled, findings, value::truth);
    limits::limits(&mut section, &mut config.limits, findings);
    limits::nested(&mut section, &mut config.limits, findings);
    config.service_account = section.take("serviceAccount", findings, value::service_account);
    config.settings = section.node("settings").map_or(Value::Null, |(_, node)| node.value());
    section.close(findings);
    config
}
