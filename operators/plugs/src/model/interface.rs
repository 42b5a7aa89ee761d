//! Interface between the two sides.

use std::collections::BTreeMap;

use regex::Regex;

use super::field::{ModelError, SpecField};

/// Name of an interface, with an optional version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceName {
    /// Name, such as `postgres`.
    pub name: String,
    /// Version, such as `v1`; any version if absent.
    pub version: Option<String>,
}

/// Interface of a socket.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Name of the interface, if specified.
    pub name: Option<InterfaceName>,
    /// Schemas of the configs.
    pub config: InterfaceSchemas,
    /// Schemas of the results.
    pub result: InterfaceSchemas,
}

/// Schema of each side. A side without a schema passes all values.
#[derive(Clone, Debug, Default)]
pub struct InterfaceSchemas {
    /// Properties of the plug.
    pub plug: Option<BTreeMap<String, Property>>,
    /// Properties of the socket.
    pub socket: Option<BTreeMap<String, Property>>,
}

/// Property of an interface.
#[derive(Clone, Debug, Default)]
pub struct Property {
    /// Whether the property is required for an integration.
    pub required: bool,
    /// Default value.
    pub default: Option<String>,
    /// Type that the text must parse as.
    pub of_type: Option<PropertyType>,
    /// Allowed values; any value if empty.
    pub one_of: Vec<String>,
    /// Pattern that the whole text must match.
    pub pattern: Option<Regex>,
    /// Whether the value may be written only to Secrets.
    pub secret: bool,
}

/// Type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyType {
    /// Any string.
    Text,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
}

const TYPES: [(&str, PropertyType); 4] = [
    ("string", PropertyType::Text),
    ("integer", PropertyType::Integer),
    ("number", PropertyType::Number),
    ("boolean", PropertyType::Boolean),
];

impl PropertyType {
    /// Returns the name of the type in the API.
    pub fn as_str(self) -> &'static str {
        TYPES.iter().find(|(_, known)| *known == self).map_or("string", |(word, _)| word)
    }

    /// Whether a text parses as the type.
    pub fn accepts(self, text: &str) -> bool {
        match self {
            PropertyType::Text => true,
            PropertyType::Integer => text.parse::<i64>().is_ok(),
            PropertyType::Number => text.parse::<f64>().is_ok_and(f64::is_finite),
            PropertyType::Boolean => matches!(text, "true" | "false"),
        }
    }
}

impl InterfaceName {
    pub(super) fn read(field: &SpecField<'_>) -> Result<Option<Self>, ModelError> {
        let version = field.at("version");
        match (field.at("name").non_empty_text()?, version.non_empty_text()?) {
            (Some(name), version) => Ok(Some(Self { name, version })),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(version.error("needs a `name` next to it: set the name of the interface")),
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
    pub(super) fn read(field: &SpecField<'_>) -> Result<Option<Self>, ModelError> {
        if !field.is_set() {
            return Ok(None);
        }
        Ok(Some(Self {
            name: InterfaceName::read(field)?,
            config: InterfaceSchemas::read(&field.at("config"))?,
            result: InterfaceSchemas::read(&field.at("result"))?,
        }))
    }
}

impl InterfaceSchemas {
    fn read(field: &SpecField<'_>) -> Result<Self, ModelError> {
        let side = |name: &str| {
            let side = field.at(name);
            if !side.is_set() {
                return Ok(None);
            }
            let one = |(key, field): (String, SpecField<'_>)| Ok((key, Property::read(&field)?));
            side.entries()?.into_iter().map(one).collect::<Result<BTreeMap<_, _>, ModelError>>().map(Some)
        };
        Ok(Self { plug: side("plug")?, socket: side("socket")? })
    }
}

impl Property {
    fn read(field: &SpecField<'_>) -> Result<Self, ModelError> {
        let pattern = field.at("pattern");
        let regex = |text: String| {
            Regex::new(&format!("^(?:{text})$")).map_err(|_| pattern.error("must be a valid regular expression"))
        };
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
            pattern: pattern.non_empty_text()?.map(regex).transpose()?,
            secret: field.at("secret").flag()?,
        };
        if let Some(problem) = property.default.as_deref().and_then(|text| property.violation(text)) {
            return Err(field.at("default").error(problem));
        }
        Ok(property)
    }

    /// Returns the violated rule for a text, without the text itself.
    pub fn violation(&self, text: &str) -> Option<String> {
        if let Some(wanted) = self.of_type.filter(|wanted| !wanted.accepts(text)) {
            return Some(format!("must be of type {}", wanted.as_str()));
        }
        if !self.one_of.is_empty() && !self.one_of.iter().any(|one| one == text) {
            return Some(format!("must be one of {}", self.one_of.join(", ")));
        }
        let pattern = self.pattern.as_ref().filter(|pattern| !pattern.is_match(text))?;
        let written = pattern.as_str().trim_start_matches("^(?:").trim_end_matches(")$");
        Some(format!("must match {written}"))
    }
}
