//! Named formats.

use crate::cel::value::CelValue;
use crate::name;
use crate::quote::quote;
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

/// Returns the format of that name.
pub(in crate::cel) fn find_format(name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|known| *known == name)
}

/// Validates a text against a format. Returns an optional list of errors.
pub(in crate::cel) fn validate<'a>(format: &str, text: &str) -> CelValue<'a> {
    // A prefix may end in a dash, because more characters follow it in a complete name.
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
        "uri" => checked("uri", &format!("parse {}: invalid URI for request", quote(text))),
        "uuid" => checked("uuid", "does not match the UUID format"),
        "byte" => checked("byte", "invalid base64"),
        "date" => checked("date", "invalid date"),
        _ => checked("datetime", "invalid datetime"),
    };
    match wrong.is_empty() {
        true => CelValue::Optional(None),
        false => CelValue::some(CelValue::list(wrong.into_iter().map(CelValue::text).collect())),
    }
}
