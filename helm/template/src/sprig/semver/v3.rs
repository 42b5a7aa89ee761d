//! Constraints of Masterminds/semver/v3.

use std::sync::LazyLock;

use regex::Regex;
use switchboard_object::semver::compare_prereleases;

use super::{SemVersion, SemverError, SemverGeneration, parse_version, refuse};

/// Maximum length of a constraint.
const MAX_CONSTRAINT_BYTES: usize = 512;
/// Maximum number of groups joined by `||`.
const MAX_GROUPS: usize = 32;

pub(super) const CV: &str = concat!(
    r"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?",
    r"(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?"
);
const OPS: &str = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^";
/// Go's `\s`. Rust's `\s` matches more.
pub(super) const S: &str = r"[\t\n\f\r ]";

struct ConstraintPatterns {
    one: Regex,
    range: Regex,
    find: Regex,
    valid: Regex,
}

static PATTERNS: LazyLock<ConstraintPatterns> = LazyLock::new(|| {
    let pattern = |text: String| Regex::new(&text).expect("the constraint patterns are constant");
    ConstraintPatterns {
        one: pattern(format!("^{S}*({OPS}){S}*({CV}){S}*$")),
        range: pattern(format!("{S}*({CV}){S}+-{S}+({CV}){S}*")),
        find: pattern(format!("({OPS}){S}*({CV})")),
        valid: pattern(format!("^({S}*({OPS}){S}*({CV}){S}*)((?:{S}+|,{S}*)({OPS}){S}*({CV}){S}*)*$")),
    }
});

/// Groups joined by `||`. All constraints of a group must hold.
#[derive(Debug, Clone)]
pub struct ConstraintsV3 {
    groups: Vec<ConstraintGroup>,
}

#[derive(Debug, Clone)]
struct ConstraintGroup {
    constraints: Vec<ConstraintV3>,
    has_prerelease: bool,
}

#[derive(Debug, Clone)]
struct ConstraintV3 {
    version: SemVersion,
    operator: String,
    dirty: bool,
    minor_dirty: bool,
    patch_dirty: bool,
}

impl ConstraintsV3 {
    /// Parses a constraint such as `>=1.2, <2 || ^3.x`.
    pub fn parse(text: &str) -> Result<ConstraintsV3, SemverError> {
        if text.len() > MAX_CONSTRAINT_BYTES {
            return refuse(format!("constraint string is too long (max {MAX_CONSTRAINT_BYTES} bytes)"));
        }
        let text = rewrite_ranges(text, &PATTERNS.range, " ");
        let parts: Vec<&str> = text.split("||").collect();
        if parts.len() > MAX_GROUPS {
            return refuse(format!("too many constraint groups (max {MAX_GROUPS})"));
        }
        let groups = parts.into_iter().map(group).collect::<Result<_, _>>()?;
        Ok(ConstraintsV3 { groups })
    }

    /// Whether the version satisfies one of the groups.
    pub fn check(&self, version: &SemVersion) -> bool {
        let fits = |g: &ConstraintGroup| g.constraints.iter().all(|c| c.check(version, g.has_prerelease));
        self.groups.iter().any(fits)
    }
}

/// Rewrites `1.2 - 3` to `>= 1.2, <= 3`.
pub(super) fn rewrite_ranges(text: &str, range: &Regex, tail: &str) -> String {
    let mut out = text.to_string();
    for found in range.captures_iter(text) {
        out = out.replacen(&found[0], &format!(">= {}, <= {}{tail}", &found[1], &found[11]), 1);
    }
    out
}

fn group(text: &str) -> Result<ConstraintGroup, SemverError> {
    if !PATTERNS.valid.is_match(text) {
        return refuse(format!("improper constraint: {}", crate::sprig::text::quoted(text)));
    }
    let constraints = PATTERNS.find.find_iter(text).map(|m| constraint(m.as_str())).collect::<Result<Vec<_>, _>>()?;
    let has_prerelease = constraints.iter().any(|c| !c.version.pre.is_empty());
    Ok(ConstraintGroup { constraints, has_prerelease })
}

