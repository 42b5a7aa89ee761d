//! JSON parser with an explicit stack.

use super::{JsonDocument, JsonError, MAX_DEPTH, MAX_DUPLICATES};
use crate::quote::quote;
use crate::{Map, Value};

/// Parses one document.
///
/// # Errors
/// When the text is not JSON, or nests deeper than [`MAX_DEPTH`].
pub fn read(bytes: &[u8]) -> Result<JsonDocument, JsonError> {
    read_as(bytes, number)
}

/// Parses one document for a consumer that converts every number to a float: negative zero, which no integer
/// represents, is kept.
///
/// # Errors
/// As [`read`].
pub fn read_numbers_as_floats(bytes: &[u8]) -> Result<JsonDocument, JsonError> {
    read_as(bytes, |text| match text.parse::<f64>() {
        Ok(zero) if zero == 0.0 && zero.is_sign_negative() => Some(Value::from(zero)),
        _ => number(text),
    })
}

fn read_as(bytes: &[u8], number: fn(&str) -> Option<Value>) -> Result<JsonDocument, JsonError> {
    let mut reader = JsonReader { bytes, at: 0, number, open: Vec::new(), duplicates: Vec::new(), too_large: None };
    let value = reader.document()?;
    // Go checks the syntax of the whole text before it looks at numbers.
    reader.too_large.map_or(Ok(JsonDocument { value, duplicates: reader.duplicates }), Err)
}

type JsonResult<T> = Result<T, JsonError>;

struct JsonReader<'a> {
    bytes: &'a [u8],
    at: usize,
    number: fn(&str) -> Option<Value>,
    open: Vec<OpenContainer>,
    duplicates: Vec<String>,
    /// First number that fits no float.
    too_large: Option<JsonError>,
}

enum OpenContainer {
    List(Vec<Value>),
    /// Fields so far, and the name of the field being read.
    Map(Map, String),
}

