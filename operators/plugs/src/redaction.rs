//! Detection of values that must be redacted.
//!
//! Values from Secrets, or marked as secret in the interface, may reach results and objects through templates:
//! truncated, joined, in upper case, or as a word that depends on them. Therefore, everything is rendered again with
//! other texts in place of all secret values. Every text that differs is redacted.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use switchboard_kernel::redact::REDACTED;

use crate::coupling::ConfigAnswer;
use crate::model::{Plug, SideSpec, Socket};
use crate::render::{
    ComputeError, CouplingPair, CouplingSide, ObjectQuery, PerSide, TemplateEngine, ValueGroup, ValueSource, Values,
    config_root, data, each_value, result_root, secret_names, vars,
};

/// Substitutes for secret values: a word, and a number for templates that calculate. No result is equal for both by
/// chance.
pub(crate) const STAND_INS: [&str; 2] = [REDACTED, "0"];

/// Source of values that knows the secret ones among them.
pub(crate) trait SecretSource: ValueSource {
    /// Whether a text contains a secret value that was read.
    fn is_secret(&self, text: &str) -> bool;

    /// Whether a Secret was read.
    fn has_read_secrets(&self) -> bool;
}

/// Rendered text by name; `None` if the template fails.
type RenderedByName = BTreeMap<String, Option<String>>;

/// Inputs of configs and results.
#[derive(Clone, Copy)]
pub(crate) struct RenderInputs<'a> {
    pub engine: &'a TemplateEngine,
    pub pair: CouplingPair<'a>,
    pub config_answers: &'a PerSide<Option<ConfigAnswer>>,
    pub data: &'a PerSide<Values>,
}

/// Returns the names of results to redact: those that the interface marks, that contain a value from a Secret, or that
/// depend on one.
pub(crate) fn redacted_results(
    reader: &dyn SecretSource,
    inputs: &RenderInputs<'_>,
    config: &PerSide<Values>,
    values: &PerSide<Values>,
) -> Result<PerSide<Vec<String>>, ComputeError> {
    let marked =
        |side: CouplingSide, what: &'static str| secret_names(inputs.pair.socket.interface.as_ref(), side, what);
    let mut names: PerSide<BTreeSet<String>> = PerSide::default();
    for side in CouplingSide::BOTH {
        names.of_mut(side).extend(marked(side, "result"));
        let held = values.of(side).iter().filter(|(_, text)| reader.is_secret(text));
        names.of_mut(side).extend(held.map(|(name, _)| name.clone()));
    }
    let has_marks = CouplingSide::BOTH
        .iter()
        .any(|side| !marked(*side, "config").is_empty() || !marked(*side, "result").is_empty());
    let is_any = !values.plug.is_empty() || !values.socket.is_empty();
    if is_any && (reader.has_read_secrets() || has_marks) {
        for stand_in in STAND_INS {
            add_dependent(reader, inputs, config, stand_in, &mut names)?;
        }
    }
    let listed = |all: BTreeSet<String>| all.into_iter().collect();
    Ok(PerSide { plug: listed(names.plug), socket: listed(names.socket) })
}

/// Adds the names of results that differ if secret values are substituted.
fn add_dependent(
    reader: &dyn SecretSource,
    inputs: &RenderInputs<'_>,
    config: &PerSide<Values>,
    stand_in: &str,
    names: &mut PerSide<BTreeSet<String>>,
) -> Result<(), ComputeError> {
    let substituted = SubstitutedPair::new(reader, inputs, config, stand_in)?;
    let other = RenderInputs { pair: substituted.pair(), data: &substituted.data, ..*inputs };
    let substitute = SecretSubstitute { reader, stand_in };
    for side in CouplingSide::BOTH {
        let (open, closed) =
            (results(reader, inputs, side, config)?, results(&substitute, &other, side, &substituted.config)?);
        let differs = open.keys().filter(|name| open.get(*name) != closed.get(*name));
        names.of_mut(side).extend(differs.cloned());
    }
    Ok(())
}

/// A pair with other texts in place of all secret values.
pub(crate) struct SubstitutedPair {
    plug: Plug,
    socket: Socket,
    data: PerSide<Values>,
    /// Configs. Every value that is marked as secret or depends on a secret is the substitute.
    pub config: PerSide<Values>,
}

impl SubstitutedPair {
    /// Substitutes `stand_in` for all secret values of a pair with these configs.
    ///
    /// # Errors
    /// [`ComputeError`] of the source.
    pub fn new(
        reader: &dyn SecretSource,
        inputs: &RenderInputs<'_>,
        config: &PerSide<Values>,
        stand_in: &str,
    ) -> Result<Self, ComputeError> {
        let substitute = SecretSubstitute { reader, stand_in };
        let (plug, socket) = (substitute.plug(inputs.pair), substitute.socket(inputs.pair));
        let data = data(&substitute, CouplingPair { plug: &plug, socket: &socket })?;
        let mut substituted = Self { plug, socket, data, config: config.clone() };
        for side in CouplingSide::BOTH {
            let marked = secret_names(inputs.pair.socket.interface.as_ref(), side, "config");
            let other = RenderInputs { pair: substituted.pair(), data: &substituted.data, ..*inputs };
            let (open, closed) = (configs(reader, inputs, side)?, configs(&substitute, &other, side)?);
            for (name, text) in substituted.config.of_mut(side) {
                if marked.contains(name) || open.get(name) != closed.get(name) {
                    *text = stand_in.to_string();
                }
            }
        }
        Ok(substituted)
    }

