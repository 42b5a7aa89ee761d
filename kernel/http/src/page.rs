//! Paged lists: `limit` and `continue`.

use serde::{Deserialize, Serialize};

use crate::problem::{ProblemDetails, ProblemKind};

/// Default number of entries of a page.
pub const DEFAULT_LIMIT: u32 = 100;

/// Maximum number of entries of a page.
pub const MAX_LIMIT: u32 = 500;

/// Maximum length of `continue`.
pub const MAX_CONTINUE_CHARS: usize = 4096;

/// Query parameters of a paged list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageQuery {
    /// Limits the list to one tenant: the name of its namespace.
    pub tenant: Option<String>,
    /// Maximum number of entries of the page.
    pub limit: Option<u32>,
    /// Value of `continue` from the previous page.
    pub r#continue: Option<String>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultPage<T> {
    /// Entries of the page.
    pub entries: Vec<T>,
    /// Value of `continue` for the next page; `None` on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#continue: Option<String>,
}

impl PageQuery {
    /// Returns the number of entries, within bounds.
    pub fn limit(&self) -> Result<u32, ProblemDetails> {
        match self.limit.unwrap_or(DEFAULT_LIMIT) {
            limit @ 1..=MAX_LIMIT => Ok(limit),
            other => Err(ProblemDetails::new(
                ProblemKind::Malformed,
                format!("limit is {other}, but must be from 1 to {MAX_LIMIT}"),
            )),
        }
    }

    /// Returns the position to continue from; `None` for the first page.
    pub fn from(&self) -> Result<Option<&str>, ProblemDetails> {
        match self.r#continue.as_deref() {
            None => Ok(None),
            Some(token) if is_token(token) => Ok(Some(token)),
            Some(_) => Err(ProblemDetails::new(ProblemKind::Malformed, "continue is not a value from a previous page")),
        }
    }
}

/// Whether a text has only characters of continue tokens and row IDs.
fn is_token(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.=:/+".contains(&byte);
    !text.is_empty() && text.len() <= MAX_CONTINUE_CHARS && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_page_has_bounds() {
        let of = |limit| PageQuery { limit, ..PageQuery::default() }.limit();
        assert_eq!(of(None).unwrap(), DEFAULT_LIMIT);
        assert_eq!(of(Some(MAX_LIMIT)).unwrap(), MAX_LIMIT);
        assert_eq!(of(Some(0)).unwrap_err().kind(), ProblemKind::Malformed);
        assert_eq!(of(Some(MAX_LIMIT + 1)).unwrap_err().kind(), ProblemKind::Malformed);
    }

    #[test]
    fn a_token_is_plain() {
        let of = |token: &str| {
            PageQuery { r#continue: Some(token.to_string()), ..PageQuery::default() }
                .from()
                .map(|t| t.map(str::to_string))
        };
        assert_eq!(of("eyJ2IjoxfQ==").unwrap().as_deref(), Some("eyJ2IjoxfQ=="));
        for bad in ["", "a b", "a&limit=9", &"x".repeat(MAX_CONTINUE_CHARS + 1)] {
            assert_eq!(of(bad).unwrap_err().kind(), ProblemKind::Malformed, "{bad}");
        }
    }
}
