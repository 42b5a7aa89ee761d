//! Rendering from values to objects: the chart writes a Template, which is processed with parameters.
//!
//! ```text
//!  values ─▶ chart ─▶ text ─▶ YAML 1.1 ─▶ Template ─▶ parameters ─▶ objects
//!    └ texts replaced ───────────┴ restored                          └ repaired
//! ```
//!
//! qontract-reconcile renders a whole namespace at once, so that one invalid value affects all of it. Here each
//! integration is rendered separately, except in compatibility mode.

mod cron;
mod names;

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use switchboard_chart::manifest;
use switchboard_chart::openshift::{ExpressionRandom, OpenShiftTemplate, OpenShiftTemplateError, ProcessOptions};

use crate::chart::{ChartError, IntegrationsChart};
use crate::model::{IntegrationEnvironment, ManagedEntry};
use crate::parameters::{self, SourcedParameters};
use crate::repair::{self, TextPlaceholders};
use crate::settings::RenderSettings;
use crate::sharding::Shard;
use crate::source::yaml::{self, DateHandling, PyYamlError};
use crate::values;

pub use names::check_names;

/// Error of rendering values to objects.
#[derive(Debug, thiserror::Error)]
pub enum IntegrationRenderError {
    /// The chart failed.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The output of the chart is not YAML.
    #[error("could not read the output of the chart")]
    Yaml(#[from] PyYamlError),
    /// The Template cannot be processed.
    #[error("could not process the Template")]
    Template(#[from] OpenShiftTemplateError),
    /// A parameter has no value.
    #[error("{0}")]
    Parameters(String),
}

/// Rendered objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderedObjects {
    /// Objects, in the chart's order.
    pub objects: Vec<Value>,
    /// Parameters that were passed to the Template.
    pub parameters: SourcedParameters,
}

/// Input that all renderings share.
#[derive(Clone, Copy)]
pub struct RenderContext<'a> {
    /// Chart.
    pub chart: &'a IntegrationsChart,
    /// Settings of the run.
    pub settings: &'a RenderSettings,
    /// Length of image tags.
    pub hash_length: usize,
}

type RenderResult<T> = Result<T, IntegrationRenderError>;

impl RenderContext<'_> {
    /// Renders one integration.
    ///
    /// # Errors
    /// If its values cannot be rendered.
    pub fn entry(&self, entry: &ManagedEntry, shards: &[Shard]) -> RenderResult<RenderedObjects> {
        if values::is_cron(&entry.spec) {
            return cron::render(self, entry, shards);
        }
        self.spec(values::of_entry(entry, shards), &entry.namespace.environment)
    }

    /// Renders the values of one integration.
    fn spec(&self, mut spec: Value, environment: &IntegrationEnvironment) -> RenderResult<RenderedObjects> {
        let hidden = TextPlaceholders::insert(&mut spec);
        let mut rendered = self.values(values::of_all([spec]), environment, |template| {
            hidden.restore(template);
            repair::parameters(template);
        })?;
        rendered.objects.iter_mut().for_each(repair::object);
        Ok(rendered)
    }

    /// Renders the shared objects: the Service.
    ///
    /// # Errors
    /// If the chart requires at least one integration.
    pub fn shared(&self, environment: &IntegrationEnvironment) -> RenderResult<RenderedObjects> {
        self.values(values::of_all([]), environment, |_| {})
    }

    /// Renders all objects of a namespace at once, like qontract-reconcile.
    ///
    /// # Errors
    /// If any of the values cannot be rendered.
    pub fn namespace(&self, specs: Vec<Value>, environment: &IntegrationEnvironment) -> RenderResult<RenderedObjects> {
        self.values(values::of_all(specs), environment, |_| {})
    }

    /// Renders given values, for example those of a values file.
    ///
    /// # Errors
    /// If the values cannot be rendered.
    pub fn values_file(
        &self,
        values: Map<String, Value>,
        environment: &IntegrationEnvironment,
    ) -> RenderResult<RenderedObjects> {
        let mut rendered = self.values(values, environment, repair::parameters)?;
        if !self.settings.scope.compat {
            rendered.objects.iter_mut().for_each(repair::object);
        }
        Ok(rendered)
    }

    fn values(
        &self,
        values: Map<String, Value>,
        environment: &IntegrationEnvironment,
        mend: impl Fn(&mut Value),
    ) -> RenderResult<RenderedObjects> {
        let mut rendered = RenderedObjects::default();
        for text in self.chart.render_files(values)? {
            for (_, document) in manifest::split(&text) {
                let mut value = yaml::read(document, DateHandling::Refused)?;
                if value.is_null() {
                    continue;
                }
                mend(&mut value);
                if value.get("kind").and_then(Value::as_str) == Some("Template") {
                    self.process(value, environment, &mut rendered)?;
                } else {
                    rendered.objects.push(value);
                }
            }
        }
        Ok(rendered)
    }

    fn process(
        &self,
        template: Value,
        environment: &IntegrationEnvironment,
        into: &mut RenderedObjects,
    ) -> RenderResult<()> {
        let template = OpenShiftTemplate::from_object(template)?;
        let known: BTreeSet<&str> = template.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let given = parameters::collect(&known, environment, self.settings, self.hash_length);
        let parameters = given.map_err(IntegrationRenderError::Parameters)?;
        let values = parameters.iter().map(|(name, parameter)| (name.clone(), parameter.value.clone()));
        let given = ProcessOptions { parameters: values.collect(), ignore_unknown: true, ..ProcessOptions::default() };
        // A fixed seed keeps the desired objects stable. Integrations have no generated parameters.
        let objects = template.process(&given, &mut ExpressionRandom::seeded(0))?;
        let unknown = parameters.values().find_map(|parameter| parameter.value.strip_prefix(parameters::UNKNOWN));
        if let Some(why) = unknown.filter(|_| objects.iter().any(|object| contains_text(object, parameters::UNKNOWN))) {
            return Err(IntegrationRenderError::Parameters(why.to_string()));
        }
        into.objects.extend(objects);
        into.parameters.extend(parameters.into_iter().filter(|(_, one)| !one.value.starts_with(parameters::UNKNOWN)));
        Ok(())
    }
}

/// Whether a value contains a text.
fn contains_text(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Array(list) => list.iter().any(|one| contains_text(one, text)),
        Value::Object(map) => map.values().any(|one| contains_text(one, text)),
        _ => false,
    }
}
