//! Policy rules of roles.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::auth::{Attributes, quoted_list};

/// Rule: verbs on resources, or on paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyRule {
    /// Verbs; `*` means all.
    #[serde(deserialize_with = "null_is_empty")]
    pub verbs: Vec<String>,
    /// API groups; `*` means all, an empty string the core group.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Resources: `pods`, `pods/log`, `*/scale`, `*`.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Resource names; empty means all.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Paths, which may end in `*`.
    #[serde(rename = "nonResourceURLs", deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
}

/// Deserializes null as an empty list, like Go's decoder.
pub(super) fn null_is_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl PolicyRule {
    /// Whether the rule allows the request.
    pub fn allows(&self, attributes: &Attributes) -> bool {
        if !holds(&self.verbs, &attributes.verb) {
            return false;
        }
        if !attributes.is_resource {
            return self.non_resource_urls.iter().any(|url| path_matches(url, &attributes.path));
        }
        holds(&self.api_groups, &attributes.group)
            && self.resources.iter().any(|r| resource_matches(r, &attributes.resource, &attributes.subresource))
            && (self.resource_names.is_empty() || self.resource_names.contains(&attributes.name))
    }

    /// Whether this rule allows everything that `part`, a rule of single values, allows.
    pub(super) fn covers(&self, part: &Self) -> bool {
        let covers_names = match part.resource_names.is_empty() {
            true => self.resource_names.is_empty(),
            false => {
                self.resource_names.is_empty() || part.resource_names.iter().all(|n| self.resource_names.contains(n))
            }
        };
        part.verbs.iter().all(|verb| holds(&self.verbs, verb))
            && part.api_groups.iter().all(|group| holds(&self.api_groups, group))
            && part.resources.iter().all(|resource| self.covers_resource(resource))
            && covers_names
            && part.non_resource_urls.iter().all(|path| self.non_resource_urls.iter().any(|url| url_covers(url, path)))
    }

    fn covers_resource(&self, resource: &str) -> bool {
        holds(&self.resources, resource)
            || resource.split_once('/').is_some_and(|(_, sub)| self.resources.contains(&format!("*/{sub}")))
    }

    /// Splits the rule into rules of single values.
    pub(super) fn single_value_rules(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let names: Vec<Vec<String>> = match self.resource_names.is_empty() {
            true => vec![Vec::new()],
            false => self.resource_names.iter().map(one).collect(),
        };
        let mut parts = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    parts.extend(names.iter().map(|name| Self {
                        verbs: one(verb),
                        api_groups: one(group),
                        resources: one(resource),
                        resource_names: name.clone(),
                        ..Self::default()
                    }));
                }
            }
        }
        for url in &self.non_resource_urls {
            parts.extend(self.verbs.iter().map(|verb| Self {
                verbs: one(verb),
                non_resource_urls: one(url),
                ..Self::default()
            }));
        }
        parts
    }
}

/// Formats a rule as in error messages: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`.
impl fmt::Display for PolicyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let shown: Vec<String> = fields
            .iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(name, values)| format!("{name}:{}", quoted_list(values)))
            .collect();
        write!(f, "{{{}}}", shown.join(", "))
    }
}

fn holds(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == "*" || item == wanted)
}

fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    match (subresource, rule.split_once('/')) {
        ("", None) => rule == resource,
        ("", Some(_)) => rule == resource,
        (_, None) => false,
        (_, Some((head, tail))) => tail == subresource && (head == "*" || head == resource),
    }
}

fn path_matches(rule: &str, path: &str) -> bool {
    rule == "*" || url_covers(rule, path)
}

fn url_covers(rule: &str, path: &str) -> bool {
    rule == path || (rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*')))
}
