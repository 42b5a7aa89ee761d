//! `switchboard template`: what `helm template` prints, without Helm.

mod build;
mod cluster;
mod files;
mod flags;
mod hint;
mod model;

use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use switchboard_chart::capabilities::KubeVersion;
use switchboard_chart::chart::{Chart, InstallError};
use switchboard_chart::folder::Links;
use switchboard_chart::output::{self, Wanted};
use switchboard_chart::release::Release;
use switchboard_chart::render::{Compiled, RenderError, Rendered, Request};
use switchboard_chart::talk::Talk;
use switchboard_template::sprig::{Ambient, Resolver, Seeded, Sprig};
use switchboard_template::{Options, Set, Value};

use self::hint::OrHint as _;
use crate::failure::Failure;
use crate::talk::say;

/// The name of a release that was given none.
const DEFAULT_NAME: &str = "release-name";
/// The namespace of a release that was given none.
const DEFAULT_NAMESPACE: &str = "default";
/// Bytes of chance for a rendering.
const SEED_BYTES: usize = 32;

/// Labels of a release that are Helm's own.
const SYSTEM_LABELS: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];

/// Renders a chart and prints what `helm template` prints.
#[derive(Args)]
#[command(args_override_self = true, mut_args = flags::as_go_reads)]
pub struct Template {
    /// The release's name and the chart, a folder or an archive; or the chart alone
    #[arg(value_name = "[NAME] CHART", required = true, num_args = 1..)]
    names: Vec<String>,
    /// The namespace the release goes to; else the kubeconfig says it, else it is `default`
    #[arg(short, long, env = "HELM_NAMESPACE")]
    namespace: Option<String>,
    /// Only what these templates render; may be given several times
    #[arg(short, long, value_name = "TEMPLATE")]
    show_only: Vec<String>,
    /// Print the chart's CRDs as well
    #[arg(long)]
    include_crds: bool,
    /// Say nothing of the chart's CRDs
    #[arg(long, hide = true)]
    skip_crds: bool,
    /// Print no hooks
    #[arg(long)]
    no_hooks: bool,
    /// Print no tests
    #[arg(long)]
    skip_tests: bool,
    /// Render as an upgrade: `.Release.IsUpgrade`
    #[arg(long)]
    is_upgrade: bool,
    /// Take a name of Helm's own choice, which is `release-name`
    #[arg(short, long)]
    generate_name: bool,
    /// A template that makes the release's name
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    name_template: String,
    /// Labels of the release, which no template sees
    #[arg(short, long, value_name = "KEY=VALUE,...", value_parser = flags::pairs)]
    labels: Vec<flags::List>,
    /// The release of Kubernetes: `.Capabilities.KubeVersion`
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    kube_version: String,
    /// API versions the cluster has besides those it always has
    #[arg(short, long, value_name = "VERSIONS", value_parser = flags::csv)]
    api_versions: Vec<flags::List>,
    /// Write a file for each template into this folder instead
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Put the release's name between that folder and the files
    #[arg(long)]
    release_name: bool,
    /// Ask a cluster: what it is, what it holds (`lookup`), whether it has all kinds, and whose objects are there already
    #[arg(long, conflicts_with = "dry_run")]
    validate: bool,
    /// `client`, or `server`, which is the same as --validate
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_value = "client", default_missing_value = "unset")]
    dry_run: String,
    /// With --validate: judge no fields
    #[arg(long)]
    disable_openapi_validation: bool,
    /// With --validate: objects that are there may be of another release
    #[arg(long)]
    take_ownership: bool,
    /// Let templates ask for addresses of names: `getHostByName`
    #[arg(long)]
    enable_dns: bool,
    /// Follow symbolic links that lead out of the chart, as Helm does
    #[arg(long)]
    follow_links: bool,
    /// Print what was rendered even if it is not YAML, and say more
    #[arg(long)]
    debug: bool,
    #[command(flatten)]
    values: flags::Values,
    #[command(flatten)]
    access: flags::Access,
    #[command(flatten)]
    fetching: flags::Fetching,
    #[command(flatten)]
    ignored: flags::Ignored,
}

