#![allow(clippy::unwrap_used)]

use super::super::document;
use super::*;

#[test]
fn metaschemas_are_valid_schemas() {
    let all = schemas();
    assert_eq!(all.len(), 19);
    for (address, schema) in all {
        let draft = [(4, "-04"), (6, "-06"), (7, "-07"), (2019, "/2019"), (2020, "/2020")];
        let (draft, _) = draft.into_iter().find(|(_, part)| address.contains(part)).unwrap();
        assert_eq!(document::check(draft, &schema), Ok(()), "{address}");
    }
}

#[test]
fn drafts_ignore_later_keywords() {
    let wrong = |draft: u16, schema: Value| document::check(draft, &schema).is_err();
    assert!(!wrong(4, json!({"const": 5, "if": 5})), "draft 4 knows neither");
    assert!(wrong(4, json!({"exclusiveMinimum": true})), "without a minimum");
    assert!(wrong(6, json!({"contains": 5})));
    assert!(!wrong(6, json!({"if": 5})), "draft 6 has no conditions");
    assert!(wrong(7, json!({"if": 5})));
    assert!(!wrong(7, json!({"dependentRequired": 5})));
    assert!(wrong(2019, json!({"dependentRequired": 5})));
    assert!(!wrong(2019, json!({"prefixItems": 5})));
    assert!(wrong(2020, json!({"prefixItems": 5})));
}
