//! Date and duration functions.

use super::{FunctionResult, FunctionTable, bytes, sig, system_inputs, text};
use crate::error::Error;
use crate::exec::Execution;
use crate::sprig::cast::{ParseIntError, parse_int};
use crate::sprig::time::{GoDuration, GoTime, Zone, parse_in};
use crate::sprig::time_values::{TIME, TimeValue};
use crate::value::Value;

const HTML: &[u8] = b"2006-01-02";
const SECOND: i64 = 1_000_000_000;

pub(super) fn add(table: &mut FunctionTable) {
    table.add(&["now"], sig!(=> TIME), |execution, _| Ok(time(system_inputs(execution).now()?)));
    table.add(&["date"], sig!(STRING, ANY => STRING), |execution, args| {
        show(execution, bytes(args, 0), &args[1], "Local")
    });
    table.add(&["dateInZone", "date_in_zone"], sig!(STRING, ANY, STRING => STRING), |execution, args| {
        show(execution, bytes(args, 0), &args[1], &text(args, 2))
    });
    table.add(&["htmlDate"], sig!(ANY => STRING), |execution, args| show(execution, HTML, &args[0], "Local"));
    table.add(&["htmlDateInZone"], sig!(ANY, STRING => STRING), |execution, args| {
        show(execution, HTML, &args[0], &text(args, 1))
    });
    table.add(&["unixEpoch"], sig!(TIME => STRING), |_, args| Ok(moment(&args[0])?.seconds.to_string().into()));
    add_changes(table);
    add_durations(table);
}

fn time(moment: GoTime) -> Value {
    Value::from_object(TimeValue(moment))
}

fn moment(value: &Value) -> Result<&GoTime, Error> {
    value.object::<TimeValue>().map(|time| &time.0).ok_or_else(super::nil_dereference)
}

/// Converts a time or a number of seconds since 1970. Any other value means the current time.
fn moment_of(execution: &Execution<'_>, value: &Value, with_int32: bool) -> Result<GoTime, Error> {
    let local = system_inputs(execution).local();
    Ok(match value {
        Value::Int(seconds) | Value::Int64(seconds) => GoTime::unix(*seconds, 0, local),
        Value::Int32(seconds) if with_int32 => GoTime::unix(i64::from(*seconds), 0, local),
        value => match value.object::<TimeValue>() {
            Some(time) => time.0.clone(),
            None => system_inputs(execution).now()?,
        },
    })
}

/// Formats a time in a zone. An unknown zone means UTC.
fn show(execution: &Execution<'_>, layout: &[u8], value: &Value, zone: &str) -> FunctionResult {
    let moment = moment_of(execution, value, true)?;
    let zone = Zone::load(zone, &system_inputs(execution).local()).unwrap_or(Zone::Utc);
    Ok(Value::string(moment.in_zone(zone).format(layout)))
}

fn add_changes(table: &mut FunctionTable) {
    table.add(&["dateModify", "date_modify"], sig!(STRING, TIME => TIME), |_, args| {
        match GoDuration::parse(&text(args, 0)) {
            Ok(span) => Ok(time(moment(&args[1])?.plus(span))),
            Err(_) => Ok(args[1].clone()),
        }
    });
    table.add_v3(&["mustDateModify", "must_date_modify"], sig!(STRING, TIME => TIME), |_, args| {
        let span = GoDuration::parse(&text(args, 0)).map_err(|error| Error::call(error.to_string()))?;
        Ok(time(moment(&args[1])?.plus(span)))
    });
    table.add(&["toDate"], sig!(STRING, STRING => TIME), |execution, args| {
        let parsed = parse_in(bytes(args, 0), bytes(args, 1), &system_inputs(execution).local());
        Ok(time(parsed.unwrap_or_else(|_| GoTime::zero())))
    });
    table.add_v3(&["mustToDate"], sig!(STRING, STRING => TIME), |execution, args| {
        let parsed = parse_in(bytes(args, 0), bytes(args, 1), &system_inputs(execution).local());
        Ok(time(parsed.map_err(|error| Error::call(error.to_string()))?))
    });
}

fn add_durations(table: &mut FunctionTable) {
    table.add(&["ago"], sig!(ANY => STRING), |execution, args| {
        let since = system_inputs(execution).now()?.since(&moment_of(execution, &args[0], false)?);
        Ok(since.round(SECOND).to_string().into())
    });
    table.add_v3(&["duration"], sig!(ANY => STRING), |_, args| {
        let seconds = match &args[0] {
            Value::String(text) => parse_int(&text.to_text(), 10).unwrap_or_else(ParseIntError::value),
            Value::Int64(seconds) => *seconds,
            _ => 0,
        };
        Ok(GoDuration(seconds.wrapping_mul(SECOND)).to_string().into())
    });
    table.add_v3(&["durationRound"], sig!(ANY => STRING), |execution, args| {
        let span = match &args[0] {
            Value::String(text) => GoDuration::parse(&text.to_text()).unwrap_or(GoDuration(0)),
            Value::Int64(nanos) => GoDuration(*nanos),
            value => match value.object::<TimeValue>() {
                Some(time) => system_inputs(execution).now()?.since(&time.0),
                None => GoDuration(0),
            },
        };
        Ok(rough(span).into())
    });
}

/// Formats a duration in the largest unit that it exceeds.
fn rough(span: GoDuration) -> String {
    const HOUR: u64 = 3_600_000_000_000;
    let units = [
        (HOUR * 24 * 365, "y"),
        (HOUR * 24 * 30, "mo"),
        (HOUR * 24, "d"),
        (HOUR, "h"),
        (HOUR / 60, "m"),
        (HOUR / 3600, "s"),
    ];
    let nanos = span.0.unsigned_abs();
    let found = units.into_iter().find(|(unit, _)| nanos > *unit);
    found.map_or_else(|| "0s".to_string(), |(unit, name)| format!("{}{name}", nanos / unit))
}
