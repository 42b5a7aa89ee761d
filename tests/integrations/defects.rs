//! Every known defect of qontract-reconcile has a test that shows its absence here.

/// Number of known defects.
const DEFECTS: usize = 21;

#[test]
fn every_defect_has_a_test_and_the_test_is_there() {
    let listed = (1..=DEFECTS).map(|number| number.to_string());
    let folders = ["operators/integrations", "app/cli", "tests"];
    assert_eq!(switchboard_suite::defects::check("tests/integrations/defects.yaml", listed, &folders), Ok(()));
}
