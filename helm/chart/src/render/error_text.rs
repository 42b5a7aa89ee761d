//! Error texts of templates in Helm's format.

use switchboard_template::Error;

use super::functions::{WARN_END, WARN_START};

/// Formats the error of a template that cannot be parsed.
pub fn parse_error_text(file: &str, error: &Error) -> String {
    let text = error.to_string();
    let tokens: Vec<&str> = text.split(": ").collect();
    match tokens.as_slice() {
        [_] => format!("parse error in ({file}): {text}"),
        [_, location, .., last] => format!("parse error at ({location}): {last}"),
        [_, location] => format!("parse error at ({location}): {location}"),
        [] => text,
    }
}

/// Formats the error of a template that failed.
pub fn execution_error_text(file: &str, error: &Error) -> String {
    if matches!(error, Error::Call(_)) {
        return error.to_string();
    }
    let text = error.to_string();
    let mut tokens = text.splitn(3, ": ");
    let (Some(_), Some(location), Some(rest)) = (tokens.next(), tokens.next(), tokens.next()) else {
        return format!("execution error in ({file}): {text}");
    };
    if let Some(words) = fail_message(rest) {
        return format!("execution error at ({location}): {words}");
    }
    // Every text contains the errors of the levels below it, down to the innermost one.
    let mut steps: Vec<ErrorLevel> = Vec::new();
    let mut next = Some(text.as_str());
    while let Some(current) = next {
        let Some(step) = ErrorLevel::read(current) else { return text };
        next = function_error(current);
        if steps.last() != Some(&step) {
            steps.push(step);
        }
    }
    steps.iter().map(ErrorLevel::to_line).collect::<String>().trim().to_string()
}

/// Returns the error of the called function, or `None` if no call failed.
fn function_error(text: &str) -> Option<&str> {
    let (_, message) = text.split_once(": executing ")?.1.split_once(">: ")?;
    message.strip_prefix("error calling ")?.split_once(": ").map(|(_, answer)| answer)
}

/// Returns the message of `fail` or `required`, if the error came from one.
fn fail_message(text: &str) -> Option<&str> {
    let start = text.find(WARN_START)? + WARN_START.len();
    let end = text.rfind(WARN_END).filter(|end| *end >= start)?;
    Some(&text[start..end])
}

/// A level of an error that passed through includes.
#[derive(Debug, PartialEq, Eq)]
struct ErrorLevel {
    location: String,
    executing: String,
    message: String,
}

impl ErrorLevel {
    fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("template: ")?;
        if rest.starts_with("no template ") {
            return Some(Self { location: String::new(), executing: String::new(), message: text.to_string() });
        }
        Self::executing(rest).or_else(|| {
            let (location, message) = rest.rsplit_once(": ")?;
            Some(Self { location: location.to_string(), executing: String::new(), message: first(message) })
        })
    }

    fn executing(rest: &str) -> Option<Self> {
        let (location, after) = rest.split_once(": executing ")?;
        let after = after.strip_prefix('"')?;
        let (function, after) = after.split_once('"')?;
        let (node, message) = after.strip_prefix(" at <")?.split_once(">: ")?;
        Some(Self {
            location: location.to_string(),
            executing: format!("executing \"{function}\" at <{node}>:"),
            message: first(message),
        })
    }

    fn to_line(&self) -> String {
        let mut text = String::new();
        for (part, end) in [(&self.location, "\n  "), (&self.executing, "\n    "), (&self.message, "\n")] {
            if !part.is_empty() {
                text.push_str(part);
                text.push_str(end);
            }
        }
        text
    }
}

/// Returns the message without its cause, which is a level of its own.
fn first(message: &str) -> String {
    message.split(" template:").next().unwrap_or(message).to_string()
}

#[cfg(test)]
mod tests;
