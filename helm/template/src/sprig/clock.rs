//! Times and durations as values: what `now`, `toDate` and their methods give.

mod methods;

use std::any::Any;

use super::time::{LONG_DAYS, LONG_MONTHS, Moment, Span, Zone};
use crate::value::{Named, Object, Shape, Str, Type, Value};

// Types and methods know each other. Statics may be named before they are made; constants made of them may not.
static TIME_NAME: Named =
    Named { name: "time.Time", underlying: Type(&Shape::Struct), methods: &methods::TIME_METHODS };
static DURATION_NAME: Named =
    Named { name: "time.Duration", underlying: Type::INT64, methods: &methods::DURATION_METHODS };
static MONTH_NAME: Named = Named { name: "time.Month", underlying: Type::INT, methods: &methods::NAME_METHODS };
static LOCATION_NAME: Named =
    Named { name: "time.Location", underlying: Type(&Shape::Struct), methods: &methods::LOCATION_METHODS };
static WEEKDAY_NAME: Named = Named { name: "time.Weekday", underlying: Type::INT, methods: &methods::NAME_METHODS };

static TIME_SHAPE: Shape = Shape::Named(&TIME_NAME);
static DURATION_SHAPE: Shape = Shape::Named(&DURATION_NAME);
static MONTH_SHAPE: Shape = Shape::Named(&MONTH_NAME);
static WEEKDAY_SHAPE: Shape = Shape::Named(&WEEKDAY_NAME);
static LOCATION_STRUCT: Shape = Shape::Named(&LOCATION_NAME);
static LOCATION_SHAPE: Shape = Shape::Pointer(Type(&LOCATION_STRUCT));

/// `time.Time`.
pub const TIME: Type = Type(&TIME_SHAPE);
/// `time.Duration`.
pub const DURATION: Type = Type(&DURATION_SHAPE);
/// `time.Month`.
pub const MONTH: Type = Type(&MONTH_SHAPE);
/// `time.Weekday`.
pub const WEEKDAY: Type = Type(&WEEKDAY_SHAPE);

/// A moment as a value.
#[derive(Debug, Clone)]
pub struct Time(pub Moment);

/// A span as a value.
#[derive(Debug, Clone, Copy)]
pub struct Duration(pub Span);

/// A month, 1 to 12.
#[derive(Debug, Clone, Copy)]
pub struct Month(pub i64);

/// A day of the week; 0 is Sunday.
#[derive(Debug, Clone, Copy)]
pub struct Weekday(pub i64);

/// A zone: what `.Location` gives and `.In` takes.
#[derive(Debug, Clone)]
pub struct Location(pub Zone);

/// RFC 3339, which JSON and TOML use.
const WIRE: &[u8] = b"2006-01-02T15:04:05.999999999Z07:00";

impl Object for Time {
    fn go_type(&self) -> Type {
        TIME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        Some(self.0.to_string().into())
    }

    fn go_syntax(&self) -> Option<Str> {
        Some(self.0.go_syntax().into())
    }

    fn json(&self) -> Option<String> {
        Some(format!("\"{}\"", String::from_utf8_lossy(&self.0.format(WIRE))))
    }

    /// The same clock reading in the same zone, as Go's `==` on the struct has it.
    fn equals(&self, other: &dyn Object) -> bool {
        let Some(Time(other)) = other.as_any().downcast_ref::<Time>() else { return false };
        (self.0.seconds, self.0.nanos) == (other.seconds, other.nanos) && self.0.zone == other.zone
    }
}

impl Object for Duration {
    fn go_type(&self) -> Type {
        DURATION
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        Some(self.0.to_string().into())
    }

    fn scalar(&self) -> Option<Value> {
        Some(Value::Int64(self.0.0))
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref::<Duration>().is_some_and(|other| other.0 == self.0)
    }
}

impl Object for Month {
    fn go_type(&self) -> Type {
        MONTH
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        let name = usize::try_from(self.0 - 1).ok().and_then(|index| LONG_MONTHS.get(index));
        Some(name.map_or_else(|| format!("%!Month({})", self.0), ToString::to_string).into())
    }

    fn scalar(&self) -> Option<Value> {
        Some(Value::Int(self.0))
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref::<Month>().is_some_and(|other| other.0 == self.0)
    }
}

impl Object for Weekday {
    fn go_type(&self) -> Type {
        WEEKDAY
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        let name = usize::try_from(self.0).ok().and_then(|index| LONG_DAYS.get(index));
        Some(name.map_or_else(|| format!("%!Weekday({})", self.0), ToString::to_string).into())
    }

    fn scalar(&self) -> Option<Value> {
        Some(Value::Int(self.0))
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref::<Weekday>().is_some_and(|other| other.0 == self.0)
    }
}

impl Object for Location {
    fn go_type(&self) -> Type {
        Type(&LOCATION_SHAPE)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        Some(self.0.name().into())
    }

    /// None of its fields is exported.
    fn json(&self) -> Option<String> {
        Some("{}".to_string())
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref::<Location>().is_some_and(|other| other.0 == self.0)
    }
}
