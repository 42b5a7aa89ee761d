//! Chart that renders integrations to workloads.

mod builtin;

use std::path::Path;

use serde_json::{Map, Value};
use switchboard_chart::chart::{Chart as Loaded, LoadError};
use switchboard_chart::file::ChartFile;
use switchboard_chart::folder::SymlinkPolicy;
use switchboard_chart::output::{self, OutputOptions};
use switchboard_chart::release::Release;
use switchboard_chart::render::{ChartRenderError, CompiledChart, RenderRequest};
use switchboard_chart::values::floats;

/// Release name that qontract-reconcile renders with, which charts may print.
const RELEASE: &str = "release-name";
/// Namespace that qontract-reconcile renders with.
const NAMESPACE: &str = "qontract-reconcile";

/// Error of loading or rendering a chart.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// The chart cannot be loaded.
    #[error("could not load the chart {0}")]
    Load(String, #[source] LoadError),
    /// The chart cannot be rendered.
    #[error("could not render the chart")]
    Render(#[from] ChartRenderError),
}

/// Parsed chart, shared by all renderings.
pub struct IntegrationsChart {
    compiled: CompiledChart,
}

impl IntegrationsChart {
    /// Returns the built-in chart, which renders the same objects as qontract-reconcile's.
    pub fn builtin() -> Self {
        Self::from_files("integrations", builtin::files()).expect("the built-in chart is valid")
    }

    /// Loads a chart from its folder or its archive.
    ///
    /// # Errors
    /// If the path is not a chart.
    pub fn load(path: &Path) -> Result<Self, ChartError> {
        let loaded = Loaded::load(path, SymlinkPolicy::Inside);
        let loaded = loaded.map_err(|error| ChartError::Load(path.display().to_string(), error))?;
        Ok(Self { compiled: CompiledChart::new(loaded) })
    }

    /// Creates a chart from files in memory.
    ///
    /// # Errors
    /// If the files are not a chart.
    pub fn from_files(name: &str, files: Vec<ChartFile>) -> Result<Self, ChartError> {
        let loaded = Loaded::from_files(files).map_err(|error| ChartError::Load(name.to_string(), error))?;
        Ok(Self { compiled: CompiledChart::new(loaded) })
    }

    /// Renders the values and returns the output of each template.
    ///
    /// # Errors
    /// If a template fails.
    pub fn render_files(&self, values: Map<String, Value>) -> Result<Vec<String>, ChartError> {
        Ok(self.compiled.render_files(&request(values))?.into_values().collect())
    }

    /// Renders the values and returns the output of `helm template`.
    ///
    /// # Errors
    /// If a template fails or its output is not YAML.
    pub fn render_text(&self, values: Map<String, Value>) -> Result<String, ChartError> {
        let rendered = self.compiled.render(&request(values))?;
        Ok(output::text(&rendered, &OutputOptions::default()).unwrap_or_default())
    }
}

fn request(values: Map<String, Value>) -> RenderRequest {
    let Value::Object(values) = floats(Value::Object(values)) else { unreachable!("a map stays one") };
    RenderRequest { values, ..RenderRequest::new(Release::new(RELEASE, NAMESPACE)) }
}
