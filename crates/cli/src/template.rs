//! `switchboard template`: what `helm template` prints, without Helm.

mod cluster;
mod files;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use switchboard_chart::capabilities::KubeVersion;
use switchboard_chart::chart::Chart;
use switchboard_chart::folder::Links;
use switchboard_chart::given::Given;
use switchboard_chart::output::{self, Wanted};
use switchboard_chart::release::Release;
use switchboard_chart::render::{Compiled, RenderError, Rendered, Request};
use switchboard_template::sprig::{Ambient, Seeded, Sprig};
use switchboard_template::{Options, Set, Value};

use crate::failure::Failure;
use crate::talk::say;

/// The name of a release that was given none.
const DEFAULT_NAME: &str = "release-name";
/// Bytes of chance for a rendering.
const SEED_BYTES: usize = 32;

/// Renders a chart and prints what `helm template` prints.
#[derive(Args)]
pub struct Template {
    /// The release's name and the chart, a folder or an archive; or the chart alone
    #[arg(value_name = "[NAME] CHART", required = true, num_args = 1..=2)]
    names: Vec<String>,
    #[command(flatten)]
    values: Values,
    /// The namespace the release goes to
    #[arg(short, long, env = "HELM_NAMESPACE", default_value = "default")]
    namespace: String,
    /// Only what these templates render; may be given several times
    #[arg(short, long, value_name = "TEMPLATE")]
    show_only: Vec<String>,
    /// Print the chart's CRDs as well
    #[arg(long)]
    include_crds: bool,
    /// Leave the chart's CRDs alone (which is what happens anyway)
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
    /// A template that makes the release's name
    #[arg(long, value_name = "TEXT")]
    name_template: Option<String>,
    /// The release of Kubernetes: `.Capabilities.KubeVersion`
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    /// API versions the cluster has besides those it always has
    #[arg(short, long, value_name = "VERSIONS", value_delimiter = ',')]
    api_versions: Vec<String>,
    /// Write a file for each template into this folder instead
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Put the release's name between that folder and the files
    #[arg(long)]
    release_name: bool,
    /// Do not judge the values by the chart's schema
    #[arg(long)]
    skip_schema_validation: bool,
    /// Ask a cluster: what it is, what it holds (`lookup`), and whether it would take the objects
    #[arg(long)]
    validate: bool,
    /// `server` is the same as --validate
    #[arg(long, value_name = "WHERE", default_value = "client", value_parser = ["client", "server"], conflicts_with = "validate")]
    dry_run: String,
    /// The cluster to ask; else KUBECONFIG or ~/.kube/config says it
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Follow symbolic links that lead out of the chart, as Helm does
    #[arg(long)]
    follow_links: bool,
    /// Print what was rendered even if it is not YAML
    #[arg(long)]
    debug: bool,
}

#[derive(Args)]
struct Values {
    /// A file of values, or `-` for standard input; later ones lie over earlier
    #[arg(short = 'f', long = "values", value_name = "FILE", value_delimiter = ',')]
    files: Vec<String>,
    /// Values as key=value, over those of files
    #[arg(long = "set", value_name = "KEY=VALUE")]
    typed: Vec<String>,
    /// Values that are text whatever they look like
    #[arg(long = "set-string", value_name = "KEY=VALUE")]
    text: Vec<String>,
    /// Values as JSON
    #[arg(long = "set-json", value_name = "KEY=JSON")]
    json: Vec<String>,
    /// Values that are the text of files
    #[arg(long = "set-file", value_name = "KEY=FILE")]
    from_files: Vec<String>,
    /// Values that are taken as they stand
    #[arg(long = "set-literal", value_name = "KEY=TEXT")]
    literal: Vec<String>,
}

