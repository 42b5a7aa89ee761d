//! Named formats.

use crate::cel::value::Val;
use crate::name;
use crate::schema::formats;

const NAMES: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

/// The format of that name.
pub(in crate::cel) fn named(name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|known| *known == name)
}

/// What is wrong with a text, or none.
pub(in crate::cel) fn validate<'a>(format: &str, text: &str) -> Val<'a> {
    // A prefix may end in a dash, which the name that follows it makes good.
    let masked = || text.strip_suffix('-').map_or_else(|| text.to_string(), |head| format!("{head}a"));
    let checked = |format: &str, message: &str| match formats::matches(format, text) {
        true => Vec::new(),
        false => vec![message.to_string()],
    };
    let wrong = match format {
        "dns1123Label" => name::dns1123_label(text),
        "dns1123Subdomain" => name::dns1123_subdomain(text),
        "dns1035Label" => name::dns1035_label(text),
        "qualifiedName" => name::qualified_name(text),
        "dns1123LabelPrefix" => name::dns1123_label(&masked()),
        "dns1123SubdomainPrefix" => name::dns1123_subdomain(&masked()),
        "dns1035LabelPrefix" => name::dns1035_label(&masked()),
        "labelValue" => name::label_value(text),
        "uri" => checked("uri", &format!("parse {text:?}: invalid URI for request")),
        "uuid" => checked("uuid", "does not match the UUID format"),
        "byte" => checked("byte", "invalid base64"),
        "date" => checked("date", "invalid date"),
        _ => checked("datetime", "invalid datetime"),
    };
    match wrong.is_empty() {
        true => Val::Optional(None),
        false => Val::some(Val::list(wrong.into_iter().map(Val::text).collect())),
    }
}
