//! Tokens that the lexer passes to the parser.

use switchboard_object::quote;

use crate::rune;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TokenKind {
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
    // Keywords come last.
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

impl TokenKind {
    pub(super) fn keyword(word: &[u8]) -> Option<TokenKind> {
        Some(match word {
            b"." => TokenKind::Dot,
            b"block" => TokenKind::Block,
            b"break" => TokenKind::Break,
            b"continue" => TokenKind::Continue,
            b"define" => TokenKind::Define,
            b"else" => TokenKind::Else,
            b"end" => TokenKind::End,
            b"if" => TokenKind::If,
            b"range" => TokenKind::Range,
            b"nil" => TokenKind::Nil,
            b"template" => TokenKind::Template,
            b"with" => TokenKind::With,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct TemplateToken<'t> {
    pub(crate) kind: TokenKind,
    pub(crate) position: usize,
    pub(crate) text: &'t [u8],
    pub(crate) line: usize,
    /// Error text, which does not appear in the input.
    pub(crate) problem: Option<String>,
}

/// Maximum length of a token that errors show completely.
const SHOWN_BYTES: usize = 10;

impl TemplateToken<'_> {
    /// Returns the token as error texts show it.
    pub(super) fn display_text(&self) -> String {
        match (self.kind, &self.problem) {
            (TokenKind::Eof, _) => "EOF".to_string(),
            (_, Some(problem)) => problem.clone(),
            (kind, _) if kind >= TokenKind::Block => format!("<{}>", String::from_utf8_lossy(self.text)),
            _ if self.text.len() > SHOWN_BYTES => {
                let end = rune::runes(self.text).nth(SHOWN_BYTES).map_or(self.text.len(), |(at, _)| at);
                format!("{}...", quote::quote_bytes(&self.text[..end]))
            }
            _ => quote::quote_bytes(self.text),
        }
    }
}
