//! Random calls, each made of arguments that are interesting for its function.

use serde_json::{Value as Json, json};
use switchboard_template::sprig::SprigVersion;

use super::real::{data, output_or_error, run_oracle};
use super::{functions, render, system_inputs};

/// Number of calls in one run.
const CALLS: u64 = 8_000;

struct CallGenerator(u64);

impl CallGenerator {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn of<'p>(&mut self, pieces: &[&'p str]) -> &'p str {
        pieces[self.below(pieces.len())]
    }

    /// Returns some pieces in a row, as a string literal of a template.
    fn text(&mut self, pieces: &[&str], most: usize) -> String {
        let joined: String = (0..self.below(most + 1)).map(|_| self.of(pieces)).collect();
        // Go's templates accept JSON's quoting.
        json!(joined).to_string()
    }

    fn number(&mut self) -> String {
        self.of(NUMBERS).to_string()
    }

    fn value(&mut self, depth: usize) -> String {
        match self.below(if depth < 3 { 9 } else { 6 }) {
            0 => self.of(&["1", "0", "-3", "2.5", "1e21"]).to_string(),
            1 | 2 => self.text(WORDS, 3),
            3 => self.of(&["true", "false", "\"\"", "(list)", "(dict)", "0"]).to_string(),
            4 | 5 => self.of(&[".nil", ".list", ".map", ".strs", ".u8"]).to_string(),
            6 | 7 => {
                let items: Vec<String> = (0..self.below(4)).map(|_| self.value(depth + 1)).collect();
                format!("(list {})", items.join(" "))
            }
            _ => self.dict(depth),
        }
    }

    fn dict(&mut self, depth: usize) -> String {
        let entry = |chance: &mut CallGenerator| {
            format!("\"{}\" {}", chance.of(&["a", "b", "c", "d"]), chance.value(depth + 1))
        };
        let entries: Vec<String> = (0..self.below(4)).map(|_| entry(self)).collect();
        format!("(dict {})", entries.join(" "))
    }
}

const REGEX: &[&str] = &[
    "a",
    "b",
    "c",
    ".",
    "*",
    "+",
    "?",
    "|",
    "(",
    ")",
    "(?:",
    "[",
    "^",
    "]",
    "[^",
    "-",
    "{2}",
    "{1,3}",
    "{,2}",
    "\\d",
    "\\w",
    "\\s",
    "\\b",
    "\\B",
    "$",
    "(?i)",
    "(?s)",
    "(?m)",
    "(?U)",
    "(?P<n>",
    "\\pL",
    "\\p{Greek}",
    "[[:alpha:]]",
    "[a-c]",
    "\\x41",
    "\\.",
    "é",
    "\\Q",
    "\\E",
    "x",
    "1",
    " ",
    "(?i:",
    "\\z",
    "\\n",
    "{",
    "\\D",
    "[^a]",
    "\\p{^Lu}",
    "(?<m>",
];
const TEXTS: &[&str] = &["a", "b", "c", "A", "1", "é", " ", "\n", "x", "-", "λ", "_", "ab", "."];
const REPLACEMENTS: &[&str] = &["$1", "${1}", "$0", "$n", "${n}", "$$", "$", "x", "$1a", "${", "-", "$m"];
const LAYOUTS: &[&str] = &[
    "2006", "06", "01", "1", "Jan", "January", "02", "2", "_2", "__2", "002", "Mon", "Monday", "15", "3", "03", "4",
    "04", "5", "05", "PM", "pm", "MST", "-0700", "-07:00", "-07", "Z07:00", "Z0700", ".000", ".999", ",000", " ", "-",
    ":", "T", "x",
];
const TIMES: &[&str] = &[
    "2024", "24", "07", "7", "Jul", "31", "1", " 1", "Wed", "13", "59", "60", "PM", "CET", "UTC", "GMT+3", "+0200",
    "Z", ".5", " ", "-", ":", "T", "x",
];
const ZONES: &[&str] = &["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kolkata", "Nope", ""];
const DURATIONS: &[&str] =
    &["1", "2.5", ".5", "h", "m", "s", "ms", "µs", "-", "+", "x", "0", "999999999999", "30m", "."];
const VERSIONS: &[&str] = &[
    "1",
    "2",
    "0",
    "1.2",
    "1.2.3",
    "0.0.3",
    "2.x",
    "1.x.x",
    "*",
    "x",
    "v1",
    "1.2.3-beta",
    "1.2.3-rc.1",
    "2.0.0-0",
    "+m",
    "=",
    "!=",
    ">",
    "<",
    ">=",
    "<=",
    "~",
    "~>",
    "^",
    " ",
    ", ",
    " || ",
    " - ",
];
const URLS: &[&str] = &[
    "http", "mailto", ":", "//", "/", "a", "host", "user", "@", "%40", "%20", "%zz", "?", "#", "q=1", "[::1]", "[",
    "%25en0", ":80", ":x", "é", " ", "..", "*", "+", ";", "%ff", "|",
];
const WORDS: &[&str] =
    &["a", "b", "A", "HTTP", "1", "2", "_", "-", " ", ".", "é", "É", "日", "!", "x", "Ab", "  ", "ß", "<", "\"", "\n"];
