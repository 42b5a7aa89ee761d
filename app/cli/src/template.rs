//! `switchboard template`: the output of `helm template`, without Helm.

mod cluster;
mod files;
mod flags;
mod hint;
mod openapi_models;
mod validation;

use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use switchboard_chart::capabilities::KubeVersion;
use switchboard_chart::chart::{Chart, InstallError};
use switchboard_chart::folder::SymlinkPolicy;
use switchboard_chart::output::{self, OutputOptions};
use switchboard_chart::release::Release;
use switchboard_chart::render::{ChartRenderError, CompiledChart, RenderRequest, RenderedChart};
use switchboard_chart::warnings::ChartWarnings;
use switchboard_runtime::stderr::print_stderr;
use switchboard_template::sprig::{Resolver, SeededEntropy, SprigVersion, SystemInputs};
use switchboard_template::{ExecutionOptions, TemplateSet, Value};

use self::hint::OrHint as _;
use crate::failure::CommandError;

/// Default release name.
const DEFAULT_NAME: &str = "release-name";
/// Default namespace.
const DEFAULT_NAMESPACE: &str = "default";
/// Size of the random seed of a rendering.
const SEED_BYTES: usize = 32;

/// Release labels that Helm reserves.
const SYSTEM_LABELS: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];

/// Render a chart with the output of `helm template`
#[derive(Args)]
#[command(args_override_self = true, mut_args = flags::as_go_reads)]
pub struct TemplateCommand {
    /// Release name and chart (folder or archive), or only the chart
    #[arg(value_name = "[NAME] CHART", required = true, num_args = 1..)]
    names: Vec<String>,
    /// Namespace of the release [default: the namespace of the kubeconfig, or `default`]
    #[arg(short, long, env = "HELM_NAMESPACE")]
    namespace: Option<String>,
    /// Print only the output of these templates; may be repeated
    #[arg(short, long, value_name = "TEMPLATE")]
    show_only: Vec<String>,
    /// Print the chart's CRDs as well
    #[arg(long)]
    include_crds: bool,
    /// Print no warning about the chart's CRDs
    #[arg(long, hide = true)]
    skip_crds: bool,
    /// Omit hooks
    #[arg(long)]
    no_hooks: bool,
    /// Omit tests
    #[arg(long)]
    skip_tests: bool,
    /// Render as an upgrade: `.Release.IsUpgrade`
    #[arg(long)]
    is_upgrade: bool,
    /// Use a generated release name, which is always `release-name`
    #[arg(short, long)]
    generate_name: bool,
    /// Template of the release name
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    name_template: String,
    /// Labels of the release, invisible to templates
    #[arg(short, long, value_name = "KEY=VALUE,...", value_parser = flags::pairs)]
    labels: Vec<flags::FlagList>,
    /// Kubernetes version: `.Capabilities.KubeVersion`
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    kube_version: String,
    /// Additional API versions of the cluster
    #[arg(short, long, value_name = "VERSIONS", value_parser = flags::csv)]
    api_versions: Vec<flags::FlagList>,
    /// Folder to write one file for each template to, instead of stdout
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Add the release name to the output folder
    #[arg(long)]
    release_name: bool,
    /// Use a cluster for capabilities and `lookup`, and check kinds and ownership of existing objects
    #[arg(long, conflicts_with = "dry_run")]
    validate: bool,
    /// `client`, or `server`, which is the same as --validate
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_value = "client", default_missing_value = "unset")]
    dry_run: String,
    /// With --validate: skip the validation of fields
    #[arg(long)]
    disable_openapi_validation: bool,
    /// With --validate: accept existing objects of other releases
    #[arg(long)]
    take_ownership: bool,
    /// Resolve host names in templates: `getHostByName`
    #[arg(long)]
    enable_dns: bool,
    /// Follow symbolic links out of the chart, as Helm does
    #[arg(long)]
    follow_links: bool,
    /// Print the output even if it is not valid YAML, and more log lines
    #[arg(long)]
    debug: bool,
    #[command(flatten)]
    values: flags::ValuesArgs,
    #[command(flatten)]
    access: flags::ClusterAccessArgs,
    #[command(flatten)]
    fetching: flags::FetchArgs,
    #[command(flatten)]
    ignored: flags::IgnoredArgs,
}

