//! The flags of `helm template`, all of them, read as Helm reads them: `--flag=false`, the last one counts, a list is CSV.

mod go;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Args};
use switchboard_chart::given::Given;

use crate::talk::say;

pub use go::{boolean, csv, pairs};

/// Reads a switch as Go does: with a value or without.
pub fn as_go_reads(arg: Arg) -> Arg {
    match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => {
            let unset = if matches!(arg.get_action(), ArgAction::SetTrue) { "false" } else { "true" };
            let arg = arg.action(ArgAction::Set).num_args(0..=1).require_equals(true).value_name("BOOL");
            arg.default_missing_value("true").default_value(unset).hide_default_value(true).value_parser(go::boolean)
        }
        // What follows is the value, even if it begins with a hyphen.
        _ if !arg.is_positional() && !arg.is_require_equals_set() => arg.allow_hyphen_values(true),
        _ => arg,
    }
}

/// What the chart's values come from.
#[derive(Args)]
#[command(next_help_heading = "Values")]
pub struct Values {
    /// Files of values, or `-` for standard input; later ones lie over earlier
    #[arg(short = 'f', long = "values", value_name = "FILES", value_parser = csv)]
    files: Vec<List>,
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
    /// Do not judge the values by the chart's schema
    #[arg(long)]
    pub skip_schema_validation: bool,
}

/// One flag of several texts.
pub type List = go::List;

impl Values {
    /// What is asked for, for the library.
    pub fn given(&self) -> Given {
        let Self { files, typed, text, json, from_files, literal, .. } = self;
        Given {
            files: files.iter().flat_map(|list| list.0.clone()).collect(),
            typed: typed.clone(),
            text: text.clone(),
            json: json.clone(),
            from_files: from_files.clone(),
            literal: literal.clone(),
        }
    }
}

/// The cluster that is asked, and as whom.
#[derive(Args, Clone)]
#[command(next_help_heading = "Cluster")]
pub struct Access {
    /// The kubeconfig; else KUBECONFIG or ~/.kube/config says it
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of it; else its current one
    #[arg(long, value_name = "NAME", env = "HELM_KUBECONTEXT")]
    pub kube_context: Option<String>,
    /// Who to ask as
    #[arg(long, value_name = "USER", env = "HELM_KUBEASUSER")]
    pub kube_as_user: Option<String>,
    /// A group to ask as a member of; may be repeated
    #[arg(long, value_name = "GROUP", env = "HELM_KUBEASGROUPS", value_delimiter = ',')]
    pub kube_as_group: Vec<String>,
    /// A bearer token
    #[arg(long, value_name = "TOKEN", env = "HELM_KUBETOKEN", hide_env_values = true)]
    pub kube_token: Option<String>,
    /// The API server's address
    #[arg(long, value_name = "URL", env = "HELM_KUBEAPISERVER")]
    pub kube_apiserver: Option<String>,
    /// The authority that signed its certificate
    #[arg(long, value_name = "FILE", env = "HELM_KUBECAFILE")]
    pub kube_ca_file: Option<PathBuf>,
    /// The name its certificate is for
    #[arg(long, value_name = "NAME", env = "HELM_KUBETLS_SERVER_NAME")]
    pub kube_tls_server_name: Option<String>,
    /// Do not look at its certificate
    #[arg(long)]
    pub kube_insecure_skip_tls_verify: bool,
}

/// Where charts come from that are not on this machine: they are not fetched, and what asks for it is refused.
#[derive(Args)]
#[command(next_help_heading = "What Helm would fetch or start")]
pub struct Fetching {
    /// A repository to fetch the chart from: refused, nothing is fetched
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
    pub repo: String,
    /// Which version to fetch; a chart that is here is taken as it is
    #[arg(long, value_name = "RANGE", default_value = "", hide_default_value = true)]
    pub version: String,
    /// Fetch development versions too
    #[arg(long, hide = true)]
    pub devel: bool,
    /// Fetch dependencies that are missing: refused where one is
    #[arg(long)]
    pub dependency_update: bool,
    /// Verify the chart's signature: refused
    #[arg(long)]
    pub verify: bool,
    /// Run a plugin over what was rendered: refused, nothing is started
    #[arg(long, value_name = "PLUGIN", default_value = "", hide_default_value = true)]
    pub post_renderer: String,
}

impl Fetching {
    /// The chart's path, if it is on this machine and may be taken as it is.
    ///
    /// # Errors
    /// In Helm's words, when something would have to be fetched, verified or started.
    pub fn located(&self, path: &str, debug: bool) -> Result<String, String> {
        if debug {
            say(format!("level=DEBUG msg=\"Original chart version\" version={:?}", self.version));
            if self.version.is_empty() && self.devel {
                say("level=DEBUG msg=\"setting version to >0.0.0-0\"");
            }
        }
        if !self.post_renderer.is_empty() {
            let plugin = &self.post_renderer;
            return Err(format!(
                "invalid argument {plugin:?} for \"--post-renderer\" flag: plugin: {{Name:{plugin} Type:postrenderer/v1}} not found\nhint: nothing is started; give what is printed to the post-renderer: switchboard template ... | {plugin}"
            ));
        }
        let path = path.trim();
        if !self.repo.is_empty() {
            return Err(format!(
                "looks like {:?} is not a valid chart repository or cannot be reached\n{NOT_FETCHED}",
                self.repo
            ));
        }
        check_local(path)?;
        let whole = std::path::absolute(path).map_err(|error| error.to_string())?;
        let whole = PathBuf::from(switchboard_chart::archive::clean(&whole.to_string_lossy()));
        if self.verify {
            verified(&whole)?;
        }
        if debug {
            say(format!("level=DEBUG msg=\"Chart path\" path={}", whole.display()));
        }
        Ok(whole.to_string_lossy().into_owned())
    }
}

