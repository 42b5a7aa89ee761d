//! From values to objects: the chart writes a Template, the Template gets its parameters.
//!
//! ```text
//!  values ─▶ chart ─▶ text ─▶ YAML 1.1 ─▶ Template ─▶ parameters put in ─▶ objects
//!    └ hidden texts ─────────────┴ put back                                  └ mended
//! ```
//!
//! The original renders a namespace at once, so that one bad value loses all of it. Here each integration is rendered alone,
//! unless all is to be as it was.

mod cron;
mod names;

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use switchboard_chart::manifest;
use switchboard_chart::openshift::{Chance, Given, Template, TemplateError};

use crate::chart::{Chart, ChartError};
use crate::model::{Entry, Environment};
use crate::parameters::{self, Parameters};
use crate::repair::{self, Hidden};
use crate::settings::Settings;
use crate::sharding::Shard;
use crate::source::yaml::{self, Times, YamlError};
use crate::values;

pub use names::check;

/// Why values did not become objects.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The chart refused.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// What the chart wrote is no YAML.
    #[error("what the chart wrote cannot be read")]
    Yaml(#[from] YamlError),
    /// The Template cannot be processed.
    #[error("could not process the Template")]
    Template(#[from] TemplateError),
    /// A parameter has no value.
    #[error("{0}")]
    Parameters(String),
}

/// What becomes of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// The objects, in the chart's order.
    pub objects: Vec<Value>,
    /// The parameters that were given.
    pub parameters: Parameters,
}

/// What everything is rendered with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The chart.
    pub chart: &'a Chart,
    /// What the run is told.
    pub settings: &'a Settings,
    /// How much of a commit is a tag.
    pub hash_length: usize,
}

type Outcome<T> = Result<T, RenderError>;

impl Context<'_> {
    /// The objects of one integration, alone.
    ///
    /// # Errors
    /// When its values do not become objects.
    pub fn entry(&self, entry: &Entry, shards: &[Shard]) -> Outcome<Rendered> {
        if values::is_cron(&entry.spec) {
            return cron::render(self, entry, shards);
        }
        self.spec(values::of_entry(entry, shards), &entry.namespace.environment)
    }

    /// The objects of one integration's values.
    fn spec(&self, mut spec: Value, environment: &Environment) -> Outcome<Rendered> {
        let hidden = Hidden::of(&mut spec);
        let mut rendered = self.values(values::of_all([spec]), environment, |template| {
            hidden.reveal(template);
            repair::parameters(template);
        })?;
        rendered.objects.iter_mut().for_each(repair::object);
        Ok(rendered)
    }

    /// What is there beside integrations: the Service.
    ///
    /// # Errors
    /// When the chart cannot do without any.
    pub fn shared(&self, environment: &Environment) -> Outcome<Rendered> {
        self.values(values::of_all([]), environment, |_| {})
    }

    /// All objects of a namespace at once, as the original makes them.
    ///
    /// # Errors
    /// When one of the values does not become an object.
    pub fn namespace(&self, specs: Vec<Value>, environment: &Environment) -> Outcome<Rendered> {
        self.values(values::of_all(specs), environment, |_| {})
    }

    /// The objects of values as they are, say those of a values file.
    ///
    /// # Errors
    /// When they do not become objects.
    pub fn given(&self, values: Map<String, Value>, environment: &Environment) -> Outcome<Rendered> {
        let mut rendered = self.values(values, environment, repair::parameters)?;
        if !self.settings.scope.compat {
            rendered.objects.iter_mut().for_each(repair::object);
        }
        Ok(rendered)
    }

    fn values(
        &self,
        values: Map<String, Value>,
        environment: &Environment,
        mend: impl Fn(&mut Value),
    ) -> Outcome<Rendered> {
        let mut rendered = Rendered::default();
        for text in self.chart.texts(values)? {
            for (_, document) in manifest::split(&text) {
                let mut value = yaml::read(document, Times::Refused)?;
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

    fn process(&self, template: Value, environment: &Environment, into: &mut Rendered) -> Outcome<()> {
        let template = Template::of(template)?;
        let known: BTreeSet<&str> = template.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let given = parameters::collect(&known, environment, self.settings, self.hash_length);
        let parameters = given.map_err(RenderError::Parameters)?;
        let values = parameters.iter().map(|(name, parameter)| (name.clone(), parameter.value.clone()));
        let given = Given { parameters: values.collect(), ignore_unknown: true, ..Given::default() };
        // No parameter of an integration is made by chance: what is wanted would be another thing each time.
        let objects = template.process(&given, &mut Chance::seeded(0))?;
        let unknown = parameters.values().find_map(|parameter| parameter.value.strip_prefix(parameters::UNKNOWN));
        if let Some(why) = unknown.filter(|_| objects.iter().any(|object| holds(object, parameters::UNKNOWN))) {
            return Err(RenderError::Parameters(why.to_string()));
        }
        into.objects.extend(objects);
        into.parameters.extend(parameters.into_iter().filter(|(_, one)| !one.value.starts_with(parameters::UNKNOWN)));
        Ok(())
    }
}

/// Whether a text stands somewhere in a value.
fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Array(list) => list.iter().any(|one| holds(one, text)),
        Value::Object(map) => map.values().any(|one| holds(one, text)),
        _ => false,
    }
}
