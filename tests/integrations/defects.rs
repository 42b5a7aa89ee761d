//! Each defect of the original has a test by which we have none, and the test is there.

/// How many the list that was made of them has.
const DEFECTS: usize = 21;

#[test]
fn every_defect_has_a_test_and_the_test_is_there() {
    let listed = (1..=DEFECTS).map(|number| number.to_string());
    let folders = ["operators/integrations", "app/cli", "tests"];
    assert_eq!(switchboard_suite::defects::check("tests/integrations/defects.yaml", listed, &folders), Ok(()));
}
