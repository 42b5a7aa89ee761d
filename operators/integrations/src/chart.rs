//! The chart that makes workloads of values.

mod own;

use std::path::Path;

use serde_json::{Map, Value};
use switchboard_chart::chart::{Chart as Loaded, LoadError};
use switchboard_chart::file::File;
use switchboard_chart::folder::Links;
use switchboard_chart::output::{self, Wanted};
use switchboard_chart::release::Release;
use switchboard_chart::render::{Compiled, RenderError, Request};
use switchboard_chart::values::floats;

/// The release the original renders as, which charts may print.
const RELEASE: &str = "release-name";
/// The namespace the original renders for.
const NAMESPACE: &str = "qontract-reconcile";

/// A chart that could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// It cannot be loaded.
    #[error("could not load the chart {0}")]
    Load(String, #[source] LoadError),
    /// It cannot be rendered.
    #[error("could not render the chart")]
    Render(#[from] RenderError),
}

/// A chart, parsed once, shared by all that render it.
pub struct Chart {
    compiled: Compiled,
}

impl Chart {
    /// The project's own chart, which makes what the original's makes.
    pub fn own() -> Self {
        Self::of_files("integrations", own::files()).expect("the chart of the project is one")
    }

    /// Loads a chart from its folder or its archive.
    ///
    /// # Errors
    /// When it is none.
    pub fn load(path: &Path) -> Result<Self, ChartError> {
        let loaded = Loaded::load(path, Links::Inside);
        let loaded = loaded.map_err(|error| ChartError::Load(path.display().to_string(), error))?;
        Ok(Self { compiled: Compiled::new(loaded) })
    }

    /// A chart of files in memory.
    ///
    /// # Errors
    /// When it is none.
    pub fn of_files(name: &str, files: Vec<File>) -> Result<Self, ChartError> {
        let loaded = Loaded::from_files(files).map_err(|error| ChartError::Load(name.to_string(), error))?;
        Ok(Self { compiled: Compiled::new(loaded) })
    }

    /// What each of its templates writes for values.
    ///
    /// # Errors
    /// When a template fails.
    pub fn texts(&self, values: Map<String, Value>) -> Result<Vec<String>, ChartError> {
        Ok(self.compiled.render_files(&request(values))?.into_values().collect())
    }

    /// What `helm template` prints for values.
    ///
    /// # Errors
    /// When a template fails, or what it writes is no YAML.
    pub fn printed(&self, values: Map<String, Value>) -> Result<String, ChartError> {
        let rendered = self.compiled.render(&request(values))?;
        Ok(output::text(&rendered, &Wanted::default()).unwrap_or_default())
    }
}

fn request(values: Map<String, Value>) -> Request {
    let Value::Object(values) = floats(Value::Object(values)) else { unreachable!("a map stays one") };
    Request { values, ..Request::new(Release::new(RELEASE, NAMESPACE)) }
}
