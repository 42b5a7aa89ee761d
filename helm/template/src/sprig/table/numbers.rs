//! Number functions.

use super::{FunctionResult, FunctionTable, int, sig};
use crate::error::Error;
use crate::exec::Execution;
use crate::sprig::cast::{ParseIntError, parse_int, to_float, to_int};
use crate::sprig::decimal::BigDecimal;
use crate::value::{ReflectType, Value};

pub(super) fn add(table: &mut FunctionTable) {
    add_casts(table);
    add_integers(table);
    add_floats(table);
    add_ranges(table);
}

fn add_casts(table: &mut FunctionTable) {
    let sprig = table.sprig;
    table.add(&["atoi"], sig!(STRING => INT), |_, args| {
        let text = super::text(args, 0);
        Ok(Value::Int(parse_int(&text, 10).unwrap_or_else(ParseIntError::value)))
    });
    table.add(&["int64"], sig!(ANY => INT64), move |_, args| Ok(Value::Int64(to_int(&args[0], sprig))));
    table.add(&["int"], sig!(ANY => INT), move |_, args| Ok(Value::Int(to_int(&args[0], sprig))));
    table.add(&["float64"], sig!(ANY => FLOAT64), move |_, args| Ok(Value::Float64(to_float(&args[0], sprig))));
    table.add(&["toDecimal"], sig!(ANY => INT64), |execution, args| {
        let shown = execution.display_text(&args[0])?;
        Ok(Value::Int64(parse_int(&shown.to_text(), 8).unwrap_or(0)))
    });
}

fn add_integers(table: &mut FunctionTable) {
    let sprig = table.sprig;
    let all = move |args: &[Value]| args.iter().map(|arg| to_int(arg, sprig)).collect::<Vec<i64>>();
    table.add(&["add1"], sig!(ANY => INT64), move |_, args| Ok(Value::Int64(all(args)[0].wrapping_add(1))));
    table.add(&["add"], sig!(... ANY => INT64), move |_, args| {
        Ok(Value::Int64(all(args).into_iter().fold(0, i64::wrapping_add)))
    });
    table.add(&["sub"], sig!(ANY, ANY => INT64), move |_, args| {
        let numbers = all(args);
        Ok(Value::Int64(numbers[0].wrapping_sub(numbers[1])))
    });
    let by_zero = || Error::call("runtime error: integer divide by zero");
    table.add(&["div"], sig!(ANY, ANY => INT64), move |_, args| match all(args)[..] {
        [a, b, ..] if b != 0 => Ok(Value::Int64(a.wrapping_div(b))),
        _ => Err(by_zero()),
    });
    table.add(&["mod"], sig!(ANY, ANY => INT64), move |_, args| match all(args)[..] {
        [a, b, ..] if b != 0 => Ok(Value::Int64(a.wrapping_rem(b))),
        _ => Err(by_zero()),
    });
    table.add(&["mul"], sig!(ANY; ... ANY => INT64), move |_, args| {
        Ok(Value::Int64(all(args).into_iter().fold(1, i64::wrapping_mul)))
    });
    table.add(&["max", "biggest"], sig!(ANY; ... ANY => INT64), move |_, args| {
        Ok(Value::Int64(all(args).into_iter().max().unwrap_or(0)))
    });
    table.add(&["min"], sig!(ANY; ... ANY => INT64), move |_, args| {
        Ok(Value::Int64(all(args).into_iter().min().unwrap_or(0)))
    });
}

type DecimalOperation = fn(&BigDecimal, &BigDecimal) -> Result<BigDecimal, String>;

/// Applies an operation to a chain of decimals and converts the result to a float.
fn chain(numbers: &[f64], operation: DecimalOperation) -> FunctionResult {
    let mut decimals = numbers.iter().map(|number| BigDecimal::from_float(*number));
    let mut result = decimals.next().unwrap_or_else(|| BigDecimal::from_float(0.0))?;
    for decimal in decimals {
        result = operation(&result, &decimal?)?;
    }
    Ok(Value::Float64(result.to_float()))
}

