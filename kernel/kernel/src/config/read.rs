//! Fields of `switchboard.yaml`, with one function for each map.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use switchboard_object::name;

use super::console::console;
use super::limits::{self, LimitsConfig, MAX_CONCURRENT};
use super::process::process;
use super::report::{ConfigErrors, ConfigProblem, ErrorCollector};
use super::section::Section;
use super::topology::topology;
use super::tree::{self, NodeContent, SourcePosition, YamlNode};
use super::{
    ClusterConfig, Config, JournalConfig, OperatorConfig, ParentSection, ProcessConfig, SectionConfig, SectionReader,
    value,
};
use crate::family::Families;
use crate::limits::GlobalLimits;
use crate::operator::OperatorName;
use crate::topology::ClusterName;

const MAX_AGE: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(10 * 365 * 24 * 3600);
const REQUESTS_PER_SECOND: RangeInclusive<u32> = 1..=100_000;
const PROCESS_MEMORY: RangeInclusive<u64> = 1 << 20..=16 << 40;
const MAX_BYTES: RangeInclusive<u64> = 1 << 20..=1 << 40;

pub(super) fn read(file: &str, text: &str, families: Families) -> Result<Config, ConfigErrors> {
    let mut findings = ErrorCollector::default();
    let mut config = Config { families, ..Config::default() };
    if let Some(root) = tree::read(text, &mut findings) {
        read_root(&root, Path::new(file).parent(), &mut config, &mut findings);
    }
    findings.into_errors(file).map_or(Ok(config), Err)
}

fn read_root(root: &YamlNode, folder: Option<&Path>, config: &mut Config, findings: &mut ErrorCollector) {
    let mut file = Section::open(root, String::new(), findings);
    let named = file.section("clusters", findings).map(|section| clusters(&section, folder, findings));
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        config.clusters = named;
    }
    // With several clusters and no topology, the error points to the key `clusters`.
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
        (config.operators, parts) = operators(node, folder, config.families, findings);
    }
    for reader in config.families.sections() {
        let section = file.section(reader.name, findings);
        let section = section.and_then(|section| family_section(reader, section, folder, findings));
        config.sections.extend(section.map(|section| (reader.name, section)));
    }
    parts.into_iter().for_each(|part| part.take(config, findings));
    file.close(findings);
}

/// Reads the section of a family, and the limits in it.
fn family_section(
    reader: SectionReader,
    mut section: Section<'_>,
    folder: Option<&Path>,
    findings: &mut ErrorCollector,
) -> Option<SectionConfig> {
    let mut limits = LimitsConfig::default();
    let config = (reader.read)(&mut section, folder, findings);
    limits::nested(&mut section, &mut limits, findings);
    section.close(findings);
    config.map(|config| SectionConfig { limits, ..config })
}

/// Entry for an operator of a parent section.
struct PartEntry {
    name: OperatorName,
    at: SourcePosition,
    path: String,
    parent: ParentSection,
    limits: LimitsConfig,
}

impl PartEntry {
    fn read(
        name: &str,
        at: SourcePosition,
        mut fields: Section<'_>,
        of: ParentSection,
        findings: &mut ErrorCollector,
    ) -> Self {
        let mut said = LimitsConfig::default();
        limits::limits(&mut fields, &mut said, findings);
        limits::nested(&mut fields, &mut said, findings);
        let path = fields.own_path().to_string();
        fields.close(findings);
        Self { name: OperatorName::new(name), at, path, parent: of, limits: said }
    }

    /// Adds the limits. Without the parent section the entry would have no effect, so it is an error.
    fn take(self, config: &mut Config, findings: &mut ErrorCollector) {
        let (is_there, whole) = match self.parent {
            ParentSection::Section(name) => (config.sections.contains_key(name), format!("the section `{name}`")),
            ParentSection::Operator(name) => {
                (config.operators.contains_key(&OperatorName::new(name)), format!("the operator `{name}`"))
            }
        };
        if !is_there {
            let problem = ConfigProblem::new(format!("belongs to {whole}, which is not in this file"));
            findings.add(self.at, &self.path, problem);
        }
        if config.parts.insert(self.name, self.limits).is_some() {
            findings.add(self.at, &self.path, ConfigProblem::new("is defined twice"));
        }
    }
}

