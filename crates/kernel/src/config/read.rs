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
use super::process::process;
use super::report::{ConfigErrors, Findings, Problem};
use super::section::Section;
use super::topology::topology;
use super::tree::{self, Content, Node, Position};
use super::{
    ClusterConfig, Config, JournalConfig, OperatorConfig, PROCESS_MEMORY_BYTES, ProcessConfig, duration, value,
};
use crate::limits::{GlobalLimits, Limits};
use crate::operator::OperatorName;
use crate::place::ClusterName;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

const DEBOUNCE: RangeInclusive<Duration> = Duration::ZERO..=HOUR;
const COOL_DOWN: RangeInclusive<Duration> = Duration::ZERO..=DAY;
const RESYNC: RangeInclusive<Duration> = SECOND..=Duration::from_secs(30 * 24 * 3600);
const BACKOFF: RangeInclusive<Duration> = Duration::from_millis(1)..=DAY;
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=HOUR;
const MAX_AGE: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(10 * 365 * 24 * 3600);
const WRITES_PER_SECOND: RangeInclusive<u32> = 1..=10_000;
const WRITES_PER_MINUTE: RangeInclusive<u32> = 1..=600_000;
const MAX_CONCURRENT: RangeInclusive<u32> = 1..=1024;
const REQUESTS_PER_SECOND: RangeInclusive<u32> = 1..=100_000;
const MEMORY: RangeInclusive<u64> = 0..=1 << 40;
const PROCESS_MEMORY: RangeInclusive<u64> = 1 << 20..=16 << 40;
const MAX_BYTES: RangeInclusive<u64> = 1 << 20..=1 << 40;

pub(super) fn read(file: &str, text: &str, known_operators: &[&str]) -> Result<Config, ConfigErrors> {
    let mut findings = Findings::default();
    let mut config = Config::default();
    if let Some(root) = tree::read(text, &mut findings) {
        top(&root, Path::new(file).parent(), known_operators, &mut config, &mut findings);
    }
    findings.into_errors(file).map_or(Ok(config), Err)
}

fn top(root: &Node, folder: Option<&Path>, known_operators: &[&str], config: &mut Config, findings: &mut Findings) {
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
    if let Some((_, node)) = file.node("operators") {
        config.operators = operators(node, folder, known_operators, findings);
    }
    if let Some(section) = file.section("integrations", findings) {
        config.integrations = integrations(section, folder, findings);
    }
    if let Some(section) = file.section("gitops", findings) {
        config.gitops = Some(gitops(section, folder, findings));
    }
    file.close(findings);
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
    known: &[&str],
    findings: &mut Findings,
) -> BTreeMap<OperatorName, OperatorConfig> {
    let mut operators = BTreeMap::new();
    let mut add = |name: &str, at: Position, mut fields: Section<'_>, findings: &mut Findings| {
        let process = process(&mut fields, folder, findings);
        let path = fields.own_path().to_string();
        match (&process, known.contains(&name)) {
            (None, false) => findings.add(at, &path, Problem::new("unknown operator").meant(name, known)),
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
    operators
}

fn operator(mut section: Section<'_>, process: Option<ProcessConfig>, findings: &mut Findings) -> OperatorConfig {
    let mut config = OperatorConfig { process, ..OperatorConfig::default() };
    if config.process.is_some() {
        config.limits.memory_bytes = PROCESS_MEMORY_BYTES;
    }
    section.set("enabled", &mut config.enabled, findings, value::truth);
    limits(&mut section, &mut config.limits, findings);
    if let Some(mut section) = section.section("limits", findings) {
        limits(&mut section, &mut config.limits, findings);
        section.close(findings);
    }
    config.service_account = section.take("serviceAccount", findings, value::service_account);
    config.settings = section.node("settings").map_or(Value::Null, |(_, node)| node.value());
    section.close(findings);
    config
}

fn limits(section: &mut Section<'_>, limits: &mut Limits, findings: &mut Findings) {
    section.set("debounce", &mut limits.debounce, findings, |v| value::span(v, DEBOUNCE));
    section.set("coolDown", &mut limits.cool_down, findings, |v| value::span(v, COOL_DOWN));
    section.set("writesPerSecond", &mut limits.writes_per_second, findings, |v| value::count(v, WRITES_PER_SECOND));
    section.set("writesPerMinute", &mut limits.writes_per_minute, findings, |v| value::count(v, WRITES_PER_MINUTE));
    section.set("resync", &mut limits.resync, findings, |v| match v.as_str() {
        Some("never") => Ok(None),
        Some(other) if other.eq_ignore_ascii_case("never") => Err(Problem::new("is written `never`")),
        _ => value::span(v, RESYNC).map(Some),
    });
    if let Some(backoff) = section.section("backoff", findings) {
        self::backoff(backoff, limits, findings);
    }
    section.set("timeout", &mut limits.timeout, findings, |v| value::span(v, TIMEOUT));
    section.set("maxConcurrent", &mut limits.max_concurrent, findings, |v| value::count(v, MAX_CONCURRENT));
    section.set("memory", &mut limits.memory_bytes, findings, |v| value::bytes(v, MEMORY));
}

fn backoff(mut section: Section<'_>, limits: &mut Limits, findings: &mut Findings) {
    section.set("first", &mut limits.backoff_first, findings, |v| value::span(v, BACKOFF));
    section.set("max", &mut limits.backoff_max, findings, |v| value::span(v, BACKOFF));
    if limits.backoff_first > limits.backoff_max {
        let (first, max) = (duration::shown(limits.backoff_first), duration::shown(limits.backoff_max));
        let (first_at, max_at) = (section.node("first").map(|(_, n)| n.at), section.node("max").map(|(_, n)| n.at));
        let other = if first_at.is_none() { "first" } else { "max" };
        let problem = Problem::new(format!("the first wait, {first}, is longer than the longest, {max}"));
        let problem =
            if first_at.and(max_at).is_none() { problem.hint(format!("set `{other}` as well")) } else { problem };
        findings.add(first_at.or(max_at).unwrap_or(section.at), section.own_path(), problem);
    }
    section.close(findings);
}