impl TemplateCommand {
    /// Renders and prints. Errors have Helm's text and exit code.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        match self.render().await {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(message) => {
                print_stderr(format!("Error: {message}"));
                Ok(ExitCode::FAILURE)
            }
        }
    }

    async fn render(mut self) -> Result<(), String> {
        self.debug |= std::env::var("HELM_DEBUG").is_ok_and(|text| flags::boolean(&text) == Ok(true));
        self.ignored.warnings().iter().for_each(print_stderr);
        let namespace = self.namespace.clone().filter(|name| !name.is_empty());
        let namespace = namespace.or_else(|| cluster::namespace(&self.access));
        let mut request =
            RenderRequest::new(Release::new(DEFAULT_NAME, namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_string())));
        if !self.kube_version.is_empty() {
            let (version, failed) =
                (&self.kube_version, |error| format!("invalid kube version '{}': {error}", self.kube_version));
            request.capabilities.kube_version = KubeVersion::read(version).map_err(failed).or_hint(hint::VERSION)?;
        }
        let server = self.uses_cluster().or_hint(hint::DRY_RUN)?;
        let (name, path) = self.name_and_chart().or_hint(hint::ARGUMENTS)?;
        request.release.name = name;
        request.release.is_upgrade = self.is_upgrade;
        request.capabilities.api_versions.extend(self.api_versions.iter().flat_map(|list| list.0.clone()));
        request.skip_schema = self.values.skip_schema_validation;
        request.system_inputs = ambient(self.enable_dns).or_hint(hint::CLOCK)?;
        let path = self.fetching.chart_path(&path, self.debug).or_hint(hint::CHART)?;
        let user_values = self.values.options().values(&files::read).map_err(|error| error.to_string());
        request.values = user_values.or_hint(hint::VALUES)?;
        let chart = self.load_chart(&path).or_hint(hint::CHART)?;
        let cluster_info = match server {
            true => Some(cluster::ClusterInfo::connect(&self.access).await.or_hint(hint::CLUSTER)?),
            false => None,
        };
        if let Some(cluster) = &cluster_info {
            request.capabilities = cluster.capabilities.clone();
            request.lookup = Some(Arc::new(cluster.view()));
        }
        let release = request.release.clone();
        let rendering = tokio::task::spawn_blocking(move || {
            let mut talk = ChartWarnings::default();
            (CompiledChart::new(chart).render_with_warnings(&request, &mut talk), talk)
        });
        let (rendered, talk) = rendering.await.map_err(|error| error.to_string()).or_hint(hint::RENDERED)?;
        talk.into_lines().iter().for_each(|line| warn(line));
        let rendered = rendered.map_err(|error| hint::add_hint(self.error_text(&error), hint::render_hint(&error)))?;
        self.check_labels().or_hint(hint::LABELS)?;
        if let Some(cluster) = &cluster_info {
            self.validate_manifests(cluster, &rendered, &release).await.or_hint(hint::VALIDATED)?;
        }
        self.write(&rendered, &release.name).or_hint(hint::WRITTEN)
    }

    /// Whether a cluster is used.
    fn uses_cluster(&self) -> Result<bool, String> {
        let invalid = |text: &str| Err(format!("invalid dry-run value ({:?}). Must be {text}", self.dry_run));
        match self.dry_run.as_str() {
            _ if self.validate => return Ok(true),
            "client" => {}
            "server" => return Ok(true),
            "unset" => print_stderr(
                "level=WARN msg=\"--dry-run is deprecated and should be replaced with '--dry-run=client'\"",
            ),
            "none" => return invalid("\"server\" or \"client\""),
            other => match flags::boolean(other) {
                Ok(true) => print_stderr(format!(
                    "level=WARN msg=\"boolean '--dry-run={other}' flag is deprecated and must be replaced with '--dry-run=client'\""
                )),
                Ok(false) => return invalid("\"server\" or \"client\""),
                Err(_) => return invalid("\"none\", \"server\", or \"client\""),
            },
        }
        Ok(false)
    }

    fn load_chart(&self, path: &str) -> Result<Arc<Chart>, String> {
        let links = if self.follow_links { SymlinkPolicy::Anywhere } else { SymlinkPolicy::Inside };
        let chart = Chart::load(Path::new(path), links).map_err(|error| error.to_string())?;
        chart.warnings.iter().for_each(|line| warn(line));
        let installable = chart.check_installable();
        if chart.metadata.deprecated && !matches!(installable, Err(InstallError::Kind(_))) {
            print_stderr("level=WARN msg=\"this chart is deprecated\"");
        }
        match installable {
            Err(InstallError::Missing(missing)) if self.fetching.dependency_update => Err(format!(
                "could not update dependencies: {missing}\nhint: nothing is fetched; `helm dependency update` fetches them into charts/"
            )),
            other => other.map(|()| chart).map_err(|error| error.to_string()),
        }
    }

    fn check_labels(&self) -> Result<(), String> {
        let mut pairs = self.labels.iter().flat_map(|list| &list.0);
        match pairs.any(|pair| SYSTEM_LABELS.contains(&pair.split('=').next().unwrap_or_default())) {
            true => Err(format!(
                "user supplied labels contains system reserved label name. System labels: [{}]",
                SYSTEM_LABELS.join(" ")
            )),
            false => Ok(()),
        }
    }

    /// Runs the checks that Helm runs against a cluster.
    async fn validate_manifests(
        &self,
        cluster_info: &cluster::ClusterInfo,
        rendered: &RenderedChart,
        release: &Release,
    ) -> Result<(), String> {
        if !self.skip_crds && !rendered.crds.is_empty() {
            print_stderr(
                "level=WARN msg=\"This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies.\"",
            );
        }
        // Templates written to files are no longer part of the release.
        let documents = match self.output_dir {
            Some(_) => Vec::new(),
            None => validation::documents(rendered, &self.output_options())?,
        };
        let look = validation::ValidationOptions {
            release: &release.name,
            namespace: &release.namespace,
            validate: !self.disable_openapi_validation,
            upgrade: self.is_upgrade,
            take_ownership: self.take_ownership,
        };
        validation::validate(cluster_info, documents, &look).await
    }

    fn name_and_chart(&self) -> Result<(String, String), String> {
        match self.names.as_slice() {
            [_, _, more @ ..] if !more.is_empty() => {
                Err(format!("expected at most two arguments, unexpected arguments: {}", more.join(", ")))
            }
            [_, _] if self.generate_name => Err("cannot set --generate-name and also specify a name".to_string()),
            [_, _] if !self.name_template.is_empty() => {
                Err("cannot set --name-template and also specify a name".to_string())
            }
            [name, chart] => Ok((name.clone(), chart.clone())),
            [chart] if !self.name_template.is_empty() => Ok((release_name(&self.name_template)?, chart.clone())),
            names => Ok((DEFAULT_NAME.to_string(), names.concat())),
        }
    }

    /// Formats an error: Helm's text, followed by Switchboard's position in the chart and hint.
    fn error_text(&self, error: &ChartRenderError) -> String {
        if let (ChartRenderError::Manifest { files, .. }, true) = (error, self.debug) {
            let parts = files.iter().filter(|(_, text)| !text.trim().is_empty());
            let all: String = parts.map(|(name, text)| output::part(name, text)).collect();
            let message = error.to_string();
            return files::print(&format!("{}\n", all.trim())).err().unwrap_or(message);
        }
        let mut message = error.to_string();
        if matches!(error, ChartRenderError::Name(_) | ChartRenderError::Dependencies(_))
            && let Some((what, why)) = message.split_once(": ")
        {
            print_stderr(format!("level=ERROR msg={what:?} error={why:?}"));
        }
        if error.follows_release_start() && !self.debug {
            message.push_str("\n\nUse --debug flag to render out invalid YAML");
        }
        if let Some(place) = error.position() {
            message.push_str(&format!("\n{place}"));
        }
        message
    }

    fn output_options(&self) -> OutputOptions {
        OutputOptions {
            crds: self.include_crds,
            no_hooks: self.no_hooks,
            skip_tests: self.skip_tests,
            show_only: self.show_only.clone(),
        }
    }

    fn write(&self, rendered: &RenderedChart, release: &str) -> Result<(), String> {
        let write_options = self.output_options();
        let Some(folder) = &self.output_dir else {
            let text =
                output::text(rendered, &write_options).map_err(|error| error.to_string()).or_hint(hint::SHOWN)?;
            return files::print(&text);
        };
        let inner = if self.release_name { folder.join(release) } else { folder.clone() };
        files::write_all(rendered, &write_options, folder, &inner)
    }
}

