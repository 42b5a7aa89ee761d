//! Validation of names, with the error texts of Kubernetes.
//!
//! Each function returns a list of errors, empty if the value is valid, like Go's `util/validation`.

/// Longest DNS label, and longest label value.
pub const MAX_LABEL_LENGTH: usize = 63;
/// Longest DNS subdomain, which is the longest name of most objects.
pub const MAX_SUBDOMAIN_LENGTH: usize = 253;

const LABEL_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_WORDS: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const SUBDOMAIN_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const SUBDOMAIN_WORDS: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const WILDCARD_WORDS: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
const LABEL_1035_FORMAT: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035_WORDS: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
const KEY_FORMAT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_WORDS: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const VALUE_WORDS: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// Validates `value` as a DNS label (RFC 1123): namespaces, many object names.
pub fn dns1123_label(value: &str) -> Vec<String> {
    let mut errors = too_long(value, MAX_LABEL_LENGTH, "characters");
    if !is_label(value) {
        errors.push(if is_subdomain(value) {
            "must not contain dots".to_string()
        } else {
            regex_error(LABEL_WORDS, LABEL_FORMAT, &["my-name", "123-abc"])
        });
    }
    errors
}

/// Validates `value` as a DNS subdomain (RFC 1123): most object names.
pub fn dns1123_subdomain(value: &str) -> Vec<String> {
    let mut errors = too_long(value, MAX_SUBDOMAIN_LENGTH, "characters");
    if !is_subdomain(value) {
        errors.push(regex_error(SUBDOMAIN_WORDS, SUBDOMAIN_FORMAT, &["example.com"]));
    }
    errors
}

/// Validates `value` as a wildcard subdomain, `*.example.com`: hosts of an Ingress.
pub fn wildcard_dns1123_subdomain(value: &str) -> Vec<String> {
    let mut errors = too_long(value, MAX_SUBDOMAIN_LENGTH, "characters");
    if !value.strip_prefix("*.").is_some_and(is_subdomain) {
        errors.push(regex_error(WILDCARD_WORDS, &format!("\\*\\.{SUBDOMAIN_FORMAT}"), &["*.example.com"]));
    }
    errors
}

/// Validates `value` as a DNS label of RFC 1035, which must not begin with a digit: Services, CRD names.
pub fn dns1035_label(value: &str) -> Vec<String> {
    let mut errors = too_long(value, MAX_LABEL_LENGTH, "characters");
    if !(is_label(value) && value.starts_with(|c: char| c.is_ascii_lowercase())) {
        errors.push(regex_error(LABEL_1035_WORDS, LABEL_1035_FORMAT, &["my-name", "abc-123"]));
    }
    errors
}

/// Validates `value` as a qualified name, `example.com/part-of`: keys of labels and annotations, finalizers.
pub fn qualified_name(value: &str) -> Vec<String> {
    let examples = &["MyName", "my.name", "123-abc"];
    let mut errors = Vec::new();
    let parts: Vec<&str> = value.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            errors.extend(prefix_errors(prefix).into_iter().map(|e| format!("prefix part {e}")));
            *name
        }
        _ => {
            let words = regex_error(KEY_WORDS, KEY_FORMAT, examples);
            return vec![format!(
                "a valid label key {words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_string());
    }
    errors.extend(too_long(name, MAX_LABEL_LENGTH, "bytes").into_iter().map(|e| format!("name part {e}")));
    if !is_key(name) {
        errors.push(format!("name part {}", regex_error(KEY_WORDS, KEY_FORMAT, examples)));
    }
    errors
}

fn prefix_errors(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["must be non-empty".to_string()];
    }
    let mut errors = too_long(prefix, MAX_SUBDOMAIN_LENGTH, "bytes");
    if !is_subdomain(prefix) {
        errors.push(regex_error(SUBDOMAIN_WORDS, SUBDOMAIN_FORMAT, &["example.com"]));
    }
    errors
}

/// Validates `value` as a label value.
pub fn label_value(value: &str) -> Vec<String> {
    let mut errors = too_long(value, MAX_LABEL_LENGTH, "bytes");
    if !(value.is_empty() || is_key(value)) {
        errors.push(regex_error(VALUE_WORDS, &format!("({KEY_FORMAT})?"), &["MyValue", "my_value", "12345"]));
    }
    errors
}

