//! Methods of times and durations.

mod encoded;

use super::{
    DURATION_SHAPE, DurationValue, LOCATION_SHAPE, Location, MONTH_SHAPE, Month, TIME_SHAPE, TimeValue, WEEKDAY_SHAPE,
    Weekday,
};
use crate::error::Error;
use crate::exec::Execution;
use crate::function::Signature;
use crate::sprig::table::{bytes, int};
use crate::sprig::time::{CivilTime, GoDuration, GoTime, Zone, days_from_civil};
use crate::value::{Method, MethodBody, ReflectType, Value};

const fn method(name: &'static str, params: &'static [ReflectType], result: ReflectType, body: MethodBody) -> Method {
    Method::new(name, Signature::new(params, result), body)
}

fn moment(value: &Value) -> Result<&GoTime, Error> {
    value.object::<TimeValue>().map(|time| &time.0).ok_or_else(|| Error::call("receiver is no time.Time"))
}

/// Returns a duration argument. A number literal in a template is a duration in nanoseconds.
fn span(value: &Value) -> Result<GoDuration, Error> {
    let own = value.object::<DurationValue>().map(|d| d.0).or_else(|| value.as_i64().map(GoDuration));
    own.ok_or_else(|| Error::call("receiver is no time.Duration"))
}

fn time(moment: GoTime) -> Value {
    Value::from_object(TimeValue(moment))
}

type MethodResult = Result<Value, Error>;

/// Defines a method that returns a part of the date or time of day.
macro_rules! part {
    ($name:literal, $part:expr) => {
        method($name, &[], ReflectType::INT, |_: &mut Execution<'_>, receiver: &Value, _: &[Value]| -> MethodResult {
            let part: fn(CivilTime) -> i64 = $part;
            Ok(Value::Int(part(moment(receiver)?.civil())))
        })
    };
}

/// Defines a method that compares two times.
macro_rules! compare {
    ($name:literal, $holds:expr) => {
        method(
            $name,
            &[ReflectType(&TIME_SHAPE)],
            ReflectType::BOOL,
            |_: &mut Execution<'_>, receiver: &Value, args: &[Value]| -> MethodResult {
                let (ours, theirs) = (moment(receiver)?, moment(&args[0])?);
                let holds: fn(std::cmp::Ordering) -> bool = $holds;
                Ok(Value::Bool(holds((ours.seconds, ours.nanos).cmp(&(theirs.seconds, theirs.nanos)))))
            },
        )
    };
}

