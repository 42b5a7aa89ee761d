//! Query parameters, read the way Go reads them.

use switchboard_object::status::Status;

/// The most parameters a query may have.
pub const MAX_PARAMETERS: usize = 64;

/// The parameters of a URL, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads what stands behind the `?`. Pairs that cannot be decoded are dropped, as Go does.
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

    /// The same with one more parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.pairs.push((name.into(), value.into()));
        self
    }

    /// All parameters, in order.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// The first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// All values of a parameter.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.pairs.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str()).collect()
    }

    /// A boolean: everything but `0` and `false` is true, the empty value too.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|v| v != "0" && !v.eq_ignore_ascii_case("false"))
    }

    /// A whole number; the error is the one Go's parser gives.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.get(name) else { return Ok(None) };
        // Go's base 10 takes a sign, and so does ours; it takes nothing else.
        text.parse().map(Some).map_err(|e: std::num::ParseIntError| {
            use std::num::IntErrorKind::{NegOverflow, PosOverflow};
            let why = match e.kind() {
                PosOverflow | NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))
        })
    }
}

/// Decodes `%41`, and `+` in queries; `None` when it is malformed or not UTF-8.
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
