//! Which results are not to be shown.
//!
//! What comes out of a Secret, or is marked as one, reaches results through templates: cut, joined, in capitals, or as a word that
//! depends on it. So results are made once more with other texts in the place of all that is secret. Whatever comes out otherwise is
//! hidden.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::reading::Reading;
use crate::coupling::Told;
use crate::model::{Plug, Side, Socket};
use crate::render::{
    Both, Engine, Given, Pair, Source, Trouble, Values, Wanted, Who, config_root, data, each, result_root,
    secret_names, vars,
};

/// What stands in for secrets: a word, and a number for templates that reckon. No result is the same by chance with both.
const STAND_INS: [&str; 2] = ["<hidden>", "0"];

/// What a template could not be rendered to, or a text, by name.
type Each = BTreeMap<String, Option<String>>;

/// What configs and results are made of.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub engine: &'a Engine,
    pub pair: Pair<'a>,
    pub told: &'a Both<Option<Told>>,
    pub data: &'a Both<Values>,
}

/// The names of results that are not to be shown: those the interface marks, those that hold what was read from a Secret, and those
/// that depend on it.
pub(super) fn hidden(
    reading: &Reading<'_>,
    inputs: &Inputs<'_>,
    config: &Both<Values>,
    values: &Both<Values>,
) -> Result<Both<Vec<String>>, Trouble> {
    let marked = |who: Who, what: &'static str| secret_names(inputs.pair.socket.interface.as_ref(), who, what);
    let mut names: Both<BTreeSet<String>> = Both::default();
    for who in Who::BOTH {
        names.of_mut(who).extend(marked(who, "result"));
        let held = values.of(who).iter().filter(|(_, text)| reading.is_secret(text));
        names.of_mut(who).extend(held.map(|(name, _)| name.clone()));
    }
    let has_marks =
        Who::BOTH.iter().any(|who| !marked(*who, "config").is_empty() || !marked(*who, "result").is_empty());
    let is_any = !values.plug.is_empty() || !values.socket.is_empty();
    if is_any && (reading.has_read_secrets() || has_marks) {
        for stand_in in STAND_INS {
            depending(reading, inputs, config, stand_in, &mut names)?;
        }
    }
    let listed = |all: BTreeSet<String>| all.into_iter().collect();
    Ok(Both { plug: listed(names.plug), socket: listed(names.socket) })
}

/// Adds the names of results that come out otherwise with another text in the place of secrets.
fn depending(
    reading: &Reading<'_>,
    inputs: &Inputs<'_>,
    config: &Both<Values>,
    stand_in: &str,
    names: &mut Both<BTreeSet<String>>,
) -> Result<(), Trouble> {
    let veil = Veil { reading, stand_in };
    let (plug, socket) = (veil.plug(inputs.pair), veil.socket(inputs.pair));
    let pair = Pair { plug: &plug, socket: &socket };
    let veiled_data = data(&veil, pair)?;
    let veiled = Inputs { pair, data: &veiled_data, ..*inputs };
    let mut veiled_config = config.clone();
    for who in Who::BOTH {
        let marked = secret_names(inputs.pair.socket.interface.as_ref(), who, "config");
        let (open, closed) = (configs(reading, inputs, who)?, configs(&veil, &veiled, who)?);
        for (name, text) in veiled_config.of_mut(who) {
            if marked.contains(name) || open.get(name) != closed.get(name) {
                *text = stand_in.to_string();
            }
        }
    }
    for who in Who::BOTH {
        let (open, closed) = (results(reading, inputs, who, config)?, results(&veil, &veiled, who, &veiled_config)?);
        let differs = open.keys().filter(|name| open.get(*name) != closed.get(*name));
        names.of_mut(who).extend(differs.cloned());
    }
    Ok(())
}

fn configs(source: &dyn Source, inputs: &Inputs<'_>, who: Who) -> Result<Each, Trouble> {
    let own = own_vars(source, inputs, who, &inputs.pair.side(who).vars)?;
    let root = config_root(inputs.pair, inputs.data, &own);
    let mut all = each(source, inputs.engine, inputs.pair, who, Given::Config, &root)?;
    let told = inputs.told.of(who).iter().flat_map(|told| &told.values);
    all.extend(told.map(|(name, text)| (name.clone(), Some(text.clone()))));
    Ok(all)
}

fn results(source: &dyn Source, inputs: &Inputs<'_>, who: Who, config: &Both<Values>) -> Result<Each, Trouble> {
    let own = own_vars(source, inputs, who, &inputs.pair.side(who).result_vars)?;
    let root = result_root(inputs.pair, who, inputs.data, config, &own);
    each(source, inputs.engine, inputs.pair, who, Given::Result, &root)
}

/// A var whose name or path depends on a secret may lead nowhere without it: then nothing is made of it.
fn own_vars(
    source: &dyn Source,
    inputs: &Inputs<'_>,
    who: Who,
    wanted: &[crate::model::Var],
) -> Result<Values, Trouble> {
    match vars(source, inputs.engine, inputs.pair, who, wanted) {
        Err(Trouble::Stop(stop)) => Err(stop.into()),
        other => Ok(other.unwrap_or_default()),
    }
}

/// Reads with other texts in the place of secrets.
struct Veil<'a> {
    reading: &'a Reading<'a>,
    stand_in: &'a str,
}

impl Veil<'_> {
    fn plug(&self, pair: Pair<'_>) -> Plug {
        let mut plug = pair.plug.clone();
        self.cover(pair, Who::Plug, &mut plug.side, &mut plug.seen);
        plug
    }

    fn socket(&self, pair: Pair<'_>) -> Socket {
        let mut socket = pair.socket.clone();
        self.cover(pair, Who::Socket, &mut socket.side, &mut socket.seen);
        socket
    }

    /// What is marked may be written down in the object itself.
    fn cover(&self, pair: Pair<'_>, who: Who, side: &mut Side, seen: &mut Value) {
        for (what, from) in [("config", &mut side.config), ("result", &mut side.result)] {
            for name in secret_names(pair.socket.interface.as_ref(), who, what) {
                let written = [format!("/spec/{what}"), format!("/spec/{what}Template")];
                for place in &written {
                    if let Some(text) = seen.pointer_mut(place).and_then(|texts| texts.get_mut(&name)) {
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

    fn covered(&self, values: Values) -> Values {
        values.into_keys().map(|name| (name, self.stand_in.to_string())).collect()
    }
}

impl Source for Veil<'_> {
    fn config_map(&self, who: Who, namespace: &str, name: &str) -> Result<Values, Trouble> {
        self.reading.config_map(who, namespace, name)
    }

    fn secret(&self, who: Who, namespace: &str, name: &str) -> Result<Values, Trouble> {
        Ok(self.covered(self.reading.secret(who, namespace, name)?))
    }

    fn object(&self, who: Who, wanted: &Wanted<'_>) -> Result<Value, Trouble> {
        let mut object = self.reading.object(who, wanted)?;
        if wanted.kind == "Secret" {
            let encoded = STANDARD.encode(self.stand_in);
            let texts = object["data"].as_object_mut().into_iter().flat_map(|data| data.values_mut());
            texts.for_each(|text| *text = encoded.clone().into());
        }
        Ok(object)
    }
}
