//! What the lexer gives to the parser.

use crate::format::quote;
use crate::rune;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    // Keywords come after all the rest.
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl Kind {
    pub(super) fn keyword(word: &[u8]) -> Option<Kind> {
        Some(match word {
            b"." => Kind::Dot,
            b"block" => Kind::Block,
            b"break" => Kind::Break,
            b"continue" => Kind::Continue,
            b"define" => Kind::Define,
            b"else" => Kind::Else,
            b"end" => Kind::End,
            b"if" => Kind::If,
            b"range" => Kind::Range,
            b"nil" => Kind::Nil,
            b"template" => Kind::Template,
            b"with" => Kind::With,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind,
    pub(crate) position: usize,
    pub(crate) text: &'t [u8],
    pub(crate) line: usize,
    /// The text of an error, which stands nowhere in the input.
    pub(crate) problem: Option<String>,
}

/// Longest text of a token that an error shows whole.
const SHOWN_BYTES: usize = 10;

impl Token<'_> {
    /// The token in an error text.
    pub(super) fn shown(&self) -> String {
        match (self.kind, &self.problem) {
            (Kind::Eof, _) => "EOF".to_string(),
            (_, Some(problem)) => problem.clone(),
            (kind, _) if kind >= Kind::Block => format!("<{}>", String::from_utf8_lossy(self.text)),
            _ if self.text.len() > SHOWN_BYTES => {
                let end = rune::runes(self.text).nth(SHOWN_BYTES).map_or(self.text.len(), |(at, _)| at);
                format!("{}...", quote::quote(&self.text[..end]))
            }
            _ => quote::quote(self.text),
        }
    }
}
