//! Methods of strings.

use crate::cel::value::{CelValue, EvalError, EvalResult};
use crate::schema::pattern;

pub(in crate::cel) fn call<'a>(name: &str, arguments: &[CelValue<'a>]) -> Option<EvalResult<'a>> {
    let CelValue::Text(text) = &arguments[0] else { return None };
    Some(match (name, &arguments[1..]) {
        ("charAt", [CelValue::Int(at)]) => char_at(text, *at),
        ("indexOf", [CelValue::Text(part)]) => Ok(CelValue::Int(index_of(text, part, 0))),
        ("indexOf", [CelValue::Text(part), CelValue::Int(from)]) => match usize::try_from(*from) {
            Ok(from) => Ok(CelValue::Int(index_of(text, part, from))),
            Err(_) => Err(out_of_range(*from)),
        },
        ("lastIndexOf", [CelValue::Text(part)]) => Ok(CelValue::Int(last_index_of(text, part, usize::MAX))),
        ("lastIndexOf", [CelValue::Text(part), CelValue::Int(to)]) => match usize::try_from(*to) {
            Ok(to) if to >= text.chars().count() => Ok(CelValue::Int(-1)),
            Ok(to) => Ok(CelValue::Int(last_index_of(text, part, to))),
            Err(_) => Err(out_of_range(*to)),
        },
        ("lowerAscii", []) => Ok(CelValue::text(text.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(CelValue::text(text.to_ascii_uppercase())),
        ("trim", []) => Ok(CelValue::text(text.trim())),
        ("reverse", []) => Ok(CelValue::text(text.chars().rev().collect::<String>())),
        ("replace", [CelValue::Text(old), CelValue::Text(new)]) => Ok(CelValue::text(replace(text, old, new, -1))),
        ("replace", [CelValue::Text(old), CelValue::Text(new), CelValue::Int(count)]) => {
            Ok(CelValue::text(replace(text, old, new, *count)))
        }
        ("split", [CelValue::Text(separator)]) => Ok(split(text, separator, -1)),
        ("split", [CelValue::Text(separator), CelValue::Int(limit)]) => Ok(split(text, separator, *limit)),
        ("substring", [CelValue::Int(from)]) => match in_range(text, *from) {
            Ok(from) => Ok(CelValue::text(text.chars().skip(from).collect::<String>())),
            Err(error) => Err(error),
        },
        ("substring", [CelValue::Int(from), CelValue::Int(to)]) => substring(text, *from, *to),
        ("find", [CelValue::Text(regex)]) => find(text, regex),
        ("findAll", [CelValue::Text(regex)]) => find_all(text, regex, -1),
        ("findAll", [CelValue::Text(regex), CelValue::Int(limit)]) => find_all(text, regex, *limit),
        ("format", [values]) => match values.items() {
            Some(Ok(values)) => format(text, &values).map(CelValue::text).map_err(EvalError::text),
            Some(Err(error)) => Err(error),
            None => return None,
        },
        _ => return None,
    })
}

fn out_of_range(at: i64) -> EvalError {
    EvalError::text(format!("index out of range: {at}"))
}

fn in_range(text: &str, at: i64) -> Result<usize, EvalError> {
    let index = usize::try_from(at).map_err(|_| out_of_range(at))?;
    if index > text.chars().count() { Err(out_of_range(at)) } else { Ok(index) }
}

fn char_at<'a>(text: &str, at: i64) -> EvalResult<'a> {
    let index = in_range(text, at)?;
    Ok(CelValue::text(text.chars().nth(index).map(String::from).unwrap_or_default()))
}

fn index_of(text: &str, part: &str, from: usize) -> i64 {
    if from > 0 && from >= text.chars().count() {
        return -1;
    }
    let start = text.char_indices().nth(from).map_or(text.len(), |(at, _)| at);
    text[start..].find(part).map_or(-1, |at| text[..start + at].chars().count() as i64)
}

fn last_index_of(text: &str, part: &str, to: usize) -> i64 {
    let found = text.char_indices().enumerate().chain(std::iter::once((text.chars().count(), (text.len(), ' '))));
    found.filter(|(index, (at, _))| *index <= to && text[*at..].starts_with(part)).last().map_or(-1, |(i, _)| i as i64)
}

fn replace(text: &str, old: &str, new: &str, count: i64) -> String {
    match usize::try_from(count) {
        Ok(count) => text.replacen(old, new, count),
        Err(_) => text.replace(old, new),
    }
}

fn split<'a>(text: &str, separator: &str, limit: i64) -> CelValue<'a> {
    let parts: Vec<String> = match (separator.is_empty(), usize::try_from(limit)) {
        (_, Ok(0)) => vec![],
        (true, limit) => {
            let characters: Vec<String> = text.chars().map(String::from).collect();
            match limit {
                Ok(limit) if limit < characters.len() => {
                    let (head, tail) = characters.split_at(limit - 1);
                    head.iter().cloned().chain(std::iter::once(tail.concat())).collect()
                }
                _ => characters,
            }
        }
        (false, Ok(limit)) => text.splitn(limit, separator).map(String::from).collect(),
        (false, Err(_)) => text.split(separator).map(String::from).collect(),
    };
    CelValue::list(parts.into_iter().map(CelValue::text).collect())
}

fn substring<'a>(text: &str, from: i64, to: i64) -> EvalResult<'a> {
    if from > to {
        return Err(EvalError::text(format!("invalid substring range. start: {from}, end: {to}")));
    }
    let (start, end) = (in_range(text, from)?, in_range(text, to)?);
    Ok(CelValue::text(text.chars().skip(start).take(end - start).collect::<String>()))
}

fn compiled(regex: &str) -> Result<regex::Regex, EvalError> {
    pattern::compiled(regex).map_err(|error| EvalError::text(format!("Illegal regex: {error}")))
}

fn find<'a>(text: &str, regex: &str) -> EvalResult<'a> {
    Ok(CelValue::text(compiled(regex)?.find(text).map_or("", |found| found.as_str())))
}

fn find_all<'a>(text: &str, regex: &str, limit: i64) -> EvalResult<'a> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = compiled(regex)?.find_iter(text).take(limit).map(|found| CelValue::text(found.as_str())).collect();
    Ok(CelValue::list(found))
}

