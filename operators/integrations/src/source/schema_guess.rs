//! Schema of an unreadable file, to determine what it may contain.

/// Maximum number of bytes that are searched.
const LOOKED_AT: usize = 64 << 10;

/// Returns the schema that a file names at the beginning of a line, if it is unique.
pub fn schema(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOKED_AT)]);
    let mut named = text.lines().filter_map(schema_of_line);
    let first = named.next()?.to_string();
    named.all(|other| other == first).then_some(first)
}

/// Parses a line such as `$schema: /x-1.yml`, with or without quotes.
fn schema_of_line(line: &str) -> Option<&str> {
    let quotes = ['"', '\''];
    let rest = line.trim_start_matches(quotes).strip_prefix("$schema")?;
    let value = rest.trim_start_matches(quotes).trim_start().strip_prefix(':')?;
    // A trailing comment is removed. Any other trailing text makes the line invalid.
    let value = value.split(" #").next()?.trim().trim_matches(quotes);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '.' | '_');
    (value.starts_with('/') && value.chars().all(fits)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_used_only_if_it_is_unambiguous() {
        let of = |text: &str| schema(text.as_bytes());
        assert_eq!(of("---\n$schema: /access/user-1.yml\nname: [\n").as_deref(), Some("/access/user-1.yml"));
        assert_eq!(of("\"$schema\": '/x-1.yml' # why\n").as_deref(), Some("/x-1.yml"));
        assert_eq!(schema(b"$schema: /x-1.yml\n\xff").as_deref(), Some("/x-1.yml"));
        for doubtful in
            ["", "name: x", "a:\n  $schema: /x-1.yml\n", "$schema: *x\n", "$schema: /a.yml\n$schema: /b.yml\n"]
        {
            assert_eq!(of(doubtful), None, "{doubtful}");
        }
    }
}
