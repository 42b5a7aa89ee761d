//! Field selectors: `metadata.name=web,status.phase!=Running`.

use std::fmt;

/// Comparison of a field selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTerm {
    /// Path of the field, as written: `metadata.name`.
    pub field: String,
    /// Whether the field must have the value (`=`, `==`) or must not (`!=`).
    pub equals: bool,
    /// Unescaped value.
    pub value: String,
}

/// Conjunction of comparisons.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FieldSelector {
    terms: Vec<FieldTerm>,
}

/// Invalid field selector, with the API server's error text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldSelectorError {
    /// Term without an operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    Term {
        /// Whole selector.
        selector: String,
        /// Term.
        term: String,
    },
    /// Backslash before a character that must not be escaped.
    #[error("invalid field selector: invalid escape sequence: {0}")]
    Escape(String),
    /// Unescaped `=` in a value. Go prints the character's number.
    #[error("invalid field selector: unescaped character in value: {0}")]
    Unescaped(u32),
}

impl FieldSelector {
    /// Parses `?fieldSelector=`. The caller checks whether the resource supports the fields.
    ///
    /// # Errors
    /// With the API server's text when the text is not a selector.
    pub fn parse(text: &str) -> Result<Self, FieldSelectorError> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let mut terms = parts.map(|part| parse_term(text, part)).collect::<Result<Vec<_>, _>>()?;
        // An operator alone has no effect.
        terms.retain(|t| !(t.field.is_empty() && t.value.is_empty()));
        Ok(Self { terms })
    }

    /// Returns the comparisons, sorted as text.
    pub fn terms(&self) -> &[FieldTerm] {
        &self.terms
    }

    /// Whether the selector matches every object.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the value `field` must have, if a term requires one.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|t| t.equals && t.field == field).map(|t| t.value.as_str())
    }

    /// Whether the selector matches an object with these fields. An absent field counts as the empty string.
    pub fn matches<'a>(&self, value_of: impl Fn(&str) -> std::borrow::Cow<'a, str>) -> bool {
        self.terms.iter().all(|t| (value_of(&t.field) == t.value.as_str()) == t.equals)
    }
}

/// Escapes `value` for the text of a selector.
pub fn escape_value(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '\\' | ',' | '=') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (index, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn parse_term(selector: &str, term: &str) -> Result<FieldTerm, FieldSelectorError> {
    let unclear = || FieldSelectorError::Term { selector: selector.to_string(), term: term.to_string() };
    let operator_at = |index: usize| ["!=", "==", "="].into_iter().find(|op| term[index..].starts_with(op));
    let (index, operator) =
        term.char_indices().find_map(|(index, _)| Some((index, operator_at(index)?))).ok_or_else(unclear)?;
    let value = unescape(&term[index + operator.len()..])?;
    Ok(FieldTerm { field: term[..index].to_string(), equals: operator != "!=", value })
}

fn unescape(text: &str) -> Result<String, FieldSelectorError> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(FieldSelectorError::Escape(format!("\\{c}"))),
                None => return Err(FieldSelectorError::Escape("\\".to_string())),
            },
            ',' | '=' => return Err(FieldSelectorError::Unescaped(c as u32)),
            c => out.push(c),
        }
    }
    Ok(out)
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let operator = if term.equals { "=" } else { "!=" };
            write!(f, "{comma}{}{operator}{}", term.field, escape_value(&term.value))?;
        }
        Ok(())
    }
}
