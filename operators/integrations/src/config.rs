//! Section `integrations`: data source, selection and options of the integrations manager.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use switchboard_kernel::config::{ConfigProblem, ErrorCollector, Section, SectionConfig, value};

/// Default of [`IntegrationsConfig::interval`].
pub const INTEGRATIONS_INTERVAL: Duration = Duration::from_secs(60);

const INTERVAL: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(24 * 3600);
const SHARE: RangeInclusive<u32> = 0..=100;
const COUNT: RangeInclusive<u32> = 0..=1_000_000;

/// Configuration of the integrations manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegrationsConfig {
    /// Directory, bundle, or address of a qontract-server.
    pub source: IntegrationsSource,
    /// File with the `Authorization` header for the server.
    pub authorization: Option<PathBuf>,
    /// Interval at which the source is polled in addition to notifications.
    pub interval: Duration,
    /// Only environment to manage; all when absent.
    pub environment: Option<String>,
    /// Only upstream whose integrations are managed; all when absent.
    pub upstream: Option<String>,
    /// Image of all integrations.
    pub image: Option<String>,
    /// Git references whose commits are the image tags, by environment.
    pub image_tag_from_ref: BTreeMap<String, String>,
    /// Commits of git references, by reference.
    pub commits: BTreeMap<String, String>,
    /// Chart; the built-in one when absent.
    pub chart: Option<PathBuf>,
    /// JSON file with further options of integrations.
    pub options: Option<PathBuf>,
    /// Whether everything is done exactly as in qontract-reconcile.
    pub compat: bool,
    /// Whether objects of other callers are adopted.
    pub adopt: bool,
    /// Maximum share of a namespace's objects that may be deleted at once, in percent.
    pub delete_share: Option<u32>,
    /// Number of objects that may always be deleted at once, regardless of their share.
    pub delete_floor: Option<u32>,
    /// Number of objects that a user has allowed to delete at once.
    pub allow_deletes: u32,
    /// Whether the selectors of new workloads have a label with their shard.
    pub shard_labels: bool,
    /// Directory with cluster tokens as files.
    pub tokens: Option<PathBuf>,
    /// Namespace of the configuration cluster with cluster tokens as Secrets.
    pub token_namespace: Option<String>,
}

/// Location of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntegrationsSource {
    /// Directory of YAML, or a bundle file.
    Path(PathBuf),
    /// Address of a qontract-server.
    Server(String),
}

/// Reads the section.
pub(crate) fn read(
    section: &mut Section<'_>,
    folder: Option<&Path>,
    findings: &mut ErrorCollector,
) -> Option<SectionConfig> {
    let at = section.at;
    let path = |v: &Value| value::path(v, folder);
    let source = section.take("source", findings, |v| source(v, folder));
    let config = IntegrationsConfig {
        source: source.clone().unwrap_or(IntegrationsSource::Path(PathBuf::new())),
        authorization: section.take("authorization", findings, path),
        interval: section.take("interval", findings, |v| value::span(v, INTERVAL)).unwrap_or(INTEGRATIONS_INTERVAL),
        environment: section.take("environment", findings, value::text),
        upstream: section.take("upstream", findings, value::text),
        image: section.take("image", findings, value::text),
        image_tag_from_ref: text_map(section, "imageTagFromRef", findings),
        commits: text_map(section, "commits", findings),
        chart: section.take("chart", findings, path),
        options: section.take("options", findings, path),
        compat: section.take("compat", findings, value::boolean).unwrap_or_default(),
        adopt: section.take("takeOver", findings, value::boolean).unwrap_or_default(),
        delete_share: section.take("deleteShare", findings, |v| value::count(v, SHARE)),
        delete_floor: section.take("deleteFloor", findings, |v| value::count(v, COUNT)),
        allow_deletes: section.take("allowDeletes", findings, |v| value::count(v, COUNT)).unwrap_or_default(),
        shard_labels: section.take("shardLabels", findings, value::boolean).unwrap_or_default(),
        tokens: section.take("tokens", findings, path),
        token_namespace: section.take("tokenNamespace", findings, value::text),
    };
    if source.is_none() && section.node("source").is_none() {
        let problem = ConfigProblem::new("has no `source`");
        findings.add(
            at,
            section.own_path(),
            problem.hint("set a directory, a bundle, or the address of a qontract-server"),
        );
    }
    source.map(|_| SectionConfig::new(config))
}

fn source(value: &Value, folder: Option<&Path>) -> Result<IntegrationsSource, ConfigProblem> {
    let text = value::text(value)?;
    if text.starts_with("http://") || text.starts_with("https://") {
        return Ok(IntegrationsSource::Server(text));
    }
    value::path(value, folder).map(IntegrationsSource::Path)
}

/// Reads a map of texts with arbitrary keys.
fn text_map(section: &mut Section<'_>, name: &'static str, findings: &mut ErrorCollector) -> BTreeMap<String, String> {
    let Some(fields) = section.section(name, findings) else { return BTreeMap::new() };
    let mut texts = BTreeMap::new();
    for (key, node) in fields.entries() {
        match value::text(&node.value()) {
            Ok(text) => drop(texts.insert(key.name.clone(), text)),
            Err(problem) => findings.add(node.at, &fields.path(&key.name), problem),
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use switchboard_kernel::config::{Config, ConfigErrors};
    use switchboard_kernel::family::Families;

    use super::*;
    use crate::family::IntegrationsFamily;

    fn parse(file: &str, text: &str) -> Result<IntegrationsConfig, ConfigErrors> {
        let config = Config::parse(file, text, Families(&[&IntegrationsFamily]))?;
        Ok(config.section::<IntegrationsConfig>().unwrap().clone())
    }

    #[test]
    fn a_section_is_read_with_paths_from_the_files_folder() {
        let text = "integrations:\n  source: data\n  interval: 5s\n  environment: stage\n  imageTagFromRef: {stage: main}\n  commits: {main: abc}\n  deleteFloor: 0\n  compat: true\n";
        let config = parse("dir/switchboard.yaml", text).unwrap();
        assert_eq!(config.source, IntegrationsSource::Path("dir/data".into()));
        assert_eq!((config.interval, config.compat, config.adopt), (Duration::from_secs(5), true, false));
        assert_eq!((&*config.image_tag_from_ref["stage"], &*config.commits["main"]), ("main", "abc"));
        assert_eq!((config.delete_floor, config.delete_share, config.shard_labels), (Some(0), None, false));
        let server = parse("s", "integrations: {source: 'https://example/graphql'}").unwrap();
        assert_eq!(server.source, IntegrationsSource::Server("https://example/graphql".into()));
    }

    #[test]
    fn missing_and_unknown_fields_are_reported() {
        let error = |text: &str| parse("s.yaml", text).unwrap_err().to_string();
        assert!(error("integrations: {interval: 5s}").contains("has no `source`"));
        assert!(error("integrations: {source: x, sauce: y}").contains("sauce"));
    }
}