pub(super) static TIME_METHODS: [Method; 43] = [
    part!("Year", |c| c.year),
    part!("Day", |c| c.day),
    part!("Hour", |c| c.hour),
    part!("Minute", |c| c.minute),
    part!("Second", |c| c.second),
    part!("YearDay", |c| c.year_day()),
    compare!("Before", |order| order.is_lt()),
    compare!("After", |order| order.is_gt()),
    compare!("Equal", |order| order.is_eq()),
    method("Compare", &[ReflectType(&TIME_SHAPE)], ReflectType::INT, |_, receiver, args| {
        let (ours, theirs) = (moment(receiver)?, moment(&args[0])?);
        Ok(Value::Int((ours.seconds, ours.nanos).cmp(&(theirs.seconds, theirs.nanos)) as i64))
    }),
    method("Nanosecond", &[], ReflectType::INT, |_, receiver, _| Ok(Value::Int(i64::from(moment(receiver)?.nanos)))),
    method("Month", &[], ReflectType(&MONTH_SHAPE), |_, receiver, _| {
        Ok(Value::from_object(Month(moment(receiver)?.civil().month)))
    }),
    method("Weekday", &[], ReflectType(&WEEKDAY_SHAPE), |_, receiver, _| {
        Ok(Value::from_object(Weekday(moment(receiver)?.civil().weekday() as i64)))
    }),
    method("Format", &[ReflectType::STRING], ReflectType::STRING, |_, receiver, args| {
        Ok(Value::string(moment(receiver)?.format(bytes(args, 0))))
    }),
    method("String", &[], ReflectType::STRING, |_, receiver, _| Ok(Value::string(moment(receiver)?.to_string()))),
    method("Unix", &[], ReflectType::INT64, |_, receiver, _| Ok(Value::Int64(moment(receiver)?.seconds))),
    method("UnixMilli", &[], ReflectType::INT64, |_, receiver, _| Ok(Value::Int64(scaled(moment(receiver)?, 1_000)))),
    method("UnixMicro", &[], ReflectType::INT64, |_, receiver, _| {
        Ok(Value::Int64(scaled(moment(receiver)?, 1_000_000)))
    }),
    method("UnixNano", &[], ReflectType::INT64, |_, receiver, _| {
        Ok(Value::Int64(scaled(moment(receiver)?, 1_000_000_000)))
    }),
    method("IsZero", &[], ReflectType::BOOL, |_, receiver, _| Ok(Value::Bool(moment(receiver)?.is_zero()))),
    method("UTC", &[], ReflectType(&TIME_SHAPE), |_, receiver, _| Ok(time(moment(receiver)?.in_zone(Zone::Utc)))),
    method("Local", &[], ReflectType(&TIME_SHAPE), |execution, receiver, _| {
        let zone = crate::sprig::table::system_inputs(execution).local();
        Ok(time(moment(receiver)?.in_zone(zone)))
    }),
    method("Add", &[ReflectType(&DURATION_SHAPE)], ReflectType(&TIME_SHAPE), |_, receiver, args| {
        Ok(time(moment(receiver)?.plus(span(&args[0])?)))
    }),
    method("Sub", &[ReflectType(&TIME_SHAPE)], ReflectType(&DURATION_SHAPE), |_, receiver, args| {
        Ok(Value::from_object(DurationValue(moment(receiver)?.since(moment(&args[0])?))))
    }),
    method(
        "AddDate",
        &[ReflectType::INT, ReflectType::INT, ReflectType::INT],
        ReflectType(&TIME_SHAPE),
        |_, receiver, args| {
            let (at, civil) = (moment(receiver)?, moment(receiver)?.civil());
            let months = civil.month - 1 + int(args, 1);
            let date = (
                civil.year + int(args, 0) + months.div_euclid(12),
                months.rem_euclid(12) + 1,
                civil.day + int(args, 2),
            );
            let days = days_from_civil(date.0, date.1, 1) + date.2 - 1;
            let first = GoTime::unix(days * 86_400, 0, Zone::Utc).civil();
            let clock = (civil.hour, civil.minute, civil.second);
            Ok(time(GoTime::from_civil((first.year, first.month, first.day), clock, at.nanos, at.zone.clone())))
        },
    ),
    method("Truncate", &[ReflectType(&DURATION_SHAPE)], ReflectType(&TIME_SHAPE), |_, receiver, args| {
        let (at, step) = (moment(receiver)?, span(&args[0])?);
        Ok(time(if step.0 <= 0 { at.clone() } else { at.plus(GoDuration(-remainder(at, step))) }))
    }),
    method("Round", &[ReflectType(&DURATION_SHAPE)], ReflectType(&TIME_SHAPE), |_, receiver, args| {
        let (at, step) = (moment(receiver)?, span(&args[0])?);
        if step.0 <= 0 {
            return Ok(time(at.clone()));
        }
        let rest = remainder(at, step);
        let down = i128::from(rest) * 2 < i128::from(step.0);
        Ok(time(at.plus(GoDuration(if down { -rest } else { step.0 - rest }))))
    }),
    method("IsDST", &[], ReflectType::BOOL, |_, receiver, _| {
        let at = moment(receiver)?;
        Ok(Value::Bool(at.zone.is_dst(at.seconds)))
    }),
    method("Location", &[], ReflectType(&LOCATION_SHAPE), |_, receiver, _| {
        Ok(Value::from_object(Location(moment(receiver)?.zone.clone())))
    }),
    method("In", &[ReflectType(&LOCATION_SHAPE)], ReflectType(&TIME_SHAPE), |_, receiver, args| {
        let zone = args[0].object::<Location>().map(|location| location.0.clone());
        let zone = zone.ok_or_else(|| Error::call("time: missing Location in call to Time.In"))?;
        Ok(time(moment(receiver)?.in_zone(zone)))
    }),
    method("GoString", &[], ReflectType::STRING, |_, receiver, _| Ok(Value::string(moment(receiver)?.go_syntax()))),
    method("AppendFormat", &[ReflectType::BYTES, ReflectType::STRING], ReflectType::BYTES, |_, receiver, args| {
        Ok(encoded::append_bytes(&args[0], &moment(receiver)?.format(bytes(args, 1))))
    }),
    method("MarshalJSON", &[], ReflectType::BYTES, |_, receiver, _| {
        let text = encoded::text(moment(receiver)?, "MarshalJSON")?;
        Ok(Value::Bytes([b"\"".as_slice(), &text, b"\""].concat().into()))
    }),
    method("MarshalText", &[], ReflectType::BYTES, |_, receiver, _| {
        Ok(Value::Bytes(encoded::text(moment(receiver)?, "MarshalText")?.into()))
    }),
    method("AppendText", &[ReflectType::BYTES], ReflectType::BYTES, |_, receiver, args| {
        Ok(encoded::append_bytes(&args[0], &encoded::text(moment(receiver)?, "AppendText")?))
    }),
    method("MarshalBinary", &[], ReflectType::BYTES, |_, receiver, _| {
        Ok(Value::Bytes(encoded::binary(moment(receiver)?)?.into()))
    }),
    method("GobEncode", &[], ReflectType::BYTES, |_, receiver, _| {
        Ok(Value::Bytes(encoded::binary(moment(receiver)?)?.into()))
    }),
    method("AppendBinary", &[ReflectType::BYTES], ReflectType::BYTES, |_, receiver, args| {
        Ok(encoded::append_bytes(&args[0], &encoded::binary(moment(receiver)?)?))
    }),
    multi_result_method("Date", "function Date has 3 return values; should be 1 or 2"),
    multi_result_method("Clock", "function Clock has 3 return values; should be 1 or 2"),
    multi_result_method("Zone", "invalid function signature for Zone: second return value should be error; is int"),
    multi_result_method(
        "ISOWeek",
        "invalid function signature for ISOWeek: second return value should be error; is int",
    ),
    multi_result_method(
        "ZoneBounds",
        "invalid function signature for ZoneBounds: second return value should be error; is time.Time",
    ),
];

