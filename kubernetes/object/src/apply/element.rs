//! Path elements: a field, a keyed list item, a set item, an index.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;

use crate::Value;
use crate::quote::quote;

use super::scalar::PathValue;

/// Name and value of a list item's key field.
pub(crate) type KeyField<'a> = (Cow<'a, str>, PathValue<'a>);

/// Element of a path. The order is that of structured-merge-diff: fields, keys, values, indices.
#[derive(Clone, Debug)]
pub(crate) enum PathElement<'a> {
    /// Field of an object.
    Field(&'a str),
    /// Item of an associative list with these key fields, sorted by name.
    Key(Box<[KeyField<'a>]>),
    /// Item of a set with this value.
    Value(PathValue<'a>),
    /// Item at this index.
    Index(i64),
}

impl PathElement<'_> {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }

    /// Writes the readable form: `.spec`, `[name="web"]`, `[="x"]`, `[3]`.
    pub(crate) fn write_path(&self, out: &mut String) {
        match self {
            Self::Field(name) => {
                out.push('.');
                out.push_str(name);
            }
            Self::Key(fields) => {
                out.push('[');
                for (i, (name, value)) in fields.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    out.push_str(name);
                    out.push('=');
                    value.write_text(out);
                }
                out.push(']');
            }
            Self::Value(value) => {
                out.push_str("[=");
                value.write_text(out);
                out.push(']');
            }
            Self::Index(i) => {
                let _ = write!(out, "[{i}]");
            }
        }
    }

    /// Returns [`PathElement::write_path`] as a string.
    pub(crate) fn path(&self) -> String {
        let mut out = String::new();
        self.write_path(&mut out);
        out
    }

    /// Returns the key of this element in `fieldsV1`.
    pub(crate) fn encode(&self) -> String {
        let mut out = String::new();
        self.encode_into(&mut out);
        out
    }

    /// Appends [`PathElement::encode`] to a string.
    pub(crate) fn encode_into(&self, out: &mut String) {
        match self {
            Self::Field(name) => {
                out.reserve_exact(name.len() + 2);
                out.push_str("f:");
                out.push_str(name);
            }
            Self::Key(fields) => {
                out.push_str("k:{");
                for (i, (name, value)) in fields.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    super::scalar::write_json_string(out, name, false);
                    out.push(':');
                    value.write_json(out);
                }
                out.push('}');
            }
            Self::Value(value) => {
                out.push_str("v:");
                value.write_json(out);
            }
            Self::Index(i) => {
                let _ = write!(out, "i:{i}");
            }
        }
    }

    /// Parses a key of `fieldsV1`. Returns `Ok(None)` for an unknown kind of element, which callers drop.
    pub(crate) fn decode(text: &str) -> Result<Option<PathElement<'_>>, String> {
        if text.len() < 2 {
            return Err("key must be 2 characters long:".into());
        }
        if text.as_bytes()[1] != b':' {
            return Err(format!("missing colon: {text}"));
        }
        let rest = &text[2..];
        Ok(Some(match text.as_bytes()[0] {
            b'f' => PathElement::Field(rest),
            b'v' => PathElement::Value(PathValue::parse(rest)?),
            b'k' => PathElement::Key(decode_key(rest)?),
            b'i' => {
                let place =
                    rest.parse().map_err(|_| format!("strconv.Atoi: parsing {}: invalid syntax", quote(rest)))?;
                PathElement::Index(place)
            }
            _ => return Ok(None),
        }))
    }
}

fn decode_key<'a>(text: &str) -> Result<Box<[KeyField<'a>]>, String> {
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else {
        return Err(format!("expected an object, got {text}"));
    };
    // The map is sorted, so the fields are in order of their names.
    Ok(fields.into_iter().map(|(name, value)| (Cow::Owned(name), PathValue::from_owned(value))).collect())
}

impl Ord for PathElement<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => a.cmp(b),
            (Self::Value(a), Self::Value(b)) => a.cmp(b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl PartialOrd for PathElement<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement<'_> {}
