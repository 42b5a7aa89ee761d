//! Decoding of TOML documents.

mod table;
mod value;

use std::collections::BTreeMap;

use super::scan::{EOF, ScanError, ScanResult, Scanner, is_blank, is_newline, shown};
use crate::value::{ReflectType, Value};
use table::TableTree;

/// Implements Go's `toml.Unmarshal` into a `map[string]interface {}`, with the text of its error.
pub fn read(text: &[u8]) -> Result<Value, String> {
    let mut reader = TomlReader { scanner: Scanner::new(text), tables: TableTree::new(), depth: 0 };
    let early = &reader.scanner.text[..reader.scanner.text.len().min(6)];
    if early.contains(&0) {
        return Err("toml: line 1: files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8"
            .to_string());
    }
    match reader.document() {
        Ok(()) => Ok(reader.tables.root),
        Err(ScanError { line, message }) => Err(match reader.tables.current() {
            key if key.is_empty() => format!("toml: line {line}: {message}"),
            key => format!("toml: line {line} (last key {}): {message}", crate::sprig::text::quoted(&key)),
        }),
    }
}

/// Maximum depth of arrays and inline tables.
const MAX_DEPTH: usize = 1_000;

struct TomlReader<'t> {
    scanner: Scanner<'t>,
    tables: TableTree,
    depth: usize,
}

