//! Libraries that Kubernetes adds to CEL's standard library.

use super::value::{CelValue, EvalError, EvalResult};

pub(super) mod cidr;
pub(super) mod format;
pub(super) mod lists;
pub(super) mod quantity;
pub(super) mod semver;
pub(super) mod strings;
pub(super) mod time;
pub(super) mod url;

/// Calls a function of one of the libraries.
pub(super) fn call<'a>(name: &str, arguments: &[CelValue<'a>], member: bool) -> EvalResult<'a> {
    let found = match arguments {
        [CelValue::Text(_), ..] if member => strings::call(name, arguments),
        [CelValue::List(_) | CelValue::JsonList(..), ..] => lists::call(name, arguments),
        [CelValue::Ip(_) | CelValue::Cidr(_), ..] => cidr::method(name, arguments),
        [CelValue::Url(url)] => url::method(name, url),
        [CelValue::Quantity(quantity), ..] => quantity::method(name, quantity, &arguments[1..]),
        [CelValue::Semver(version), ..] => semver::method(name, version, &arguments[1..]),
        [CelValue::Format(format), CelValue::Text(text)] if name == "validate" => {
            Some(Ok(format::validate(format, text)))
        }
        [CelValue::Text(text), ..] => construct(name, text, &arguments[1..]),
        [CelValue::Int(n)] if name == "lists.range" => Some(lists::range(*n)),
        [] => name.strip_prefix("format.").and_then(format::find_format).map(|format| Ok(CelValue::Format(format))),
        _ => None,
    };
    found.unwrap_or_else(|| Err(no_overload(name, arguments)))
}

/// Returns the overload error. cel-go includes the function's name in most of these.
fn no_overload(name: &str, arguments: &[CelValue<'_>]) -> EvalError {
    match name {
        "contains" | "startsWith" | "endsWith" | "matches" | "find" | "findAll" | "!_" | "-_" => EvalError::overload(),
        "size" => EvalError::text("no such overload: size"),
        _ => {
            let kinds: Vec<&str> = arguments.iter().map(CelValue::type_name).collect();
            EvalError::text(format!("no such overload: {name}({})", kinds.join(", ")))
        }
    }
}

/// Calls a function that constructs a value from a string, or one that reports whether it could (`isURL`).
fn construct<'a>(name: &str, text: &str, rest: &[CelValue<'a>]) -> Option<EvalResult<'a>> {
    let normalize = match rest {
        [] => false,
        [CelValue::Bool(normalize)] if matches!(name, "semver" | "isSemver") => *normalize,
        _ => return None,
    };
    let yes = |good: bool| Some(Ok(CelValue::Bool(good)));
    match name {
        "url" => Some(url::Url::parse(text).map(|url| CelValue::Url(url.into())).map_err(EvalError::text)),
        "isURL" => yes(url::Url::parse(text).is_ok()),
        "ip" => Some(cidr::parse_ip(text).map(CelValue::Ip).map_err(EvalError::text)),
        "isIP" => yes(cidr::parse_ip(text).is_ok()),
        "ip.isCanonical" => {
            Some(cidr::parse_ip(text).map(|ip| CelValue::Bool(ip.to_string() == text)).map_err(EvalError::text))
        }
        "cidr" => Some(cidr::Cidr::parse(text).map(CelValue::Cidr).map_err(EvalError::text)),
        "isCIDR" => yes(cidr::Cidr::parse(text).is_ok()),
        "quantity" => Some(quantity::parse(text)),
        "isQuantity" => yes(quantity::parse(text).is_ok()),
        "semver" => {
            Some(semver::Semver::parse(text, normalize).map(|v| CelValue::Semver(v.into())).map_err(EvalError::text))
        }
        "isSemver" => yes(semver::Semver::parse(text, normalize).is_ok()),
        "strings.quote" => Some(Ok(CelValue::text(strings::quote(text)))),
        "format.named" => {
            Some(Ok(CelValue::Optional(format::find_format(text).map(|name| Box::new(CelValue::Format(name))))))
        }
        _ => None,
    }
}
