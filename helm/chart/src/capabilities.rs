//! Capabilities of the target cluster: its version and API versions.

use switchboard_object::quote::quote;

use crate::typed::DecodeError;

/// Kubernetes version that Helm assumes by default.
pub const DEFAULT_KUBE_VERSION: &str = "v1.36.0";
/// Helm version whose output this crate reproduces.
pub const HELM_VERSION: &str = "v4.2";
/// API versions that Helm assumes by default, in Helm's order.
const DEFAULT_API_VERSIONS: &str = include_str!("../data/api-versions.txt");

/// Properties of a cluster that templates can query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Kubernetes version.
    pub kube_version: KubeVersion,
    /// API versions such as `apps/v1`, and for a real cluster also `apps/v1/Deployment`.
    pub api_versions: Vec<String>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            kube_version: KubeVersion::read(DEFAULT_KUBE_VERSION).expect("the built-in version is valid"),
            api_versions: DEFAULT_API_VERSIONS.lines().map(str::to_string).collect(),
        }
    }
}

/// A Kubernetes version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeVersion {
    /// Version as given, with a leading `v`.
    pub version: String,
    /// Version without vendor suffixes, which constraints are checked against.
    pub normalized: String,
    /// Major number.
    pub major: String,
    /// Minor number.
    pub minor: String,
}

impl KubeVersion {
    /// Parses `1.33`, `v1.33.4`, `v1.33.4-gke.1245000`.
    ///
    /// # Errors
    /// If the text is not a version, with the text of Kubernetes.
    pub fn read(text: &str) -> Result<Self, DecodeError> {
        let trimmed = text.trim_start();
        let numbers = trimmed.strip_prefix('v').unwrap_or(trimmed);
        let end = numbers.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(numbers.len());
        let mut parts: Vec<&str> = Vec::new();
        for part in numbers[..end].split('.') {
            if part.is_empty() {
                break;
            }
            parts.push(part);
        }
        if parts.is_empty() {
            return Err(DecodeError(format!("could not parse {} as version", quote(text))));
        }
        if parts.len() < 2 {
            return Err(DecodeError(format!("illegal version string {}", quote(text))));
        }
        if parts[0].starts_with('0') && parts[0] != "0" {
            return Err(DecodeError(format!(
                "illegal zero-prefixed version component {} in {}",
                quote(parts[0]),
                quote(text)
            )));
        }
        let number = |part: &str| {
            part.parse::<u64>().map_err(|_| {
                let why = format!("strconv.ParseUint: parsing {}: value out of range", quote(part));
                DecodeError(format!("illegal non-numeric version component {} in {}: {why}", quote(part), quote(text)))
            })
        };
        let numbers = parts.iter().map(|part| number(part)).collect::<Result<Vec<_>, _>>()?;
        let joined = numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
        Ok(Self {
            version: if text.starts_with('v') { text.to_string() } else { format!("v{text}") },
            normalized: format!("v{joined}"),
            major: numbers[0].to_string(),
            minor: numbers[1].to_string(),
        })
    }
}

#[cfg(test)]
mod tests;
