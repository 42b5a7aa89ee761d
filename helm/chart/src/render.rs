//! Rendering: a chart is compiled once, shared by threads, and rendered with values as often as wanted.

mod assemble;
mod data;
mod functions;
mod judge;
mod mark;
mod place;
mod problem;
mod run;
mod types;
mod yaml;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_object::{Map, yaml as yaml_object};
use switchboard_template::sprig::Ambient;
use switchboard_template::{Ledger, Limits, MissingKey, Options, Set, Str, Value, free_cycles};

use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::coalesce::{CoalesceError, Nulls, coalesce};
use crate::instance::Instance;
use crate::manifest::{self, ManifestError, Sorted};
use crate::release::{NameError, Release};
use crate::talk::Talk;
use crate::typed::DecodeError;

use assemble::{Assembled, Template};
use judge::Judge;
pub use place::Place;
use run::Run;
pub use run::View;

/// How many choices of subcharts are kept parsed.
const MAX_SHAPES: usize = 16;
/// How many bytes all templates of a chart may render to together.
const MAX_OUTPUT_BYTES: usize = 256 << 20;
/// The end of the name of a file whose text is for people.
const NOTES: &str = "NOTES.txt";

/// What a chart is rendered with.
#[derive(Clone)]
pub struct Request {
    /// The release.
    pub release: Release,
    /// Values over those of the chart.
    pub values: Map,
    /// The cluster.
    pub capabilities: Capabilities,
    /// What `lookup` asks; nothing is found without.
    pub view: Option<Arc<dyn View>>,
    /// The clock and the randomness templates get; without, functions that need them fail.
    pub ambient: Ambient,
    /// Whether values are not judged by the charts' schemas.
    pub skip_schema: bool,
    /// Whether missing values are let pass, as `helm lint` does.
    pub lint: bool,
    /// Where a template's work ends.
    pub limits: Limits,
}

impl Request {
    /// For a release, with nothing given.
    pub fn new(release: Release) -> Self {
        Self {
            release,
            values: Map::new(),
            capabilities: Capabilities::default(),
            view: None,
            ambient: Ambient::default(),
            skip_schema: false,
            lint: false,
            limits: Limits::default(),
        }
    }
}

/// What a chart became.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// What each template wrote, by its name.
    pub files: BTreeMap<String, Arc<String>>,
    /// Manifests and hooks, sorted.
    pub sorted: Sorted,
    /// The chart's own NOTES.txt.
    pub notes: String,
    /// The files of `crds/`, by their full names, which are not templates.
    pub crds: Vec<(String, String)>,
    /// What Helm would say on stderr.
    pub warnings: Vec<String>,
}

/// Why a chart was not rendered. The text is Helm's.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The release's name.
    #[error("{0}")]
    Name(#[from] NameError),
    /// Values that cannot be brought together.
    #[error("{0}")]
    Values(#[from] CoalesceError),
    /// The same while dependencies were sorted out.
    #[error("chart dependencies processing failed: {0}")]
    Dependencies(CoalesceError),
    /// Values the schema refuses.
    #[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
    Schema(String),
    /// A cluster the chart is not for.
    #[error("chart requires kubeVersion: {range} which is incompatible with Kubernetes {version}")]
    KubeVersion {
        /// What the chart asks for.
        range: String,
        /// What the cluster is.
        version: String,
    },
    /// A template that is none, or failed.
    #[error("{text}")]
    Template {
        /// What Helm says.
        text: String,
        /// Where, and what may help.
        place: Option<Box<Place>>,
    },
    /// What a template wrote is no manifest.
    #[error("{error}")]
    Manifest {
        /// What Helm says.
        error: ManifestError,
        /// Where it comes from, and what may help.
        place: Option<Box<Place>>,
        /// All that was rendered.
        files: BTreeMap<String, Arc<String>>,
    },
}

impl RenderError {
    /// Whether Helm had begun with the release, which it says in the error's last lines.
    pub fn is_of_release(&self) -> bool {
        matches!(self, Self::KubeVersion { .. } | Self::Template { .. } | Self::Manifest { .. })
    }

    /// Where it happened, if that is known.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Template { place, .. } | Self::Manifest { place, .. } => place.as_deref(),
            _ => None,
        }
    }
}

