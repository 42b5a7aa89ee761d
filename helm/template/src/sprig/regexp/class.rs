//! Character classes: `[a-z]`, `\d`, `[[:alpha:]]`, `\p{Greek}`.

use std::sync::LazyLock;

use regex::Regex;

/// Returns the content of `\d`, `\s` or `\w` for use inside a class. ASCII only, as in Go.
pub(super) fn perl(letter: u8) -> Option<&'static str> {
    match letter.to_ascii_lowercase() {
        b'd' => Some("0-9"),
        b's' => Some(r"\t\n\x0C\r\x20"),
        b'w' => Some("0-9A-Z_a-z"),
        _ => None,
    }
}

/// Returns the content of a class such as `[:alpha:]`.
pub(super) fn posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => r"\x00-\x7F",
        "blank" => r"\t\x20",
        "cntrl" => r"\x00-\x1F\x7F",
        "digit" => "0-9",
        "graph" => r"\x21-\x7E",
        "lower" => "a-z",
        "print" => r"\x20-\x7E",
        "punct" => r"\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E",
        "space" => r"\t\n\x0B\x0C\r\x20",
        "upper" => "A-Z",
        "word" => "0-9A-Z_a-z",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

/// Scripts whose full name has four letters. Other names of four letters are codes, which Go does not support.
const SHORT_SCRIPTS: [&str; 6] = ["cham", "lisu", "thai", "ahom", "modi", "toto"];

static CATEGORY: LazyLock<Regex> = LazyLock::new(|| {
    let short =
        "c|cc|cf|cn|co|cs|l|lc|ll|lm|lo|lt|lu|m|mc|me|mn|n|nd|nl|no|p|pc|pd|pe|pf|pi|po|ps|s|sc|sk|sm|so|z|zl|zp|zs";
    let long = "other|control|format|unassigned|privateuse|surrogate|letter|casedletter|lowercaseletter|modifierletter|\
                otherletter|titlecaseletter|uppercaseletter|mark|combiningmark|spacingmark|enclosingmark|nonspacingmark|\
                number|decimalnumber|digit|letternumber|othernumber|punctuation|punct|connectorpunctuation|\
                dashpunctuation|closepunctuation|finalpunctuation|initialpunctuation|otherpunctuation|openpunctuation|\
                symbol|currencysymbol|modifiersymbol|mathsymbol|othersymbol|separator|lineseparator|\
                paragraphseparator|spaceseparator|cntrl|any|assigned|ascii";
    Regex::new(&format!("^(?:{short}|{long})$")).expect("the list of categories is constant")
});

/// Returns `\p{…}` for a name that Go supports: a category or a script.
pub(super) fn unicode(name: &str, negated: bool) -> Option<String> {
    let plain: String = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).collect();
    let plain = plain.to_ascii_lowercase();
    let letter = if negated { 'P' } else { 'p' };
    if CATEGORY.is_match(&plain) {
        // Text cannot contain surrogates, and the crate does not support them.
        return Some(match (plain.as_str(), negated) {
            ("cs" | "surrogate", false) => r"[^\x00-\x{10FFFF}]".to_string(),
            ("cs" | "surrogate", true) => r"[\x00-\x{10FFFF}]".to_string(),
            _ => format!(r"\{letter}{{{plain}}}"),
        });
    }
    let code = plain.len() == 4 && !SHORT_SCRIPTS.contains(&plain.as_str());
    if code || !plain.bytes().all(|b| b.is_ascii_alphabetic()) {
        return None;
    }
    let class = format!(r"\{letter}{{Script={plain}}}");
    Regex::new(&class).is_ok().then_some(class)
}

/// Returns a range for use inside a class, without surrogates, which text cannot contain.
pub(super) fn range(low: u32, high: u32) -> String {
    let low = if (0xD800..0xE000).contains(&low) { 0xE000 } else { low };
    let high = if (0xD800..0xE000).contains(&high) { 0xD7FF } else { high };
    if low > high { String::new() } else { format!(r"\x{{{low:X}}}-\x{{{high:X}}}") }
}