/// Formats a float as Go's `%g` with the shortest exact digits.
pub(in crate::cel) fn double(f: f64) -> String {
    if f.is_nan() {
        return "NaN".into();
    }
    if f.is_infinite() {
        return if f > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    let exponent = if f == 0.0 { 0 } else { f.abs().log10().floor() as i32 };
    if !(-4..21).contains(&exponent) {
        let text = format!("{f:e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
        return format!("{digits}e{sign}{power:0>2}");
    }
    format!("{f}")
}

/// Returns a text in quotes, as a CEL literal.
pub(in crate::cel) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns the verbs of a format in order, each or an error.
pub(in crate::cel) fn clauses(template: &str) -> Vec<Result<char, String>> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some((_, tail)) = next_clause(rest) {
        match tail {
            FormatClause::Percent(tail) => rest = tail,
            FormatClause::Verb(verb, _, tail) if "sdbofexX".contains(verb) => {
                found.push(Ok(verb));
                rest = tail;
            }
            FormatClause::Verb(verb, ..) => {
                found.push(Err(unrecognized(verb)));
                return found;
            }
            FormatClause::End => {
                found.push(Err("unexpected end of string".into()));
                return found;
            }
        }
    }
    found
}

fn unrecognized(verb: char) -> String {
    format!("could not parse formatting clause: unrecognized formatting clause \"{verb}\"")
}

/// Clause after a percent sign.
enum FormatClause<'t> {
    Percent(&'t str),
    Verb(char, Option<usize>, &'t str),
    End,
}

/// Returns the text before the next clause, and the clause.
fn next_clause(text: &str) -> Option<(&str, FormatClause<'_>)> {
    /// Bound on the digits shown.
    const MAX_PRECISION: usize = 64;
    let (before, rest) = text.split_once('%')?;
    if let Some(tail) = rest.strip_prefix('%') {
        return Some((before, FormatClause::Percent(tail)));
    }
    let (mut precision, mut rest) = (None, rest);
    if let Some(tail) = rest.strip_prefix('.') {
        let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
        precision = tail[..digits].parse::<usize>().ok().map(|p| p.min(MAX_PRECISION));
        rest = &tail[digits..];
    }
    let Some(verb) = rest.chars().next() else { return Some((before, FormatClause::End)) };
    Some((before, FormatClause::Verb(verb, precision, &rest[verb.len_utf8()..])))
}

/// Implements `"%s".format([..])`.
fn format(template: &str, values: &[CelValue<'_>]) -> Result<String, String> {
    let mut out = String::new();
    let mut used = 0;
    let mut rest = template;
    while let Some((before, clause)) = next_clause(rest) {
        out.push_str(before);
        match clause {
            FormatClause::Percent(tail) => {
                out.push('%');
                rest = tail;
            }
            FormatClause::Verb(verb, precision, tail) => {
                let value = values.get(used).ok_or_else(|| format!("index {used} out of range"))?;
                used += 1;
                out.push_str(&verb_text(verb, value, precision)?);
                rest = tail;
            }
            FormatClause::End => return Err("unexpected end of string".into()),
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn verb_text(verb: char, value: &CelValue<'_>, precision: Option<usize>) -> Result<String, String> {
    let wrong = |what: &str| {
        let kind = value.type_name();
        format!("error during formatting: {what} clause can only be used on integers, was given {kind}")
    };
    Ok(match (verb, value) {
        ('s', value) => format_string(value)?,
        ('d', CelValue::Int(n)) => n.to_string(),
        ('d', CelValue::Uint(n)) => n.to_string(),
        ('d', _) => return Err(wrong("decimal")),
        ('b', CelValue::Int(n)) => format!("{}{:b}", if *n < 0 { "-" } else { "" }, n.unsigned_abs()),
        ('b', CelValue::Uint(n)) => format!("{n:b}"),
        ('b', CelValue::Bool(b)) => u8::from(*b).to_string(),
        ('o', CelValue::Int(n)) => format!("{}{:o}", if *n < 0 { "-" } else { "" }, n.unsigned_abs()),
        ('x', CelValue::Int(n)) => format!("{}{:x}", if *n < 0 { "-" } else { "" }, n.unsigned_abs()),
        ('X', CelValue::Int(n)) => format!("{}{:X}", if *n < 0 { "-" } else { "" }, n.unsigned_abs()),
        ('x', CelValue::Text(text)) => text.bytes().map(|b| format!("{b:02x}")).collect(),
        ('X', CelValue::Text(text)) => text.bytes().map(|b| format!("{b:02X}")).collect(),
        ('f', CelValue::Double(f)) => group_thousands(&format!("{f:.*}", precision.unwrap_or(6))),
        ('e', CelValue::Double(f)) => scientific(*f),
        ('f' | 'e', _) => {
            let (what, kind) = (if verb == 'f' { "fixed-point" } else { "scientific" }, value.type_name());
            return Err(format!(
                "error during formatting: {what} clause can only be used on doubles, was given {kind}"
            ));
        }
        (verb, _) => {
            return Err(unrecognized(verb));
        }
    })
}

/// Inserts thousands separators, as the locale of cel-go's messages does.
fn group_thousands(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (whole, fraction) = text.split_once('.').map_or((text, String::new()), |(w, f)| (w, format!(".{f}")));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{sign}{out}{fraction}")
}

/// Formats a float as `1.500000×10⁰³`. cel-go ignores the precision here.
fn scientific(f: f64) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let text = format!("{f:.6e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = power.strip_prefix('-').map_or(("", power), |power| ("⁻", power));
    let raised =
        format!("{power:0>2}").chars().filter_map(|c| RAISED.get(c.to_digit(10)? as usize)).collect::<String>();
    format!("{digits}×10{sign}{raised}")
}

/// Formats a value for `%s`.
fn format_string(value: &CelValue<'_>) -> Result<String, String> {
    match value {
        CelValue::Null => Ok("null".into()),
        CelValue::List(_)
        | CelValue::JsonList(..)
        | CelValue::Map(_)
        | CelValue::JsonMap(..)
        | CelValue::Object(..) => literal(value),
        CelValue::Text(_)
        | CelValue::Bool(_)
        | CelValue::Int(_)
        | CelValue::Uint(_)
        | CelValue::Double(_)
        | CelValue::Bytes(_)
        | CelValue::Duration(_)
        | CelValue::Timestamp(_)
        | CelValue::Type(_) => Ok(crate::cel::functions::display_text(value)),
        other => Err(format!(
            "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, \
             lists, types, durations, and timestamps, was given {}",
            other.type_name()
        )),
    }
}

/// Formats a value inside a list or map as a CEL literal.
fn literal(value: &CelValue<'_>) -> Result<String, String> {
    if let Some(items) = value.items() {
        let items = items.map_err(|_| "list cannot be read".to_string())?;
        let parts = items.iter().map(literal).collect::<Result<Vec<_>, _>>()?;
        return Ok(format!("[{}]", parts.join(", ")));
    }
    if let Some(entries) = value.entries() {
        let entries = entries.map_err(|_| "map cannot be read".to_string())?;
        let mut parts = Vec::new();
        for (key, value) in &entries {
            parts.push(format!("{}:{}", literal(key)?, literal(value)?));
        }
        parts.sort();
        return Ok(format!("{{{}}}", parts.join(", ")));
    }
    Ok(match value {
        CelValue::Text(text) => crate::quote::quote(text),
        CelValue::Bytes(bytes) => format!("b{}", crate::quote::quote(&String::from_utf8_lossy(bytes))),
        CelValue::Double(f) if f.is_finite() => format!("{f:.6}"),
        CelValue::Timestamp(_) => format!("timestamp(\"{}\")", crate::cel::functions::display_text(value)),
        CelValue::Duration(_) => format!("duration(\"{}\")", crate::cel::functions::display_text(value)),
        other => format_string(other)?,
    })
}
