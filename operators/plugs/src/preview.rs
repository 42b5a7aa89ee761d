//! What a plug and a socket would do, from files alone: no cluster is asked, nothing is written.

mod files;
mod happenings;

use serde::Serialize;
use serde_json::Value;

use crate::model::{Action, Event, ModelError, Plug, Socket};
use crate::render::{
    Both, Engine, Pair, Trouble, Values, Who, check_interface, checked, checked_so_far, config_before, data, result,
    vars,
};
use happenings::Happenings;

pub use files::Files;

/// What would be done.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The configurations, as the interface lets them through.
    pub config: Both<Values>,
    /// The results; absent when they need what only a cluster has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Both<Values>>,
    /// Every event with what it makes, in order.
    pub events: Vec<Happening>,
    /// What is left out, and why.
    pub left_out: Vec<String>,
    /// Whose apparatus would be asked, and whose answer was not given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<Who>,
}

/// One event on one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Happening {
    /// Which.
    pub event: Event,
    /// On which side.
    pub side: Who,
    /// In order.
    pub acts: Vec<Act>,
}

/// What is done with one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Act {
    /// Which template it is of.
    pub place: String,
    /// What is done.
    pub action: Action,
    /// The object.
    pub object: Value,
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// A field cannot be read.
    #[error("could not read the {0}")]
    Model(&'static str, #[source] ModelError),
    /// Plug and socket do not fit.
    #[error("the plug does not fit the socket: {0}")]
    Unfit(String),
    /// An answer of nobody.
    #[error(
        "the {0} has no apparatus, so there is no answer of it\nhint: give it `spec.apparatus`, or leave the answer out"
    )]
    Unasked(&'static str),
    /// Something cannot be computed.
    #[error("could not make {what}")]
    Trouble {
        /// What.
        what: String,
        /// Why.
        #[source]
        source: Trouble,
    },
}

fn trouble(what: impl Into<String>) -> impl FnOnce(Trouble) -> PreviewError {
    let what = what.into();
    move |source| PreviewError::Trouble { what, source }
}

/// What a plug and a socket would do, with the Secrets, ConfigMaps and other objects that they name, and what their programs answer,
/// given as `files`.
///
/// Whatever needs an answer that was not given is left out, and said; all else is there.
///
/// # Errors
/// [`PreviewError`] names what is wrong with them.
pub fn preview(plug: &Value, socket: &Value, files: &Files, engine: &Engine) -> Result<Preview, PreviewError> {
    let plug = Plug::read(plug).map_err(|error| PreviewError::Model("plug", error))?;
    let socket = Socket::read(socket).map_err(|error| PreviewError::Model("socket", error))?;
    let pair = Pair { plug: &plug, socket: &socket };
    check_interface(pair).map_err(PreviewError::Unfit)?;
    let has_apparatus = |who: &Who| pair.side(*who).apparatus.is_some();
    if let Some(who) = Who::BOTH.into_iter().find(|who| files.answer(*who).is_some() && !has_apparatus(who)) {
        return Err(PreviewError::Unasked(who.word()));
    }
    let unanswered: Vec<Who> =
        Who::BOTH.into_iter().filter(|who| has_apparatus(who) && files.answer(*who).is_none()).collect();
    let mut left_out = Vec::new();
    let data = data(files, pair).map_err(trouble("the data"))?;
    let mut config_of = |who: Who| configured(files, engine, pair, who, &data, &unanswered, &mut left_out);
    let config = Both { plug: config_of(Who::Plug)?, socket: config_of(Who::Socket)? };
    let result = match results(files, engine, pair, &data, &config) {
        Ok(result) => Some(result),
        Err(why) if matches!(why, Trouble::Missing(_)) || !unanswered.is_empty() => {
            left_out.push(format!("the results, and what is made of them: {why}"));
            None
        }
        Err(source) => return Err(PreviewError::Trouble { what: "the results".to_string(), source }),
    };
    let happenings = Happenings::new(engine, pair, &config, result.as_ref(), !unanswered.is_empty());
    let (events, without) = happenings.all()?;
    left_out.extend(without);
    Ok(Preview { config, result, events, left_out, unanswered })
}

/// The configuration of a side, as far as it is known.
fn configured(
    files: &Files,
    engine: &Engine,
    pair: Pair<'_>,
    who: Who,
    data: &Both<Values>,
    unanswered: &[Who],
    left_out: &mut Vec<String>,
) -> Result<Values, PreviewError> {
    let own = vars(files, engine, pair, who, &pair.side(who).vars)
        .map_err(trouble(format!("the vars of the {}", who.word())))?;
    let wrong = |source: Trouble| trouble(format!("the config of the {}", who.word()))(source);
    let mut values = config_before(files, engine, pair, who, data, &own).map_err(wrong)?;
    let interface = pair.socket.interface.as_ref();
    if !unanswered.contains(&who) {
        values.extend(files.answer(who).cloned().unwrap_or_default());
        return checked(interface, who, "config", values).map_err(wrong);
    }
    let (passed, missing) = checked_so_far(interface, who, "config", values).map_err(wrong)?;
    left_out.push(format!("what the apparatus of the {} adds to its config, and to what is made of that", who.word()));
    let added = |name: &String| {
        format!("{} config property '{name}', which is required and which its apparatus may add", who.word())
    };
    left_out.extend(missing.iter().map(added));
    Ok(passed)
}

fn results(
    files: &Files,
    engine: &Engine,
    pair: Pair<'_>,
    data: &Both<Values>,
    config: &Both<Values>,
) -> Result<Both<Values>, Trouble> {
    let plug = result(files, engine, pair, Who::Plug, data, config)?;
    Ok(Both { plug, socket: result(files, engine, pair, Who::Socket, data, config)? })
}

#[cfg(test)]
mod tests;
