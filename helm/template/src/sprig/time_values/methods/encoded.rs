//! Encodings of times: the `Marshal` and `Append` methods of Go's `time.Time`.

use crate::error::Error;
use crate::sprig::time::{GoTime, Zone};
use crate::sprig::time_values::WIRE;
use crate::value::Value;

/// Appends bytes to a `[]byte` value.
pub(super) fn append_bytes(first: &Value, rest: &[u8]) -> Value {
    let first = if let Value::Bytes(bytes) = first { &bytes[..] } else { &[] };
    Value::Bytes([first, rest].concat().into())
}

/// Encodes a time in RFC 3339, if its year and offset allow it.
pub(super) fn text(at: &GoTime, method: &str) -> Result<Vec<u8>, Error> {
    let (_, offset) = at.zone.lookup(at.seconds);
    if !(0..=9999).contains(&at.civil().year) {
        return Err(Error::call(format!("Time.{method}: year outside of range [0,9999]")));
    }
    if offset.abs() >= 24 * 3600 {
        return Err(Error::call(format!("Time.{method}: timezone hour outside of range [0,23]")));
    }
    Ok(at.format(WIRE))
}

/// Encodes a version, seconds since year 1, nanoseconds, and minutes east of Greenwich, where -1 means UTC.
pub(super) fn binary(at: &GoTime) -> Result<Vec<u8>, Error> {
    let (_, offset) = at.zone.lookup(at.seconds);
    let (minutes, seconds) = if at.zone == Zone::Utc { (-1, 0) } else { (offset / 60, offset % 60) };
    let minutes = i16::try_from(minutes).ok().filter(|minutes| *minutes != -1 || at.zone == Zone::Utc);
    let minutes = minutes.ok_or_else(|| Error::call("Time.MarshalBinary: unexpected zone offset"))?;
    let since = at.seconds.wrapping_sub(GoTime::zero().seconds);
    let mut out = vec![if seconds == 0 { 1 } else { 2 }];
    out.extend(since.to_be_bytes());
    out.extend(at.nanos.to_be_bytes());
    out.extend(minutes.to_be_bytes());
    if seconds != 0 {
        out.push(seconds as i8 as u8);
    }
    Ok(out)
}
