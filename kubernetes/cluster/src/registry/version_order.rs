//! Kubernetes' order of versions: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then everything else by name.

use std::cmp::Ordering;

/// Compares two version names by priority: `Greater` means `a` is preferred.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

/// Parses stability (2 = stable, 1 = beta, 0 = alpha), major and minor.
fn parse(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let major = number(&rest[..digits])?;
    let (stability, minor) = match &rest[digits..] {
        "" => return Some((2, major, 0)),
        tail => match (tail.strip_prefix("beta"), tail.strip_prefix("alpha")) {
            (Some(minor), _) => (1, minor),
            (_, Some(minor)) => (0, minor),
            _ => return None,
        },
    };
    Some((stability, major, number(minor)?))
}

fn number(digits: &str) -> Option<u64> {
    (!digits.starts_with('0')).then(|| digits.parse().ok())?
}
