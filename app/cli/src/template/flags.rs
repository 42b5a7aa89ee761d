//! All flags of `helm template`, parsed like Helm: `--flag=false`, the last occurrence wins, lists are CSV.

mod go;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Args};
use switchboard_chart::value_options::ValueOptions;
use switchboard_object::quote::quote;
use switchboard_runtime::stderr::print_stderr;

pub use go::{FlagList, boolean, csv, pairs};

/// Makes a boolean flag accept an optional value, as in Go.
pub fn as_go_reads(arg: Arg) -> Arg {
    match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => {
            let unset = if matches!(arg.get_action(), ArgAction::SetTrue) { "false" } else { "true" };
            let arg = arg.action(ArgAction::Set).num_args(0..=1).require_equals(true).value_name("BOOL");
            arg.default_missing_value("true").default_value(unset).hide_default_value(true).value_parser(go::boolean)
        }
        // The next argument is the value, even if it starts with a hyphen.
        _ if !arg.is_positional() && !arg.is_require_equals_set() => arg.allow_hyphen_values(true),
        _ => arg,
    }
}

/// Flags for the chart's values.
#[derive(Args)]
#[command(next_help_heading = "Values")]
pub struct ValuesArgs {
    /// Values files; `-` is stdin; later files override earlier ones
    #[arg(short = 'f', long = "values", value_name = "FILES", value_parser = csv)]
    files: Vec<FlagList>,
    /// Values that override those of files
    #[arg(long = "set", value_name = "KEY=VALUE")]
    typed: Vec<String>,
    /// Values that are always strings
    #[arg(long = "set-string", value_name = "KEY=VALUE")]
    text: Vec<String>,
    /// Values as JSON
    #[arg(long = "set-json", value_name = "KEY=JSON")]
    json: Vec<String>,
    /// Values with the text of files
    #[arg(long = "set-file", value_name = "KEY=FILE")]
    from_files: Vec<String>,
    /// Values without any parsing
    #[arg(long = "set-literal", value_name = "KEY=TEXT")]
    literal: Vec<String>,
    /// Skip the validation by the chart's schema
    #[arg(long)]
    pub skip_schema_validation: bool,
}

impl ValuesArgs {
    /// Returns the options for the library.
    pub fn options(&self) -> ValueOptions {
        let Self { files, typed, text, json, from_files, literal, .. } = self;
        ValueOptions {
            files: files.iter().flat_map(|list| list.0.clone()).collect(),
            typed: typed.clone(),
            text: text.clone(),
            json: json.clone(),
            from_files: from_files.clone(),
            literal: literal.clone(),
        }
    }
}

/// Flags for access to the cluster.
#[derive(Args, Clone)]
#[command(next_help_heading = "Cluster")]
pub struct ClusterAccessArgs {
    /// Kubeconfig file [default: KUBECONFIG or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current context]
    #[arg(long, value_name = "NAME", env = "HELM_KUBECONTEXT")]
    pub kube_context: Option<String>,
    /// User to impersonate
    #[arg(long, value_name = "USER", env = "HELM_KUBEASUSER")]
    pub kube_as_user: Option<String>,
    /// Group to impersonate; may be repeated
    #[arg(long, value_name = "GROUP", env = "HELM_KUBEASGROUPS", value_delimiter = ',')]
    pub kube_as_group: Vec<String>,
    /// Bearer token
    #[arg(long, value_name = "TOKEN", env = "HELM_KUBETOKEN", hide_env_values = true)]
    pub kube_token: Option<String>,
    /// URL of the API server
    #[arg(long, value_name = "URL", env = "HELM_KUBEAPISERVER")]
    pub kube_apiserver: Option<String>,
    /// CA certificate of the API server
    #[arg(long, value_name = "FILE", env = "HELM_KUBECAFILE")]
    pub kube_ca_file: Option<PathBuf>,
    /// Server name for the verification of the certificate
    #[arg(long, value_name = "NAME", env = "HELM_KUBETLS_SERVER_NAME")]
    pub kube_tls_server_name: Option<String>,
    /// Skip verification of the API server's certificate
    #[arg(long)]
    pub kube_insecure_skip_tls_verify: bool,
}