    /// Returns the pair.
    pub fn pair(&self) -> CouplingPair<'_> {
        CouplingPair { plug: &self.plug, socket: &self.socket }
    }
}

fn configs(
    source: &dyn ValueSource,
    inputs: &RenderInputs<'_>,
    side: CouplingSide,
) -> Result<RenderedByName, ComputeError> {
    let own = own_vars(source, inputs, side, &inputs.pair.side(side).vars)?;
    let root = config_root(inputs.pair, inputs.data, &own);
    let mut all = each_value(source, inputs.engine, inputs.pair, side, ValueGroup::Config, &root)?;
    let answers = inputs.config_answers.of(side).iter().flat_map(|answers| &answers.values);
    all.extend(answers.map(|(name, text)| (name.clone(), Some(text.clone()))));
    Ok(all)
}

fn results(
    source: &dyn ValueSource,
    inputs: &RenderInputs<'_>,
    side: CouplingSide,
    config: &PerSide<Values>,
) -> Result<RenderedByName, ComputeError> {
    let own = own_vars(source, inputs, side, &inputs.pair.side(side).result_vars)?;
    let root = result_root(inputs.pair, side, inputs.data, config, &own);
    each_value(source, inputs.engine, inputs.pair, side, ValueGroup::Result, &root)
}

/// Renders vars. With substitutes, a var whose name or path depends on a secret may fail; then there are no vars.
fn own_vars(
    source: &dyn ValueSource,
    inputs: &RenderInputs<'_>,
    side: CouplingSide,
    wanted: &[crate::model::Var],
) -> Result<Values, ComputeError> {
    match vars(source, inputs.engine, inputs.pair, side, wanted) {
        Err(ComputeError::Decide(stop)) => Err(stop.into()),
        other => Ok(other.unwrap_or_default()),
    }
}

/// Value source that substitutes secret values.
struct SecretSubstitute<'a> {
    reader: &'a dyn ValueSource,
    stand_in: &'a str,
}

impl SecretSubstitute<'_> {
    fn plug(&self, pair: CouplingPair<'_>) -> Plug {
        let mut plug = pair.plug.clone();
        self.substitute(pair, CouplingSide::Plug, &mut plug.side, &mut plug.manifest);
        plug
    }

    fn socket(&self, pair: CouplingPair<'_>) -> Socket {
        let mut socket = pair.socket.clone();
        self.substitute(pair, CouplingSide::Socket, &mut socket.side, &mut socket.manifest);
        socket
    }

    /// Substitutes marked values that are literals in the object itself.
    fn substitute(&self, pair: CouplingPair<'_>, side: CouplingSide, spec: &mut SideSpec, manifest: &mut Value) {
        for (what, from) in [("config", &mut spec.config), ("result", &mut spec.result)] {
            for name in secret_names(pair.socket.interface.as_ref(), side, what) {
                let written = [format!("/spec/{what}"), format!("/spec/{what}Template")];
                for place in &written {
                    if let Some(text) = manifest.pointer_mut(place).and_then(|texts| texts.get_mut(&name)) {
                        *text = self.stand_in.into();
                    }
                }
                for texts in [&mut from.inline, &mut from.template] {
                    if let Some(text) = texts.get_mut(&name) {
                        *text = self.stand_in.to_string();
                    }
                }
            }
        }
    }

    fn substituted(&self, values: Values) -> Values {
        values.into_keys().map(|name| (name, self.stand_in.to_string())).collect()
    }
}

impl ValueSource for SecretSubstitute<'_> {
    fn config_map(&self, side: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError> {
        self.reader.config_map(side, namespace, name)
    }

    fn secret(&self, side: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError> {
        Ok(self.substituted(self.reader.secret(side, namespace, name)?))
    }

    fn object(&self, side: CouplingSide, wanted: &ObjectQuery<'_>) -> Result<Value, ComputeError> {
        let mut object = self.reader.object(side, wanted)?;
        if wanted.kind == "Secret" {
            for (field, text) in [("data", STANDARD.encode(self.stand_in)), ("stringData", self.stand_in.to_string())] {
                let values = object.get_mut(field).and_then(Value::as_object_mut);
                let texts = values.into_iter().flat_map(|values| values.values_mut());
                texts.for_each(|value| *value = text.clone().into());
            }
        }
        Ok(object)
    }
}