fn add_floats(table: &mut FunctionTable) {
    let sprig = table.sprig;
    let all = move |args: &[Value]| args.iter().map(|arg| to_float(arg, sprig)).collect::<Vec<f64>>();
    table.add_v3(&["add1f"], sig!(ANY => FLOAT64), move |_, args| chain(&[all(args)[0], 1.0], BigDecimal::add));
    table.add_v3(&["addf"], sig!(... ANY => FLOAT64), move |_, args| {
        chain(&[&[0.0], all(args).as_slice()].concat(), BigDecimal::add)
    });
    table.add_v3(&["subf"], sig!(ANY; ... ANY => FLOAT64), move |_, args| chain(&all(args), BigDecimal::sub));
    table.add_v3(&["divf"], sig!(ANY; ... ANY => FLOAT64), move |_, args| chain(&all(args), BigDecimal::div));
    table.add_v3(&["mulf"], sig!(ANY; ... ANY => FLOAT64), move |_, args| chain(&all(args), BigDecimal::mul));
    table.add_v3(&["maxf"], sig!(ANY; ... ANY => FLOAT64), move |_, args| {
        Ok(Value::Float64(all(args).into_iter().reduce(|a, b| pick(a, b, a > b)).unwrap_or(0.0)))
    });
    table.add_v3(&["minf"], sig!(ANY; ... ANY => FLOAT64), move |_, args| {
        Ok(Value::Float64(all(args).into_iter().reduce(|a, b| pick(a, b, a < b)).unwrap_or(0.0)))
    });
    table.add(&["floor"], sig!(ANY => FLOAT64), move |_, args| Ok(Value::Float64(all(args)[0].floor())));
    table.add(&["ceil"], sig!(ANY => FLOAT64), move |_, args| Ok(Value::Float64(all(args)[0].ceil())));
    table.add(&["round"], sig!(ANY, INT; ... FLOAT64 => FLOAT64), move |_, args| {
        let limit = args.get(2).and_then(Value::as_f64).unwrap_or(0.5);
        Ok(Value::Float64(round(to_float(&args[0], sprig), int(args, 1), limit)))
    });
}

/// Returns the larger or smaller number. NaN wins, as in Go's `math.Max`.
fn pick(a: f64, b: f64, first: bool) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if first {
        a
    } else {
        b
    }
}

fn round(number: f64, places: i64, limit: f64) -> f64 {
    let power = 10f64.powi(i32::try_from(places.unsigned_abs()).unwrap_or(i32::MAX));
    let power = if places < 0 { 1.0 / power } else { power };
    let scaled = power * number;
    let up = scaled.fract() >= limit;
    (if up { scaled.ceil() } else { scaled.floor() }) / power
}

fn add_ranges(table: &mut FunctionTable) {
    table.add(&["until"], sig!(INT => INTS), |execution, args| {
        let count = int(args, 0);
        Ok(ints(steps(execution, 0, count, if count < 0 { -1 } else { 1 })?))
    });
    table.add(&["untilStep"], sig!(INT, INT, INT => INTS), |execution, args| {
        Ok(ints(steps(execution, int(args, 0), int(args, 1), int(args, 2))?))
    });
    table.add_v3(&["seq"], sig!(... INT => STRING), |execution, args| {
        let numbers: Vec<i64> = (0..args.len()).map(|index| int(args, index)).collect();
        let steps = match numbers[..] {
            [end] => {
                let step = if end < 1 { -1 } else { 1 };
                steps(execution, 1, end.wrapping_add(step), step)?
            }
            [start, end] => {
                let step = if end < start { -1 } else { 1 };
                steps(execution, start, end.wrapping_add(step), step)?
            }
            [start, step, end] if end >= start => steps(execution, start, end.wrapping_add(1), step)?,
            [start, step, end] if step <= 0 => steps(execution, start, end.wrapping_sub(1), step)?,
            _ => Vec::new(),
        };
        Ok(steps.iter().map(i64::to_string).collect::<Vec<_>>().join(" ").into())
    });
}

fn ints(numbers: Vec<i64>) -> Value {
    Value::typed_list(ReflectType::INTS, numbers.into_iter().map(Value::Int).collect())
}

/// Implements sprig's `untilStep`. The charge comes first, because the numbers come from the template.
fn steps(execution: &mut Execution<'_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>, Error> {
    let runs = if stop < start { step < 0 } else { step > 0 && stop > start };
    if !runs {
        return Ok(Vec::new());
    }
    let distance = i128::from(stop) - i128::from(start);
    let count = (distance.unsigned_abs()).div_ceil(u128::from(step.unsigned_abs()));
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    execution.charge(count)?;
    execution.charge_list(count)?;
    let numbers = (0..count).map(|index| (i128::from(start) + i128::from(index) * i128::from(step)) as i64);
    Ok(numbers.collect())
}