impl Template {
    /// Renders and prints. What goes wrong is said in Helm's words, with its exit code.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        match self.printed().await {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(told) => {
                say(format!("Error: {told}"));
                Ok(ExitCode::FAILURE)
            }
        }
    }

    async fn printed(mut self) -> Result<(), String> {
        self.debug |= std::env::var("HELM_DEBUG").is_ok_and(|text| flags::boolean(&text) == Ok(true));
        self.ignored.warnings().iter().for_each(say);
        let namespace = self.namespace.clone().filter(|name| !name.is_empty());
        let namespace = namespace.or_else(|| cluster::namespace(&self.access));
        let mut request =
            Request::new(Release::new(DEFAULT_NAME, namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_string())));
        if !self.kube_version.is_empty() {
            let (version, failed) =
                (&self.kube_version, |error| format!("invalid kube version '{}': {error}", self.kube_version));
            request.capabilities.kube_version = KubeVersion::read(version).map_err(failed).or_hint(hint::VERSION)?;
        }
        let server = self.asks_server().or_hint(hint::DRY_RUN)?;
        let (name, path) = self.name_and_chart().or_hint(hint::ARGUMENTS)?;
        request.release.name = name;
        request.release.is_upgrade = self.is_upgrade;
        request.capabilities.api_versions.extend(self.api_versions.iter().flat_map(|list| list.0.clone()));
        request.skip_schema = self.values.skip_schema_validation;
        request.ambient = ambient(self.enable_dns).or_hint(hint::CLOCK)?;
        let path = self.fetching.located(&path, self.debug).or_hint(hint::CHART)?;
        let given = self.values.given().values(&files::read).map_err(|error| error.to_string());
        request.values = given.or_hint(hint::VALUES)?;
        let chart = self.loaded(&path).or_hint(hint::CHART)?;
        let asked = match server {
            true => Some(cluster::Asked::connect(&self.access).await.or_hint(hint::CLUSTER)?),
            false => None,
        };
        if let Some(cluster) = &asked {
            request.capabilities = cluster.capabilities.clone();
            request.view = Some(Arc::new(cluster.view()));
        }
        let release = request.release.clone();
        let rendering = tokio::task::spawn_blocking(move || {
            let mut talk = Talk::default();
            (Compiled::new(chart).render_aloud(&request, &mut talk), talk)
        });
        let (rendered, talk) = rendering.await.map_err(|error| error.to_string()).or_hint(hint::RENDERED)?;
        talk.into_lines().iter().for_each(|line| warn(line));
        let rendered = rendered.map_err(|error| hint::added(self.told(&error), hint::of(&error)))?;
        self.check_labels().or_hint(hint::LABELS)?;
        if let Some(cluster) = &asked {
            self.validated(cluster, &rendered, &release).await.or_hint(hint::VALIDATED)?;
        }
        self.write(&rendered, &release.name).or_hint(hint::WRITTEN)
    }

    /// Whether a cluster is asked.
    fn asks_server(&self) -> Result<bool, String> {
        let invalid = |text: &str| Err(format!("invalid dry-run value ({:?}). Must be {text}", self.dry_run));
        match self.dry_run.as_str() {
            _ if self.validate => return Ok(true),
            "client" => {}
            "server" => return Ok(true),
            "unset" => say("level=WARN msg=\"--dry-run is deprecated and should be replaced with '--dry-run=client'\""),
            "none" => return invalid("\"server\" or \"client\""),
            other => match flags::boolean(other) {
                Ok(true) => say(format!(
                    "level=WARN msg=\"boolean '--dry-run={other}' flag is deprecated and must be replaced with '--dry-run=client'\""
                )),
                Ok(false) => return invalid("\"server\" or \"client\""),
                Err(_) => return invalid("\"none\", \"server\", or \"client\""),
            },
        }
        Ok(false)
    }

    fn loaded(&self, path: &str) -> Result<Arc<Chart>, String> {
        let links = if self.follow_links { Links::Anywhere } else { Links::Inside };
        let chart = Chart::load(Path::new(path), links).map_err(|error| error.to_string())?;
        chart.warnings.iter().for_each(|line| warn(line));
        let installable = chart.check_installable();
        if chart.metadata.deprecated && !matches!(installable, Err(InstallError::Kind(_))) {
            say("level=WARN msg=\"this chart is deprecated\"");
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

    /// Asks the cluster what Helm asks it.
    async fn validated(&self, asked: &cluster::Asked, rendered: &Rendered, release: &Release) -> Result<(), String> {
        if !self.skip_crds && !rendered.crds.is_empty() {
            say(
                "level=WARN msg=\"This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies.\"",
            );
        }
        // What goes into files is no part of the release any more.
        let documents = match self.output_dir {
            Some(_) => Vec::new(),
            None => build::documents(rendered, &self.wanted())?,
        };
        let look = build::Look {
            release: &release.name,
            namespace: &release.namespace,
            validate: !self.disable_openapi_validation,
            upgrade: self.is_upgrade,
            take_ownership: self.take_ownership,
        };
        build::look(asked, documents, &look).await
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
            [chart] if !self.name_template.is_empty() => Ok((named(&self.name_template)?, chart.clone())),
            names => Ok((DEFAULT_NAME.to_string(), names.concat())),
        }
    }

    /// Helm's words; where in the chart it happened, and what may help, are ours.
    fn told(&self, error: &RenderError) -> String {
        if let (RenderError::Manifest { files, .. }, true) = (error, self.debug) {
            let parts = files.iter().filter(|(_, text)| !text.trim().is_empty());
            let all: String = parts.map(|(name, text)| output::part(name, text)).collect();
            let told = error.to_string();
            return files::print(&format!("{}\n", all.trim())).err().unwrap_or(told);
        }
        let mut told = error.to_string();
        if matches!(error, RenderError::Name(_) | RenderError::Dependencies(_))
            && let Some((what, why)) = told.split_once(": ")
        {
            say(format!("level=ERROR msg={what:?} error={why:?}"));
        }
        if error.is_of_release() && !self.debug {
            told.push_str("\n\nUse --debug flag to render out invalid YAML");
        }
        if let Some(place) = error.place() {
            told.push_str(&format!("\n{place}"));
        }
        told
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            crds: self.include_crds,
            no_hooks: self.no_hooks,
            skip_tests: self.skip_tests,
            show_only: self.show_only.clone(),
        }
    }

    fn write(&self, rendered: &Rendered, release: &str) -> Result<(), String> {
        let wanted = self.wanted();
        let Some(folder) = &self.output_dir else {
            let text = output::text(rendered, &wanted).map_err(|error| error.to_string()).or_hint(hint::SHOWN)?;
            return files::print(&text);
        };
        let inner = if self.release_name { folder.join(release) } else { folder.clone() };
        files::write_all(rendered, &wanted, folder, &inner)
    }
}

