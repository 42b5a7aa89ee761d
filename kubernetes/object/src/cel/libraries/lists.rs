//! Methods of lists, and sets.

use std::cmp::Ordering;

use crate::cel::operators::{arithmetic, compare, contains, equal};
use crate::cel::value::{CelValue, EvalError, EvalResult};

/// Longest list that `lists.range` creates.
const MAX_RANGE: i64 = 100_000;

pub(in crate::cel) fn call<'a>(name: &str, arguments: &[CelValue<'a>]) -> Option<EvalResult<'a>> {
    let items = match arguments[0].items()? {
        Ok(items) => items,
        Err(error) => return Some(Err(error)),
    };
    Some(match (name, &arguments[1..]) {
        ("isSorted", []) => {
            Ok(CelValue::Bool(items.windows(2).all(|w| compare(&w[0], &w[1]).is_some_and(Ordering::is_le))))
        }
        ("sum", []) => sum(&items),
        ("min", []) => extreme("min", items, Ordering::Less),
        ("max", []) => extreme("max", items, Ordering::Greater),
        ("indexOf", [value]) => Ok(CelValue::Int(position(items.iter().position(|item| equal(item, value))))),
        ("lastIndexOf", [value]) => Ok(CelValue::Int(position(items.iter().rposition(|item| equal(item, value))))),
        ("join", []) => join(&items, ""),
        ("join", [CelValue::Text(separator)]) => join(&items, separator),
        ("slice", [CelValue::Int(from), CelValue::Int(to)]) => slice(&items, *from, *to),
        ("flatten", []) => flatten(items, 1),
        ("flatten", [CelValue::Int(depth)]) => flatten(items, *depth),
        ("distinct", []) => {
            let mut seen: Vec<CelValue<'a>> = Vec::new();
            for item in items {
                if !contains(&seen, &item) {
                    seen.push(item);
                }
            }
            Ok(CelValue::list(seen))
        }
        ("reverse", []) => Ok(CelValue::list(items.into_iter().rev().collect())),
        ("first", []) => Ok(CelValue::Optional(items.into_iter().next().map(Box::new))),
        ("last", []) => Ok(CelValue::Optional(items.into_iter().next_back().map(Box::new))),
        ("sort", []) => {
            let keys = items.clone();
            sorted(items, keys)
        }
        ("@sortByAssociatedKeys", [keys]) => match keys.items()? {
            Ok(keys) => sorted(items, keys),
            Err(error) => Err(error),
        },
        ("sets.contains" | "sets.equivalent" | "sets.intersects", [other]) => match other.items()? {
            Ok(others) => Ok(CelValue::Bool(match name {
                "sets.contains" => others.iter().all(|item| contains(&items, item)),
                "sets.intersects" => others.iter().any(|item| contains(&items, item)),
                _ => {
                    others.iter().all(|item| contains(&items, item)) && items.iter().all(|item| contains(&others, item))
                }
            })),
            Err(error) => Err(error),
        },
        _ => return None,
    })
}

fn position(found: Option<usize>) -> i64 {
    found.map_or(-1, |at| at as i64)
}

fn sum<'a>(items: &[CelValue<'a>]) -> EvalResult<'a> {
    let Some((first, rest)) = items.split_first() else { return Ok(CelValue::Int(0)) };
    rest.iter().try_fold(first.clone(), |total, item| arithmetic("_+_", &total, item))
}

fn extreme<'a>(name: &str, items: Vec<CelValue<'a>>, wanted: Ordering) -> EvalResult<'a> {
    let mut items = items.into_iter();
    let Some(mut best) = items.next() else { return Err(EvalError::text(format!("{name} called on empty list"))) };
    for item in items {
        if compare(&item, &best).ok_or_else(EvalError::overload)? == wanted {
            best = item;
        }
    }
    Ok(best)
}

fn join<'a>(items: &[CelValue<'a>], separator: &str) -> EvalResult<'a> {
    let mut parts = Vec::with_capacity(items.len());
    for item in items {
        match item {
            CelValue::Text(text) => parts.push(text.to_string()),
            _ => return Err(EvalError::text("no such overload: join(list)")),
        }
    }
    Ok(CelValue::text(parts.join(separator)))
}

fn slice<'a>(items: &[CelValue<'a>], from: i64, to: i64) -> EvalResult<'a> {
    let cannot = |why: &str| EvalError::text(format!("cannot slice({from}, {to}), {why}"));
    let (Ok(start), Ok(end)) = (usize::try_from(from), usize::try_from(to)) else {
        return Err(cannot("negative indexes not supported"));
    };
    if start > end {
        return Err(cannot("start index must be less than or equal to end index"));
    }
    let part = items.get(start..end).ok_or_else(|| cannot(&format!("list is length {}", items.len())))?;
    Ok(CelValue::list(part.to_vec()))
}

fn flatten<'a>(items: Vec<CelValue<'a>>, depth: i64) -> EvalResult<'a> {
    if depth < 0 {
        return Err(EvalError::text("level must be non-negative"));
    }
    let mut items = items;
    for _ in 0..depth {
        if items.iter().all(|item| item.items().is_none()) {
            break;
        }
        let mut next = Vec::with_capacity(items.len());
        for item in items {
            match item.items() {
                Some(inner) => next.extend(inner?),
                None => next.push(item),
            }
        }
        items = next;
    }
    Ok(CelValue::list(items))
}

fn sorted<'a>(items: Vec<CelValue<'a>>, keys: Vec<CelValue<'a>>) -> EvalResult<'a> {
    if let Some(first) = keys.first() {
        if compare(first, first).is_none() {
            return Err(EvalError::text("list elements must be comparable"));
        }
        if keys.iter().any(|key| key.type_name() != first.type_name()) {
            return Err(EvalError::text("list elements must have the same type"));
        }
    }
    let mut pairs: Vec<(CelValue<'a>, CelValue<'a>)> = keys.into_iter().zip(items).collect();
    pairs.sort_by(|(a, _), (b, _)| compare(a, b).unwrap_or(Ordering::Equal));
    Ok(CelValue::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

pub(in crate::cel) fn range<'a>(n: i64) -> EvalResult<'a> {
    if n > MAX_RANGE {
        return Err(EvalError::Limit);
    }
    Ok(CelValue::list((0..n).map(CelValue::Int).collect()))
}
