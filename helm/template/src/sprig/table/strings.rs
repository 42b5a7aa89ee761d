//! String functions.

use std::collections::HashSet;

use switchboard_object::quote;

use super::{FunctionResult, FunctionTable, bytes, int, sig};
use crate::error::Error;
use crate::exec::Execution;
use crate::sprig::{SprigVersion, crypto, encoding, letter_case, runes, text as strings};
use crate::value::{ReflectKind, ReflectType, Str, Value};

pub(super) fn add(table: &mut FunctionTable) {
    add_shapes(table);
    add_cases(table);
    add_parts(table);
    add_quotes(table);
    add_sums(table);
}

fn add_shapes(table: &mut FunctionTable) {
    let sprig = table.sprig;
    table.add(&["hello"], sig!(=> STRING), |_, _| Ok("Hello!".into()));
    table.add(&["trunc"], sig!(INT, STRING => STRING), move |_, args| truncate(int(args, 0), bytes(args, 1), sprig));
    table.add(&["substr"], sig!(INT, INT, STRING => STRING), |_, args| {
        let (start, end, text) = (int(args, 0), int(args, 1), bytes(args, 2));
        let cut = match (start, end) {
            (start, end) if start < 0 => strings::slice(text, None, Some(end)),
            (start, end) if end < 0 || end > text.len() as i64 => strings::slice(text, Some(start), None),
            (start, end) => strings::slice(text, Some(start), Some(end)),
        };
        Ok(Value::string(cut?))
    });
    table.add(&["repeat"], sig!(INT, STRING => STRING), |execution, args| {
        let text = bytes(args, 1);
        let count = repetitions(execution, int(args, 0), text.len())?;
        Ok(Value::string(text.repeat(count)))
    });
    table.add(&["indent"], sig!(INT, STRING => STRING), |execution, args| {
        let spaces = padding(execution, args)?;
        Ok(Value::string(strings::indent(b"", bytes(args, 1), spaces)))
    });
    table.add(&["nindent"], sig!(INT, STRING => STRING), |execution, args| {
        let spaces = padding(execution, args)?;
        Ok(Value::string(strings::indent(b"\n", bytes(args, 1), spaces)))
    });
    table.add(&["wrap"], sig!(INT, STRING => STRING), |_, args| {
        Ok(Value::string(letter_case::wrap(bytes(args, 1), int(args, 0), b"", false)))
    });
    table.add(&["wrapWith"], sig!(INT, STRING, STRING => STRING), |execution, args| {
        // The worst case is a line break after every byte.
        execution.charge_bytes(bytes(args, 2).len().saturating_mul(1 + bytes(args, 1).len()))?;
        Ok(Value::string(letter_case::wrap(bytes(args, 2), int(args, 0), bytes(args, 1), true)))
    });
    table.add(&["abbrev"], sig!(INT, STRING => STRING), |_, args| {
        let (width, text) = (int(args, 0), bytes(args, 1));
        Ok(Value::string(if width < 4 { text.to_vec() } else { letter_case::abbreviate(text, 0, width) }))
    });
    table.add(&["abbrevboth"], sig!(INT, INT, STRING => STRING), |_, args| {
        let (left, right, text) = (int(args, 0), int(args, 1), bytes(args, 2));
        let kept = right < 4 || (left > 0 && right < 7);
        Ok(Value::string(if kept { text.to_vec() } else { letter_case::abbreviate(text, left, right) }))
    });
}

fn truncate(count: i64, text: &[u8], sprig: SprigVersion) -> FunctionResult {
    let length = text.len() as i64;
    let cut = match sprig {
        SprigVersion::V2 if length <= count => text,
        SprigVersion::V2 => strings::slice(text, None, Some(count))?,
        SprigVersion::V3 if count < 0 && length + count > 0 => &text[(length + count) as usize..],
        SprigVersion::V3 if count >= 0 && length > count => &text[..count as usize],
        SprigVersion::V3 => text,
    };
    Ok(Value::string(cut))
}

/// Returns the number of repetitions if the result is within the limits.
fn repetitions(execution: &mut Execution<'_>, count: i64, length: usize) -> Result<usize, Error> {
    let count = usize::try_from(count).map_err(|_| Error::call("strings: negative Repeat count"))?;
    let total = count.checked_mul(length).filter(|total| i64::try_from(*total).is_ok());
    let total = total.ok_or_else(|| Error::call("strings: Repeat output length overflow"))?;
    execution.charge_bytes(total)?;
    Ok(count)
}

/// Returns the number of spaces before each line if the result is within the limits.
fn padding(execution: &mut Execution<'_>, args: &[Value]) -> Result<usize, Error> {
    let spaces = repetitions(execution, int(args, 0), 1)?;
    let lines = memchr::memchr_iter(b'\n', bytes(args, 1)).count() + 1;
    execution.charge_bytes(spaces.saturating_mul(lines))?;
    Ok(spaces)
}

