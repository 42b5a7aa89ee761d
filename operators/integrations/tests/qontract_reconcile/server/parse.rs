//! Parser for GraphQL documents: queries, fragments, aliases, and the argument `path`.

use std::collections::BTreeMap;

/// Query with its fragments.
#[derive(Debug, Default)]
pub struct QueryDocument {
    pub query: Vec<FieldSelection>,
    pub fragments: BTreeMap<String, (String, Vec<FieldSelection>)>,
}

#[derive(Clone, Debug)]
pub enum FieldSelection {
    Field {
        answer: String,
        name: String,
        /// Value of the only supported argument, `path`.
        path: Option<String>,
        selections: Vec<FieldSelection>,
    },
    Spread(String),
    /// Inline fragment `... on Type { … }`.
    On(String, Vec<FieldSelection>),
}

pub fn document(text: &str) -> Result<QueryDocument, String> {
    let tokens = tokens(text)?;
    let mut parser = QueryParser { tokens, at: 0 };
    let mut document = QueryDocument::default();
    while let Some(token) = parser.peek() {
        match token.as_str() {
            "{" => document.query = parser.selections()?,
            "query" => {
                parser.next()?;
                while parser.peek().is_some_and(|token| token != "{") {
                    parser.next()?;
                }
                document.query = parser.selections()?;
            }
            "fragment" => {
                parser.next()?;
                let name = parser.next()?;
                parser.expect("on")?;
                let of = parser.next()?;
                let selections = parser.selections()?;
                document.fragments.insert(name, (of, selections));
            }
            other => return Err(format!("Unexpected {other:?}")),
        }
    }
    Ok(document)
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\n' | ',' | '\t' | '\r' => {}
            '{' | '}' | '(' | ')' | ':' | '$' | '!' => tokens.push(char.to_string()),
            '.' if chars.next() == Some('.') && chars.next() == Some('.') => tokens.push("...".to_string()),
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let mut word = c.to_string();
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                tokens.push(word);
            }
            '"' => {
                let text: String = std::iter::from_fn(|| chars.next_if(|c| *c != '"')).collect();
                chars.next();
                tokens.push(text);
            }
            other => return Err(format!("Cannot parse the unexpected character {other:?}")),
        }
    }
    Ok(tokens)
}

struct QueryParser {
    tokens: Vec<String>,
    at: usize,
}

impl QueryParser {
    fn peek(&self) -> Option<&String> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Result<String, String> {
        let token = self.peek().cloned().ok_or("Unexpected <EOF>")?;
        self.at += 1;
        Ok(token)
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        match self.next()? {
            found if found == wanted => Ok(()),
            found => Err(format!("Expected {wanted:?}, found {found:?}")),
        }
    }

    fn selections(&mut self) -> Result<Vec<FieldSelection>, String> {
        self.expect("{")?;
        let mut selections = Vec::new();
        loop {
            let token = self.next()?;
            match token.as_str() {
                "}" => return Ok(selections),
                "..." if self.peek().is_some_and(|token| token == "on") => {
                    self.next()?;
                    let of = self.next()?;
                    selections.push(FieldSelection::On(of, self.selections()?));
                }
                "..." => selections.push(FieldSelection::Spread(self.next()?)),
                _ => selections.push(self.field(token)?),
            }
        }
    }

    fn field(&mut self, answer: String) -> Result<FieldSelection, String> {
        let mut name = answer.clone();
        if self.peek().is_some_and(|token| token == ":") {
            self.next()?;
            name = self.next()?;
        }
        let mut path = None;
        if self.peek().is_some_and(|token| token == "(") {
            let mut before = String::new();
            loop {
                match self.next()? {
                    end if end == ")" => break,
                    colon if colon == ":" => {}
                    value if before == "path" => path = Some(value),
                    name => before = name,
                }
            }
        }
        let selections = if self.peek().is_some_and(|token| token == "{") { self.selections()? } else { Vec::new() };
        Ok(FieldSelection::Field { answer, name, path, selections })
    }
}
