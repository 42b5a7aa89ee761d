//! Templates with the answers of the real Go packages.
//!
//! `tests/cases/*.json` hold cases and what Go's text/template answered. Every run compares our answers with those; with
//! the feature `real` the oracle (tests/real/oracle) is asked again, random templates are compared with it as well, and
//! `UPDATE=1` records its answers anew.
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

use case::{Case, files};

#[test]
fn answers_are_gos() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in files() {
        for case in Case::read(&file) {
            count += 1;
            wrong.extend(case.complaint());
        }
    }
    assert!(count >= 500, "{count} cases");
    assert!(wrong.is_empty(), "{} of {count} cases are wrong\n{}", wrong.len(), wrong.join("\n"));
}
