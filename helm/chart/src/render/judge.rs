//! Whether values and the cluster are what a chart asks for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_object::{Map, Value as Json};

use super::RenderError;
use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::instance::Instance;
use crate::schema::{MAX_PATTERN_BYTES, Schema};
use crate::talk::Talk;
use crate::{gotext, range};

/// A schema, or why it is none.
type Read = Arc<Result<Schema, String>>;

/// The schemas of a chart and its subcharts, each read once.
#[derive(Default)]
pub struct Judge {
    schemas: Mutex<Schemas>,
}

struct Schemas {
    read: HashMap<usize, Read>,
    /// What the patterns of all of them may still take.
    left: usize,
}

impl Default for Schemas {
    fn default() -> Self {
        Self { read: HashMap::new(), left: MAX_PATTERN_BYTES }
    }
}

impl Judge {
    /// Judges the values of a chart and of its subcharts.
    pub fn check(&self, root: &Instance, values: &Map, talk: &mut Talk) -> Result<(), RenderError> {
        let mut problems = String::new();
        self.judge(root, values, &mut problems, talk);
        if problems.is_empty() { Ok(()) } else { Err(RenderError::Schema(problems)) }
    }

    fn judge(&self, chart: &Instance, values: &Map, problems: &mut String, talk: &mut Talk) {
        if let Some(bytes) = &chart.chart.schema {
            let schema = self.schema(&chart.chart, bytes);
            if let Ok(schema) = &*schema {
                schema.warnings.iter().for_each(|line| talk.say(line.clone()));
            }
            // The judge wants a value; the map is cloned only for charts that have a schema.
            let judged = match &*schema {
                Ok(schema) => schema.check(&Json::Object(values.clone())).map_err(|text| format!("{text}\n")),
                Err(text) => Err(text.clone()),
            };
            if let Err(text) = judged {
                problems.push_str(&format!("{}:\n{text}", chart.name));
            }
        }
        for child in &chart.children {
            match values.get(&child.name) {
                None | Some(Json::Null) => {}
                Some(Json::Object(values)) => self.judge(child, values, problems, talk),
                Some(other) => {
                    let kind = gotext::verb_type(other);
                    let text = "invalid type for values: expected object (map), got";
                    problems.push_str(&format!("{}:\n{text} {kind}\n", child.name));
                }
            }
        }
    }

    fn schema(&self, chart: &Arc<Chart>, bytes: &[u8]) -> Read {
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        let Schemas { read, left } = &mut *schemas;
        let new = || Arc::new(Schema::read_within(bytes, left).map_err(|error| error.to_string()));
        read.entry(Arc::as_ptr(chart) as usize).or_insert_with(new).clone()
    }
}

/// Whether the chart is for this release of Kubernetes.
pub fn kube_version(chart: &Chart, cluster: &Capabilities) -> Result<(), RenderError> {
    let range = &chart.metadata.kube_version;
    if range.is_empty() || range::satisfies(range, &cluster.kube_version.normalized) {
        return Ok(());
    }
    let version = cluster.kube_version.version.clone();
    Err(RenderError::KubeVersion { range: range.clone(), version })
}