/// Flags for remote charts, which are not fetched: a request to fetch is an error.
#[derive(Args)]
#[command(next_help_heading = "Unsupported: fetching and plugins")]
pub struct FetchArgs {
    /// Chart repository: refused, nothing is fetched
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
    pub repo: String,
    /// Version to fetch; a local chart is used as it is
    #[arg(long, value_name = "RANGE", default_value = "", hide_default_value = true)]
    pub version: String,
    /// Fetch development versions as well
    #[arg(long, hide = true)]
    pub devel: bool,
    /// Fetch missing dependencies: refused if one is missing
    #[arg(long)]
    pub dependency_update: bool,
    /// Verify the chart's signature: refused
    #[arg(long)]
    pub verify: bool,
    /// Plugin to run on the output: refused, nothing is started
    #[arg(long, value_name = "PLUGIN", default_value = "", hide_default_value = true)]
    pub post_renderer: String,
}

impl FetchArgs {
    /// Returns the path of a local chart.
    ///
    /// # Errors
    /// Returns Helm's text if something would have to be fetched, verified or started.
    pub fn chart_path(&self, path: &str, debug: bool) -> Result<String, String> {
        if debug {
            print_stderr(format!("level=DEBUG msg=\"Original chart version\" version={}", quote(&self.version)));
            if self.version.is_empty() && self.devel {
                print_stderr("level=DEBUG msg=\"setting version to >0.0.0-0\"");
            }
        }
        if !self.post_renderer.is_empty() {
            let plugin = &self.post_renderer;
            return Err(format!(
                "invalid argument {} for \"--post-renderer\" flag: plugin: {{Name:{plugin} Type:postrenderer/v1}} not found\nhint: plugins are not started; pipe the output to the post-renderer: switchboard template ... | {plugin}",
                quote(plugin)
            ));
        }
        let path = path.trim();
        if !self.repo.is_empty() {
            return Err(format!(
                "looks like {} is not a valid chart repository or cannot be reached\n{NOT_FETCHED}",
                quote(&self.repo)
            ));
        }
        check_local(path)?;
        let whole = std::path::absolute(path).map_err(|error| error.to_string())?;
        let whole = PathBuf::from(switchboard_chart::archive::clean(&whole.to_string_lossy()));
        if self.verify {
            check_signature(&whole)?;
        }
        if debug {
            print_stderr(format!("level=DEBUG msg=\"Chart path\" path={}", whole.display()));
        }
        Ok(whole.to_string_lossy().into_owned())
    }
}

/// Checks that the chart is local. The error has Helm's text for an unknown repository.
fn check_local(path: &str) -> Result<(), String> {
    if Path::new(path).exists() {
        return Ok(());
    }
    if path.starts_with('.') || path.starts_with('/') {
        return Err(format!("path {} not found", quote(path)));
    }
    let words = match path.split_once('/') {
        Some((repository, _)) if !path.contains("://") => format!("repo {repository} not found"),
        Some(_) => format!("could not fetch {path}"),
        None => format!("non-absolute URLs should be in form of repo_name/path_to_chart, got: {path}"),
    };
    Err(format!("{words}\n{NOT_FETCHED}"))
}

/// Refuses to verify a chart: signatures are not checked here.
fn check_signature(path: &Path) -> Result<(), String> {
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
    Err(format!(
        "could not verify {}\nhint: verify the chart with `helm verify`; signatures are not checked here",
        path.display()
    ))
}

/// Flags of `helm install` that do not affect the output.
#[derive(Args)]
#[command(next_help_heading = "Ignored flags")]
pub struct IgnoredArgs {
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

/// Hint for everything that Helm would fetch.
const NOT_FETCHED: &str = "hint: pass a folder or an archive (`helm pull` fetches one); charts are not fetched here";
/// Helm's text for flags that it will remove.
const NO_EFFECT: &str = "this flag has no effect for 'helm template' and will be removed in Helm 5";

impl IgnoredArgs {
    /// Returns Helm's warnings about the flags.
    pub fn warnings(&self) -> Vec<String> {
        let deprecated = [
            (self.force, "force", "use --force-replace instead"),
            (self.atomic, "atomic", "use --rollback-on-failure instead"),
            (self.hide_notes, "hide-notes", NO_EFFECT),
            (self.render_subchart_notes, "render-subchart-notes", NO_EFFECT),
        ];
        let is_set = deprecated.iter().filter(|(is_set, ..)| *is_set);
        let mut lines: Vec<String> =
            is_set.map(|(_, flag, why)| format!("Flag --{flag} has been deprecated, {why}")).collect();
        if let Some((is_set, instead)) = go::old_wait(self.wait.as_deref()) {
            lines.push(format!(
                "level=WARN msg=\"--wait={is_set} is deprecated (boolean value) and can be replaced with --wait={instead}\""
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests;
