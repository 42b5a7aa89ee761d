//! Preview of a plug and a socket from files, without a cluster.

mod event_preview;
mod files;
mod redaction;

use serde::Serialize;
use serde_json::Value;

use crate::model::{CouplingEvent, ModelError, Plug, ResourceAction, Socket};
use crate::render::{
    ComputeError, CouplingPair, CouplingSide, PerSide, TemplateEngine, Values, apply_interface,
    apply_interface_partially, check_interface, config_before_apparatus, data, result, vars,
};
use event_preview::EventPreviews;
use redaction::SecretFiles;

pub use files::PreviewFiles;

/// Preview of a coupling.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CouplingPreview {
    /// Configurations after the interface is applied.
    pub config: PerSide<Values>,
    /// Results; absent if they depend on a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<PerSide<Values>>,
    /// Events and their objects, in order.
    pub events: Vec<EventPreview>,
    /// Omitted parts, with reasons.
    pub omitted: Vec<String>,
    /// Sides whose apparatus would be called and whose answer is not given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<CouplingSide>,
}

/// One event on one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventPreview {
    /// Event.
    pub event: CouplingEvent,
    /// Side.
    pub side: CouplingSide,
    /// Actions in order.
    pub actions: Vec<ObjectAction>,
}

/// Action on one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectAction {
    /// Path of the template in the spec.
    pub path: String,
    /// Action.
    pub action: ResourceAction,
    /// Object.
    pub object: Value,
}

/// Error of a preview.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// A field is invalid.
    #[error("could not read the {0}")]
    Model(&'static str, #[source] ModelError),
    /// The interfaces do not match.
    #[error("the plug is not compatible with the socket: {0}")]
    Mismatch(String),
    /// An answer is given for a side without an apparatus.
    #[error("the {0} has no apparatus that could answer\nhint: set `spec.apparatus` of the {0}, or omit the answer")]
    UnexpectedAnswer(&'static str),
    /// A value could not be computed.
    #[error("could not compute {what}")]
    Compute {
        /// Description of the value.
        what: String,
        /// Cause.
        #[source]
        source: ComputeError,
    },
}

fn compute_error(what: impl Into<String>) -> impl FnOnce(ComputeError) -> PreviewError {
    let what = what.into();
    move |source| PreviewError::Compute { what, source }
}

/// Returns the preview of a plug and a socket. `files` holds the Secrets, ConfigMaps and other objects that they
/// reference, and the answers of their apparatuses. Values of Secrets, values that the interface marks as secret, and
/// everything that depends on them are redacted.
///
/// Parts that depend on a missing answer are omitted and listed.
///
/// # Errors
/// [`PreviewError`] describes the problem.
pub fn preview(
    plug: &Value,
    socket: &Value,
    files: &PreviewFiles,
    engine: &TemplateEngine,
) -> Result<CouplingPreview, PreviewError> {
    let (plug, socket) = read_pair(plug, socket)?;
    let pair = CouplingPair { plug: &plug, socket: &socket };
    let files = SecretFiles::new(files, pair);
    let shown = preview_of_pair(pair, files.files(), engine);
    let redacted = shown.and_then(|preview| redaction::redact(&files, engine, pair, preview));
    redacted.map_err(|error| files.redact_error(error))
}

/// Returns the preview like [`preview`], with secret values.
///
/// # Errors
/// [`PreviewError`] describes the problem.
pub fn preview_with_secrets(
    plug: &Value,
    socket: &Value,
    files: &PreviewFiles,
    engine: &TemplateEngine,
) -> Result<CouplingPreview, PreviewError> {
    let (plug, socket) = read_pair(plug, socket)?;
    preview_of_pair(CouplingPair { plug: &plug, socket: &socket }, files, engine)
}

fn read_pair(plug: &Value, socket: &Value) -> Result<(Plug, Socket), PreviewError> {
    let plug = Plug::read(plug).map_err(|error| PreviewError::Model("plug", error))?;
    Ok((plug, Socket::read(socket).map_err(|error| PreviewError::Model("socket", error))?))
}

fn preview_of_pair(
    pair: CouplingPair<'_>,
    files: &PreviewFiles,
    engine: &TemplateEngine,
) -> Result<CouplingPreview, PreviewError> {
    check_interface(pair).map_err(PreviewError::Mismatch)?;
    let has_apparatus = |side: &CouplingSide| pair.side(*side).apparatus.is_some();
    if let Some(side) =
        CouplingSide::BOTH.into_iter().find(|side| files.answer(*side).is_some() && !has_apparatus(side))
    {
        return Err(PreviewError::UnexpectedAnswer(side.as_str()));
    }
    let unanswered: Vec<CouplingSide> =
        CouplingSide::BOTH.into_iter().filter(|side| has_apparatus(side) && files.answer(*side).is_none()).collect();
    let mut omitted = Vec::new();
    let data = data(files, pair).map_err(compute_error("the data"))?;
    let mut config_of =
        |side: CouplingSide| config_of_side(files, engine, pair, side, &data, &unanswered, &mut omitted);
    let config = PerSide { plug: config_of(CouplingSide::Plug)?, socket: config_of(CouplingSide::Socket)? };
    let result = match results(files, engine, pair, &data, &config) {
        Ok(result) => Some(result),
        Err(why) if matches!(why, ComputeError::Missing(_)) || !unanswered.is_empty() => {
            omitted.push(format!("the results, and the objects that need them: {why}"));
            None
        }
        Err(source) => return Err(PreviewError::Compute { what: "the results".to_string(), source }),
    };
    let previews = EventPreviews::new(engine, pair, &config, result.as_ref(), !unanswered.is_empty());
    let (events, without) = previews.all()?;
    omitted.extend(without);
    Ok(CouplingPreview { config, result, events, omitted, unanswered })
}

/// Returns the config of a side as far as it is known.
fn config_of_side(
    files: &PreviewFiles,
    engine: &TemplateEngine,
    pair: CouplingPair<'_>,
    side: CouplingSide,
    data: &PerSide<Values>,
    unanswered: &[CouplingSide],
    omitted: &mut Vec<String>,
) -> Result<Values, PreviewError> {
    let own = vars(files, engine, pair, side, &pair.side(side).vars)
        .map_err(compute_error(format!("the vars of the {}", side.as_str())))?;
    let wrong = |source: ComputeError| compute_error(format!("the config of the {}", side.as_str()))(source);
    let mut values = config_before_apparatus(files, engine, pair, side, data, &own).map_err(wrong)?;
    let interface = pair.socket.interface.as_ref();
    if !unanswered.contains(&side) {
        values.extend(files.answer(side).cloned().unwrap_or_default());
        return apply_interface(interface, side, "config", values).map_err(wrong);
    }
    let (passed, missing) = apply_interface_partially(interface, side, "config", values).map_err(wrong)?;
    omitted.push(format!(
        "the values that the apparatus of the {} adds to its config, and the objects that need them",
        side.as_str()
    ));
    let added = |name: &String| {
        format!("{} config property '{name}', which is required and which its apparatus may add", side.as_str())
    };
    omitted.extend(missing.iter().map(added));
    Ok(passed)
}

fn results(
    files: &PreviewFiles,
    engine: &TemplateEngine,
    pair: CouplingPair<'_>,
    data: &PerSide<Values>,
    config: &PerSide<Values>,
) -> Result<PerSide<Values>, ComputeError> {
    let plug = result(files, engine, pair, CouplingSide::Plug, data, config)?;
    Ok(PerSide { plug, socket: result(files, engine, pair, CouplingSide::Socket, data, config)? })
}

#[cfg(test)]
mod tests;
