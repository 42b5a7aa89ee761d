//! Random templates that follow the grammar and sometimes break its rules.

use serde_json::{Value as Json, json};

/// Maximum depth of actions and parentheses.
const MAX_DEPTH: usize = 4;

pub struct Generator {
    state: u64,
    depth: usize,
    variables: Vec<&'static str>,
    in_range: bool,
}

const FIELDS: &[&str] = &[
    ".", ".a", ".a.b", ".a.b.c", ".s", ".n", ".z", ".f", ".t", ".x", ".e", ".l", ".el", ".m", ".ls", ".strs", ".sm",
    ".nope", ".nope.q", ".s.q", ".x.q", "$", "$.s", "$.l", "$.nope.q", ".i64", ".u8", ".by", ".nm.k", ".sm.k", ".sm.q",
];
const LITERALS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3.5",
    "1e3",
    "0x1F",
    "'a'",
    "1i",
    "true",
    "false",
    "nil",
    "\"\"",
    "\"a\"",
    "\"k\"",
    "`raw`",
    "\"%d|%s\"",
    "\"%5.2v\"",
    "\"h\\u00e9\\xff\"",
    "1_000",
    "\"one\"",
];
const FUNCTIONS: &[(&str, usize)] = &[
    ("print", 3),
    ("println", 2),
    ("printf", 3),
    ("len", 1),
    ("index", 2),
    ("slice", 2),
    ("eq", 2),
    ("ne", 2),
    ("lt", 2),
    ("le", 2),
    ("gt", 2),
    ("ge", 2),
    ("and", 2),
    ("or", 3),
    ("not", 1),
    ("html", 1),
    ("js", 1),
    ("urlquery", 1),
    ("call adder", 2),
    ("call joiner", 2),
    ("add", 2),
    ("list", 2),
    ("strs", 2),
    ("dict", 0),
    ("same", 1),
    ("fail", 1),
    ("str", 1),
    ("i64", 1),
    ("u8", 1),
    ("f64", 1),
    ("bool", 1),
    ("raw", 1),
    ("keys", 1),
    ("nothing", 0),
    ("nilmap", 0),
    ("two", 2),
    ("set dict", 2),
];
const NAMES: &[&str] = &["$v", "$w", "$i"];
const TEXTS: &[&str] = &["", " ", "x", "\n", " y \n", "-", "\u{2603}"];
const TEMPLATES: &[&str] = &["one", "two", "none"];

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator { state: seed, depth: 0, variables: Vec::new(), in_range: false }
    }

    pub fn data() -> Json {
        json!({
            "a": {"b": {"c": "deep"}}, "s": "str", "n": 3, "z": 0, "f": 1.5, "t": true, "x": null, "e": "",
            "l": [1, "two", 3.5, null], "el": [], "m": {"one": 1, "two": 2}, "ls": [{"n": "a"}, {"n": "b", "v": [1]}],
            "strs": {"$type": "[]string", "value": ["p", "q"]},
            "sm": {"$type": "map[string]string", "value": {"k": "v"}},
            "nm": {"$type": "map[string]interface {}", "value": null},
            "by": {"$type": "[]uint8", "value": "eHl6"},
            "i64": {"$type": "int64", "value": 9}, "u8": {"$type": "uint8", "value": 8},
        })
    }

    /// Returns a whole template that defines two others and may call them.
    pub fn template(mut self) -> String {
        let mut text = String::new();
        for name in &TEMPLATES[..2] {
            let body = self.list();
            // Recursion would only end at the depth limit, which is a hundred thousand in Go.
            let body = body.replace("{{template", "{{print").replace("{{- template", "{{- print");
            text.push_str(&format!("{{{{define \"{name}\"}}}}{body}{{{{end}}}}"));
            self.variables.clear();
        }
        text + &self.list()
    }

    // SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_of(&mut self, choices: &[&'static str]) -> &'static str {
        choices[self.below(choices.len())]
    }

    fn list(&mut self) -> String {
        let count = 1 + self.below(3);
        (0..count).map(|_| format!("{}{}", self.one_of(TEXTS), self.action())).collect()
    }

    /// Wraps text in delimiters, sometimes with trim markers.
    fn braces(&mut self, inside: &str) -> String {
        let left = if self.below(6) == 0 { "{{- " } else { "{{" };
        let right = if self.below(6) == 0 { " -}}" } else { "}}" };
        format!("{left}{inside}{right}")
    }

    fn action(&mut self) -> String {
        if self.depth >= MAX_DEPTH {
            let pipe = self.pipeline();
            return self.braces(&pipe);
        }
        self.depth += 1;
        let text = match self.below(12) {
            0 | 1 => self.branch("if"),
            2 => self.branch("with"),
            3 | 4 => self.range(),
            5 => {
                let name = self.one_of(TEMPLATES);
                let pipe = self.pipeline();
                self.braces(&format!("template \"{name}\" {pipe}"))
            }
            6 | 7 => {
                let (name, pipe) = (self.one_of(NAMES), self.pipeline());
                let known = self.variables.contains(&name);
                self.variables.push(name);
                let sign = if known && self.below(2) == 0 { "=" } else { ":=" };
                self.braces(&format!("{name} {sign} {pipe}"))
            }
            8 if self.in_range => self.braces(if self.depth.is_multiple_of(2) { "break" } else { "continue" }),
            9 => self.braces("/* comment */"),
            _ => {
                let pipe = self.pipeline();
                self.braces(&pipe)
            }
        };
        self.depth -= 1;
        text
    }

    fn branch(&mut self, word: &str) -> String {
        let scope = self.variables.len();
        let pipe = self.pipeline();
        let head = match self.below(4) {
            0 => {
                let name = self.one_of(NAMES);
                self.variables.push(name);
                format!("{word} {name} := {pipe}")
            }
            _ => format!("{word} {pipe}"),
        };
        let mut text = self.braces(&head) + &self.list();
        if self.below(3) == 0 {
            let pipe = self.pipeline();
            text += &self.braces(&format!("else {word} {pipe}"));
            text += &self.list();
        }
        if self.below(2) == 0 {
            text += &self.braces("else");
            text += &self.list();
        }
        self.variables.truncate(scope);
        text + &self.braces("end")
    }

    fn range(&mut self) -> String {
        let scope = self.variables.len();
        let over = match self.below(8) {
            0 => "3".to_string(),
            1 => "seq 2".to_string(),
            2 => "pairs 2".to_string(),
            3 => self.pipeline(),
            _ => self.one_of(&[".l", ".m", ".ls", ".el", ".strs", ".sm", ".by", ".nope", ".u8"]).to_string(),
        };
        let head = match self.below(4) {
            // Go's error for a sequence with two variables contains an address.
            0 if !over.starts_with("seq") => {
                self.variables.extend(["$i", "$v"]);
                format!("range $i, $v := {over}")
            }
            1 => {
                self.variables.push("$v");
                format!("range $v := {over}")
            }
            _ => format!("range {over}"),
        };
        let outer = std::mem::replace(&mut self.in_range, true);
        let mut text = self.braces(&head) + &self.list();
        self.in_range = outer;
        if self.below(3) == 0 {
            text += &self.braces("else");
            text += &self.list();
        }
        self.variables.truncate(scope);
        text + &self.braces("end")
    }

    fn pipeline(&mut self) -> String {
        let mut text = self.command();
        while self.below(4) == 0 {
            let (name, args) = FUNCTIONS[self.below(FUNCTIONS.len())];
            let args: String = (1..args).map(|_| format!(" {}", self.operand())).collect();
            text += &format!(" | {name}{args}");
        }
        text
    }

    fn command(&mut self) -> String {
        if self.below(2) == 0 {
            return self.operand();
        }
        let (name, args) = FUNCTIONS[self.below(FUNCTIONS.len())];
        let args = if self.below(10) == 0 { self.below(4) } else { args };
        let args: String = (0..args).map(|_| format!(" {}", self.operand())).collect();
        format!("{name}{args}")
    }

    fn operand(&mut self) -> String {
        match self.below(8) {
            0..=2 => self.one_of(FIELDS).to_string(),
            3 | 4 => self.one_of(LITERALS).to_string(),
            5 if !self.variables.is_empty() => {
                let place = self.below(self.variables.len());
                let name = self.variables[place];
                format!("{name}{}", self.one_of(&["", "", ".b", ".n", ".q"]))
            }
            _ if self.depth < MAX_DEPTH => {
                self.depth += 1;
                let pipe = self.pipeline();
                self.depth -= 1;
                format!("({pipe}){}", self.one_of(&["", "", "", ".b", ".q"]))
            }
            _ => self.one_of(FIELDS).to_string(),
        }
    }
}