/// Creates a method with several results. Templates can name it but cannot call it.
const fn multi_result_method(name: &'static str, fault: &'static str) -> Method {
    Method::new(name, Signature::uncallable(fault), |_, receiver, _| Ok(receiver.clone()))
}

pub(super) static LOCATION_METHODS: [Method; 1] = [method("String", &[], ReflectType::STRING, own_text).of_pointer()];

/// Returns the remainder of the time since the zero time, divided by the step.
fn remainder(at: &GoTime, step: GoDuration) -> i64 {
    let since = i128::from(at.seconds) - i128::from(GoTime::zero().seconds);
    let nanos = since * 1_000_000_000 + i128::from(at.nanos);
    nanos.rem_euclid(i128::from(step.0)) as i64
}

fn scaled(at: &GoTime, per_second: i64) -> i64 {
    at.seconds.wrapping_mul(per_second).wrapping_add(i64::from(at.nanos) / (1_000_000_000 / per_second))
}

/// Defines a method that returns a duration in a unit, with its fraction.
macro_rules! in_unit {
    ($name:literal, $nanos:literal) => {
        method(
            $name,
            &[],
            ReflectType::FLOAT64,
            |_: &mut Execution<'_>, receiver: &Value, _: &[Value]| -> MethodResult {
                let nanos = span(receiver)?.0;
                Ok(Value::Float64((nanos / $nanos) as f64 + (nanos % $nanos) as f64 / ($nanos as i64) as f64))
            },
        )
    };
}

/// Defines a method that returns a duration in a unit, as an integer.
macro_rules! whole {
    ($name:literal, $nanos:literal) => {
        method($name, &[], ReflectType::INT64, |_: &mut Execution<'_>, receiver: &Value, _: &[Value]| -> MethodResult {
            Ok(Value::Int64(span(receiver)?.0 / $nanos))
        })
    };
}

pub(super) static DURATION_METHODS: [Method; 10] = [
    in_unit!("Seconds", 1_000_000_000),
    in_unit!("Minutes", 60_000_000_000),
    in_unit!("Hours", 3_600_000_000_000),
    whole!("Nanoseconds", 1),
    whole!("Microseconds", 1_000),
    whole!("Milliseconds", 1_000_000),
    method("String", &[], ReflectType::STRING, |_, receiver, _| Ok(Value::string(span(receiver)?.to_string()))),
    method("Abs", &[], ReflectType(&DURATION_SHAPE), |_, receiver, _| {
        Ok(Value::from_object(DurationValue(GoDuration(span(receiver)?.0.saturating_abs()))))
    }),
    method("Round", &[ReflectType(&DURATION_SHAPE)], ReflectType(&DURATION_SHAPE), |_, receiver, args| {
        Ok(Value::from_object(DurationValue(span(receiver)?.round(span(&args[0])?.0))))
    }),
    method("Truncate", &[ReflectType(&DURATION_SHAPE)], ReflectType(&DURATION_SHAPE), |_, receiver, args| {
        let (nanos, step) = (span(receiver)?.0, span(&args[0])?.0);
        Ok(Value::from_object(DurationValue(GoDuration(if step <= 0 { nanos } else { nanos - nanos % step }))))
    }),
];

fn own_text(_: &mut Execution<'_>, receiver: &Value, _: &[Value]) -> MethodResult {
    Ok(Value::String(crate::format::text_of(receiver)))
}

pub(super) static NAME_METHODS: [Method; 1] = [method("String", &[], ReflectType::STRING, own_text)];
