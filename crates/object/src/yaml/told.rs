//! The parser's complaints in Go's words.

use saphyr_parser::ScanError;

use super::YamlError;

/// What go-yaml says where the parser has its own words.
pub(super) fn told(text: &str, error: &ScanError) -> YamlError {
    let (mark, info) = (error.marker(), error.info());
    // go-yaml reports what is never closed where the text ends.
    let last = 1 + text.matches('\n').count();
    let line = match info {
        _ if info.ends_with("end of stream") => last,
        // What is told of is the tab, not the text before it.
        _ if info.ends_with("found a tab") => tab_behind(text, mark.line()).unwrap_or(mark.line()),
        _ => mark.line(),
    };
    let words = match info.strip_prefix("while ").and_then(|rest| rest.split_once(", ")) {
        Some((_, "found unknown anchor")) => {
            let name = alias_at(text, mark.line(), mark.col());
            let problem = format!("unknown anchor '{name}' referenced");
            let message = format!("yaml: {problem}");
            return YamlError { message, problem, line: mark.line(), column: mark.col() + 1 };
        }
        Some((_, "found a tab")) => "found a tab character that violates indentation".to_string(),
        Some((_, rest)) if rest.starts_with("expected") => format!("did not find {rest}"),
        // Upstream's own spelling.
        Some((_, rest)) => rest.replace("hexadecimal", "hexdecimal"),
        None => match info {
            "simple key expect ':'" | "simple key expected" => "could not find expected ':'".to_string(),
            "a block scalar content cannot start with a tab" => {
                "found a tab character where an indentation space is expected".to_string()
            }
            "misplaced bracket" => "did not find expected node content".to_string(),
            _ if info.starts_with("unexpected character") || info.contains("tab") => {
                "found character that cannot start any token".to_string()
            }
            _ => info.to_string(),
        },
    };
    // go-yaml counts a parser's lines from zero, a scanner's from one, and is silent about the first.
    let parsing = info.starts_with("while parsing a flow")
        || info.starts_with("while parsing a block")
        || words == "did not find expected node content";
    let place = match (line.saturating_sub(1), parsing) {
        (0, _) => String::new(),
        (line, true) => format!("line {line}: "),
        (line, false) => format!("line {}: ", line + 1),
    };
    YamlError { message: format!("yaml: {place}{words}"), problem: words, line, column: mark.col() + 1 }
}

// The first line behind another that has a tab in its indentation.
fn tab_behind(text: &str, line: usize) -> Option<usize> {
    let indented = |line: &str| {
        line.len() != line.trim_start().len() && line[..line.len() - line.trim_start().len()].contains('\t')
    };
    text.lines().enumerate().skip(line).find(|(_, line)| indented(line)).map(|(index, _)| index + 1)
}

// The name after the asterisk.
fn alias_at(text: &str, line: usize, column: usize) -> String {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let rest: String = line.chars().skip(column).collect();
    let rest = rest.strip_prefix('*').unwrap_or(&rest);
    rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).collect()
}
