//! Hints for errors of `switchboard template` that bring none of their own.

use switchboard_chart::render::ChartRenderError;

pub(super) const ARGUMENTS: &str =
    "pass a name and a chart, or only a chart: switchboard template NAME CHART; see --help";
pub(super) const CHART: &str =
    "check the chart: a folder or an archive with Chart.yaml at its top, and dependencies under charts/";
pub(super) const CLOCK: &str = "check that this process may read the system's clock and randomness";
pub(super) const CLUSTER: &str = "remove --validate and --dry-run=server to render without a cluster";
pub(super) const DRY_RUN: &str = "remove --dry-run, or set it to `client`, which needs no cluster";
pub(super) const LABELS: &str = "use other names in --labels: Helm reserves these";
pub(super) const RENDERED: &str = "print the output with `--debug`, or one file with `--show-only FILE`";
pub(super) const SHOWN: &str =
    "pass a path as printed after `# Source:`, without the chart; a template without output cannot be shown";
pub(super) const VALIDATED: &str = "remove --validate and --dry-run=server to skip the checks against the cluster";
pub(super) const VALUES: &str =
    "pass YAML files with -f, and KEY=VALUE with --set; escape commas, dots and braces in a value with a backslash";
pub(super) const VERSION: &str = "write the Kubernetes version as 1.31 or v1.31.2";
pub(super) const WRITTEN: &str = "check free space and permissions, or remove --output-dir to print to stdout";

const KUBERNETES: &str = "set the Kubernetes version with --kube-version";
const NAME: &str = "use at most 53 lower-case letters, digits, hyphens and dots, with a letter or digit at both ends";
const SCHEMA: &str = "compare the values with the chart's values.schema.json; --skip-schema-validation skips the check";
const TEMPLATES: &str = "correct the template named above; `--debug` prints the output before it is parsed as YAML";
const MERGED: &str =
    "compare with the chart's values.yaml: a table conflicts with another type in a values file or the chart";

/// Returns the hint for a rendering error.
pub(super) fn render_hint(error: &ChartRenderError) -> &'static str {
    match error {
        ChartRenderError::Name(_) => NAME,
        ChartRenderError::Values(_) | ChartRenderError::Dependencies(_) => MERGED,
        ChartRenderError::Schema(_) => SCHEMA,
        ChartRenderError::KubeVersion { .. } => KUBERNETES,
        ChartRenderError::Template { .. } | ChartRenderError::Manifest { .. } => TEMPLATES,
    }
}

/// Appends a hint to an error, unless it has one.
pub(super) fn add_hint(error: String, hint: &str) -> String {
    if error.contains("hint: ") { error } else { format!("{error}\nhint: {hint}") }
}

/// Extension that adds a hint to an error.
pub(super) trait OrHint<T> {
    /// Appends the hint to the error, unless it has one.
    fn or_hint(self, hint: &str) -> Result<T, String>;
}

impl<T> OrHint<T> for Result<T, String> {
    fn or_hint(self, hint: &str) -> Result<T, String> {
        self.map_err(|error| add_hint(error, hint))
    }
}
