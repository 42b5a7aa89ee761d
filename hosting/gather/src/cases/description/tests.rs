#![allow(clippy::unwrap_used)]

use super::*;

const WHOLE: &str = "binaryName: ./web\ntestName: a\ndescription: b\ntestType: ApplyConfiguration\n";

fn refused(text: &str) -> String {
    CaseDescription::read(text).unwrap_err().to_string()
}

#[test]
fn fields_of_multi_operator_manager_are_parsed() {
    let text = format!("{WHOLE}now: 2024-10-15T00:38:20.7+02:00\ndesiredError: NonZeroReturn\ncontrollers: [a, b]\n");
    let read = CaseDescription::read(&format!("{text}somethingElse: 1\n")).unwrap();
    assert_eq!((read.binary_name.as_str(), read.test_name.as_str()), ("./web", "a"));
    assert_eq!(read.now.as_deref(), Some("2024-10-14T22:38:20Z"), "in UTC, to the second");
    assert_eq!((read.desired_error, read.controllers.len()), (DesiredError::NonZeroReturn, 2));
    let bare = CaseDescription::read(&format!("{WHOLE}now:\ncontrollers:\n")).unwrap();
    assert_eq!((bare.now, bare.desired_error, bare.controllers.len()), (None, DesiredError::None, 0));
}

#[test]
fn missing_and_unknown_fields_are_reported() {
    for (field, line) in [("binaryName", "binaryName: ./web\n"), ("testName", "testName: a\n")] {
        assert_eq!(refused(&WHOLE.replace(line, "")), format!("`{field}` is missing"));
    }
    let error = refused(&WHOLE.replace("ApplyConfiguration", "Load"));
    assert_eq!(error, "`testType` is `Load`, but must be `ApplyConfiguration`");
    let error = refused(&format!("{WHOLE}desiredError: Panic\n"));
    assert_eq!(error, "`desiredError` is `Panic`, but must be `NonZeroReturn` or nothing");
    assert!(refused(&format!("{WHOLE}now: yesterday\n")).starts_with("`now` is `yesterday`, but must be an RFC 3339"));
    assert_eq!(refused(&format!("{WHOLE}masks: [{{}}]\n")), "`masks[0]` is invalid");
    assert_eq!(refused("- a\n"), "is not a map of fields");
    assert_eq!(refused("testName: [a]\n"), "has an invalid field");
    assert_eq!(refused("a: [\n"), "is not YAML");
}

#[test]
fn a_native_operator_needs_no_program() {
    let read = CaseDescription::read(&WHOLE.replace("binaryName: ./web", "operator: greeter")).unwrap();
    assert_eq!((read.operator.as_str(), read.binary_name.as_str()), ("greeter", ""));
}
