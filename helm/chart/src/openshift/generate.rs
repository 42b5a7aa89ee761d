//! Values made by chance: `[a-zA-Z0-9]{8}` becomes eight characters. The chance is given, so that the same seed gives
//! the same values.

use std::sync::LazyLock;

use regex::Regex;

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const NUMERALS: &str = "0123456789";
const SYMBOLS: &str = "~!@#$%^&*()-_+={}[]\\|<,>.?/\"';:`";
/// How many characters one expression makes.
const MAX_LENGTH: usize = 255;
/// How many expressions one value may have.
const MAX_EXPRESSIONS: usize = 1_000;

static EXPRESSION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[([a-zA-Z0-9\-\\]+)\](\{([0-9]+)\})").expect("a constant"));
static FORM: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[(\\w|\\d|\\a|\\A)|([a-zA-Z0-9]\-[a-zA-Z0-9])+\]").expect("a constant"));
static RANGE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"([\\]?[a-zA-Z0-9]\-?[a-zA-Z0-9]?)").expect("a constant"));

/// Random numbers from a seed (SplitMix64). Not for secrets that matter: who knows the seed knows the values.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The numbers of this seed.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// Makes every expression of a text into characters.
pub fn expression(from: &str, chance: &mut Chance) -> Result<String, String> {
    let mut text = from.to_string();
    for _ in 0..MAX_EXPRESSIONS {
        let Some(found) = EXPRESSION.find(&text) else { return Ok(text) };
        let made = one(found.as_str(), chance)?;
        text = text.replacen(&found.as_str().to_string(), &made, 1);
    }
    Err(format!("more than {MAX_EXPRESSIONS} expressions"))
}

fn one(expression: &str, chance: &mut Chance) -> Result<String, String> {
    let (ranges, length) = expression.rsplit_once('{').unwrap_or((expression, ""));
    if !FORM.is_match(ranges) {
        return Err(format!("malformed expresion syntax: {ranges}"));
    }
    let length: usize = length.trim_end_matches('}').parse().unwrap_or(0);
    if length == 0 || length > MAX_LENGTH {
        return Err(format!("range must be within [1-255] characters ({length})"));
    }
    let mut alphabet = Vec::new();
    for range in RANGE.find_iter(ranges) {
        let characters = characters(range.as_str())?;
        alphabet.extend(characters.bytes().filter(|c| !alphabet.contains(c)).collect::<Vec<u8>>());
    }
    if alphabet.is_empty() {
        return Err(format!("malformed expresion syntax: {ranges}"));
    }
    Ok((0..length).map(|_| char::from(alphabet[chance.below(alphabet.len())])).collect())
}

fn characters(range: &str) -> Result<String, String> {
    let first = range.chars().next().unwrap_or_default();
    let last = range.chars().last().unwrap_or_default();
    Ok(match (first, last) {
        ('\\', 'w') => format!("{LETTERS}{NUMERALS}_"),
        ('\\', 'd') => NUMERALS.to_string(),
        ('\\', 'a') => format!("{LETTERS}{NUMERALS}"),
        ('\\', 'A') => SYMBOLS.to_string(),
        (first, last) => {
            let all = format!("{LETTERS}{NUMERALS}{SYMBOLS}");
            let (from, to) = (all.find(first).unwrap_or(0), all.rfind(last).unwrap_or(0));
            if from > to {
                return Err(format!("invalid range specified: {first}-{last}"));
            }
            // The last one is left out: OpenShift does it so.
            all[from..to].to_string()
        }
    })
}
