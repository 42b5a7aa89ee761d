//! Methods of strings.

use crate::cel::value::{Fail, Outcome, Val};
use crate::schema::pattern;

pub(in crate::cel) fn call<'a>(name: &str, arguments: &[Val<'a>]) -> Option<Outcome<'a>> {
    let Val::Text(text) = &arguments[0] else { return None };
    Some(match (name, &arguments[1..]) {
        ("charAt", [Val::Int(at)]) => char_at(text, *at),
        ("indexOf", [Val::Text(part)]) => Ok(Val::Int(index_of(text, part, 0))),
        ("indexOf", [Val::Text(part), Val::Int(from)]) => match usize::try_from(*from) {
            Ok(from) => Ok(Val::Int(index_of(text, part, from))),
            Err(_) => Err(out_of_range(*from)),
        },
        ("lastIndexOf", [Val::Text(part)]) => Ok(Val::Int(last_index_of(text, part, usize::MAX))),
        ("lastIndexOf", [Val::Text(part), Val::Int(to)]) => match usize::try_from(*to) {
            Ok(to) if to >= text.chars().count() => Ok(Val::Int(-1)),
            Ok(to) => Ok(Val::Int(last_index_of(text, part, to))),
            Err(_) => Err(out_of_range(*to)),
        },
        ("lowerAscii", []) => Ok(Val::text(text.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(Val::text(text.to_ascii_uppercase())),
        ("trim", []) => Ok(Val::text(text.trim())),
        ("reverse", []) => Ok(Val::text(text.chars().rev().collect::<String>())),
        ("replace", [Val::Text(old), Val::Text(new)]) => Ok(Val::text(replace(text, old, new, -1))),
        ("replace", [Val::Text(old), Val::Text(new), Val::Int(count)]) => {
            Ok(Val::text(replace(text, old, new, *count)))
        }
        ("split", [Val::Text(separator)]) => Ok(split(text, separator, -1)),
        ("split", [Val::Text(separator), Val::Int(limit)]) => Ok(split(text, separator, *limit)),
        ("substring", [Val::Int(from)]) => match in_range(text, *from) {
            Ok(from) => Ok(Val::text(text.chars().skip(from).collect::<String>())),
            Err(error) => Err(error),
        },
        ("substring", [Val::Int(from), Val::Int(to)]) => substring(text, *from, *to),
        ("find", [Val::Text(regex)]) => find(text, regex),
        ("findAll", [Val::Text(regex)]) => find_all(text, regex, -1),
        ("findAll", [Val::Text(regex), Val::Int(limit)]) => find_all(text, regex, *limit),
        ("format", [values]) => match values.items() {
            Some(Ok(values)) => format(text, &values).map(Val::text).map_err(Fail::text),
            Some(Err(error)) => Err(error),
            None => return None,
        },
        _ => return None,
    })
}

fn out_of_range(at: i64) -> Fail {
    Fail::text(format!("index out of range: {at}"))
}

fn in_range(text: &str, at: i64) -> Result<usize, Fail> {
    let index = usize::try_from(at).map_err(|_| out_of_range(at))?;
    if index > text.chars().count() { Err(out_of_range(at)) } else { Ok(index) }
}

fn char_at<'a>(text: &str, at: i64) -> Outcome<'a> {
    let index = in_range(text, at)?;
    Ok(Val::text(text.chars().nth(index).map(String::from).unwrap_or_default()))
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

fn split<'a>(text: &str, separator: &str, limit: i64) -> Val<'a> {
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
    Val::list(parts.into_iter().map(Val::text).collect())
}

fn substring<'a>(text: &str, from: i64, to: i64) -> Outcome<'a> {
    if from > to {
        return Err(Fail::text(format!("invalid substring range. start: {from}, end: {to}")));
    }
    let (start, end) = (in_range(text, from)?, in_range(text, to)?);
    Ok(Val::text(text.chars().skip(start).take(end - start).collect::<String>()))
}

fn compiled(regex: &str) -> Result<regex::Regex, Fail> {
    pattern::compiled(regex).map_err(|error| Fail::text(format!("Illegal regex: {error}")))
}

fn find<'a>(text: &str, regex: &str) -> Outcome<'a> {
    Ok(Val::text(compiled(regex)?.find(text).map_or("", |found| found.as_str())))
}

fn find_all<'a>(text: &str, regex: &str, limit: i64) -> Outcome<'a> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = compiled(regex)?.find_iter(text).take(limit).map(|found| Val::text(found.as_str())).collect();
    Ok(Val::list(found))
}

/// Go's `%g` with as many digits as are needed.
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

/// A text in quotes, as a CEL literal.
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

/// The verbs of a format in order, or why one is none.
pub(in crate::cel) fn clauses(template: &str) -> Vec<Result<char, String>> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some((_, tail)) = next_clause(rest) {
        match tail {
            Clause::Percent(tail) => rest = tail,
            Clause::Verb(verb, _, tail) if "sdbofexX".contains(verb) => {
                found.push(Ok(verb));
                rest = tail;
            }
            Clause::Verb(verb, ..) => {
                found.push(Err(unrecognized(verb)));
                return found;
            }
            Clause::End => {
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

/// What follows a percent sign.
enum Clause<'t> {
    Percent(&'t str),
    Verb(char, Option<usize>, &'t str),
    End,
}

/// The text before the next clause, and the clause.
fn next_clause(text: &str) -> Option<(&str, Clause<'_>)> {
    /// More digits than this are not shown.
    const MAX_PRECISION: usize = 64;
    let (before, rest) = text.split_once('%')?;
    if let Some(tail) = rest.strip_prefix('%') {
        return Some((before, Clause::Percent(tail)));
    }
    let (mut precision, mut rest) = (None, rest);
    if let Some(tail) = rest.strip_prefix('.') {
        let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
        precision = tail[..digits].parse::<usize>().ok().map(|p| p.min(MAX_PRECISION));
        rest = &tail[digits..];
    }
    let Some(verb) = rest.chars().next() else { return Some((before, Clause::End)) };
    Some((before, Clause::Verb(verb, precision, &rest[verb.len_utf8()..])))
}

/// `"%s".format([..])`.
fn format(template: &str, values: &[Val<'_>]) -> Result<String, String> {
    let mut out = String::new();
    let mut used = 0;
    let mut rest = template;
    while let Some((before, clause)) = next_clause(rest) {
        out.push_str(before);
        match clause {
            Clause::Percent(tail) => {
                out.push('%');
                rest = tail;
            }
            Clause::Verb(verb, precision, tail) => {
                let value = values.get(used).ok_or_else(|| format!("index {used} out of range"))?;
                used += 1;
                out.push_str(&verb_text(verb, value, precision)?);
                rest = tail;
            }
            Clause::End => return Err("unexpected end of string".into()),
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn verb_text(verb: char, value: &Val<'_>, precision: Option<usize>) -> Result<String, String> {
    let wrong = |what: &str| {
        let kind = value.type_name();
        format!("error during formatting: {what} clause can only be used on integers, was given {kind}")
    };
    Ok(match (verb, value) {
        ('s', value) => shown(value)?,
        ('d', Val::Int(n)) => n.to_string(),
        ('d', Val::Uint(n)) => n.to_string(),
        ('d', _) => return Err(wrong("decimal")),
        ('b', Val::Int(n)) => format!("{}{:b}", if *n < 0 { "-" } else { "" }, n.unsigned_abs()),
        ('b', Val::Uint(n)) => format!("{n:b}"),
        ('b', Val::Bool(b)) => u8::from(*b).to_string(),
        ('o', Val::Int(n)) => format!("{}{:o}", if *n < 0 { "-" } else { "" }, n.unsigned_abs()),
        ('x', Val::Int(n)) => format!("{}{:x}", if *n < 0 { "-" } else { "" }, n.unsigned_abs()),
        ('X', Val::Int(n)) => format!("{}{:X}", if *n < 0 { "-" } else { "" }, n.unsigned_abs()),
        ('x', Val::Text(text)) => text.bytes().map(|b| format!("{b:02x}")).collect(),
        ('X', Val::Text(text)) => text.bytes().map(|b| format!("{b:02X}")).collect(),
        ('f', Val::Double(f)) => grouped(&format!("{f:.*}", precision.unwrap_or(6))),
        ('e', Val::Double(f)) => scientific(*f),
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

/// Thousands apart, as the locale of the server's messages has them.
fn grouped(text: &str) -> String {
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

/// `1.500000×10⁰³`; upstream pays no heed to the precision.
fn scientific(f: f64) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let text = format!("{f:.6e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = power.strip_prefix('-').map_or(("", power), |power| ("⁻", power));
    let raised =
        format!("{power:0>2}").chars().filter_map(|c| RAISED.get(c.to_digit(10)? as usize)).collect::<String>();
    format!("{digits}×10{sign}{raised}")
}

/// What `%s` shows.
fn shown(value: &Val<'_>) -> Result<String, String> {
    match value {
        Val::Null => Ok("null".into()),
        Val::List(_) | Val::JsonList(..) | Val::Map(_) | Val::JsonMap(..) | Val::Object(..) => literal(value),
        Val::Text(_)
        | Val::Bool(_)
        | Val::Int(_)
        | Val::Uint(_)
        | Val::Double(_)
        | Val::Bytes(_)
        | Val::Duration(_)
        | Val::Timestamp(_)
        | Val::Type(_) => Ok(crate::cel::functions::shown(value)),
        other => Err(format!(
            "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, \
             lists, types, durations, and timestamps, was given {}",
            other.type_name()
        )),
    }
}

/// A value inside of a list or map, as a rule would write it.
fn literal(value: &Val<'_>) -> Result<String, String> {
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
        Val::Text(text) => crate::quote::quote(text),
        Val::Bytes(bytes) => format!("b{}", crate::quote::quote(&String::from_utf8_lossy(bytes))),
        Val::Double(f) if f.is_finite() => format!("{f:.6}"),
        Val::Timestamp(_) => format!("timestamp(\"{}\")", crate::cel::functions::shown(value)),
        Val::Duration(_) => format!("duration(\"{}\")", crate::cel::functions::shown(value)),
        other => shown(other)?,
    })
}
