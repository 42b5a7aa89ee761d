//! Every known defect of integration-operator has a test that shows its absence here.

/// Number of known defects for each letter of the list.
const LETTERS: [(char, usize); 5] = [('A', 11), ('B', 7), ('C', 16), ('D', 7), ('E', 7)];

#[test]
fn every_defect_has_a_test_and_the_test_is_there() {
    let listed = LETTERS.iter().flat_map(|(letter, count)| (1..=*count).map(move |number| format!("{letter}{number}")));
    let listed = listed.chain(["F".to_string()]);
    let folders = ["operators/plugs", "app/cli/src", "app/runtime/src", "tests"];
    assert_eq!(switchboard_suite::defects::check("tests/plugs/defects.yaml", listed, &folders), Ok(()));
}
