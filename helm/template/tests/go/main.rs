//! Comparison with results of the real Go packages.
//!
//! `tests/cases/*.json` contain cases and the results of Go's text/template. Every run compares this engine with the
//! recorded results. With the feature `real`, the tests also query the Go oracle (tests/real/oracle) and compare random
//! templates, and `UPDATE=1` records its results.
#![allow(clippy::unwrap_used)]

mod case;
mod data;
mod functions;
#[cfg(feature = "real")]
mod generator;
mod hostile;
mod objects;
#[cfg(feature = "real")]
mod oracle;
#[cfg(feature = "real")]
mod real;
mod threads;

use case::{TemplateCase, files};

#[test]
fn results_match_go() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in files() {
        for case in TemplateCase::read(&file) {
            count += 1;
            wrong.extend(case.mismatch());
        }
    }
    assert!(count >= 500, "{count} cases");
    assert!(wrong.is_empty(), "{} of {count} cases are wrong\n{}", wrong.len(), wrong.join("\n"));
}