fn clusters(
    section: &Section<'_>,
    folder: Option<&Path>,
    findings: &mut ErrorCollector,
) -> BTreeMap<ClusterName, ClusterConfig> {
    let mut clusters = BTreeMap::new();
    for (key, node) in section.entries() {
        let path = section.path(&key.name);
        if !name::dns1123_label(&key.name).is_empty() {
            let problem = ConfigProblem::new("is not a valid cluster name");
            findings.add(key.at, &path, problem.hint("use lowercase letters, digits and `-`, at most 63 characters"));
        }
        let mut fields = Section::open(node, path, findings);
        let kubeconfig = fields.take("kubeconfig", findings, |v| value::path(v, folder));
        let context = fields.take("context", findings, value::text);
        fields.close(findings);
        clusters.insert(ClusterName::new(&key.name), ClusterConfig { kubeconfig, context });
    }
    clusters
}

fn global_limits(mut section: Section<'_>, findings: &mut ErrorCollector) -> GlobalLimits {
    let mut limits = GlobalLimits::default();
    section.set("maxConcurrent", &mut limits.max_concurrent, findings, |v| value::count(v, MAX_CONCURRENT));
    section
        .set("requestsPerSecond", &mut limits.requests_per_second, findings, |v| value::count(v, REQUESTS_PER_SECOND));
    section.set("processMemory", &mut limits.process_memory_bytes, findings, |v| value::bytes(v, PROCESS_MEMORY));
    section.close(findings);
    limits
}

fn journal(mut section: Section<'_>, findings: &mut ErrorCollector) -> JournalConfig {
    let mut journal = JournalConfig::default();
    section.set("maxBytes", &mut journal.max_bytes, findings, |v| value::bytes(v, MAX_BYTES));
    section.set("maxAge", &mut journal.max_age, findings, |v| value::span(v, MAX_AGE));
    section.close(findings);
    journal
}

/// Reads operators as a map by name, or as a list with a `name` each.
fn operators(
    node: &YamlNode,
    folder: Option<&Path>,
    known: Families,
    findings: &mut ErrorCollector,
) -> (BTreeMap<OperatorName, OperatorConfig>, Vec<PartEntry>) {
    let mut operators = BTreeMap::new();
    let mut parts = Vec::new();
    let mut add = |name: &str, at: SourcePosition, mut fields: Section<'_>, findings: &mut ErrorCollector| {
        if let Some(of) = known.parent_of(name) {
            return parts.push(PartEntry::read(name, at, fields, of, findings));
        }
        let process = process(&mut fields, folder, findings);
        let path = fields.own_path().to_string();
        match (&process, known.is_operator(name)) {
            (None, false) => findings.add(at, &path, known.unknown_operator(name)),
            (Some(_), true) => {
                let problem = ConfigProblem::new("is a built-in operator and cannot have a `command`");
                findings.add(at, &path, problem.hint("choose another name for the program"));
            }
            (Some(_), false) if !name::dns1123_subdomain(name).is_empty() => {
                let problem = ConfigProblem::new("is not a valid operator name");
                findings.add(at, &path, problem.hint("use lowercase letters, digits, `-` and `.`"));
            }
            _ => {}
        }
        if operators.insert(OperatorName::new(name), operator(fields, process, findings)).is_some() {
            findings.add(at, &path, ConfigProblem::new("is defined twice"));
        }
    };
    if let NodeContent::List(items) = &node.content {
        for (index, item) in items.iter().enumerate() {
            let mut fields = Section::open(item, format!("operators[{index}]"), findings);
            match fields.take("name", findings, value::text) {
                Some(name) => add(&name, item.at, fields, findings),
                None => findings.add(item.at, fields.own_path(), ConfigProblem::new("has no `name`")),
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

fn operator(mut section: Section<'_>, process: Option<ProcessConfig>, findings: &mut ErrorCollector) -> OperatorConfig {
    let mut config = OperatorConfig { process, ..OperatorConfig::default() };
    section.set("enabled", &mut config.enabled, findings, value::boolean);
    limits::limits(&mut section, &mut config.limits, findings);
    limits::nested(&mut section, &mut config.limits, findings);
    config.service_account = section.take("serviceAccount", findings, value::service_account);
    config.settings = section.node("settings").map_or(Value::Null, |(_, node)| node.value());
    section.close(findings);
    config
}
