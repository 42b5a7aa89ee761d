//! Name of an operator of this binary as an argument.

use clap::builder::{PossibleValue, PossibleValuesParser};
use switchboard_runtime::operators::known;

/// Parses the name of an operator. Samples are accepted, but not listed in help and completion: they misbehave on
/// purpose, for tests.
pub fn name_parser() -> PossibleValuesParser {
    let shown = known().operators.iter().map(|name| PossibleValue::new(*name));
    let hidden = known().samples.iter().map(|name| PossibleValue::new(*name).hide(true));
    PossibleValuesParser::new(shown.chain(hidden))
}