/// Adds a function from one string to another.
fn add_map(table: &mut FunctionTable, names: &[&str], change: fn(&[u8]) -> Vec<u8>) {
    table.add(names, sig!(STRING => STRING), move |_, args| Ok(Value::string(change(bytes(args, 0)))));
}

fn add_cases(table: &mut FunctionTable) {
    let big = table.sprig == SprigVersion::V3;
    table.add(&["trim"], sig!(STRING => STRING), |_, args| {
        Ok(Value::string(strings::trim(bytes(args, 0), runes::is_space)))
    });
    add_map(table, &["upper"], runes::upper);
    add_map(table, &["lower"], runes::lower);
    add_map(table, &["title"], letter_case::title);
    add_map(table, &["untitle"], letter_case::uncapitalize);
    add_map(table, &["nospace"], letter_case::delete_white_space);
    add_map(table, &["initials"], letter_case::initials);
    add_map(table, &["swapcase"], letter_case::swap_case);
    add_map(table, &["snakecase"], |text| letter_case::lower_case(text, b'_'));
    add_map(table, &["kebabcase"], |text| letter_case::lower_case(text, b'-'));
    // Sprig v2 calls the function of xstrings whose result begins with a lowercase letter since 1.5.
    add_map(
        table,
        &["camelcase"],
        if big { |text| letter_case::camel_case(text, true) } else { |text| letter_case::camel_case(text, false) },
    );
    add_map(table, &["b64enc"], |text| encoding::base64_encode(text).into_bytes());
    add_map(table, &["b32enc"], |text| encoding::base32_encode(text).into_bytes());
    add_map(table, &["b64dec"], |text| encoding::base64_decode(text).unwrap_or_else(String::into_bytes));
    add_map(table, &["b32dec"], |text| encoding::base32_decode(text).unwrap_or_else(String::into_bytes));
}

/// Adds a predicate on two strings. Sprig takes the tested string last, for use in pipelines.
fn add_predicate(table: &mut FunctionTable, name: &str, question: fn(&[u8], &[u8]) -> bool) {
    table.add(&[name], sig!(STRING, STRING => BOOL), move |_, args| {
        Ok(Value::Bool(question(bytes(args, 1), bytes(args, 0))))
    });
}

fn add_cut(table: &mut FunctionTable, names: &[&str], cut: for<'t> fn(&'t [u8], &[u8]) -> &'t [u8]) {
    table.add(names, sig!(STRING, STRING => STRING), move |_, args| {
        Ok(Value::string(cut(bytes(args, 1), bytes(args, 0))))
    });
}

fn add_parts(table: &mut FunctionTable) {
    add_predicate(table, "contains", |text, part| strings::index(text, part).is_some());
    add_predicate(table, "hasPrefix", |text, part| text.starts_with(part));
    add_predicate(table, "hasSuffix", |text, part| text.ends_with(part));
    add_cut(table, &["trimPrefix"], |text, part| text.strip_prefix(part).unwrap_or(text));
    add_cut(table, &["trimSuffix"], |text, part| text.strip_suffix(part).unwrap_or(text));
    add_cut(table, &["trimAll", "trimall"], |text, set| {
        let set: HashSet<char> = runes::all(set).collect();
        strings::trim(text, |rune| set.contains(&rune))
    });
    table.add(&["replace"], sig!(STRING, STRING, STRING => STRING), |execution, args| {
        let (old, new, text) = (bytes(args, 0), bytes(args, 1), bytes(args, 2));
        if new.len() > old.len() {
            execution.charge_bytes(text.len().saturating_mul(1 + new.len() / old.len().max(1)))?;
        }
        Ok(Value::string(strings::replace(text, old, new)))
    });
    table.add(&["plural"], sig!(STRING, STRING, INT => STRING), |_, args| {
        Ok(args[usize::from(int(args, 2) != 1)].clone())
    });
    table.add(&["split"], sig!(STRING, STRING => STRING_MAP), |execution, args| {
        pieces(execution, bytes(args, 1), bytes(args, 0))?;
        Ok(numbered_map(strings::split(bytes(args, 1), bytes(args, 0), -1)))
    });
    table.add(&["splitn"], sig!(STRING, INT, STRING => STRING_MAP), |execution, args| {
        pieces(execution, bytes(args, 2), bytes(args, 0))?;
        Ok(numbered_map(strings::split(bytes(args, 2), bytes(args, 0), int(args, 1))))
    });
    table.add(&["splitList"], sig!(STRING, STRING => STRINGS), |execution, args| {
        pieces(execution, bytes(args, 1), bytes(args, 0))?;
        Ok(Value::strings(strings::split(bytes(args, 1), bytes(args, 0), -1)))
    });
    table.add(&["join"], sig!(STRING, ANY => STRING), |execution, args| {
        let parts = string_list(execution, &args[1])?;
        let between = bytes(args, 0).len().saturating_mul(parts.len().saturating_sub(1));
        let whole = parts.iter().map(|part| part.len()).fold(between, usize::saturating_add);
        execution.charge_bytes(whole)?;
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        Ok(Value::string(parts.join(bytes(args, 0))))
    });
    table.add(&["toStrings"], sig!(ANY => STRINGS), |execution, args| {
        Ok(to_string_list(string_list(execution, &args[0])?))
    });
    table.add(&["sortAlpha"], sig!(ANY => STRINGS), |execution, args| {
        let mut list = match args[0].kind() {
            ReflectKind::Slice => string_list(execution, &args[0])?,
            _ => vec![string_of(execution, &args[0])?],
        };
        list.sort();
        Ok(to_string_list(list))
    });
    table.add(&["toString"], sig!(ANY => STRING), |execution, args| string_of(execution, &args[0]).map(Value::String));
}

