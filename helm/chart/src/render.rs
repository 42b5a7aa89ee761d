//! Rendering. A chart is compiled once, shared by threads, and rendered with any number of values.

mod assembly;
mod data;
mod error_text;
mod functions;
mod schemas;
mod source_marks;
mod state;
mod template_pos;
mod types;
mod yaml;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_object::quote::quote;
use switchboard_object::{Map, yaml as yaml_object};
use switchboard_template::sprig::SystemInputs;
use switchboard_template::{
    ExecutionBudget, ExecutionLimits, ExecutionOptions, MissingKey, Str, TemplateSet, Value, free_cycles,
};

use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::coalesce::{CoalesceError, NullHandling, coalesce};
use crate::instance::ChartInstance;
use crate::manifest::{self, ManifestError, SortedManifests};
use crate::release::{Release, ReleaseNameError};
use crate::typed::DecodeError;
use crate::warnings::ChartWarnings;

use assembly::{AssembledChart, ChartTemplate};
use schemas::SchemaCache;
pub use state::ClusterLookup;
use state::RenderState;
pub use template_pos::TemplatePos;

/// Number of subchart selections whose parsed templates are cached.
const MAX_SHAPES: usize = 16;
/// Suffix of the file whose text is for users.
const NOTES: &str = "NOTES.txt";

/// Input of a rendering.
#[derive(Clone)]
pub struct RenderRequest {
    /// Release.
    pub release: Release,
    /// Values that override the chart's.
    pub values: Map,
    /// Target cluster.
    pub capabilities: Capabilities,
    /// Objects for `lookup`. Without it, `lookup` finds nothing.
    pub lookup: Option<Arc<dyn ClusterLookup>>,
    /// Clock and randomness for templates. Functions whose input is missing fail.
    pub system_inputs: SystemInputs,
    /// Whether validation by the charts' schemas is skipped.
    pub skip_schema: bool,
    /// Whether missing values are tolerated, as in `helm lint`.
    pub lint: bool,
    /// Limits of the execution.
    pub limits: ExecutionLimits,
}

impl RenderRequest {
    /// Creates a request for a release, with defaults for everything else.
    pub fn new(release: Release) -> Self {
        Self {
            release,
            values: Map::new(),
            capabilities: Capabilities::default(),
            lookup: None,
            system_inputs: SystemInputs::default(),
            skip_schema: false,
            lint: false,
            limits: ExecutionLimits::default(),
        }
    }
}

/// Result of a rendering.
#[derive(Clone, Debug, Default)]
pub struct RenderedChart {
    /// Output of each template, by name.
    pub files: BTreeMap<String, Arc<String>>,
    /// Manifests and hooks, sorted.
    pub sorted: SortedManifests,
    /// Text of the chart's own NOTES.txt.
    pub notes: String,
    /// Names and texts of the files in `crds/`, which are not templates.
    pub crds: Vec<(String, String)>,
    /// Warnings that Helm prints on stderr.
    pub warnings: Vec<String>,
}