impl Template {
    /// Renders and prints. What goes wrong is said in Helm's words, with its exit code.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        match self.printed().await {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(told) => {
                say(format!("Error: {told}"));
                if !told.contains("hint: ") {
                    say("hint: is it the right chart, and are its values right? `--debug` prints what was rendered");
                }
                Ok(ExitCode::FAILURE)
            }
        }
    }

    async fn printed(self) -> Result<(), String> {
        let mut request = Request::new(Release::new(DEFAULT_NAME, &self.namespace));
        if let Some(version) = &self.kube_version {
            let read = KubeVersion::read(version);
            request.capabilities.kube_version =
                read.map_err(|error| format!("invalid kube version '{version}': {error}"))?;
        }
        let (name, path) = self.name_and_chart()?;
        request.release.name = name;
        request.release.is_upgrade = self.is_upgrade;
        request.capabilities.api_versions.extend(self.api_versions.iter().cloned());
        request.skip_schema = self.skip_schema_validation;
        request.ambient = ambient()?;
        files::check_local(&path)?;
        request.values = self.given().values(&files::read).map_err(|error| error.to_string())?;
        let links = if self.follow_links { Links::Anywhere } else { Links::Inside };
        let chart = Chart::load(Path::new(&path), links).map_err(|error| error.to_string())?;
        chart.warnings.iter().for_each(|line| warn(line));
        chart.check_installable().map_err(|error| error.to_string())?;
        if chart.metadata.deprecated {
            say("level=WARN msg=\"this chart is deprecated\"");
        }
        let asked = match self.validate || self.dry_run == "server" {
            true => Some(cluster::Asked::connect(self.kubeconfig.as_deref(), &self.namespace).await?),
            false => None,
        };
        if let Some(cluster) = &asked {
            request.capabilities = cluster.capabilities.clone();
            request.view = Some(Arc::new(cluster.view()));
        }
        let release = request.release.name.clone();
        let rendering = tokio::task::spawn_blocking(move || Compiled::new(chart).render(&request));
        let rendered = rendering.await.map_err(|error| error.to_string())?;
        let rendered = rendered.map_err(|error| self.told(error))?;
        rendered.warnings.iter().for_each(|line| warn(line));
        if let Some(cluster) = &asked {
            cluster.check(&rendered).await?;
        }
        self.write(&rendered, &release)
    }

    fn given(&self) -> Given {
        let Values { files, typed, text, json, from_files, literal } = &self.values;
        Given {
            files: files.clone(),
            typed: typed.clone(),
            text: text.clone(),
            json: json.clone(),
            from_files: from_files.clone(),
            literal: literal.clone(),
        }
    }

    fn name_and_chart(&self) -> Result<(String, String), String> {
        match (self.names.as_slice(), &self.name_template) {
            ([_, _], Some(_)) => Err("cannot set --name-template and also specify a name".to_string()),
            ([name, chart], None) => Ok((name.clone(), chart.clone())),
            ([chart], Some(template)) => Ok((named(template)?, chart.clone())),
            (names, _) => Ok((DEFAULT_NAME.to_string(), names.concat())),
        }
    }

    /// Helm's words; where in the chart it happened, and what may help, are ours.
    fn told(&self, error: RenderError) -> String {
        if let (RenderError::Manifest { files, .. }, true) = (&error, self.debug) {
            let parts = files.iter().filter(|(_, text)| !text.trim().is_empty());
            let all: String = parts.map(|(name, text)| output::part(name, text)).collect();
            let told = error.to_string();
            return files::print(&format!("{}\n", all.trim())).err().unwrap_or(told);
        }
        let mut told = error.to_string();
        if error.is_of_release() && !self.debug {
            told.push_str("\n\nUse --debug flag to render out invalid YAML");
        }
        if let Some(place) = error.place() {
            told.push_str(&format!("\n{place}"));
        }
        told
    }

    fn write(&self, rendered: &Rendered, release: &str) -> Result<(), String> {
        let wanted = Wanted {
            crds: self.include_crds,
            no_hooks: self.no_hooks,
            skip_tests: self.skip_tests,
            show_only: self.show_only.clone(),
        };
        let Some(folder) = &self.output_dir else {
            let text = output::text(rendered, &wanted).map_err(|error| error.to_string())?;
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
    let ambient = ambient()?;
    let options = Options { hosts: &[&ambient], ..Options::default() };
    let made = Arc::new(set).render("name-template", &Value::Nil, &options).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&made).into_owned())
}

/// The clock and the chance of this machine, which charts may ask for.
fn ambient() -> Result<Ambient, String> {
    let mut seed = [0; SEED_BYTES];
    let random = ring::rand::SystemRandom::new();
    ring::rand::SecureRandom::fill(&random, &mut seed).map_err(|_| "this machine gives no randomness".to_string())?;
    Ok(Ambient {
        now: Some(jiff::Timestamp::now()),
        zone: Some(jiff::tz::TimeZone::system()),
        entropy: Some(Arc::new(Seeded::new(&seed))),
        ..Ambient::default()
    })
}
