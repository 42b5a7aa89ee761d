//! Methods of lists, and sets.

use std::cmp::Ordering;

use crate::cel::operators::{arithmetic, compare, contains, equal};
use crate::cel::value::{Fail, Outcome, Val};

/// The longest list that `lists.range` makes.
const MAX_RANGE: i64 = 100_000;

pub(in crate::cel) fn call<'a>(name: &str, arguments: &[Val<'a>]) -> Option<Outcome<'a>> {
    let items = match arguments[0].items()? {
        Ok(items) => items,
        Err(error) => return Some(Err(error)),
    };
    Some(match (name, &arguments[1..]) {
        ("isSorted", []) => Ok(Val::Bool(items.windows(2).all(|w| compare(&w[0], &w[1]).is_some_and(Ordering::is_le)))),
        ("sum", []) => sum(&items),
        ("min", []) => extreme("min", items, Ordering::Less),
        ("max", []) => extreme("max", items, Ordering::Greater),
        ("indexOf", [value]) => Ok(Val::Int(position(items.iter().position(|item| equal(item, value))))),
        ("lastIndexOf", [value]) => Ok(Val::Int(position(items.iter().rposition(|item| equal(item, value))))),
        ("join", []) => join(&items, ""),
        ("join", [Val::Text(separator)]) => join(&items, separator),
        ("slice", [Val::Int(from), Val::Int(to)]) => slice(&items, *from, *to),
        ("flatten", []) => flatten(items, 1),
        ("flatten", [Val::Int(depth)]) => flatten(items, *depth),
        ("distinct", []) => {
            let mut seen: Vec<Val<'a>> = Vec::new();
            for item in items {
                if !contains(&seen, &item) {
                    seen.push(item);
                }
            }
            Ok(Val::list(seen))
        }
        ("reverse", []) => Ok(Val::list(items.into_iter().rev().collect())),
        ("first", []) => Ok(Val::Optional(items.into_iter().next().map(Box::new))),
        ("last", []) => Ok(Val::Optional(items.into_iter().next_back().map(Box::new))),
        ("sort", []) => {
            let keys = items.clone();
            sorted(items, keys)
        }
        ("@sortByAssociatedKeys", [keys]) => match keys.items()? {
            Ok(keys) => sorted(items, keys),
            Err(error) => Err(error),
        },
        ("sets.contains" | "sets.equivalent" | "sets.intersects", [other]) => match other.items()? {
            Ok(others) => Ok(Val::Bool(match name {
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

fn sum<'a>(items: &[Val<'a>]) -> Outcome<'a> {
    let Some((first, rest)) = items.split_first() else { return Ok(Val::Int(0)) };
    rest.iter().try_fold(first.clone(), |total, item| arithmetic("_+_", &total, item))
}

fn extreme<'a>(name: &str, items: Vec<Val<'a>>, wanted: Ordering) -> Outcome<'a> {
    let mut items = items.into_iter();
    let Some(mut best) = items.next() else { return Err(Fail::text(format!("{name} called on empty list"))) };
    for item in items {
        if compare(&item, &best).ok_or_else(Fail::overload)? == wanted {
            best = item;
        }
    }
    Ok(best)
}

fn join<'a>(items: &[Val<'a>], separator: &str) -> Outcome<'a> {
    let mut parts = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Val::Text(text) => parts.push(text.to_string()),
            _ => return Err(Fail::text("no such overload: join(list)")),
        }
    }
    Ok(Val::text(parts.join(separator)))
}

fn slice<'a>(items: &[Val<'a>], from: i64, to: i64) -> Outcome<'a> {
    let cannot = |why: &str| Fail::text(format!("cannot slice({from}, {to}), {why}"));
    let (Ok(start), Ok(end)) = (usize::try_from(from), usize::try_from(to)) else {
        return Err(cannot("negative indexes not supported"));
    };
    if start > end {
        return Err(cannot("start index must be less than or equal to end index"));
    }
    let part = items.get(start..end).ok_or_else(|| cannot(&format!("list is length {}", items.len())))?;
    Ok(Val::list(part.to_vec()))
}

fn flatten<'a>(items: Vec<Val<'a>>, depth: i64) -> Outcome<'a> {
    if depth < 0 {
        return Err(Fail::text("level must be non-negative"));
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
    Ok(Val::list(items))
}

fn sorted<'a>(items: Vec<Val<'a>>, keys: Vec<Val<'a>>) -> Outcome<'a> {
    if let Some(first) = keys.first() {
        if compare(first, first).is_none() {
            return Err(Fail::text("list elements must be comparable"));
        }
        if keys.iter().any(|key| key.type_name() != first.type_name()) {
            return Err(Fail::text("list elements must have the same type"));
        }
    }
    let mut pairs: Vec<(Val<'a>, Val<'a>)> = keys.into_iter().zip(items).collect();
    pairs.sort_by(|(a, _), (b, _)| compare(a, b).unwrap_or(Ordering::Equal));
    Ok(Val::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

pub(in crate::cel) fn range<'a>(n: i64) -> Outcome<'a> {
    if n > MAX_RANGE {
        return Err(Fail::Limit);
    }
    Ok(Val::list((0..n).map(Val::Int).collect()))
}