/// Validates `value` as one segment of a URL path: names of RBAC objects and parts of custom resources.
pub fn path_segment(value: &str) -> Vec<String> {
    match value {
        "." | ".." => vec![format!("may not be '{value}'")],
        _ => path_segment_prefix(value),
    }
}

/// Validates `value` as the beginning of a path segment: a `generateName`.
pub fn path_segment_prefix(value: &str) -> Vec<String> {
    ["/", "%"].iter().filter(|c| value.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}

/// Validates `value` as the name of a port.
pub fn port_name(value: &str) -> Vec<String> {
    let mut errors = too_long(value, 15, "characters");
    let hyphen_or = |c: char| c == '-' || c.is_ascii_lowercase() || c.is_ascii_digit();
    if value.is_empty() || !value.chars().all(hyphen_or) {
        errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_string());
    }
    if !value.contains(|c: char| c.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".to_string());
    }
    if value.contains("--") {
        errors.push("must not contain consecutive hyphens".to_string());
    }
    if value.starts_with('-') || value.ends_with('-') {
        errors.push("must not begin or end with a hyphen".to_string());
    }
    errors
}

/// Validates `value` as a percentage, `25%`.
pub fn percent(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or("");
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    let words = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![regex_error(words, "[0-9]+%", &["1%", "93%"])]
}

/// Validates `value` as the name of an HTTP header.
pub fn http_header_name(value: &str) -> Vec<String> {
    if !value.is_empty() && value.bytes().all(|b| b == b'-' || b.is_ascii_alphanumeric()) {
        return Vec::new();
    }
    let words = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![regex_error(words, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

/// Validates `value` as the name of an environment variable, by kube-apiserver's current rules.
pub fn env_var_name(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.is_empty() {
        errors.push("environment variable name must be non-empty".to_string());
    }
    if value.chars().any(|c| !matches!(c, ' '..='~') || c == '=') {
        let words = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        errors.push(words.to_string());
    }
    errors
}

/// Validates `value` as a key of a ConfigMap or Secret.
pub fn config_key(value: &str) -> Vec<String> {
    let mut errors = too_long(value, MAX_SUBDOMAIN_LENGTH, "characters");
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if value.is_empty() || !value.bytes().all(allowed) {
        let words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        errors.push(regex_error(words, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]));
    }
    match value {
        "." | ".." => errors.push(format!("must not be '{value}'")),
        _ if value.starts_with("..") => errors.push("must not start with '..'".to_string()),
        _ => {}
    }
    errors
}

/// Validates `value` as a C identifier.
pub fn c_identifier(value: &str) -> Vec<String> {
    let first = |c: char| c == '_' || c.is_ascii_alphabetic();
    if value.starts_with(first) && value.chars().all(|c| first(c) || c.is_ascii_digit()) {
        return Vec::new();
    }
    let words = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'";
    vec![regex_error(words, "[A-Za-z_][A-Za-z0-9_]*", &["my_name", "MY_NAME", "MyName"])]
}

/// Validates `port` as a port number.
pub fn port_number(port: i64) -> Vec<String> {
    if (1..=65535).contains(&port) { Vec::new() } else { vec![inclusive_range_error(1, 65535)] }
}

/// Returns Go's error text for a number outside a range.
pub fn inclusive_range_error(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// Returns Go's error text for a value that does not match a regular expression.
pub fn regex_error(words: &str, format: &str, examples: &[&str]) -> String {
    let quoted: Vec<String> = examples.iter().map(|e| format!("'{e}', ")).collect();
    if quoted.is_empty() {
        return format!("{words} (regex used for validation is '{format}')");
    }
    format!("{words} (e.g. {}regex used for validation is '{format}')", quoted.join(" or "))
}

fn too_long(value: &str, max: usize, unit: &str) -> Vec<String> {
    if value.len() > max { vec![format!("must be no more than {max} {unit}")] } else { Vec::new() }
}

fn is_label(value: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    spans(value, alphanumeric, |b| alphanumeric(b) || b == b'-')
}

fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

fn is_key(value: &str) -> bool {
    spans(value, |b| b.is_ascii_alphanumeric(), |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn spans(value: &str, end: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match value.as_bytes() {
        [] => false,
        [one] => end(*one),
        [first, middle @ .., last] => end(*first) && end(*last) && middle.iter().all(|b| inner(*b)),
    }
}

#[cfg(test)]
mod tests;
