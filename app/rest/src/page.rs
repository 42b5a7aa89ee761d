//! Lists in pieces: `limit` and `continue`.

use serde::{Deserialize, Serialize};

use crate::problem::{Kind, Problem};

/// How many entries a page has when nobody says.
pub const DEFAULT_LIMIT: u32 = 100;

/// The most entries of a page.
pub const MAX_LIMIT: u32 = 500;

/// The longest `continue` that is read.
pub const MAX_CONTINUE_CHARS: usize = 4096;

/// Which piece of a list is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paging {
    /// Only what belongs to this tenant: the name of its namespace.
    pub tenant: Option<String>,
    /// At most so many entries.
    pub limit: Option<u32>,
    /// Where the page before ended, as it said.
    pub r#continue: Option<String>,
}

/// A piece of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Page<T> {
    /// What is in it.
    pub entries: Vec<T>,
    /// How to go on; none at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#continue: Option<String>,
}

impl Paging {
    /// How many entries, within bounds.
    pub fn limit(&self) -> Result<u32, Problem> {
        match self.limit.unwrap_or(DEFAULT_LIMIT) {
            limit @ 1..=MAX_LIMIT => Ok(limit),
            other => Err(Problem::new(Kind::Malformed, format!("limit is {other}, not 1 to {MAX_LIMIT}"))),
        }
    }

    /// Where to go on; none at the start.
    pub fn from(&self) -> Result<Option<&str>, Problem> {
        match self.r#continue.as_deref() {
            None => Ok(None),
            Some(token) if is_token(token) => Ok(Some(token)),
            Some(_) => Err(Problem::new(Kind::Malformed, "continue is none that a page before ended with")),
        }
    }
}

/// Letters and digits as tokens of clusters and ids of rows have them.
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
        let of = |limit| Paging { limit, ..Paging::default() }.limit();
        assert_eq!(of(None).unwrap(), DEFAULT_LIMIT);
        assert_eq!(of(Some(MAX_LIMIT)).unwrap(), MAX_LIMIT);
        assert_eq!(of(Some(0)).unwrap_err().kind(), Kind::Malformed);
        assert_eq!(of(Some(MAX_LIMIT + 1)).unwrap_err().kind(), Kind::Malformed);
    }

    #[test]
    fn a_token_is_plain() {
        let of = |token: &str| {
            Paging { r#continue: Some(token.to_string()), ..Paging::default() }.from().map(|t| t.map(str::to_string))
        };
        assert_eq!(of("eyJ2IjoxfQ==").unwrap().as_deref(), Some("eyJ2IjoxfQ=="));
        for bad in ["", "a b", "a&limit=9", &"x".repeat(MAX_CONTINUE_CHARS + 1)] {
            assert_eq!(of(bad).unwrap_err().kind(), Kind::Malformed, "{bad}");
        }
    }
}
