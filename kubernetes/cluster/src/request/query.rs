//! Query parameters, parsed as in Go.

use switchboard_object::quote::quote;
use switchboard_object::status::Status;

/// Largest number of parameters.
pub const MAX_PARAMETERS: usize = 64;

/// Parameters of a URL, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UrlQuery {
    pairs: Vec<(String, String)>,
}

impl UrlQuery {
    /// Parses the text after the `?`. Pairs that cannot be decoded are dropped, as in Go.
    pub fn parse(text: &str) -> Result<Self, Status> {
        if text.len() > super::MAX_QUERY_BYTES {
            return Err(Status::new(414, "BadRequest", "the request query is too long"));
        }
        let mut pairs = Vec::new();
        for pair in text.split('&').filter(|p| !p.is_empty() && !p.contains(';')) {
            if pairs.len() == MAX_PARAMETERS {
                return Err(Status::bad_request("the request query has too many parameters"));
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if let (Some(name), Some(value)) = (percent_decode(name, true), percent_decode(value, true)) {
                pairs.push((name, value));
            }
        }
        Ok(Self { pairs })
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.pairs.push((name.into(), value.into()));
        self
    }

    /// Returns all parameters, in order.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// Returns the first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Returns all values of a parameter.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.pairs.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str()).collect()
    }

    /// Returns a boolean: everything except `0` and `false` is true, including the empty value.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|v| v != "0" && !v.eq_ignore_ascii_case("false"))
    }

    /// Returns an integer. The error is the one of Go's parser.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.get(name) else { return Ok(None) };
        // Go's base 10 accepts a sign and nothing else, like Rust's parser.
        text.parse().map(Some).map_err(|e: std::num::ParseIntError| {
            use std::num::IntErrorKind::{NegOverflow, PosOverflow};
            let why = match e.kind() {
                PosOverflow | NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            Status::bad_request(format!("strconv.ParseInt: parsing {}: {why}", quote(text)))
        })
    }
}

/// Decodes `%41`, and `+` in queries; `None` if it is malformed or not UTF-8.
pub fn percent_decode(text: &str, plus_is_space: bool) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.to_string());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let high = (bytes.next()? as char).to_digit(16)?;
                let low = (bytes.next()? as char).to_digit(16)?;
                out.push((high * 16 + low) as u8);
            }
            b'+' if plus_is_space => out.push(b' '),
            other => out.push(other),
        }
    }
    String::from_utf8(out).ok()
}