/// Creates a `map[string]string` with the keys `_0`, `_1` and so on.
fn numbered_map(parts: Vec<&[u8]>) -> Value {
    let entries = parts.into_iter().enumerate();
    let entries = entries.map(|(index, part)| (Str::new(format!("_{index}")), Value::string(part)));
    Value::typed_map(ReflectType::STRING_MAP, entries.collect())
}

/// Creates a `[]string` from texts.
fn to_string_list(texts: Vec<Str>) -> Value {
    Value::typed_list(ReflectType::STRINGS, texts.into_iter().map(Value::String).collect())
}

/// Implements sprig's `strval`.
pub(in crate::sprig) fn string_of(execution: &mut Execution<'_>, value: &Value) -> Result<Str, Error> {
    match value {
        Value::Bytes(bytes) => Ok(Str::new(bytes)),
        other => execution.display_text(other),
    }
}

/// Implements sprig's `strslice`: the strings of a list without its nils, or of a single value.
fn string_list(execution: &mut Execution<'_>, value: &Value) -> Result<Vec<Str>, Error> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::List(_, list) => {
            let texts = list.iter().map(|item| if let Value::String(text) = item { text.len() } else { 0 });
            // Every element is read, and compared if the list is sorted.
            execution.charge(list.len() as u64 + texts.sum::<usize>() as u64 / 64)?;
            list.iter().filter(|item| !matches!(item, Value::Nil)).map(|item| string_of(execution, item)).collect()
        }
        Value::Bytes(bytes) => {
            execution.charge_list(bytes.len() as u64)?;
            Ok(bytes.iter().map(|byte| Str::new(byte.to_string())).collect())
        }
        one => Ok(vec![string_of(execution, one)?]),
    }
}

fn without_nils(args: &[Value]) -> impl Iterator<Item = &Value> {
    args.iter().filter(|arg| !matches!(arg, Value::Nil))
}

fn add_quotes(table: &mut FunctionTable) {
    table.add(&["quote"], sig!(... ANY => STRING), |execution, args| {
        let mut quoted = Vec::with_capacity(args.len());
        for arg in without_nils(args) {
            quoted.push(quote::quote_bytes(&string_of(execution, arg)?));
        }
        Ok(quoted.join(" ").into())
    });
    table.add(&["squote"], sig!(... ANY => STRING), |execution, args| {
        let mut quoted = Vec::with_capacity(args.len());
        for arg in without_nils(args) {
            quoted.push([b"'", execution.display_text(arg)?.as_bytes(), b"'"].concat());
        }
        Ok(Value::string(quoted.join(&b' ')))
    });
    table.add(&["cat"], sig!(... ANY => STRING), |execution, args| {
        let parts = without_nils(args).map(|arg| execution.display_text(arg)).collect::<Result<Vec<_>, _>>()?;
        execution.charge_bytes(parts.iter().map(|part| part.len() + 1).sum())?;
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        Ok(Value::string(parts.join(&b' ')))
    });
}

/// Charges for the maximum number of parts that a text can be split into.
fn pieces(execution: &mut Execution<'_>, text: &[u8], between: &[u8]) -> Result<(), Error> {
    let count = match between {
        [] => text.len(),
        [one] => text.iter().filter(|byte| *byte == one).count(),
        more => text.len() / more.len(),
    };
    execution.charge_memory(text.len())?;
    execution.charge_list(count as u64 + 1)
}

fn add_sums(table: &mut FunctionTable) {
    add_map(table, &["sha1sum"], |text| crypto::sha1_hex(text).into_bytes());
    add_map(table, &["sha256sum"], |text| crypto::sha256_hex(text).into_bytes());
    if table.sprig == SprigVersion::V3 {
        add_map(table, &["sha512sum"], |text| crypto::sha512_hex(text).into_bytes());
    }
    add_map(table, &["adler32sum"], |text| encoding::adler32(text).to_string().into_bytes());
    table.add(&["fail"], sig!(STRING => STRING), |_, args| Err(Error::call(super::text(args, 0).into_owned())));
}
