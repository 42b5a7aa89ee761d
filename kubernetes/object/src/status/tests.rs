use super::*;

/// A control character, a character without a glyph, a combining mark and a letter.
const ODD: &str = "a\u{7}\u{200b}\u{301}é";

#[test]
fn names_are_quoted_as_go_does() {
    let pods = GroupResource::new("", "pods");
    let kind = GroupVersionKind::new("", "v1", "Pod");
    let quoted = "\"a\\a\\u200b\u{301}é\"";
    let messages = [
        (Status::not_found(&pods, ODD), format!("pods {quoted} not found")),
        (Status::already_exists(&pods, ODD), format!("pods {quoted} already exists")),
        (Status::conflict(&pods, ODD, "no"), format!("Operation cannot be fulfilled on pods {quoted}: no")),
        (Status::forbidden(&pods, ODD, "no"), format!("pods {quoted} is forbidden: no")),
        (Status::invalid(&kind, ODD, &[]), format!("Pod {quoted} is invalid: []")),
    ];
    for (status, message) in messages {
        assert_eq!(status.message, message);
    }
}
