//! Declarative test cases of operators: input, expected output, and the comparison of both.
//!
//! ```text
//! <case>/test.yaml           program, time, controllers
//! <case>/input-dir/          input of the program
//! <case>/expected-output/    expected mutations; missing if there are none
//! ```
//!
//! This module finds cases, compares directories and writes reports. It runs no programs; its caller does.

mod compare;
mod description;
mod junit;
mod line_diff;
mod mask;
mod search;

pub use compare::{CompareOptions, Difference, Strictness, compare};
pub use description::{CaseDescription, DescriptionError, DesiredError};
pub use junit::{JunitCase, JunitFailure, junit};
pub use line_diff::{CONTEXT_LINES, MAX_LINES, diff};
pub use mask::{Mask, MaskError};
pub use search::{CaseDiscoveryError, EXPECTED_OUTPUT, INPUT_DIRECTORY, MAX_DEPTH, OperatorCase, TEST_FILE, discover};