/// Error of rendering a chart. The text is Helm's.
#[derive(Debug, thiserror::Error)]
pub enum ChartRenderError {
    /// The release's name is invalid.
    #[error("{0}")]
    Name(#[from] ReleaseNameError),
    /// Values cannot be merged.
    #[error("{0}")]
    Values(#[from] CoalesceError),
    /// Values cannot be merged while dependencies are processed.
    #[error("chart dependencies processing failed: {0}")]
    Dependencies(CoalesceError),
    /// Values do not conform to the schema.
    #[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
    Schema(String),
    /// The chart does not support the cluster's version.
    #[error("chart requires kubeVersion: {range} which is incompatible with Kubernetes {version}")]
    KubeVersion {
        /// Constraint in the chart.
        range: String,
        /// Version of the cluster.
        version: String,
    },
    /// A template cannot be parsed or failed.
    #[error("{text}")]
    Template {
        /// Helm's error text.
        text: String,
        /// Position and hint, if known.
        position: Option<Box<TemplatePos>>,
    },
    /// The output of a template is not a manifest.
    #[error("{error}")]
    Manifest {
        /// Helm's error.
        error: ManifestError,
        /// Position of the cause and hint, if known.
        position: Option<Box<TemplatePos>>,
        /// Output of each template, by name.
        files: BTreeMap<String, Arc<String>>,
    },
}

impl ChartRenderError {
    /// Whether Helm has already started the release, which it prints in the last lines of the error.
    pub fn follows_release_start(&self) -> bool {
        matches!(self, Self::KubeVersion { .. } | Self::Template { .. } | Self::Manifest { .. })
    }

    /// Returns the position of the error, if known.
    pub fn position(&self) -> Option<&TemplatePos> {
        match self {
            Self::Template { position: place, .. } | Self::Manifest { position: place, .. } => place.as_deref(),
            _ => None,
        }
    }
}

/// A chart whose templates are parsed on first use and cached, for sharing by threads.
///
/// # Guarantees
/// - Many threads can render the chart at once, each with its own values. // test: guarantees_threads_render_the_same
/// - Equal requests give the same output.                                // test: guarantees_the_same_request_gives_the_same
pub struct CompiledChart {
    chart: Arc<Chart>,
    schemas: SchemaCache,
    shapes: Mutex<Vec<(SubchartSelection, Arc<AssembledChart>)>>,
}

/// Key of a selection of subcharts.
type SubchartSelection = Vec<(usize, String)>;

impl CompiledChart {
    /// Prepares a chart for rendering.
    pub fn new(chart: Arc<Chart>) -> Self {
        Self { chart, schemas: SchemaCache::default(), shapes: Mutex::default() }
    }

    /// Returns the chart.
    pub fn chart(&self) -> &Arc<Chart> {
        &self.chart
    }

    /// Renders the chart.
    ///
    /// # Errors
    /// If values, templates or their output are invalid.
    pub fn render(&self, request: &RenderRequest) -> Result<RenderedChart, ChartRenderError> {
        let mut warnings = ChartWarnings::default();
        let mut rendered = self.render_with_warnings(request, &mut warnings)?;
        rendered.warnings = warnings.into_lines();
        Ok(rendered)
    }

    /// Renders the chart and collects warnings, even if rendering fails.
    ///
    /// # Errors
    /// Errors of [`CompiledChart::render`].
    pub fn render_with_warnings(
        &self,
        request: &RenderRequest,
        warnings: &mut ChartWarnings,
    ) -> Result<RenderedChart, ChartRenderError> {
        let (assembled, values) = self.prepare(request, warnings)?;
        let (files, odd) = execute(&assembled, request, &values)?;
        if let Some((name, bytes)) = odd {
            return Err(not_text(&name, &bytes));
        }
        let mut rendered = RenderedChart { crds: assembly::crds(&assembled.root), ..RenderedChart::default() };
        let own_notes = format!("{}/templates/{NOTES}", assembled.root.name);
        for (name, text) in files {
            if name == own_notes {
                rendered.notes = text;
            } else if !name.ends_with(NOTES) {
                rendered.files.insert(name, Arc::new(text));
            }
        }
        match manifest::sort(&rendered.files) {
            Ok(sorted) => {
                let warning =
                    |hook: &String| format!("level=INFO msg=\"skipping unknown hooks\" hookTypes={}", logged(hook));
                sorted.unknown.iter().for_each(|hook| warnings.add(warning(hook)));
                rendered.sorted = sorted;
            }
            Err(error) => {
                let written = rendered.files.get(&error.source_file).map_or("", |text| text.as_str());
                let place = template_pos::locate_manifest(&error, &assembled, request, &values, written);
                return Err(ChartRenderError::Manifest { error, position: place, files: rendered.files });
            }
        }
        Ok(rendered)
    }

    /// Returns the output of each template by name, without parsing it, like Helm's engine.
    ///
    /// # Errors
    /// If values or templates are invalid.
    pub fn render_files(&self, request: &RenderRequest) -> Result<BTreeMap<String, String>, ChartRenderError> {
        let (assembled, values) = self.prepare(request, &mut ChartWarnings::default())?;
        execute(&assembled, request, &values).map(|(files, _)| files)
    }

    /// Returns the templates and their values.
    fn prepare(
        &self,
        request: &RenderRequest,
        warnings: &mut ChartWarnings,
    ) -> Result<(Arc<AssembledChart>, Map), ChartRenderError> {
        request.release.check_name()?;
        let enabled = ChartInstance::with_enabled_subcharts(&self.chart, &request.values, warnings)
            .map_err(ChartRenderError::Dependencies)?;
        let assembled = self.assemble(enabled)?;
        assembled.warnings.iter().for_each(|line| warnings.add(line.clone()));
        let mut values = request.values.clone();
        coalesce(&assembled.root, &mut values, NullHandling::Remove, warnings)?;
        if !request.skip_schema {
            self.schemas.check(&assembled.root, &values, warnings)?;
        }
        schemas::check_kube_version(&self.chart, &request.capabilities)?;
        Ok((assembled, values))
    }

    /// Returns the parsed templates for a selection of subcharts, from the cache if possible.
    fn assemble(&self, root: ChartInstance) -> Result<Arc<AssembledChart>, ChartRenderError> {
        let mut shape = Vec::new();
        root.selection_key(&mut shape);
        let shapes = || self.shapes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = shapes().iter().find(|(known, _)| *known == shape) {
            return Ok(found.clone());
        }
        let made = Arc::new(AssembledChart::new(root).map_err(ChartRenderError::Dependencies)?);
        let mut shapes = shapes();
        if shapes.len() >= MAX_SHAPES {
            shapes.remove(0);
        }
        shapes.push((shape, made.clone()));
        Ok(made)
    }
}

/// Output of templates as text, and the first output that is not text, with its bytes.
type TemplateOutputs = (BTreeMap<String, String>, Option<(String, Vec<u8>)>);

fn execute(
    assembled: &AssembledChart,
    request: &RenderRequest,
    values: &Map,
) -> Result<TemplateOutputs, ChartRenderError> {
    let failed = |(text, place): &(String, Option<Box<TemplatePos>>)| ChartRenderError::Template {
        text: text.clone(),
        position: place.clone(),
    };
    let set = assembled.set.as_ref().map_err(failed)?;
    execute_with(set, assembled, request, values, None)
}

/// Executes the templates of a set, or only one of them.
fn execute_with(
    set: &Arc<TemplateSet>,
    assembled: &AssembledChart,
    request: &RenderRequest,
    values: &Map,
    only: Option<&str>,
) -> Result<TemplateOutputs, ChartRenderError> {
    let executed = execute_all(set, assembled, request, values, only);
    // The values have been dropped. Templates may have put some of them into themselves.
    free_cycles();
    executed
}

fn execute_all(
    set: &Arc<TemplateSet>,
    assembled: &AssembledChart,
    request: &RenderRequest,
    values: &Map,
    only: Option<&str>,
) -> Result<TemplateOutputs, ChartRenderError> {
    let dots = data::template_data(&assembled.root, values, &request.release, &request.capabilities);
    let run = RenderState::new(set.clone(), assembled.parsed.clone(), request.lookup.clone(), request.lint);
    let hosts: [&dyn Any; 2] = [&run, &request.system_inputs];
    let options = ExecutionOptions { missing_key: MissingKey::Zero, limits: request.limits, hosts: &hosts };
    let (mut files, mut first_odd) = (BTreeMap::new(), None);
    let mut written = 0;
    let mut budget = ExecutionBudget::new(&request.limits);
    for template in &assembled.templates {
        let partial = template.name.rsplit('/').next().is_some_and(|base| base.starts_with('_'));
        if partial || only.is_some_and(|only| only != template.name) {
            continue;
        }
        let dot = &dots[template.chart];
        if let Some(map) = dot.as_map() {
            map.insert(Str::new("Template"), template_of(template));
        }
        let text = set.render_with_budget(&mut budget, &template.name, dot, &options).map_err(|error| {
            ChartRenderError::Template {
                text: error_text::execution_error_text(&template.name, &error),
                position: template_pos::locate_error(&error),
            }
        })?;
        written += text.len();
        // All templates together may write what one may.
        let most = request.limits.output_bytes;
        if written > most {
            let text = format!("templates of {} write more than {most} bytes", assembled.root.name);
            return Err(ChartRenderError::Template { text, position: None });
        }
        let text = functions::cut_no_value(&text).unwrap_or(text);
        let text = String::from_utf8(text).unwrap_or_else(|odd| {
            // Templates may write any bytes; only manifests must be text.
            if first_odd.is_none() && !template.name.ends_with(NOTES) {
                first_odd = Some((template.name.clone(), odd.as_bytes().to_vec()));
            }
            Str::from(odd.into_bytes()).to_text().into_owned()
        });
        files.insert(template.name.clone(), text);
    }
    Ok((files, first_odd))
}

/// Formats a value like Go's log.
fn logged(text: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '=' | '\\');
    if !text.is_empty() && text.chars().all(plain) { text.to_string() } else { quote(text) }
}

/// Creates the error for output that is not text and thus not YAML.
fn not_text(name: &str, bytes: &[u8]) -> ChartRenderError {
    let problem = match yaml_object::decode(bytes) {
        Err(error) => error.to_string(),
        Ok(_) => "yaml: output of templates must be UTF-8, and this is UTF-16".to_string(),
    };
    let problem = DecodeError(format!("error converting YAML to JSON: {problem}"));
    let error = ManifestError { source_file: name.to_string(), problem, offset: 0, position: None };
    ChartRenderError::Manifest { error, position: None, files: BTreeMap::new() }
}

fn template_of(template: &ChartTemplate) -> Value {
    let name = (Str::new("Name"), Value::string(&template.name));
    let base = (Str::new("BasePath"), Value::string(&template.base));
    Value::typed_map(types::VALUES, [name, base].into_iter().collect())
}

#[cfg(test)]
mod tests;
