//! Formatting of errors like Helm.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn levels_are_parsed_from_go_errors() {
    let step = ErrorLevel::read(
        "template: a.yaml:1:2: executing \"a.yaml\" at <.x>: error calling include: template: b:1:1: executing",
    )
    .unwrap();
    assert_eq!(step.to_line(), "a.yaml:1:2\n  executing \"a.yaml\" at <.x>:\n    error calling include:\n");
    assert_eq!(ErrorLevel::read("template: a:1: bad").unwrap().to_line(), "a:1\n  bad\n");
    assert_eq!(ErrorLevel::read("boom"), None);
}
