//! Name of an operator of this binary as an argument.

use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::own_operators::families;

/// Parses the name of an operator. Samples are accepted, but not listed in help and completion: they misbehave on
/// purpose, for tests.
pub fn name_parser() -> PossibleValuesParser {
    let shown = families().operators().into_iter().map(PossibleValue::new);
    let hidden = families().samples().into_iter().map(|name| PossibleValue::new(name).hide(true));
    PossibleValuesParser::new(shown.chain(hidden))
}
