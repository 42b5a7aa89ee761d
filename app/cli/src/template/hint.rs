//! Hints for errors of `switchboard template` that bring none of their own.

use switchboard_chart::render::ChartRenderError;

pub(super) const ARGUMENTS: &str =
    "it takes a name and a chart, or a chart alone: switchboard template NAME CHART; --help shows the rest";
pub(super) const CHART: &str =
    "a chart is a folder or an archive with a Chart.yaml at its top, and with its dependencies under charts/";
pub(super) const CLOCK: &str =
    "templates are given the machine's clock and randomness; is one of them closed to this process?";
pub(super) const CLUSTER: &str = "--validate and --dry-run=server ask a cluster; without them none is needed";
pub(super) const DRY_RUN: &str = "leave --dry-run out, or say `client`, which asks no cluster";
pub(super) const LABELS: &str = "give --labels other names: those are Helm's own";
pub(super) const RENDERED: &str = "`--debug` prints what was rendered, `--show-only FILE` one file of it";
pub(super) const SHOWN: &str =
    "name a file as it stands behind `# Source:`, without the chart; one that renders nothing cannot be shown";
pub(super) const VALIDATED: &str =
    "without --validate and --dry-run=server the cluster is not asked about what was rendered";
pub(super) const VALUES: &str =
    "-f takes files of YAML, --set takes KEY=VALUE; a comma, a dot or a brace of a value needs a backslash before it";
pub(super) const VERSION: &str = "a version of Kubernetes is written 1.31, or v1.31.2";
pub(super) const WRITTEN: &str = "is there room, and may you write there? without --output-dir all is printed";

const KUBERNETES: &str = "--kube-version says for which Kubernetes it is rendered";
const NAME: &str = "small letters, digits, hyphens and dots, at most 53 of them, a letter or digit at both ends";
const SCHEMA: &str =
    "the chart's values.schema.json says what its values are; --skip-schema-validation does without it";
const TEMPLATES: &str =
    "the line above names the template; `--debug` prints what was rendered before it is read as YAML";
const MERGED: &str =
    "a table stands where another values file, or the chart, has something else: compare with the chart's values.yaml";

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
