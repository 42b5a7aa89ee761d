//! What both sides must and may bring.

use std::collections::BTreeMap;

use regex::Regex;

use super::field::{Field, ModelError};

/// The name of an interface, and its version when that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceName {
    /// Such as `postgres`.
    pub name: String,
    /// Such as `v1`; any when absent.
    pub version: Option<String>,
}

/// The interface of a socket.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// What it is called, when it is called anything.
    pub name: Option<InterfaceName>,
    /// Of the configurations.
    pub config: Schemas,
    /// Of the results.
    pub result: Schemas,
}

/// What each side declares. A side that declares nothing passes whatever it is given.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    /// Of the plug.
    pub plug: Option<BTreeMap<String, Property>>,
    /// Of the socket.
    pub socket: Option<BTreeMap<String, Property>>,
}

/// One value of an interface.
#[derive(Clone, Debug, Default)]
pub struct Property {
    /// Without it there is no integration.
    pub required: bool,
    /// What it is when nobody gives it.
    pub default: Option<String>,
    /// What its text must read as.
    pub of_type: Option<Type>,
    /// The texts it may be; any when empty.
    pub one_of: Vec<String>,
    /// What the whole text must match.
    pub pattern: Option<Regex>,
    /// It goes into Secrets only.
    pub secret: bool,
}

/// What a text must read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Any text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
}

const TYPES: [(&str, Type); 4] =
    [("string", Type::Text), ("integer", Type::Integer), ("number", Type::Number), ("boolean", Type::Boolean)];

impl Type {
    /// As users write it.
    pub fn word(self) -> &'static str {
        TYPES.iter().find(|(_, known)| *known == self).map_or("string", |(word, _)| word)
    }

    /// Whether a text reads as it.
    pub fn takes(self, text: &str) -> bool {
        match self {
            Type::Text => true,
            Type::Integer => text.parse::<i64>().is_ok(),
            Type::Number => text.parse::<f64>().is_ok_and(f64::is_finite),
            Type::Boolean => matches!(text, "true" | "false"),
        }
    }
}

impl InterfaceName {
    pub(super) fn read(field: &Field<'_>) -> Result<Option<Self>, ModelError> {
        let version = field.at("version");
        match (field.at("name").filled_text()?, version.filled_text()?) {
            (Some(name), version) => Ok(Some(Self { name, version })),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(version.wrong("says a version of an interface without name: give `name` too")),
        }
    }
}

impl std::fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        self.version.as_ref().map_or(Ok(()), |version| write!(f, " {version}"))
    }
}

impl Interface {
    pub(super) fn read(field: &Field<'_>) -> Result<Option<Self>, ModelError> {
        if !field.is_given() {
            return Ok(None);
        }
        Ok(Some(Self {
            name: InterfaceName::read(field)?,
            config: Schemas::read(&field.at("config"))?,
            result: Schemas::read(&field.at("result"))?,
        }))
    }
}

impl Schemas {
    fn read(field: &Field<'_>) -> Result<Self, ModelError> {
        let side = |name: &str| {
            let side = field.at(name);
            if !side.is_given() {
                return Ok(None);
            }
            let one = |(key, field): (String, Field<'_>)| Ok((key, Property::read(&field)?));
            side.entries()?.into_iter().map(one).collect::<Result<BTreeMap<_, _>, ModelError>>().map(Some)
        };
        Ok(Self { plug: side("plug")?, socket: side("socket")? })
    }
}

impl Property {
    fn read(field: &Field<'_>) -> Result<Self, ModelError> {
        let pattern = field.at("pattern");
        let regex =
            |text: String| Regex::new(&format!("^(?:{text})$")).map_err(|_| pattern.wrong("is no regular expression"));
        let property = Self {
            required: field.at("required").flag()?,
            default: field.at("default").text()?,
            of_type: field.at("type").one_of(&TYPES)?,
            one_of: field
                .at("enum")
                .items()?
                .iter()
                .filter_map(|item| item.text().transpose())
                .collect::<Result<_, _>>()?,
            pattern: pattern.filled_text()?.map(regex).transpose()?,
            secret: field.at("secret").flag()?,
        };
        if let Some(problem) = property.default.as_deref().and_then(|text| property.problem_of(text)) {
            return Err(field.at("default").wrong(problem));
        }
        Ok(property)
    }

    /// Why a text may not be its value; the text itself is not in it.
    pub fn problem_of(&self, text: &str) -> Option<String> {
        if let Some(wanted) = self.of_type.filter(|wanted| !wanted.takes(text)) {
            return Some(format!("must be of type {}", wanted.word()));
        }
        if !self.one_of.is_empty() && !self.one_of.iter().any(|one| one == text) {
            return Some(format!("must be one of {}", self.one_of.join(", ")));
        }
        let pattern = self.pattern.as_ref().filter(|pattern| !pattern.is_match(text))?;
        let written = pattern.as_str().trim_start_matches("^(?:").trim_end_matches(")$");
        Some(format!("must match {written}"))
    }
}
