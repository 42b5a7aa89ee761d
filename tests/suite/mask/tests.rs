#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn mask(given: &str) -> AnswerMask {
    let case = json!({"title": "t", "steps": [{"do": format!("GET /x?{given}")}]});
    AnswerMask::new(&serde_json::from_value(case).unwrap(), "xabc12345")
}

#[test]
fn the_same_uid_and_revision_keep_their_number() {
    let mut mask = mask("");
    let uid = |last: char| format!("11111111-2222-3333-4444-55555555555{last}");
    let first = mask.body(&json!({"metadata": {"uid": uid('1'), "resourceVersion": "70"}}));
    assert_eq!(first, json!({"metadata": {"uid": "<uid1>", "resourceVersion": "<rv1>"}}));
    let second = mask.body(&json!({"metadata": {"uid": uid('2'), "resourceVersion": "71"}, "owner": uid('1')}));
    assert_eq!(second, json!({"metadata": {"uid": "<uid2>", "resourceVersion": "<rv2>"}, "owner": "<uid1>"}));
}

#[test]
fn what_the_case_wrote_itself_stays() {
    let mut mask = mask("since=2024-01-02T03:04:05Z");
    let masked =
        mask.body(&json!({"given": "2024-01-02T03:04:05Z", "made": "2025-01-02T03:04:05Z", "in": "ns-xabc12345"}));
    assert_eq!(masked, json!({"given": "2024-01-02T03:04:05Z", "made": "<time>", "in": "ns-${id}"}));
}

#[test]
fn the_revision_of_a_list_or_bookmark_has_no_identity() {
    let mut mask = mask("");
    let list =
        mask.body(&json!({"kind": "PodList", "metadata": {"resourceVersion": "9", "continue": "abc"}, "items": []}));
    assert_eq!(list["metadata"], json!({"resourceVersion": "<rv>", "continue": "<continue>"}));
    let bookmark =
        mask.body(&json!({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "9"}}}));
    assert_eq!(bookmark["object"]["metadata"]["resourceVersion"], "<rv>");
    let object = mask.body(&json!({"metadata": {"resourceVersion": "9"}}));
    assert_eq!(object["metadata"]["resourceVersion"], "<rv1>");
}

#[test]
fn generated_names_are_known_wherever_they_appear() {
    let mut mask = mask("");
    mask.body(&json!({"metadata": {"generateName": "a-", "name": "a-x7k2p"}}));
    assert_eq!(mask.text("configmaps \"a-x7k2p\" not found"), "configmaps \"a-<gen1>\" not found");
}