impl TomlReader<'_> {
    fn document(&mut self) -> ScanResult<()> {
        loop {
            self.scanner.skip_lines()?;
            if self.scanner.ended() {
                return Ok(());
            }
            if self.scanner.accept('[')? {
                self.header()?
            } else {
                self.entry()?
            }
            self.line_end()?;
        }
    }

    fn line_end(&mut self) -> ScanResult<()> {
        self.scanner.skip(is_blank)?;
        match self.scanner.next()? {
            '#' => self.scanner.skip(|rune| !is_newline(rune)),
            '\n' | '\r' => Ok(()),
            EOF => Ok(()),
            other => self.scanner.fail(format!(
                "expected a top-level item to end with a newline, comment, or EOF, but got {} instead",
                shown(other)
            )),
        }
    }

    /// Reads `[a.b]` or `[[a.b]]`. The first bracket has been read.
    fn header(&mut self) -> ScanResult<()> {
        let array = self.scanner.accept('[')?;
        let line = self.scanner.line;
        let mut key = Vec::new();
        loop {
            self.scanner.skip(is_blank)?;
            match self.scanner.peek()? {
                ']' | EOF => return self.scanner.fail("unexpected end of table name (table names cannot be empty)"),
                '.' => return self.scanner.fail("unexpected table separator (table names cannot be empty)"),
                _ => key.push(self.name()?),
            }
            self.scanner.skip(is_blank)?;
            match self.scanner.next()? {
                '.' => {}
                ']' => break,
                other => {
                    let found = shown(other);
                    return self
                        .scanner
                        .fail(format!("expected '.' or ']' to end table name, but got {found} instead"));
                }
            }
        }
        if array {
            match self.scanner.next()? {
                ']' => {}
                other => {
                    let found = shown(other);
                    let expected = "expected end of table array name delimiter ']', but got";
                    return self.scanner.fail(format!("{expected} {found} instead"));
                }
            }
        }
        self.tables.open(&key, array).map_err(|message| ScanError { line, message })
    }

    /// Reads one part of a key, bare or quoted.
    fn name(&mut self) -> ScanResult<Vec<u8>> {
        match self.scanner.peek()? {
            '"' => {
                self.scanner.next()?;
                self.basic_string()
            }
            '\'' => {
                self.scanner.next()?;
                self.raw_string()
            }
            _ => {
                let start = self.scanner.at;
                self.scanner.skip(|rune| rune.is_ascii_alphanumeric() || matches!(rune, '_' | '-'))?;
                Ok(self.scanner.text[start..self.scanner.at].to_vec())
            }
        }
    }

    /// Reads all parts of a key up to the `=`.
    fn key(&mut self) -> ScanResult<Vec<Vec<u8>>> {
        self.scanner.skip(is_blank)?;
        match self.scanner.peek()? {
            '=' => return self.scanner.fail("unexpected '=': key name appears blank"),
            EOF if self.scanner.ended() => return self.scanner.fail("unexpected '=': key name appears blank"),
            '.' => return self.scanner.fail("unexpected '.': keys cannot start with a '.'"),
            _ => {}
        }
        let mut key = Vec::new();
        loop {
            self.scanner.skip(is_blank)?;
            match self.scanner.peek()? {
                '=' | EOF if !key.is_empty() => return self.scanner.fail("unexpected '='"),
                '.' => return self.scanner.fail("unexpected '.'"),
                _ => key.push(self.name()?),
            }
            self.scanner.skip(is_blank)?;
            match self.scanner.next()? {
                '.' => {}
                '=' => return Ok(key),
                EOF => return self.scanner.fail("unexpected EOF; expected key separator '='"),
                '\n' => return self.scanner.fail_before("expected '.' or '=', but got '\\n' instead"),
                other => return self.scanner.fail(format!("expected '.' or '=', but got {} instead", shown(other))),
            }
        }
    }

    fn entry(&mut self) -> ScanResult<()> {
        let line = self.scanner.line;
        let key = self.key()?;
        let problem = |message: String| ScanError { line, message };
        let outer = self.tables.enter(&key).map_err(problem)?;
        let value = self.value(false)?;
        self.tables.set(value).map_err(problem)?;
        self.tables.leave(outer);
        Ok(())
    }

    fn array(&mut self) -> ScanResult<Value> {
        self.tables.mark_array();
        let mut items = Vec::new();
        loop {
            self.scanner.skip_lines()?;
            match self.scanner.peek()? {
                ',' => {
                    self.scanner.next()?;
                    return self.scanner.fail("unexpected comma");
                }
                ']' => break,
                _ => items.push(self.value(true)?),
            }
            self.scanner.skip_lines()?;
            match self.scanner.peek()? {
                ',' => self.scanner.next()?,
                ']' => break,
                other => return self.stray(other, "expected a comma (',') or array terminator (']'), but got", ""),
            };
        }
        self.scanner.next()?;
        Ok(Value::list(items))
    }

    fn stray<T>(&mut self, rune: char, expected: &str, tail: &str) -> ScanResult<T> {
        let found = if self.scanner.ended() { "end of file".to_string() } else { format!("'{rune}'") };
        self.scanner.next()?;
        self.scanner.fail(format!("{expected} {found}{tail}"))
    }

    /// Reads `{a = 1, b.c = 2}`. The brace has been read. Also adds the keys to the tables, which detects duplicates.
    fn inline_table(&mut self, in_array: bool) -> ScanResult<Value> {
        let line = self.scanner.line;
        let problem = |message: String| ScanError { line, message };
        let root = Value::typed_map(ReflectType::MAP, BTreeMap::new());
        let outer = self.tables.enter_inline(in_array).map_err(problem)?;
        loop {
            self.scanner.skip_lines()?;
            match self.scanner.peek()? {
                ',' => {
                    self.scanner.next()?;
                    return self.scanner.fail("unexpected comma");
                }
                '}' => break,
                _ => {}
            }
            let key = self.key()?;
            let before = self.tables.enter(&key).map_err(problem)?;
            let value = self.value(false)?;
            self.tables.set(value.clone()).map_err(problem)?;
            table::insert(&root, &key, value).map_err(problem)?;
            self.tables.step_out(before);
            self.scanner.skip_lines()?;
            match self.scanner.peek()? {
                ',' => self.scanner.next()?,
                '}' => break,
                other => {
                    return self.stray(
                        other,
                        "expected a comma or an inline table terminator '}', but got",
                        " instead",
                    );
                }
            };
        }
        self.scanner.next()?;
        self.tables.leave(outer);
        Ok(root)
    }
}
