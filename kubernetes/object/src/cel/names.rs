//! Field names in rules. Names that CEL cannot spell are escaped.

use std::borrow::Cow;

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

const SIGNS: [(&str, &str); 4] = [("__underscores__", "__"), ("__dot__", "."), ("__dash__", "-"), ("__slash__", "/")];

/// Returns the name that a rule uses for a property; `None` if rules cannot name it.
pub(super) fn escape_name(property: &str) -> Option<Cow<'_, str>> {
    let first = property.bytes().next()?;
    if first.is_ascii_digit() {
        return None;
    }
    if RESERVED.contains(&property) {
        return Some(Cow::Owned(format!("__{property}__")));
    }
    if !property.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./".contains(&b)) {
        return None;
    }
    if !property.contains("__") && !property.contains(['.', '-', '/']) {
        return Some(Cow::Borrowed(property));
    }
    let mut out = property.replace("__", "__underscores__");
    for (name, sign) in &SIGNS[1..] {
        out = out.replace(sign, name);
    }
    Some(Cow::Owned(out))
}

/// Returns the property for a name in a rule.
pub(super) fn unescape(name: &str) -> Cow<'_, str> {
    if !name.contains("__") {
        return Cow::Borrowed(name);
    }
    let word = name.strip_prefix("__").and_then(|n| n.strip_suffix("__"));
    if let Some(word) = word.filter(|word| RESERVED.contains(word)) {
        return Cow::Owned(word.to_string());
    }
    let mut out = String::new();
    let mut rest = name;
    while !rest.is_empty() {
        match SIGNS.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, sign)) => {
                out.push_str(sign);
                rest = &rest[name.len()..];
            }
            None => {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                out.push_str(&rest[..length]);
                rest = &rest[length..];
            }
        }
    }
    Cow::Owned(out)
}
