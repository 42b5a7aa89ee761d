//! Validation of values and of the cluster's version.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_object::{Map, Value as Json};

use super::ChartRenderError;
use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::instance::ChartInstance;
use crate::schema::{MAX_PATTERN_BYTES, ValuesSchema};
use crate::warnings::ChartWarnings;
use crate::{gotext, version_range};

/// A compiled schema, or its error.
type SchemaResult = Arc<Result<ValuesSchema, String>>;

/// Compiled schemas of a chart and its subcharts, each compiled once.
#[derive(Default)]
pub struct SchemaCache {
    schemas: Mutex<CachedSchemas>,
}

struct CachedSchemas {
    read: HashMap<usize, SchemaResult>,
    /// Remaining memory for the patterns of all schemas.
    left: usize,
}

impl Default for CachedSchemas {
    fn default() -> Self {
        Self { read: HashMap::new(), left: MAX_PATTERN_BYTES }
    }
}

impl SchemaCache {
    /// Validates the values of a chart and its subcharts.
    pub fn check(
        &self,
        root: &ChartInstance,
        values: &Map,
        warnings: &mut ChartWarnings,
    ) -> Result<(), ChartRenderError> {
        let mut problems = String::new();
        self.check_chart(root, values, &mut problems, warnings);
        if problems.is_empty() { Ok(()) } else { Err(ChartRenderError::Schema(problems)) }
    }

    fn check_chart(&self, chart: &ChartInstance, values: &Map, problems: &mut String, warnings: &mut ChartWarnings) {
        if let Some(bytes) = &chart.chart.schema {
            let schema = self.schema(&chart.chart, bytes);
            if let Ok(schema) = &*schema {
                schema.warnings.iter().for_each(|line| warnings.add(line.clone()));
            }
            // The validator takes a value. The map is only cloned for charts with a schema.
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
                Some(Json::Object(values)) => self.check_chart(child, values, problems, warnings),
                Some(other) => {
                    let kind = gotext::verb_type(other);
                    let text = "invalid type for values: expected object (map), got";
                    problems.push_str(&format!("{}:\n{text} {kind}\n", child.name));
                }
            }
        }
    }

    fn schema(&self, chart: &Arc<Chart>, bytes: &[u8]) -> SchemaResult {
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        let CachedSchemas { read, left } = &mut *schemas;
        let new = || Arc::new(ValuesSchema::read_within(bytes, left).map_err(|error| error.to_string()));
        read.entry(Arc::as_ptr(chart) as usize).or_insert_with(new).clone()
    }
}

/// Checks that the chart supports this Kubernetes version.
pub fn check_kube_version(chart: &Chart, cluster: &Capabilities) -> Result<(), ChartRenderError> {
    let range = &chart.metadata.kube_version;
    if range.is_empty() || version_range::satisfies(range, &cluster.kube_version.normalized) {
        return Ok(());
    }
    let version = cluster.kube_version.version.clone();
    Err(ChartRenderError::KubeVersion { range: range.clone(), version })
}
