//! Checks for invalid values, and for fields without effect in combination with others.

use serde_json::Value;
use switchboard_object::quantity::Quantity;

use super::suggestion::nearest;
use super::{LintFindings, LintRule};
use crate::data_field::DataField;

const COMMANDS: &[&str] = &[
    "qontract-reconcile",
    "app-interface-metrics-exporter",
    "app-interface-reporter",
    "glitchtip-access-reporter",
    "glitchtip-access-revalidation",
    "saas-metrics-exporter",
    "app-sre-tekton-access-reporter",
    "app-sre-tekton-access-revalidation",
];

/// Fields with a fixed set of values.
const WORDS: &[(&str, &[&str])] = &[
    ("command", COMMANDS),
    ("storageClassName", &["gp2", "gp2-csi", "gp3-csi"]),
    ("concurrencyPolicy", &["Allow", "Forbid", "Replace"]),
    ("restartPolicy", &["Always", "OnFailure", "Never"]),
];

/// Fields that require another field.
const ONLY_WITH: &[(&str, &str)] = &[
    ("storage", "cache"),
    ("storageClassName", "cache"),
    ("dashdotdb", "cron"),
    ("enablePushgateway", "cron"),
    ("concurrencyPolicy", "cron"),
    ("restartPolicy", "cron"),
    ("successfulJobHistoryLimit", "cron"),
    ("failedJobHistoryLimit", "cron"),
];

/// Fields without effect on CronJobs.
const NOT_WITH_CRON: &[&str] = &[
    "cache",
    "state",
    "internalCertificates",
    "logs",
    "fluentdResources",
    "environmentAware",
    "sleepDurationSecs",
    "trigger",
];

/// Checks the specs and overrides of an integration file.
pub fn integration(file: &DataField<'_>, found: &mut LintFindings) {
    for name in ["managed", "operate"] {
        let elements = file.literal(name).ok().flatten().and_then(|list| list.list().ok());
        for element in elements.unwrap_or_default() {
            if let Ok(Some(spec)) = element.literal("spec") {
                one(&spec, found);
            }
            overrides(&element, found);
        }
    }
}

fn one(spec: &DataField<'_>, found: &mut LintFindings) {
    for (name, words) in WORDS {
        let Some((field, text)) = text(spec, name) else { continue };
        if !words.contains(&text.as_str()) {
            let hint = match nearest(&text, words.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("one of {}", words.join(", ")),
            };
            found.warn(LintRule::BadValue, field.problem(format!("`{text}` is not a known value")).hint(hint));
        }
    }
    let cron = text(spec, "cron").filter(|(_, cron)| !cron.is_empty());
    if let Some((field, text)) = &cron {
        if let Err(why) = schedule(text) {
            found.error(LintRule::BadValue, field.problem(format!("`{text}` is not a valid schedule: {why}")));
        }
        if let Some((field, _)) = self::text(spec, "restartPolicy").filter(|(_, policy)| policy == "Always") {
            let problem = field.problem("a CronJob does not support this restart policy");
            found.error(LintRule::BadValue, problem.hint("use OnFailure or Never"));
        }
        for name in NOT_WITH_CRON {
            set(spec, name, |field| {
                found.warn(LintRule::NoEffect, field.problem("has no effect on a CronJob"));
            });
        }
    }
    for (name, other) in ONLY_WITH {
        let given = spec.value().get(*other).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)));
        if !given {
            set(spec, name, |field| {
                found.warn(LintRule::NoEffect, field.problem(format!("has no effect without `{other}`")));
            });
        }
    }
    if let Some((field, text)) = text(spec, "sleepDurationSecs").filter(|(_, text)| text.parse::<u64>().is_err()) {
        found.error(LintRule::BadValue, field.problem(format!("`{text}` is not a number of seconds")));
    }
    for name in ["resources", "fluentdResources"] {
        set(spec, name, |field| resources(field, found));
    }
}

