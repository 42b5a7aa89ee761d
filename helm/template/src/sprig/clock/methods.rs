//! The methods of times and durations.

mod encoded;

use super::{
    DURATION_SHAPE, Duration, LOCATION_SHAPE, Location, MONTH_SHAPE, Month, TIME_SHAPE, Time, WEEKDAY_SHAPE, Weekday,
};
use crate::error::Error;
use crate::exec::Execution;
use crate::function::Signature;
use crate::sprig::table::{bytes, int};
use crate::sprig::time::{Civil, Moment, Span, Zone, days_from_civil};
use crate::value::{Method, MethodBody, Type, Value};

const fn method(name: &'static str, params: &'static [Type], result: Type, body: MethodBody) -> Method {
    Method::new(name, Signature::new(params, result), body)
}

fn moment(value: &Value) -> Result<&Moment, Error> {
    value.object::<Time>().map(|time| &time.0).ok_or_else(|| Error::call("receiver is no time.Time"))
}

/// A number that stands in a template is a span of nanoseconds where one is wanted.
fn span(value: &Value) -> Result<Span, Error> {
    let own = value.object::<Duration>().map(|d| d.0).or_else(|| value.as_i64().map(Span));
    own.ok_or_else(|| Error::call("receiver is no time.Duration"))
}

fn time(moment: Moment) -> Value {
    Value::from_object(Time(moment))
}

type Answer = Result<Value, Error>;

/// A number of the date or the clock.
macro_rules! part {
    ($name:literal, $part:expr) => {
        method($name, &[], Type::INT, |_: &mut Execution<'_>, receiver: &Value, _: &[Value]| -> Answer {
            let part: fn(Civil) -> i64 = $part;
            Ok(Value::Int(part(moment(receiver)?.civil())))
        })
    };
}