/// Says what Helm logs.
fn warn(line: &str) {
    match line.starts_with("level=") {
        true => say(line),
        false => say(format!("level=INFO msg={line:?}")),
    }
}

/// The name a template makes of nothing but sprig's functions.
fn named(template: &str) -> Result<String, String> {
    let mut set = Set::new("name-template", Arc::new(Sprig::V3.functions()));
    set.parse("name-template", template).map_err(|error| error.to_string())?;
    let ambient = ambient(false)?;
    let options = Options { hosts: &[&ambient], ..Options::default() };
    let made = Arc::new(set).render("name-template", &Value::Nil, &options).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&made).into_owned())
}

/// The names this machine can find.
struct Names;

impl Resolver for Names {
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

/// The clock and the chance of this machine, which charts may ask for, and its names where they may.
fn ambient(names: bool) -> Result<Ambient, String> {
    let mut seed = [0; SEED_BYTES];
    let random = ring::rand::SystemRandom::new();
    ring::rand::SecureRandom::fill(&random, &mut seed).map_err(|_| "this machine gives no randomness".to_string())?;
    let resolver: Option<Arc<dyn Resolver>> = if names { Some(Arc::new(Names)) } else { None };
    Ok(Ambient {
        now: Some(jiff::Timestamp::now()),
        zone: Some(jiff::tz::TimeZone::system()),
        entropy: Some(Arc::new(Seeded::new(&seed))),
        resolver,
        ..Ambient::default()
    })
}
