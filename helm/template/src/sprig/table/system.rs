//! Functions that need system inputs: randomness, environment, network.

use super::{FunctionTable, int, sig, system_inputs, text};
use crate::error::Error;
use crate::exec::Execution;
use crate::sprig::encoding::base64_encode;
use crate::sprig::runes;
use crate::sprig::system_inputs::{Entropy, random_below};
use crate::value::Value;

pub(super) fn add(table: &mut FunctionTable) {
    random_text(table, "randAlphaNum", |byte| byte.is_ascii_alphanumeric());
    random_text(table, "randAlpha", |byte| byte.is_ascii_alphabetic());
    random_text(table, "randNumeric", |byte| byte.is_ascii_digit());
    random_text(table, "randAscii", |_| true);
    table.add_v3(&["randBytes"], sig!(INT => STRING), |execution, args| {
        let out_of_range = || Error::call("runtime error: makeslice: len out of range");
        let mut bytes = vec![0; charged_count(execution, int(args, 0)).map_err(|e| e.unwrap_or_else(out_of_range))?];
        system_inputs(execution).entropy()?.fill(&mut bytes);
        Ok(base64_encode(&bytes).into())
    });
    table.add_v3(&["randInt"], sig!(INT, INT => INT), |execution, args| {
        let (low, high) = (int(args, 0), int(args, 1));
        let span = high.wrapping_sub(low);
        let span = u64::try_from(span).ok().filter(|span| *span > 0);
        let span = span.ok_or_else(|| Error::call("invalid argument to Intn"))?;
        Ok(Value::Int(low.wrapping_add(random_below(system_inputs(execution).entropy()?, span) as i64)))
    });
    table.add(&["shuffle"], sig!(STRING => STRING), |execution, args| {
        let mut all: Vec<char> = runes::all(super::bytes(args, 0)).collect();
        execution.charge(all.len() as u64)?;
        for index in (1..all.len()).rev() {
            all.swap(index, random_below(system_inputs(execution).entropy()?, index as u64 + 1) as usize);
        }
        Ok(all.into_iter().collect::<String>().into())
    });
    table.add(&["uuidv4"], sig!(=> STRING), |execution, _| Ok(uuid(system_inputs(execution).entropy()?).into()));
    add_environment(table);
}

/// Returns the requested count if the budget suffices. Fails with `None` for a negative number.
fn charged_count(execution: &mut Execution<'_>, wanted: i64) -> Result<usize, Option<Error>> {
    let count = usize::try_from(wanted).map_err(|_| None)?;
    execution.charge_bytes(count).map_err(Some)?;
    execution.charge(count as u64).map_err(Some)?;
    Ok(count)
}

/// Adds a function that returns random printable ASCII characters of a class. A negative count is an error that sprig
/// drops.
fn random_text(table: &mut FunctionTable, name: &str, belongs: fn(u8) -> bool) {
    let alphabet: Vec<u8> = (b' '..127).filter(|byte| belongs(*byte)).collect();
    table.add(&[name], sig!(INT => STRING), move |execution, args| {
        let count = match charged_count(execution, int(args, 0)) {
            Ok(0) | Err(None) => return Ok("".into()),
            Ok(count) => count,
            Err(Some(error)) => return Err(error),
        };
        let entropy = system_inputs(execution).entropy()?;
        let pick = |_| alphabet[random_below(entropy, alphabet.len() as u64) as usize];
        Ok(Value::string((0..count).map(pick).collect::<Vec<u8>>()))
    });
}

fn uuid(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 16];
    entropy.fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn add_environment(table: &mut FunctionTable) {
    table.add(&["env"], sig!(STRING => STRING), |execution, args| Ok(variable(execution, &text(args, 0))?.into()));
    table.add(&["expandenv"], sig!(STRING => STRING), |execution, args| expand(execution, &text(args, 0)));
    table.add(&["getHostByName"], sig!(STRING => STRING), |execution, args| {
        let inputs = system_inputs(execution);
        let missing = || Error::call("no network: this template has no access to a resolver");
        let addresses = inputs.resolver.as_ref().ok_or_else(missing)?.addresses(&text(args, 0));
        if addresses.is_empty() {
            return Err(Error::call("invalid argument to Intn"));
        }
        Ok(addresses[random_below(inputs.entropy()?, addresses.len() as u64) as usize].as_str().into())
    });
}

/// Returns an environment variable, or an empty text if it is not set.
fn variable(execution: &Execution<'_>, name: &str) -> Result<String, Error> {
    let missing = || Error::call("no environment: this template has no access to variables");
    let environment = system_inputs(execution).environment.as_ref().ok_or_else(missing)?;
    Ok(environment.get(name).cloned().unwrap_or_default())
}

/// Implements Go's `os.ExpandEnv`.
fn expand(execution: &Execution<'_>, written: &str) -> super::FunctionResult {
    let mut out = String::new();
    let mut rest = written;
    while let Some(at) = rest.find('$').filter(|at| at + 1 < rest.len()) {
        out.push_str(&rest[..at]);
        let (name, length) = shell_name(&rest[at + 1..]);
        match name {
            // An invalid `${` is removed. A `$` without a name stays.
            "" if length == 0 => out.push('$'),
            "" => {}
            name => out.push_str(&variable(execution, name)?),
        }
        rest = &rest[at + 1 + length..];
    }
    out.push_str(rest);
    Ok(out.into())
}

/// Implements Go's `getShellName`: returns the name after a `$` and its length in the text.
fn shell_name(text: &str) -> (&str, usize) {
    let special = |c: char| matches!(c, '*' | '#' | '$' | '@' | '!' | '?' | '-' | '0'..='9');
    let first = text.chars().next().unwrap_or(' ');
    if let Some(inside) = text.strip_prefix('{') {
        if inside.starts_with(special) && inside[1..].starts_with('}') {
            return (&inside[..1], 3);
        }
        return match inside.find('}') {
            Some(0) => ("", 2),
            Some(end) => (&inside[..end], end + 2),
            None => ("", 1),
        };
    }
    if special(first) {
        return (&text[..1], 1);
    }
    let end = text.find(|c: char| !(c == '_' || c.is_ascii_alphanumeric())).unwrap_or(text.len());
    (&text[..end], end)
}