const CODES: &[&str] = &["A", "a", "z", "/", "+", "=", "\n", "-", "2", "7", "8", "====", "MZXW6===", "aGVs"];
const NUMBERS: &[&str] = &[
    "1",
    "-2",
    "0",
    "3.7",
    "-0.5",
    "\"4\"",
    "\"x\"",
    "true",
    "1e18",
    "9223372036854775807",
    "0.1",
    "\"0x1f\"",
    "\"1_0\"",
    ".nil",
    ".u8",
    ".i64",
    ".f32",
    "1e-9",
    "\"1e5\"",
];
const JSON: &[&str] = &[
    "{", "}", "[", "]", ":", ",", "\"a\"", "1", "true", "null", " ", "x", "-", "1.5", "1e3", "\"", "\\", "\"b\":", "\n",
];

fn call(chance: &mut CallGenerator) -> String {
    let small = |chance: &mut CallGenerator| chance.below(14) as i64 - 3;
    match chance.below(14) {
        0 => format!("mustRegexFindAll {} {} {} | toJson", chance.text(REGEX, 7), chance.text(TEXTS, 8), small(chance)),
        1 => {
            let (regex, text) = (chance.text(REGEX, 7), chance.text(TEXTS, 8));
            format!("mustRegexReplaceAll {regex} {text} {}", chance.text(REPLACEMENTS, 3))
        }
        2 => format!("mustRegexSplit {} {} {} | toJson", chance.text(REGEX, 5), chance.text(TEXTS, 8), small(chance)),
        3 => {
            let seconds = chance.below(4_000_000_000) as i64 - 1_000_000_000;
            format!("dateInZone {} {seconds} \"{}\"", chance.text(LAYOUTS, 8), chance.of(ZONES))
        }
        4 => format!("mustToDate {} {}", chance.text(LAYOUTS, 5), chance.text(TIMES, 5)),
        5 => format!("toDate \"2006\" \"2024\" | mustDateModify {}", chance.text(DURATIONS, 6)),
        6 => format!("semverCompare {} {}", chance.text(VERSIONS, 6), chance.text(&VERSIONS[..15], 1)),
        7 => format!("{} {}", chance.of(&["urlParse", "urlJoin (urlParse"]), chance.text(URLS, 7)),
        8 => {
            let name =
                chance.of(&["snakecase", "kebabcase", "camelcase", "title", "swapcase", "initials", "clean", "quote"]);
            format!("{name} {}", chance.text(WORDS, 8))
        }
        9 => format!("wrapWith {} {} {}", small(chance), chance.text(WORDS, 1), chance.text(WORDS, 9)),
        10 => format!("{} {} | quote", chance.of(&["b64dec", "b32dec", "decryptAES \"k\""]), chance.text(CODES, 9)),
        11 => {
            let name = chance.of(&["addf", "subf", "mulf", "divf", "add", "mul", "max", "minf"]);
            format!("{name} {} {} {}", chance.number(), chance.number(), chance.number())
        }
        12 => format!("{} {} {} | toJson", chance.of(&["merge", "mergeOverwrite"]), chance.dict(0), chance.dict(0)),
        _ => format!("mustFromJson {} | toJson", chance.text(JSON, 7)),
    }
}

#[test]
fn random_calls_match_go() {
    let calls: Vec<(String, SprigVersion)> = (0..CALLS)
        .map(|seed| {
            let call = call(&mut CallGenerator(seed));
            let close = if call.starts_with("urlJoin (") { ")" } else { "" };
            // In v2, a function that only v3 has would be an error without information.
            let old = !call.contains("must") && seed % 3 == 0;
            (format!("{{{{ {call}{close} }}}}"), if old { SprigVersion::V2 } else { SprigVersion::V3 })
        })
        .collect();
    let line = |(template, sprig): &(String, SprigVersion)| {
        let functions = if *sprig == SprigVersion::V2 { "sprig2" } else { "sprig3" };
        json!({"kind": "text", "template": template, "functions": functions, "data": data()}).to_string()
    };
    let answers: Vec<Json> = run_oracle(&calls.iter().map(line).collect::<Vec<_>>());
    let (v2, v3, world) = (functions(SprigVersion::V2), functions(SprigVersion::V3), system_inputs());
    let (mut wrong, mut failed) = (Vec::new(), 0);
    for ((template, sprig), answer) in calls.iter().zip(&answers) {
        let (_, gos) = output_or_error(answer);
        let ours = render(if *sprig == SprigVersion::V2 { &v2 } else { &v3 }, template, Some(&world));
        failed += usize::from(ours.is_err());
        let ours = ours.unwrap_or_else(|error| error);
        if ours != gos {
            wrong.push(format!("{sprig:?} {template}\n  ours {ours}\n  Go's {gos}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {CALLS}\n{}", wrong.len(), wrong.join("\n"));
    let shares = CALLS as usize / 10..CALLS as usize * 9 / 10;
    assert!(shares.contains(&failed), "{failed} fail: the pieces find too few of one sort");
}
