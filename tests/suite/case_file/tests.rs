#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn what_is_written_reads_back_the_same() {
    let body = json!({
        "apiVersion": "v1",
        "data": {"yes": "no", "n": "1", "text": "two\nlines\n", "odd": " a: b # c", "ctl": "\u{1}\u{7f}\u{2028}", "empty": ""},
        "list": [[], {}, null, 1.5, {"k": "a very long text that does not fit on one line together with its neighbours"}],
        "long": ["a very long text that does not fit on one line", "another very long text that does not fit on one line"],
    });
    let step = json!({"do": "POST /x", "body": body, "quiet": true, "save": {"a": "/b"}, "answer": {"code": 201, "body": body}});
    let case: ConformanceCase =
        serde_json::from_value(json!({"title": "A title: with a colon", "steps": [step]})).unwrap();
    let read: ConformanceCase = serde_saphyr::from_str(&write(&case)).unwrap();
    assert_eq!(read.title, case.title);
    assert_eq!(read.steps[0].body, case.steps[0].body);
    assert_eq!(read.steps[0].answer, case.steps[0].answer);
    assert_eq!(read.steps[0].save, case.steps[0].save);
    assert_eq!(write(&read), write(&case));
}