/// A question about two times.
macro_rules! compare {
    ($name:literal, $holds:expr) => {
        method(
            $name,
            &[Type(&TIME_SHAPE)],
            Type::BOOL,
            |_: &mut Execution<'_>, receiver: &Value, args: &[Value]| -> Answer {
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
    method("Compare", &[Type(&TIME_SHAPE)], Type::INT, |_, receiver, args| {
        let (ours, theirs) = (moment(receiver)?, moment(&args[0])?);
        Ok(Value::Int((ours.seconds, ours.nanos).cmp(&(theirs.seconds, theirs.nanos)) as i64))
    }),
    method("Nanosecond", &[], Type::INT, |_, receiver, _| Ok(Value::Int(i64::from(moment(receiver)?.nanos)))),
    method("Month", &[], Type(&MONTH_SHAPE), |_, receiver, _| {
        Ok(Value::from_object(Month(moment(receiver)?.civil().month)))
    }),
    method("Weekday", &[], Type(&WEEKDAY_SHAPE), |_, receiver, _| {
        Ok(Value::from_object(Weekday(moment(receiver)?.civil().weekday() as i64)))
    }),
    method("Format", &[Type::STRING], Type::STRING, |_, receiver, args| {
        Ok(Value::string(moment(receiver)?.format(bytes(args, 0))))
    }),
    method("String", &[], Type::STRING, |_, receiver, _| Ok(Value::string(moment(receiver)?.to_string()))),
    method("Unix", &[], Type::INT64, |_, receiver, _| Ok(Value::Int64(moment(receiver)?.seconds))),
    method("UnixMilli", &[], Type::INT64, |_, receiver, _| Ok(Value::Int64(scaled(moment(receiver)?, 1_000)))),
    method("UnixMicro", &[], Type::INT64, |_, receiver, _| Ok(Value::Int64(scaled(moment(receiver)?, 1_000_000)))),
    method("UnixNano", &[], Type::INT64, |_, receiver, _| Ok(Value::Int64(scaled(moment(receiver)?, 1_000_000_000)))),
    method("IsZero", &[], Type::BOOL, |_, receiver, _| Ok(Value::Bool(moment(receiver)?.is_zero()))),
    method("UTC", &[], Type(&TIME_SHAPE), |_, receiver, _| Ok(time(moment(receiver)?.shown_in(Zone::Utc)))),
    method("Local", &[], Type(&TIME_SHAPE), |execution, receiver, _| {
        let zone = crate::sprig::table::ambient(execution).local();
        Ok(time(moment(receiver)?.shown_in(zone)))
    }),
    method("Add", &[Type(&DURATION_SHAPE)], Type(&TIME_SHAPE), |_, receiver, args| {
        Ok(time(moment(receiver)?.plus(span(&args[0])?)))
    }),
    method("Sub", &[Type(&TIME_SHAPE)], Type(&DURATION_SHAPE), |_, receiver, args| {
        Ok(Value::from_object(Duration(moment(receiver)?.since(moment(&args[0])?))))
    }),
    method("AddDate", &[Type::INT, Type::INT, Type::INT], Type(&TIME_SHAPE), |_, receiver, args| {
        let (at, civil) = (moment(receiver)?, moment(receiver)?.civil());
        let months = civil.month - 1 + int(args, 1);
        let date =
            (civil.year + int(args, 0) + months.div_euclid(12), months.rem_euclid(12) + 1, civil.day + int(args, 2));
        let days = days_from_civil(date.0, date.1, 1) + date.2 - 1;
        let first = Moment::unix(days * 86_400, 0, Zone::Utc).civil();
        let clock = (civil.hour, civil.minute, civil.second);
        Ok(time(Moment::from_civil((first.year, first.month, first.day), clock, at.nanos, at.zone.clone())))
    }),
    method("Truncate", &[Type(&DURATION_SHAPE)], Type(&TIME_SHAPE), |_, receiver, args| {
        let (at, step) = (moment(receiver)?, span(&args[0])?);
        Ok(time(if step.0 <= 0 { at.clone() } else { at.plus(Span(-remainder(at, step))) }))
    }),
    method("Round", &[Type(&DURATION_SHAPE)], Type(&TIME_SHAPE), |_, receiver, args| {
        let (at, step) = (moment(receiver)?, span(&args[0])?);
        if step.0 <= 0 {
            return Ok(time(at.clone()));
        }
        let rest = remainder(at, step);
        let down = i128::from(rest) * 2 < i128::from(step.0);
        Ok(time(at.plus(Span(if down { -rest } else { step.0 - rest }))))
    }),
    method("IsDST", &[], Type::BOOL, |_, receiver, _| {
        let at = moment(receiver)?;
        Ok(Value::Bool(at.zone.is_dst(at.seconds)))
    }),
    method("Location", &[], Type(&LOCATION_SHAPE), |_, receiver, _| {
        Ok(Value::from_object(Location(moment(receiver)?.zone.clone())))
    }),
    method("In", &[Type(&LOCATION_SHAPE)], Type(&TIME_SHAPE), |_, receiver, args| {
        let zone = args[0].object::<Location>().map(|location| location.0.clone());
        let zone = zone.ok_or_else(|| Error::call("time: missing Location in call to Time.In"))?;
        Ok(time(moment(receiver)?.shown_in(zone)))
    }),
    method("GoString", &[], Type::STRING, |_, receiver, _| Ok(Value::string(moment(receiver)?.go_syntax()))),
    method("AppendFormat", &[Type::BYTES, Type::STRING], Type::BYTES, |_, receiver, args| {
        Ok(encoded::behind(&args[0], &moment(receiver)?.format(bytes(args, 1))))
    }),
    method("MarshalJSON", &[], Type::BYTES, |_, receiver, _| {
        let text = encoded::text(moment(receiver)?, "MarshalJSON")?;
        Ok(Value::Bytes([b"\"".as_slice(), &text, b"\""].concat().into()))
    }),
    method("MarshalText", &[], Type::BYTES, |_, receiver, _| {
        Ok(Value::Bytes(encoded::text(moment(receiver)?, "MarshalText")?.into()))
    }),
    method("AppendText", &[Type::BYTES], Type::BYTES, |_, receiver, args| {
        Ok(encoded::behind(&args[0], &encoded::text(moment(receiver)?, "AppendText")?))
    }),
    method("MarshalBinary", &[], Type::BYTES, |_, receiver, _| {
        Ok(Value::Bytes(encoded::binary(moment(receiver)?)?.into()))
    }),
    method("GobEncode", &[], Type::BYTES, |_, receiver, _| {
        Ok(Value::Bytes(encoded::binary(moment(receiver)?)?.into()))
    }),
    method("AppendBinary", &[Type::BYTES], Type::BYTES, |_, receiver, args| {
        Ok(encoded::behind(&args[0], &encoded::binary(moment(receiver)?)?))
    }),
    several("Date", "function Date has 3 return values; should be 1 or 2"),
    several("Clock", "function Clock has 3 return values; should be 1 or 2"),
    several("Zone", "invalid function signature for Zone: second return value should be error; is int"),
    several("ISOWeek", "invalid function signature for ISOWeek: second return value should be error; is int"),
    several(
        "ZoneBounds",
        "invalid function signature for ZoneBounds: second return value should be error; is time.Time",
    ),
];

/// A method with several results, which a template can name and not call.
const fn several(name: &'static str, fault: &'static str) -> Method {
    Method::new(name, Signature::faulty(fault), |_, receiver, _| Ok(receiver.clone()))
}

pub(super) static LOCATION_METHODS: [Method; 1] = [method("String", &[], Type::STRING, own_text).of_pointer()];

/// What is over a multiple of the step since the zero time.
fn remainder(at: &Moment, step: Span) -> i64 {
    let since = i128::from(at.seconds) - i128::from(Moment::zero().seconds);
    let nanos = since * 1_000_000_000 + i128::from(at.nanos);
    nanos.rem_euclid(i128::from(step.0)) as i64
}

fn scaled(at: &Moment, per_second: i64) -> i64 {
    at.seconds.wrapping_mul(per_second).wrapping_add(i64::from(at.nanos) / (1_000_000_000 / per_second))
}

/// A span in a unit, with its fraction.
macro_rules! in_unit {
    ($name:literal, $nanos:literal) => {
        method($name, &[], Type::FLOAT64, |_: &mut Execution<'_>, receiver: &Value, _: &[Value]| -> Answer {
            let nanos = span(receiver)?.0;
            Ok(Value::Float64((nanos / $nanos) as f64 + (nanos % $nanos) as f64 / ($nanos as i64) as f64))
        })
    };
}

/// A span in a unit, whole.
macro_rules! whole {
    ($name:literal, $nanos:literal) => {
        method($name, &[], Type::INT64, |_: &mut Execution<'_>, receiver: &Value, _: &[Value]| -> Answer {
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
    method("String", &[], Type::STRING, |_, receiver, _| Ok(Value::string(span(receiver)?.to_string()))),
    method("Abs", &[], Type(&DURATION_SHAPE), |_, receiver, _| {
        Ok(Value::from_object(Duration(Span(span(receiver)?.0.saturating_abs()))))
    }),
    method("Round", &[Type(&DURATION_SHAPE)], Type(&DURATION_SHAPE), |_, receiver, args| {
        Ok(Value::from_object(Duration(span(receiver)?.round(span(&args[0])?.0))))
    }),
    method("Truncate", &[Type(&DURATION_SHAPE)], Type(&DURATION_SHAPE), |_, receiver, args| {
        let (nanos, step) = (span(receiver)?.0, span(&args[0])?.0);
        Ok(Value::from_object(Duration(Span(if step <= 0 { nanos } else { nanos - nanos % step }))))
    }),
];

fn own_text(_: &mut Execution<'_>, receiver: &Value, _: &[Value]) -> Answer {
    Ok(Value::String(crate::format::text_of(receiver)))
}

pub(super) static NAME_METHODS: [Method; 1] = [method("String", &[], Type::STRING, own_text)];
