//! Dates and durations.

use super::{Answer, Table, ambient, bytes, sig, text};
use crate::error::Error;
use crate::exec::Execution;
use crate::sprig::cast::{NotInt, parse_int};
use crate::sprig::clock::{TIME, Time};
use crate::sprig::time::{Moment, Span, Zone, parse_in};
use crate::value::Value;

const HTML: &[u8] = b"2006-01-02";
const SECOND: i64 = 1_000_000_000;

pub(super) fn add(table: &mut Table) {
    table.add(&["now"], sig!(=> TIME), |execution, _| Ok(time(ambient(execution).now()?)));
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

fn time(moment: Moment) -> Value {
    Value::from_object(Time(moment))
}

fn moment(value: &Value) -> Result<&Moment, Error> {
    value.object::<Time>().map(|time| &time.0).ok_or_else(super::nil_dereference)
}

/// A time, or a number of seconds since 1970; anything else is now.
fn moment_of(execution: &Execution<'_>, value: &Value, with_int32: bool) -> Result<Moment, Error> {
    let local = ambient(execution).local();
    Ok(match value {
        Value::Int(seconds) | Value::Int64(seconds) => Moment::unix(*seconds, 0, local),
        Value::Int32(seconds) if with_int32 => Moment::unix(i64::from(*seconds), 0, local),
        value => match value.object::<Time>() {
            Some(time) => time.0.clone(),
            None => ambient(execution).now()?,
        },
    })
}

/// An unknown zone is UTC.
fn show(execution: &Execution<'_>, layout: &[u8], value: &Value, zone: &str) -> Answer {
    let moment = moment_of(execution, value, true)?;
    let zone = Zone::load(zone, &ambient(execution).local()).unwrap_or(Zone::Utc);
    Ok(Value::string(moment.shown_in(zone).format(layout)))
}

fn add_changes(table: &mut Table) {
    table.add(&["dateModify", "date_modify"], sig!(STRING, TIME => TIME), |_, args| {
        match Span::parse(&text(args, 0)) {
            Ok(span) => Ok(time(moment(&args[1])?.plus(span))),
            Err(_) => Ok(args[1].clone()),
        }
    });
    table.add_v3(&["mustDateModify", "must_date_modify"], sig!(STRING, TIME => TIME), |_, args| {
        let span = Span::parse(&text(args, 0)).map_err(|error| Error::call(error.to_string()))?;
        Ok(time(moment(&args[1])?.plus(span)))
    });
    table.add(&["toDate"], sig!(STRING, STRING => TIME), |execution, args| {
        let parsed = parse_in(bytes(args, 0), bytes(args, 1), &ambient(execution).local());
        Ok(time(parsed.unwrap_or_else(|_| Moment::zero())))
    });
    table.add_v3(&["mustToDate"], sig!(STRING, STRING => TIME), |execution, args| {
        let parsed = parse_in(bytes(args, 0), bytes(args, 1), &ambient(execution).local());
        Ok(time(parsed.map_err(|error| Error::call(error.to_string()))?))
    });
}

fn add_durations(table: &mut Table) {
    table.add(&["ago"], sig!(ANY => STRING), |execution, args| {
        let since = ambient(execution).now()?.since(&moment_of(execution, &args[0], false)?);
        Ok(since.round(SECOND).to_string().into())
    });
    table.add_v3(&["duration"], sig!(ANY => STRING), |_, args| {
        let seconds = match &args[0] {
            Value::String(text) => parse_int(&text.to_text(), 10).unwrap_or_else(NotInt::value),
            Value::Int64(seconds) => *seconds,
            _ => 0,
        };
        Ok(Span(seconds.wrapping_mul(SECOND)).to_string().into())
    });
    table.add_v3(&["durationRound"], sig!(ANY => STRING), |execution, args| {
        let span = match &args[0] {
            Value::String(text) => Span::parse(&text.to_text()).unwrap_or(Span(0)),
            Value::Int64(nanos) => Span(*nanos),
            value => match value.object::<Time>() {
                Some(time) => ambient(execution).now()?.since(&time.0),
                None => Span(0),
            },
        };
        Ok(rough(span).into())
    });
}

/// The largest unit that is exceeded, and how often.
fn rough(span: Span) -> String {
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
