//! Detection of results that must be redacted.
//!
//! Values from Secrets, or marked as secret in the interface, may reach results through templates: truncated, joined,
//! in upper case, or as a word that depends on them. Therefore, the results are rendered again with other texts in
//! place of all secret values. Every result that differs is redacted.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::authorized_reader::AuthorizedReader;
use crate::coupling::ConfigAnswer;
use crate::model::{Plug, SideSpec, Socket};
use crate::render::{
    ComputeError, CouplingPair, CouplingSide, ObjectQuery, PerSide, TemplateEngine, ValueGroup, ValueSource, Values,
    config_root, data, each_value, result_root, secret_names, vars,
};

/// Substitutes for secret values: a word, and a number for templates that calculate. No result is equal for both by
/// chance.
const STAND_INS: [&str; 2] = ["<hidden>", "0"];

/// Rendered text by name; `None` if the template fails.
type RenderedByName = BTreeMap<String, Option<String>>;

/// Inputs of configs and results.
#[derive(Clone, Copy)]
pub(super) struct RenderInputs<'a> {
    pub engine: &'a TemplateEngine,
    pub pair: CouplingPair<'a>,
    pub config_answers: &'a PerSide<Option<ConfigAnswer>>,
    pub data: &'a PerSide<Values>,
}

/// Returns the names of results to redact: those that the interface marks, that contain a value from a Secret, or that
/// depend on one.
pub(super) fn redacted_results(
    reader: &AuthorizedReader<'_>,
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
    reader: &AuthorizedReader<'_>,
    inputs: &RenderInputs<'_>,
    config: &PerSide<Values>,
    stand_in: &str,
    names: &mut PerSide<BTreeSet<String>>,
) -> Result<(), ComputeError> {
    let substitute = SecretSubstitute { reader, stand_in };
    let (plug, socket) = (substitute.plug(inputs.pair), substitute.socket(inputs.pair));
    let pair = CouplingPair { plug: &plug, socket: &socket };
    let veiled_data = data(&substitute, pair)?;
    let veiled = RenderInputs { pair, data: &veiled_data, ..*inputs };
    let mut veiled_config = config.clone();
    for side in CouplingSide::BOTH {
        let marked = secret_names(inputs.pair.socket.interface.as_ref(), side, "config");
        let (open, closed) = (configs(reader, inputs, side)?, configs(&substitute, &veiled, side)?);
        for (name, text) in veiled_config.of_mut(side) {
            if marked.contains(name) || open.get(name) != closed.get(name) {
                *text = stand_in.to_string();
            }
        }
    }
    for side in CouplingSide::BOTH {
        let (open, closed) =
            (results(reader, inputs, side, config)?, results(&substitute, &veiled, side, &veiled_config)?);
        let differs = open.keys().filter(|name| open.get(*name) != closed.get(*name));
        names.of_mut(side).extend(differs.cloned());
    }
    Ok(())
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
    reader: &'a AuthorizedReader<'a>,
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
            let encoded = STANDARD.encode(self.stand_in);
            let texts = object["data"].as_object_mut().into_iter().flat_map(|data| data.values_mut());
            texts.for_each(|text| *text = encoded.clone().into());
        }
        Ok(object)
    }
}
