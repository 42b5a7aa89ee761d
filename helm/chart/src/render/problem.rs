//! Errors of templates, told as Helm tells them.

use switchboard_template::Error;

use super::functions::{WARN_END, WARN_START};

/// What Helm says of a text that is no template.
pub fn of_parsing(file: &str, error: &Error) -> String {
    let text = error.to_string();
    let tokens: Vec<&str> = text.split(": ").collect();
    match tokens.as_slice() {
        [_] => format!("parse error in ({file}): {text}"),
        [_, location, .., last] => format!("parse error at ({location}): {last}"),
        [_, location] => format!("parse error at ({location}): {location}"),
        [] => text,
    }
}

/// What Helm says of a template that failed.
pub fn of_running(file: &str, error: &Error) -> String {
    if matches!(error, Error::Call(_)) {
        return error.to_string();
    }
    let text = error.to_string();
    let mut tokens = text.splitn(3, ": ");
    let (Some(_), Some(location), Some(rest)) = (tokens.next(), tokens.next(), tokens.next()) else {
        return format!("execution error in ({file}): {text}");
    };
    if let Some(words) = words_of(rest) {
        return format!("execution error at ({location}): {words}");
    }
    // Every text contains those of the errors below it, down to the one all began with.
    let mut steps: Vec<Step> = Vec::new();
    let mut next = Some(text.as_str());
    while let Some(current) = next {
        let Some(step) = Step::read(current) else { return text };
        next = answer_of(current);
        if steps.last() != Some(&step) {
            steps.push(step);
        }
    }
    steps.iter().map(Step::told).collect::<String>().trim().to_string()
}

/// What the function answered whose call failed; nothing where no function was called.
fn answer_of(text: &str) -> Option<&str> {
    let (_, message) = text.split_once(": executing ")?.1.split_once(">: ")?;
    message.strip_prefix("error calling ")?.split_once(": ").map(|(_, answer)| answer)
}

/// The words of `fail` or `required`, if the error came from one.
fn words_of(text: &str) -> Option<&str> {
    let start = text.find(WARN_START)? + WARN_START.len();
    let end = text.rfind(WARN_END).filter(|end| *end >= start)?;
    Some(&text[start..end])
}

/// One level of an error that came up through includes.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    location: String,
    executing: String,
    message: String,
}

impl Step {
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

    fn told(&self) -> String {
        let mut told = String::new();
        for (part, end) in [(&self.location, "\n  "), (&self.executing, "\n    "), (&self.message, "\n")] {
            if !part.is_empty() {
                told.push_str(part);
                told.push_str(end);
            }
        }
        told
    }
}

/// The message without the error it was caused by, which comes as a step of its own.
fn first(message: &str) -> String {
    message.split(" template:").next().unwrap_or(message).to_string()
}

#[cfg(test)]
mod tests;