impl JsonReader<'_> {
    fn document(&mut self) -> JsonResult<Value> {
        loop {
            if let Some(value) = self.value()? {
                // A complete value may complete its container, and so on.
                if let Some(value) = self.place_value(value)? {
                    self.skip_spaces();
                    return if self.at < self.bytes.len() { self.fail("after top-level value") } else { Ok(value) };
                }
            }
        }
    }

    // Reads a scalar or an empty container; `None` if a container was opened.
    fn value(&mut self) -> JsonResult<Option<Value>> {
        self.skip_spaces();
        match self.peek()? {
            b'{' => {
                self.deeper()?;
                self.skip_spaces();
                if self.peek()? == b'}' {
                    self.at += 1;
                    return Ok(Some(Value::Object(Map::new())));
                }
                let key = self.key()?;
                self.open.push(OpenContainer::Map(Map::new(), key));
                Ok(None)
            }
            b'[' => {
                self.deeper()?;
                self.skip_spaces();
                if self.peek()? == b']' {
                    self.at += 1;
                    return Ok(Some(Value::Array(Vec::new())));
                }
                self.open.push(OpenContainer::List(Vec::new()));
                Ok(None)
            }
            b'"' => self.string().map(|text| Some(Value::String(text))),
            b'-' | b'0'..=b'9' => self.number().map(Some),
            b't' => self.literal("true", Value::Bool(true)),
            b'f' => self.literal("false", Value::Bool(false)),
            b'n' => self.literal("null", Value::Null),
            _ => self.fail("looking for beginning of value"),
        }
    }

    fn deeper(&mut self) -> JsonResult<()> {
        if self.open.len() >= MAX_DEPTH {
            return self.fail("exceeded max depth");
        }
        self.at += 1;
        Ok(())
    }

    // Adds a value to its container. Returns the document once it is complete.
    fn place_value(&mut self, mut value: Value) -> JsonResult<Option<Value>> {
        loop {
            let Some(open) = self.open.pop() else { return Ok(Some(value)) };
            self.skip_spaces();
            let next = self.peek()?;
            value = match open {
                OpenContainer::List(mut list) => {
                    list.push(value);
                    match next {
                        b',' => {
                            self.at += 1;
                            self.open.push(OpenContainer::List(list));
                            return Ok(None);
                        }
                        b']' => Value::Array(list),
                        _ => return self.fail("after array element"),
                    }
                }
                OpenContainer::Map(mut map, key) => {
                    map.insert(key, value);
                    match next {
                        b',' => {
                            self.at += 1;
                            self.skip_spaces();
                            let key = self.key()?;
                            if map.contains_key(&key) {
                                self.note_duplicate(&key);
                            }
                            self.open.push(OpenContainer::Map(map, key));
                            return Ok(None);
                        }
                        b'}' => Value::Object(map),
                        _ => return self.fail("after object key:value pair"),
                    }
                }
            };
            self.at += 1;
        }
    }

    fn note_duplicate(&mut self, key: &str) {
        let path = self.path(key);
        if self.duplicates.len() < MAX_DUPLICATES && !self.duplicates.contains(&path) {
            self.duplicates.push(path);
        }
    }

    fn path(&self, key: &str) -> String {
        let mut path = String::new();
        for (depth, open) in self.open.iter().enumerate() {
            match open {
                OpenContainer::List(list) => path.push_str(&format!("[{}]", list.len())),
                OpenContainer::Map(_, key) if depth == 0 => path.push_str(key),
                OpenContainer::Map(_, key) => path.push_str(&format!(".{key}")),
            }
        }
        if self.open.is_empty() { key.to_string() } else { format!("{path}.{key}") }
    }

    fn key(&mut self) -> JsonResult<String> {
        if self.peek()? != b'"' {
            return self.fail("looking for beginning of object key string");
        }
        let key = self.string()?;
        self.skip_spaces();
        if self.peek()? != b':' {
            return self.fail("after object key");
        }
        self.at += 1;
        Ok(key)
    }

    fn string(&mut self) -> JsonResult<String> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let start = self.at;
            while matches!(self.bytes.get(self.at), Some(b) if *b != b'"' && *b != b'\\' && *b >= 0x20) {
                self.at += 1;
            }
            out.extend_from_slice(&self.bytes[start..self.at]);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    // Bytes that are not UTF-8 become U+FFFD, as in Go.
                    return Ok(
                        String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
                    );
                }
                b'\\' => {
                    self.at += 1;
                    let c = self.escape()?;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => return self.fail("in string literal"),
            }
        }
    }

    fn escape(&mut self) -> JsonResult<char> {
        let c = match self.peek_in_token() {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            c @ (b'\\' | b'/' | b'"') => char::from(c),
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return self.fail("in string escape code"),
        };
        self.at += 1;
        Ok(c)
    }

    // Reads a `\u` escape. Half of a surrogate pair becomes U+FFFD.
    fn unicode(&mut self) -> JsonResult<char> {
        let first = self.hex()?;
        if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> JsonResult<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = char::from(self.peek_in_token()).to_digit(16) else {
                return self.fail("in \\u hexadecimal character escape");
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> JsonResult<Value> {
        let start = self.at;
        if self.peek_in_token() == b'-' {
            self.at += 1;
        }
        match self.peek_in_token() {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return self.fail("in numeric literal"),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek_in_token(), b'+' | b'-') {
                self.at += 1;
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        if let Some(number) = (self.number)(text) {
            return Ok(number);
        }
        let message = format!("json: cannot unmarshal number {text} into Go value of type float64");
        self.too_large.get_or_insert(JsonError { message, offset: start });
        Ok(Value::Null)
    }

    fn some_digits(&mut self, context: &str) -> JsonResult<()> {
        if !self.peek_in_token().is_ascii_digit() {
            return self.fail(context);
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    fn literal(&mut self, word: &str, value: Value) -> JsonResult<Option<Value>> {
        self.at += 1;
        for expected in word.bytes().skip(1) {
            if self.peek_in_token() != expected {
                return self.fail(&format!("in literal {word} (expecting '{}')", char::from(expected)));
            }
            self.at += 1;
        }
        Ok(Some(value))
    }

    fn skip_spaces(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> JsonResult<u8> {
        let end = || JsonError { message: "unexpected end of JSON input".to_string(), offset: self.bytes.len() };
        self.bytes.get(self.at).copied().ok_or_else(end)
    }

    // Returns the next byte of a token. Go's scanner receives a space at the end of the input, which fails an
    // incomplete token.
    fn peek_in_token(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(b' ')
    }

    fn fail<T>(&self, context: &str) -> JsonResult<T> {
        let shown = match self.peek_in_token() {
            b'\'' => "'\\''".to_string(),
            b'"' => "'\"'".to_string(),
            c => {
                let quoted = quote(&char::from(c).to_string());
                format!("'{}'", &quoted[1..quoted.len() - 1])
            }
        };
        Err(JsonError { message: format!("invalid character {shown} {context}"), offset: self.at })
    }
}

// Parses a number. Integers stay integers.
fn number(text: &str) -> Option<Value> {
    if let Ok(integer) = text.parse::<i64>() {
        return Some(Value::from(integer));
    }
    text.parse().ok().filter(|f: &f64| f.is_finite()).map(whole)
}

/// Converts a float to a number. A float without a fraction becomes an integer, because Go writes it without a decimal
/// point and then reads it as an integer.
pub(crate) fn whole(float: f64) -> Value {
    if float == 0.0 {
        return Value::from(0);
    }
    // Beyond 2^53, the digits that Go prints are not all digits of the float.
    let whole = float.fract() == 0.0 && float.abs() < 1e19;
    let integer = if whole { float.to_string().parse::<i64>().ok() } else { None };
    integer.map_or_else(|| Value::from(float), Value::from)
}
