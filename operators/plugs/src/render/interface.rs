//! Validation against the interface of a socket.

use std::collections::BTreeMap;

use super::{ComputeError, CouplingPair, CouplingSide, Values};
use crate::model::{Interface, Property};

/// Checks that plug and socket have the same interface, if both name one.
///
/// # Errors
/// A message with the requested and the provided interface.
pub fn check_interface(pair: CouplingPair<'_>) -> Result<(), String> {
    let offered = pair.socket.interface.as_ref().and_then(|interface| interface.name.as_ref());
    let Some(wanted) = &pair.plug.interface else { return Ok(()) };
    let Some(offered) = offered else {
        return Err(format!(
            "spec.interface: plug requires the interface {wanted}, and the socket has no name for its interface"
        ));
    };
    let same_version = |version: &String| offered.version.as_ref().is_none_or(|other| other == version);
    if offered.name == wanted.name && wanted.version.as_ref().is_none_or(same_version) {
        return Ok(());
    }
    Err(format!(
        "spec.interface: plug requires the interface {wanted}, and the socket has {offered}; couple to another socket"
    ))
}

fn properties<'a>(
    interface: Option<&'a Interface>,
    side: CouplingSide,
    what: &str,
) -> Option<&'a BTreeMap<String, Property>> {
    let schemas = interface.map(|interface| if what == "config" { &interface.config } else { &interface.result })?;
    match side {
        CouplingSide::Plug => schemas.plug.as_ref(),
        CouplingSide::Socket => schemas.socket.as_ref(),
    }
}

/// Applies the interface to a side's `config` or `result`: keeps declared values and adds defaults. A side without a
/// schema passes all values. An empty string counts as absent, in all four schemas.
///
/// # Errors
/// [`ComputeError`] if a required value is missing or a value is invalid. The message does not contain the value.
pub fn apply_interface(
    interface: Option<&Interface>,
    side: CouplingSide,
    what: &'static str,
    values: Values,
) -> Result<Values, ComputeError> {
    let (passed, missing) = apply_interface_partially(interface, side, what, values)?;
    let Some(name) = missing.first() else { return Ok(passed) };
    let words = format!("{} {what} property '{name}' is required", side.as_str());
    // A result may appear later; the object that provides it triggers the plug.
    Err(if what == "result" { ComputeError::Missing(words) } else { ComputeError::Invalid(words) })
}

/// Applies the interface to incomplete values. Returns the values, and the names of missing required ones.
///
/// # Errors
/// [`ComputeError`] if a value is invalid.
pub fn apply_interface_partially(
    interface: Option<&Interface>,
    side: CouplingSide,
    what: &'static str,
    mut values: Values,
) -> Result<(Values, Vec<String>), ComputeError> {
    let Some(declared) = properties(interface, side, what) else { return Ok((values, Vec::new())) };
    let (mut passed, mut missing) = (Values::new(), Vec::new());
    for (name, property) in declared {
        let named = || format!("{} {what} property '{name}'", side.as_str());
        let given = values.remove(name);
        let text = match (given.filter(|text| !text.is_empty()), &property.default) {
            (Some(text), _) => text,
            (None, _) if property.required => {
                missing.push(name.clone());
                continue;
            }
            (None, Some(default)) => default.clone(),
            (None, None) => continue,
        };
        if let Some(problem) = property.violation(&text) {
            return Err(ComputeError::Invalid(format!("{} {problem}", named())));
        }
        passed.insert(name.clone(), text);
    }
    Ok((passed, missing))
}

/// Returns the names that the interface marks as secret.
pub fn secret_names(interface: Option<&Interface>, side: CouplingSide, what: &'static str) -> Vec<String> {
    let declared = properties(interface, side, what).into_iter().flatten();
    declared.filter(|(_, property)| property.secret).map(|(name, _)| name.clone()).collect()
}
