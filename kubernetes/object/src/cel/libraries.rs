//! What Kubernetes adds to CEL's standard library.

use super::value::{Fail, Outcome, Val};

pub(super) mod cidr;
pub(super) mod format;
pub(super) mod lists;
pub(super) mod quantity;
pub(super) mod semver;
pub(super) mod strings;
pub(super) mod time;
pub(super) mod url;

/// Calls a function of one of the libraries.
pub(super) fn call<'a>(name: &str, arguments: &[Val<'a>], member: bool) -> Outcome<'a> {
    let found = match arguments {
        [Val::Text(_), ..] if member => strings::call(name, arguments),
        [Val::List(_) | Val::JsonList(..), ..] => lists::call(name, arguments),
        [Val::Ip(_) | Val::Cidr(_), ..] => cidr::method(name, arguments),
        [Val::Url(url)] => url::method(name, url),
        [Val::Quantity(quantity), ..] => quantity::method(name, quantity, &arguments[1..]),
        [Val::Semver(version), ..] => semver::method(name, version, &arguments[1..]),
        [Val::Format(format), Val::Text(text)] if name == "validate" => Some(Ok(format::validate(format, text))),
        [Val::Text(text), ..] => made(name, text, &arguments[1..]),
        [Val::Int(n)] if name == "lists.range" => Some(lists::range(*n)),
        [] => name.strip_prefix("format.").and_then(format::named).map(|format| Ok(Val::Format(format))),
        _ => None,
    };
    found.unwrap_or_else(|| Err(no_overload(name, arguments)))
}

/// Upstream names most functions that do not take what they were given.
fn no_overload(name: &str, arguments: &[Val<'_>]) -> Fail {
    match name {
        "contains" | "startsWith" | "endsWith" | "matches" | "find" | "findAll" | "!_" | "-_" => Fail::overload(),
        "size" => Fail::text("no such overload: size"),
        _ => {
            let kinds: Vec<&str> = arguments.iter().map(Val::type_name).collect();
            Fail::text(format!("no such overload: {name}({})", kinds.join(", ")))
        }
    }
}

/// Functions that make a value of a text, and those that say whether they could.
fn made<'a>(name: &str, text: &str, rest: &[Val<'a>]) -> Option<Outcome<'a>> {
    let normalize = match rest {
        [] => false,
        [Val::Bool(normalize)] if matches!(name, "semver" | "isSemver") => *normalize,
        _ => return None,
    };
    let yes = |good: bool| Some(Ok(Val::Bool(good)));
    match name {
        "url" => Some(url::Url::parse(text).map(|url| Val::Url(url.into())).map_err(Fail::text)),
        "isURL" => yes(url::Url::parse(text).is_ok()),
        "ip" => Some(cidr::parse_ip(text).map(Val::Ip).map_err(Fail::text)),
        "isIP" => yes(cidr::parse_ip(text).is_ok()),
        "ip.isCanonical" => Some(cidr::parse_ip(text).map(|ip| Val::Bool(ip.to_string() == text)).map_err(Fail::text)),
        "cidr" => Some(cidr::Cidr::parse(text).map(Val::Cidr).map_err(Fail::text)),
        "isCIDR" => yes(cidr::Cidr::parse(text).is_ok()),
        "quantity" => Some(quantity::parse(text)),
        "isQuantity" => yes(quantity::parse(text).is_ok()),
        "semver" => Some(semver::Semver::parse(text, normalize).map(|v| Val::Semver(v.into())).map_err(Fail::text)),
        "isSemver" => yes(semver::Semver::parse(text, normalize).is_ok()),
        "strings.quote" => Some(Ok(Val::text(strings::quote(text)))),
        "format.named" => Some(Ok(Val::Optional(format::named(text).map(|name| Box::new(Val::Format(name)))))),
        _ => None,
    }
}