fn overrides(element: &DataField<'_>, found: &mut LintFindings) {
    let sharding = element.literal("sharding").ok().flatten();
    let lists = [
        sharding.and_then(|sharding| sharding.literal("shardSpecOverrides").ok().flatten()),
        element.literal("shardSpecOverride").ok().flatten(),
    ];
    for one in lists.into_iter().flatten().filter_map(|list| list.list().ok()).flatten() {
        set(&one, "resources", |field| resources(field, found));
    }
}

/// Checks that quantities are valid and requests do not exceed limits.
fn resources(resources: &DataField<'_>, found: &mut LintFindings) {
    let read = |side: &str, name: &str, found: &mut LintFindings| {
        let amounts = resources.literal(side).ok().flatten()?;
        let (field, text) = text(&amounts, name)?;
        match Quantity::parse(&text) {
            Ok(amount) => Some((field, amount)),
            Err(_) => {
                let problem = field.problem(format!("`{text}` is not a quantity"));
                found.error(LintRule::BadValue, problem.hint("use a quantity such as 250m, 2, 512Mi or 1Gi"));
                None
            }
        }
    };
    for name in ["cpu", "memory"] {
        let (request, limit) = (read("requests", name, found), read("limits", name, found));
        if let (Some((field, request)), Some((_, limit))) = (request, limit)
            && request > limit
        {
            found.error(LintRule::BadValue, field.problem("exceeds its limit"));
        }
    }
}

/// Calls `look` with a field if it is set to something other than null or false.
fn set<'b>(field: &DataField<'b>, name: &str, look: impl FnOnce(&DataField<'b>)) {
    if let Some(one) = field.literal(name).ok().flatten().filter(|one| *one.value() != Value::Bool(false)) {
        look(&one);
    }
}

fn text<'b>(field: &DataField<'b>, name: &str) -> Option<(DataField<'b>, String)> {
    let one = field.literal(name).ok().flatten()?;
    let text = one.text().ok()?;
    Some((one, text))
}

/// Parses a cron schedule like Kubernetes: five fields with numbers, ranges, steps and lists, or a macro.
fn schedule(text: &str) -> Result<(), String> {
    const WORDS: &[&str] = &["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
    const FIELDS: &[(&str, u32, u32, &[&str])] = &[
        ("minute", 0, 59, &[]),
        ("hour", 0, 23, &[]),
        ("day of the month", 1, 31, &[]),
        ("month", 1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
        ("day of the week", 0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
    ];
    let text = text.trim();
    if WORDS.contains(&text) || text.strip_prefix("@every ").is_some_and(|rest| !rest.is_empty()) {
        return Ok(());
    }
    let parts: Vec<&str> = text.split_whitespace().collect();
    if parts.len() != FIELDS.len() {
        return Err(format!("it has {} fields instead of five", parts.len()));
    }
    for (part, (what, low, high, names)) in parts.iter().zip(FIELDS) {
        for item in part.split(',') {
            if !range(item, *low, *high, names) {
                return Err(format!("`{item}` is not a {what} from {low} to {high}"));
            }
        }
    }
    Ok(())
}

/// Whether an item is valid: `*`, `?`, `5`, `1-5` or `mon-fri`, optionally with a step `/2`.
fn range(item: &str, low: u32, high: u32, names: &[&str]) -> bool {
    let (span, step) = item.split_once('/').map_or((item, None), |(span, step)| (span, Some(step)));
    if step.is_some_and(|step| !step.parse::<u32>().is_ok_and(|step| step > 0)) {
        return false;
    }
    if span == "*" || span == "?" {
        return true;
    }
    let number = |text: &str| {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text)).map(|at| at as u32 + low);
        let number = named.or_else(|| text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit())));
        number.filter(|number| (low..=high).contains(number))
    };
    match span.split_once('-') {
        Some((from, to)) => matches!((number(from), number(to)), (Some(from), Some(to)) if from <= to),
        None => number(span).is_some(),
    }
}
