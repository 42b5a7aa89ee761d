//! Flag values, parsed like Go's flag packages.

use switchboard_object::quote::quote;

/// Value of a comma-separated list flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagList(pub Vec<String>);

/// Parses one line of CSV; a field with a comma may be quoted.
///
/// # Errors
/// Fails on a misplaced quotation mark.
pub fn csv(line: &str) -> Result<FlagList, String> {
    let mut fields = Vec::new();
    let mut rest = line;
    if rest.is_empty() {
        return Ok(FlagList(fields));
    }
    loop {
        let column = line.len() - rest.len() + 1;
        let (field, behind) = match rest.strip_prefix('"') {
            Some(inside) => quoted(inside, line)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                if let Some(at) = rest[..end].find('"') {
                    let column = column + at;
                    return Err(format!("parse error on line 1, column {column}: bare \" in non-quoted-field"));
                }
                (rest[..end].to_string(), &rest[end..])
            }
        };
        fields.push(field);
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Ok(FlagList(fields)),
        }
    }
}

fn quoted<'a>(inside: &'a str, line: &str) -> Result<(String, &'a str), String> {
    let mut field = String::new();
    let mut rest = inside;
    loop {
        let Some(end) = rest.find('"') else {
            let column = line.len() + 1;
            return Err(format!(
                "record on line 1; parse error on line 1, column {column}: extraneous or missing \" in quoted-field"
            ));
        };
        field.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.chars().next() {
            Some('"') => {
                field.push('"');
                rest = &rest[1..];
            }
            None | Some(',') => return Ok((field, rest)),
            Some(_) => {
                let column = line.len() - rest.len();
                return Err(format!(
                    "parse error on line 1, column {column}: extraneous or missing \" in quoted-field"
                ));
            }
        }
    }
}

/// Parses a boolean like `strconv.ParseBool`.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {}: invalid syntax", quote(text))),
    }
}

/// Validates a duration like `time.ParseDuration`.
pub fn duration(text: &str) -> Result<String, String> {
    switchboard_object::duration::parse(text).map(|_| text.to_string()).map_err(|error| error.to_string())
}

/// Parses the wait strategy, which has no effect here.
pub fn wait(text: &str) -> Result<String, String> {
    match text {
        "watcher" | "legacy" | "hookOnly" | "true" | "false" => Ok(text.to_string()),
        other => Err(format!("invalid wait input {}. Valid inputs are watcher, hookOnly, and legacy", quote(other))),
    }
}

/// Returns a boolean wait strategy and its replacement.
pub fn old_wait(text: Option<&str>) -> Option<(&str, &'static str)> {
    match text? {
        given @ "true" => Some((given, "watcher")),
        given @ "false" => Some((given, "hookOnly")),
        _ => None,
    }
}

/// Parses comma-separated `key=value` pairs.
///
/// # Errors
/// Fails if an item is not a pair.
pub fn pairs(text: &str) -> Result<FlagList, String> {
    // A single pair is used verbatim; several pairs are CSV.
    let parts =
        if text.matches('=').count() == 1 { FlagList(vec![text.trim_matches('"').to_string()]) } else { csv(text)? };
    match parts.0.iter().find(|pair| !pair.contains('=')) {
        Some(odd) => Err(format!("{odd} must be formatted as key=value")),
        None => Ok(parts),
    }
}