/// Prints a log line in Helm's format.
fn warn(line: &str) {
    match line.starts_with("level=") {
        true => print_stderr(line),
        false => print_stderr(format!("level=INFO msg={line:?}")),
    }
}

/// Renders the template of the release name with sprig's functions only.
fn release_name(template: &str) -> Result<String, String> {
    let mut set = TemplateSet::new("name-template", Arc::new(SprigVersion::V3.functions()));
    set.parse("name-template", template).map_err(|error| error.to_string())?;
    let ambient = ambient(false)?;
    let options = ExecutionOptions { hosts: &[&ambient], ..ExecutionOptions::default() };
    let rendered_name =
        Arc::new(set).render("name-template", &Value::Nil, &options).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&rendered_name).into_owned())
}

/// Resolver of this machine.
struct SystemResolver;

impl Resolver for SystemResolver {
    fn addresses(&self, host: &str) -> Vec<String> {
        let mut addresses = Vec::new();
        for found in (host, 0).to_socket_addrs().into_iter().flatten() {
            let address = found.ip().to_string();
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        addresses
    }
}

/// Returns the clock and randomness of this machine for charts, and optionally its resolver.
fn ambient(names: bool) -> Result<SystemInputs, String> {
    let mut seed = [0; SEED_BYTES];
    let random = ring::rand::SystemRandom::new();
    ring::rand::SecureRandom::fill(&random, &mut seed)
        .map_err(|_| "could not read randomness from the system".to_string())?;
    let resolver: Option<Arc<dyn Resolver>> = if names { Some(Arc::new(SystemResolver)) } else { None };
    Ok(SystemInputs {
        now: Some(jiff::Timestamp::now()),
        zone: Some(jiff::tz::TimeZone::system()),
        entropy: Some(Arc::new(SeededEntropy::new(&seed))),
        resolver,
        ..SystemInputs::default()
    })
}