/// Charts come from this machine; the words are Helm's when it does not know a repository.
fn check_local(path: &str) -> Result<(), String> {
    if Path::new(path).exists() {
        return Ok(());
    }
    if path.starts_with('.') || path.starts_with('/') {
        return Err(format!("path {path:?} not found"));
    }
    let words = match path.split_once('/') {
        Some((repository, _)) if !path.contains("://") => format!("repo {repository} not found"),
        Some(_) => format!("could not fetch {path}"),
        None => format!("non-absolute URLs should be in form of repo_name/path_to_chart, got: {path}"),
    };
    Err(format!("{words}\n{NOT_FETCHED}"))
}

/// No signature is ever found good here: what could be one is refused.
fn verified(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err("unpacked charts cannot be verified".to_string());
    }
    if !path.extension().is_some_and(|end| end.eq_ignore_ascii_case("tgz")) {
        return Err("chart must be a tgz file".to_string());
    }
    let signature = format!("{}.prov", path.display());
    if !Path::new(&signature).exists() {
        return Err(format!("could not load provenance file {signature}: stat {signature}: no such file or directory"));
    }
    Err(format!("could not verify {}\nhint: signatures are not looked at here; `helm verify` does", path.display()))
}

/// Flags of an installation that change nothing of what is rendered, and are read all the same.
#[derive(Args)]
#[command(next_help_heading = "Without effect here")]
pub struct Ignored {
    #[arg(long, hide = true)]
    create_namespace: bool,
    #[arg(long, hide = true)]
    pub force: bool,
    #[arg(long, hide = true, conflicts_with = "force_conflicts")]
    force_replace: bool,
    #[arg(long, hide = true, conflicts_with = "force")]
    force_conflicts: bool,
    #[arg(long, hide = true, action = ArgAction::SetFalse)]
    server_side: bool,
    #[arg(long, hide = true)]
    replace: bool,
    #[arg(long, hide = true, value_parser = go::duration)]
    timeout: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "watcher", value_parser = go::wait)]
    pub wait: Option<String>,
    #[arg(long, hide = true)]
    wait_for_jobs: bool,
    #[arg(long, hide = true)]
    rollback_on_failure: bool,
    #[arg(long, hide = true)]
    pub atomic: bool,
    #[arg(long, hide = true)]
    description: Option<String>,
    #[arg(long, hide = true)]
    pub hide_notes: bool,
    #[arg(long, hide = true)]
    pub render_subchart_notes: bool,
    #[arg(long, hide = true)]
    post_renderer_args: Vec<String>,
    #[arg(long, hide = true)]
    keyring: Option<String>,
    #[arg(long, hide = true)]
    username: Option<String>,
    #[arg(long, hide = true)]
    password: Option<String>,
    #[arg(long, hide = true)]
    cert_file: Option<String>,
    #[arg(long, hide = true)]
    key_file: Option<String>,
    #[arg(long, hide = true)]
    ca_file: Option<String>,
    #[arg(long, hide = true)]
    insecure_skip_tls_verify: bool,
    #[arg(long, hide = true)]
    plain_http: bool,
    #[arg(long, hide = true)]
    pass_credentials: bool,
    #[arg(long, hide = true)]
    burst_limit: Option<i64>,
    #[arg(long, hide = true)]
    qps: Option<f32>,
    #[arg(long, hide = true, alias = "colour", value_parser = ["never", "auto", "always"])]
    color: Option<String>,
    #[arg(long, hide = true)]
    content_cache: Option<String>,
    #[arg(long, hide = true)]
    registry_config: Option<String>,
    #[arg(long, hide = true)]
    repository_cache: Option<String>,
    #[arg(long, hide = true)]
    repository_config: Option<String>,
}

/// Said wherever Helm would fetch something.
const NOT_FETCHED: &str = "hint: charts are not fetched; give a folder or an archive (`helm pull` fetches one)";
/// What Helm says of flags it will not have for long.
const NO_EFFECT: &str = "this flag has no effect for 'helm template' and will be removed in Helm 5";

impl Ignored {
    /// What Helm says of what was given.
    pub fn warnings(&self) -> Vec<String> {
        let deprecated = [
            (self.force, "force", "use --force-replace instead"),
            (self.atomic, "atomic", "use --rollback-on-failure instead"),
            (self.hide_notes, "hide-notes", NO_EFFECT),
            (self.render_subchart_notes, "render-subchart-notes", NO_EFFECT),
        ];
        let given = deprecated.iter().filter(|(given, ..)| *given);
        let mut lines: Vec<String> =
            given.map(|(_, flag, why)| format!("Flag --{flag} has been deprecated, {why}")).collect();
        if let Some((given, instead)) = go::old_wait(self.wait.as_deref()) {
            lines.push(format!(
                "level=WARN msg=\"--wait={given} is deprecated (boolean value) and can be replaced with --wait={instead}\""
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests;