fn is_x(text: &str) -> bool {
    matches!(text.trim_start_matches('.'), "x" | "*" | "X" | "")
}

fn constraint(text: &str) -> Result<ConstraintV3, SemverError> {
    let Some(found) = PATTERNS.one.captures(text) else {
        return refuse(format!("improper constraint: {}", crate::sprig::text::quoted(text)));
    };
    let part = |index: usize| found.get(index).map_or("", |m| m.as_str());
    let (major, minor, patch, pre) = (part(3), part(4), part(5), part(6));
    let (mut minor_dirty, mut patch_dirty, mut dirty) = (false, false, true);
    let version = if is_x(major) {
        format!("0.0.0{pre}")
    } else if is_x(minor) {
        minor_dirty = true;
        format!("{major}.0.0{pre}")
    } else if is_x(patch) {
        patch_dirty = true;
        format!("{major}{minor}.0{pre}")
    } else {
        dirty = false;
        part(2).to_string()
    };
    let Ok(version) = parse_version(&version, SemverGeneration::V3) else {
        return refuse("constraint parser error");
    };
    Ok(ConstraintV3 { version, operator: part(1).to_string(), dirty, minor_dirty, patch_dirty })
}

impl ConstraintV3 {
    fn check(&self, v: &SemVersion, with_prereleases: bool) -> bool {
        if !v.pre.is_empty() && !with_prereleases {
            return false;
        }
        match self.operator.as_str() {
            "!=" => self.not_equal(v),
            ">" => self.greater(v),
            "<" => v.compare(&self.version).is_lt(),
            ">=" | "=>" => v.compare(&self.version).is_ge(),
            "<=" | "=<" => self.at_most(v),
            "~" | "~>" => self.tilde(v),
            "^" => self.caret(v),
            _ if self.dirty => self.tilde(v),
            _ => v.compare(&self.version).is_eq(),
        }
    }

    fn not_equal(&self, v: &SemVersion) -> bool {
        let con = &self.version;
        if !self.dirty {
            return v.compare(con).is_ne();
        }
        if con.major != v.major || (con.minor != v.minor && !self.minor_dirty) {
            return true;
        }
        if self.minor_dirty {
            return false;
        }
        if con.patch != v.patch && !self.patch_dirty {
            return true;
        }
        if self.patch_dirty {
            let either = !v.pre.is_empty() || !con.pre.is_empty();
            return either && prereleases_differ(&v.pre, &con.pre);
        }
        v.compare(con).is_ne()
    }

    fn greater(&self, v: &SemVersion) -> bool {
        let con = &self.version;
        if !self.dirty || (v.major == con.major && !self.minor_dirty && !self.patch_dirty) {
            return v.compare(con).is_gt();
        }
        v.major > con.major || (v.major == con.major && !self.minor_dirty && v.minor > con.minor)
    }

    fn at_most(&self, v: &SemVersion) -> bool {
        let con = &self.version;
        if !self.dirty {
            return v.compare(con).is_le();
        }
        !(v.major > con.major || (v.major == con.major && v.minor > con.minor && !self.minor_dirty))
    }

    fn tilde(&self, v: &SemVersion) -> bool {
        let con = &self.version;
        if v.compare(con).is_lt() {
            return false;
        }
        // `~0.0.0` and `*` match everything.
        if (con.major, con.minor, con.patch) == (0, 0, 0) && !self.minor_dirty && !self.patch_dirty {
            return true;
        }
        v.major == con.major && (v.minor == con.minor || self.minor_dirty)
    }

    fn caret(&self, v: &SemVersion) -> bool {
        let con = &self.version;
        if v.compare(con).is_lt() {
            return false;
        }
        if con.major > 0 || self.minor_dirty {
            return v.major == con.major;
        }
        if v.major > 0 {
            return false;
        }
        if con.minor > 0 || self.patch_dirty {
            return v.minor == con.minor;
        }
        v.minor == 0 && con.patch == v.patch
    }
}

/// Compares the parts even if one side has none, as Go does.
fn prereleases_differ(a: &str, b: &str) -> bool {
    compare_prereleases(a, b).is_ne()
}