/// A chart whose templates are parsed when first needed and kept: made for being shared.
///
/// # Guarantees
/// - It may be rendered by many threads at once, each with its own values. // test: guarantees_threads_render_the_same
/// - The same request gives the same output.                               // test: guarantees_the_same_request_gives_the_same
pub struct Compiled {
    chart: Arc<Chart>,
    judge: Judge,
    shapes: Mutex<Vec<(Shape, Arc<Assembled>)>>,
}

/// What tells choices of subcharts apart.
type Shape = Vec<(usize, String)>;

impl Compiled {
    /// Compiles a chart.
    pub fn new(chart: Arc<Chart>) -> Self {
        Self { chart, judge: Judge::default(), shapes: Mutex::default() }
    }

    /// The chart.
    pub fn chart(&self) -> &Arc<Chart> {
        &self.chart
    }

    /// Renders the chart.
    ///
    /// # Errors
    /// When values, templates or what they write are wrong.
    pub fn render(&self, request: &Request) -> Result<Rendered, RenderError> {
        let mut talk = Talk::default();
        let mut rendered = self.render_aloud(request, &mut talk)?;
        rendered.warnings = talk.into_lines();
        Ok(rendered)
    }

    /// Renders the chart; what there is to say is said even if that fails.
    ///
    /// # Errors
    /// As [`Compiled::render`].
    pub fn render_aloud(&self, request: &Request, talk: &mut Talk) -> Result<Rendered, RenderError> {
        let (assembled, values) = self.prepared(request, talk)?;
        let (files, odd) = execute(&assembled, request, &values)?;
        if let Some((name, bytes)) = odd {
            return Err(not_text(&name, &bytes));
        }
        let mut rendered = Rendered { crds: assemble::crds(&assembled.root), ..Rendered::default() };
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
                let told =
                    |hook: &String| format!("level=INFO msg=\"skipping unknown hooks\" hookTypes={}", logged(hook));
                sorted.unknown.iter().for_each(|hook| talk.say(told(hook)));
                rendered.sorted = sorted;
            }
            Err(error) => {
                let written = rendered.files.get(&error.source_file).map_or("", |text| text.as_str());
                let place = place::of_manifest(&error, &assembled, request, &values, written);
                return Err(RenderError::Manifest { error, place, files: rendered.files });
            }
        }
        Ok(rendered)
    }

    /// What each template writes, by its name, without looking at it: what Helm's engine does.
    ///
    /// # Errors
    /// When values or templates are wrong.
    pub fn render_files(&self, request: &Request) -> Result<BTreeMap<String, String>, RenderError> {
        let (assembled, values) = self.prepared(request, &mut Talk::default())?;
        execute(&assembled, request, &values).map(|(files, _)| files)
    }

    /// The templates and the values they get.
    fn prepared(&self, request: &Request, talk: &mut Talk) -> Result<(Arc<Assembled>, Map), RenderError> {
        request.release.check_name()?;
        let enabled = Instance::enabled(&self.chart, &request.values, talk).map_err(RenderError::Dependencies)?;
        let assembled = self.assembled(enabled)?;
        assembled.warnings.iter().for_each(|line| talk.say(line.clone()));
        let mut values = request.values.clone();
        coalesce(&assembled.root, &mut values, Nulls::Remove, talk)?;
        if !request.skip_schema {
            self.judge.check(&assembled.root, &values, talk)?;
        }
        judge::kube_version(&self.chart, &request.capabilities)?;
        Ok((assembled, values))
    }

    /// The parsed templates for a choice of subcharts, from what is kept or made now.
    fn assembled(&self, root: Instance) -> Result<Arc<Assembled>, RenderError> {
        let mut shape = Vec::new();
        root.shape(&mut shape);
        let shapes = || self.shapes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = shapes().iter().find(|(known, _)| *known == shape) {
            return Ok(found.clone());
        }
        let made = Arc::new(Assembled::new(root).map_err(RenderError::Dependencies)?);
        let mut shapes = shapes();
        if shapes.len() >= MAX_SHAPES {
            shapes.remove(0);
        }
        shapes.push((shape, made.clone()));
        Ok(made)
    }
}

