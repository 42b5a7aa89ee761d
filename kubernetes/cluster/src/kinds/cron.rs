//! Validation of cron schedules.

use switchboard_object::quote::quote;

#[cfg(test)]
mod tests;

/// Names of months and weekdays, in the order of their numbers.
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

struct CronField {
    low: u32,
    high: u32,
    names: &'static [&'static str],
}

const FIELDS: [CronField; 5] = [
    CronField { low: 0, high: 59, names: &[] },
    CronField { low: 0, high: 23, names: &[] },
    CronField { low: 1, high: 31, names: &[] },
    CronField { low: 1, high: 12, names: &MONTHS },
    CronField { low: 0, high: 6, names: &DAYS },
];

/// Parses a schedule of five fields or a descriptor such as `@daily`. The error has the cron library's text.
pub(super) fn parse(schedule: &str) -> Result<(), String> {
    let schedule = match schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ=")) {
        Some(rest) => rest.split_once(' ').map_or("", |(_, s)| s).trim(),
        None => schedule,
    };
    if schedule.starts_with('@') {
        return descriptor(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let found = fields.iter().map(|f| f.to_string()).collect::<Vec<_>>().join(" ");
        return Err(format!("expected exactly 5 fields, found {}: [{found}]", fields.len()));
    }
    fields.iter().zip(&FIELDS).try_for_each(|(text, bounds)| field(text, bounds))
}

fn descriptor(text: &str) -> Result<(), String> {
    match text {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => Ok(()),
        _ if text.starts_with("@every ") => Ok(()),
        _ => Err(format!("unrecognized descriptor: {text}")),
    }
}

fn field(text: &str, bounds: &CronField) -> Result<(), String> {
    text.split(',').filter(|part| !part.is_empty()).try_for_each(|part| range(part, bounds))
}

fn range(text: &str, bounds: &CronField) -> Result<(), String> {
    let stepped: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = stepped[0].split('-').collect();
    let (low, mut high) = if matches!(ends[0], "*" | "?") {
        (bounds.low, bounds.high)
    } else {
        let low = number(ends[0], bounds)?;
        let high = match ends.as_slice() {
            [_] => low,
            [_, high] => number(high, bounds)?,
            _ => return Err(format!("too many hyphens: {text}")),
        };
        (low, high)
    };
    let step = match stepped.as_slice() {
        [_] => 1,
        [_, step] => {
            if ends.len() == 1 {
                high = high.max(bounds.high);
            }
            plain(step)?
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if low < bounds.low {
        return Err(format!("beginning of range ({low}) below minimum ({}): {text}", bounds.low));
    }
    if high > bounds.high {
        return Err(format!("end of range ({high}) above maximum ({}): {text}", bounds.high));
    }
    if low > high {
        return Err(format!("beginning of range ({low}) beyond end of range ({high}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number(text: &str, bounds: &CronField) -> Result<u32, String> {
    let named = bounds.names.iter().position(|n| n.eq_ignore_ascii_case(text));
    named.map_or_else(|| plain(text), |index| Ok(index as u32 + bounds.low))
}

fn plain(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => Ok(number as u32),
        Err(_) => {
            Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {}: invalid syntax", quote(text)))
        }
    }
}
