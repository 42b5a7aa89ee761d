//! Constraints of Masterminds/semver 1.5, which sprig v2 uses.

use std::sync::LazyLock;

use regex::Regex;

use super::v3::{CV, S, rewrite_ranges};
use super::{SemVersion, SemverError, SemverGeneration, parse_version, refuse};

struct ConstraintPatternsV1 {
    one: Regex,
    range: Regex,
}

/// Go builds the alternation from a map, in random order. Because of `\s*` and the anchors, the order does not matter.
const OPS: &str = r"|=|!=|>|<|>=|=>|<=|=<|~|~>|\^";

static PATTERNS: LazyLock<ConstraintPatternsV1> = LazyLock::new(|| {
    let pattern = |text: String| Regex::new(&text).expect("the constraint patterns are constant");
    ConstraintPatternsV1 {
        one: pattern(format!("^{S}*({OPS}){S}*({CV}){S}*$")),
        range: pattern(format!("{S}*({CV}){S}+-{S}+({CV}){S}*")),
    }
});

/// Groups joined by `||`, of constraints joined by commas.
#[derive(Debug, Clone)]
pub struct ConstraintsV1 {
    groups: Vec<Vec<ConstraintV1>>,
}

#[derive(Debug, Clone)]
struct ConstraintV1 {
    version: SemVersion,
    operator: String,
    dirty: bool,
    minor_dirty: bool,
    patch_dirty: bool,
}

impl ConstraintsV1 {
    /// Parses a constraint such as `>=1.2, <2 || ^3.x`.
    pub fn parse(text: &str) -> Result<ConstraintsV1, SemverError> {
        let text = rewrite_ranges(text, &PATTERNS.range, "");
        let group = |group: &str| group.split(',').map(constraint).collect::<Result<Vec<_>, _>>();
        Ok(ConstraintsV1 { groups: text.split("||").map(group).collect::<Result<_, _>>()? })
    }

    /// Whether the version satisfies one of the groups.
    pub fn check(&self, version: &SemVersion) -> bool {
        self.groups.iter().any(|group| group.iter().all(|c| c.check(version)))
    }
}

fn is_x(text: &str) -> bool {
    matches!(text.trim_start_matches('.'), "x" | "*" | "X")
}

fn constraint(text: &str) -> Result<ConstraintV1, SemverError> {
    let Some(found) = PATTERNS.one.captures(text) else {
        return refuse(format!("improper constraint: {text}"));
    };
    let part = |index: usize| found.get(index).map_or("", |m| m.as_str());
    let (major, minor, patch, pre) = (part(3), part(4), part(5), part(6));
    let (mut minor_dirty, mut patch_dirty, mut dirty) = (false, false, true);
    let version = if is_x(major) {
        "0.0.0".to_string()
    } else if is_x(minor) || minor.is_empty() {
        minor_dirty = true;
        format!("{major}.0.0{pre}")
    } else if is_x(patch) {
        patch_dirty = true;
        format!("{major}{minor}.0{pre}")
    } else {
        dirty = false;
        part(2).to_string()
    };
    let Ok(version) = parse_version(&version, SemverGeneration::V1) else {
        return refuse("constraint Parser Error");
    };
    Ok(ConstraintV1 { version, operator: part(1).to_string(), dirty, minor_dirty, patch_dirty })
}

impl ConstraintV1 {
    fn check(&self, v: &SemVersion) -> bool {
        let con = &self.version;
        // A constraint without a prerelease does not match prereleases. `!=` has its own rule.
        let hidden = !v.pre.is_empty() && con.pre.is_empty();
        if self.operator == "!=" {
            return if self.dirty { !hidden && self.differs(v) } else { v.compare(con).is_ne() };
        }
        if hidden {
            return false;
        }
        match self.operator.as_str() {
            ">" => v.compare(con).is_gt(),
            "<" if !self.dirty => v.compare(con).is_lt(),
            ">=" | "=>" => v.compare(con).is_ge(),
            "<=" | "=<" if !self.dirty => v.compare(con).is_le(),
            "<" | "<=" | "=<" => !(v.major > con.major || (v.minor > con.minor && !self.minor_dirty)),
            "~" | "~>" => self.tilde(v),
            "^" => v.compare(con).is_ge() && v.major == con.major,
            _ if self.dirty => self.tilde(v),
            _ => v.compare(con).is_eq(),
        }
    }

    fn differs(&self, v: &SemVersion) -> bool {
        self.version.major != v.major || (self.version.minor != v.minor && !self.minor_dirty)
    }

    fn tilde(&self, v: &SemVersion) -> bool {
        let con = &self.version;
        if v.compare(con).is_lt() {
            return false;
        }
        if (con.major, con.minor, con.patch) == (0, 0, 0) && !self.minor_dirty && !self.patch_dirty {
            return true;
        }
        v.major == con.major && (v.minor == con.minor || self.minor_dirty)
    }
}
