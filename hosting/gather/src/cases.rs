//! Declarative test cases of operators: what is given, what is expected, and how the two are compared.
//!
//! ```text
//! <case>/test.yaml           which program, at which time, with which controllers
//! <case>/input-dir/          what it reads
//! <case>/expected-output/    what it should want written; missing when that is nothing
//! ```
//!
//! This module finds cases, compares directories and writes reports. It runs nothing: who runs the program brings its output.

mod compare;
mod description;
mod discover;
mod junit;
mod lines;
mod mask;

pub use compare::{Comparison, Difference, Strictness, compare};
pub use description::{Description, DescriptionError, DesiredError};
pub use discover::{Case, DiscoverError, EXPECTED_OUTPUT, INPUT_DIRECTORY, MAX_DEPTH, TEST_FILE, discover};
pub use junit::{JunitCase, JunitFailure, junit};
pub use lines::{CONTEXT_LINES, MAX_LINES, diff};
pub use mask::{Mask, MaskError};