/// What templates wrote, as text, and the first that wrote something else, with its bytes.
type Executed = (BTreeMap<String, String>, Option<(String, Vec<u8>)>);

fn execute(assembled: &Assembled, request: &Request, values: &Map) -> Result<Executed, RenderError> {
    let failed = |(text, place): &(String, Option<Box<Place>>)| RenderError::Template {
        text: text.clone(),
        place: place.clone(),
    };
    let set = assembled.set.as_ref().map_err(failed)?;
    execute_with(set, assembled, request, values, None)
}

/// Executes the templates of a set, or one of them alone.
fn execute_with(
    set: &Arc<Set>,
    assembled: &Assembled,
    request: &Request,
    values: &Map,
    only: Option<&str>,
) -> Result<Executed, RenderError> {
    let executed = execute_all(set, assembled, request, values, only);
    // Now that the values are gone: templates may have put them into themselves.
    free_cycles();
    executed
}

fn execute_all(
    set: &Arc<Set>,
    assembled: &Assembled,
    request: &Request,
    values: &Map,
    only: Option<&str>,
) -> Result<Executed, RenderError> {
    let dots = data::dots(&assembled.root, values, &request.release, &request.capabilities);
    let run = Run::new(set.clone(), assembled.parsed.clone(), request.view.clone(), request.lint);
    let hosts: [&dyn Any; 2] = [&run, &request.ambient];
    let options = Options { missing_key: MissingKey::Zero, limits: request.limits, hosts: &hosts };
    let (mut files, mut first_odd) = (BTreeMap::new(), None);
    let mut written = 0;
    let mut ledger = Ledger::new(&request.limits);
    for template in &assembled.templates {
        let partial = template.name.rsplit('/').next().is_some_and(|base| base.starts_with('_'));
        if partial || only.is_some_and(|only| only != template.name) {
            continue;
        }
        let dot = &dots[template.chart];
        if let Some(map) = dot.as_map() {
            map.insert(Str::new("Template"), template_of(template));
        }
        let text = set.render_on(&mut ledger, &template.name, dot, &options).map_err(|error| {
            RenderError::Template { text: problem::of_running(&template.name, &error), place: place::of_error(&error) }
        })?;
        written += text.len();
        if written > MAX_OUTPUT_BYTES {
            let text = format!("the templates of {} write more than {MAX_OUTPUT_BYTES} bytes", assembled.root.name);
            return Err(RenderError::Template { text, place: None });
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

/// A value as Go's log writes it.
fn logged(text: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '=' | '\\');
    if !text.is_empty() && text.chars().all(plain) { text.to_string() } else { format!("{text:?}") }
}

/// What a template wrote cannot be YAML, whatever else is in it.
fn not_text(name: &str, bytes: &[u8]) -> RenderError {
    let problem = match yaml_object::decode(bytes) {
        Err(error) => error.to_string(),
        Ok(_) => "yaml: what templates write is read as UTF-8, and this is UTF-16".to_string(),
    };
    let problem = DecodeError(format!("error converting YAML to JSON: {problem}"));
    let error = ManifestError { source_file: name.to_string(), problem, offset: 0, place: None };
    RenderError::Manifest { error, place: None, files: BTreeMap::new() }
}

fn template_of(template: &Template) -> Value {
    let name = (Str::new("Name"), Value::string(&template.name));
    let base = (Str::new("BasePath"), Value::string(&template.base));
    Value::typed_map(types::VALUES, [name, base].into_iter().collect())
}

#[cfg(test)]
mod tests;
