//! Path and URL functions.

use super::{FunctionResult, FunctionTable, bytes, sig};
use crate::error::Error;
use crate::sprig::SprigVersion;
use crate::sprig::url::Url;
use crate::value::{GoMap, ReflectKind, Value};

pub(super) fn add(table: &mut FunctionTable) {
    // `filepath` equals `path` on every system except Windows.
    for prefix in ["", "os"] {
        if prefix == "os" && table.sprig == SprigVersion::V2 {
            continue;
        }
        let name = |name: &str| if prefix.is_empty() { name.to_string() } else { format!("{prefix}{}", capital(name)) };
        table.add(&[&name("base")], sig!(STRING => STRING), |_, args| Ok(Value::string(base(bytes(args, 0)))));
        table.add(&[&name("dir")], sig!(STRING => STRING), |_, args| Ok(Value::string(dir(bytes(args, 0)))));
        table.add(&[&name("clean")], sig!(STRING => STRING), |_, args| Ok(Value::string(clean(bytes(args, 0)))));
        table.add(&[&name("ext")], sig!(STRING => STRING), |_, args| Ok(Value::string(extension(bytes(args, 0)))));
        table.add(&[&name("isAbs")], sig!(STRING => BOOL), |_, args| Ok(Value::Bool(bytes(args, 0).starts_with(b"/"))));
    }
    table.add(&["urlParse"], sig!(STRING => MAP), |_, args| parse_url(bytes(args, 0)));
    table.add(&["urlJoin"], sig!(MAP => STRING), |_, args| match args[0].as_map() {
        Some(map) => join_url(map),
        None => Ok("".into()),
    });
}

fn capital(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

/// Implements Go's `path.Base`.
fn base(path: &[u8]) -> &[u8] {
    if path.is_empty() {
        return b".";
    }
    let end = path.iter().rposition(|b| *b != b'/').map_or(0, |at| at + 1);
    match &path[..end] {
        [] => b"/",
        trimmed => trimmed.rsplit(|b| *b == b'/').next().unwrap_or(trimmed),
    }
}

/// Implements Go's `path.Dir`.
fn dir(path: &[u8]) -> Vec<u8> {
    let end = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    clean(&path[..end])
}

/// Implements Go's `path.Ext`.
fn extension(path: &[u8]) -> &[u8] {
    let name = path.rsplit(|b| *b == b'/').next().unwrap_or(path);
    name.iter().rposition(|b| *b == b'.').map_or(&[], |at| &name[at..])
}

/// Implements Go's `path.Clean`.
fn clean(path: &[u8]) -> Vec<u8> {
    let rooted = path.starts_with(b"/");
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." if kept.last().is_some_and(|last| *last != b"..") => {
                kept.pop();
            }
            b".." if rooted => {}
            part => kept.push(part),
        }
    }
    match (rooted, kept.join(&b'/')) {
        (true, joined) => [b"/".to_vec(), joined].concat(),
        (false, joined) if joined.is_empty() => b".".to_vec(),
        (false, joined) => joined,
    }
}

fn parse_url(written: &[u8]) -> FunctionResult {
    let url = Url::parse(written).map_err(|why| Error::call(format!("unable to parse url: {why}")))?;
    let parts = [
        ("scheme", url.scheme.clone()),
        ("host", url.host.clone()),
        ("hostname", url.hostname().to_vec()),
        ("path", url.path.clone()),
        ("query", url.query.clone()),
        ("opaque", url.opaque.clone()),
        ("fragment", url.fragment.clone()),
        ("userinfo", url.userinfo()),
    ];
    Ok(Value::map(parts.map(|(name, part)| (name, Value::string(part)))))
}

fn join_url(map: &GoMap) -> FunctionResult {
    let part = |name: &str| match map.get(name.as_bytes()) {
        None => Ok(Vec::new()),
        Some(Value::String(part)) => Ok(part.to_vec()),
        Some(Value::Nil) => Err(super::nil_dereference()),
        Some(other) if other.kind() == ReflectKind::String => Ok(crate::format::text_of(&other).to_vec()),
        Some(other) => Err(Error::call(format!(
            "unable to parse {name} key, must be of type string, but {} found",
            other.kind().name()
        ))),
    };
    let mut url = Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        ..Url::default()
    };
    let userinfo = part("userinfo")?;
    if !userinfo.is_empty() {
        let with_user = Url::parse(&[b"proto://", userinfo.as_slice(), b"@host"].concat());
        let failed = |why: String| Error::call(format!("unable to parse userinfo in dict: {why}"));
        url.user = with_user.map_err(failed)?.user;
    }
    Ok(Value::string(url.to_bytes()))
}
