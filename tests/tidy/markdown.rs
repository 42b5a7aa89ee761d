//! Prose of Markdown documents: paragraphs, list items and table cells, without code.

/// A piece of prose of a document.
#[derive(Debug, PartialEq)]
pub struct Block {
    /// Line of its first word, counted from one.
    pub line: usize,
    /// Kind of block.
    pub kind: Kind,
    /// Text with code spans and link targets taken out.
    pub text: String,
}

/// Kind of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A paragraph.
    Paragraph,
    /// A heading.
    Heading,
    /// A list item.
    Item,
    /// A cell of a table.
    Cell,
}

/// Returns the prose of a document, in order. Lines of one paragraph or list item are joined.
pub fn blocks(document: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut fenced = false;
    let mut open = false;
    for (number, line) in document.lines().enumerate().map(|(n, l)| (n + 1, l)) {
        let text = line.trim();
        if text.starts_with("```") {
            fenced = !fenced;
            open = false;
        } else if fenced || text.is_empty() {
            open = false;
        } else if text.starts_with('|') {
            found.extend(cells(text).map(|text| Block { line: number, kind: Kind::Cell, text }));
            open = false;
        } else if let Some(title) = text.strip_prefix('#') {
            let text = title.trim_start_matches('#').trim().to_string();
            found.push(Block { line: number, kind: Kind::Heading, text });
            open = false;
        } else if let Some(item) = item(text) {
            found.push(Block { line: number, kind: Kind::Item, text: item.to_string() });
            open = true;
        } else if let Some(last) = found.last_mut().filter(|_| open) {
            last.text = format!("{} {text}", last.text);
        } else {
            found.push(Block { line: number, kind: Kind::Paragraph, text: text.to_string() });
            open = true;
        }
    }
    for block in &mut found {
        block.text = without_code(&block.text);
    }
    found
}

/// Cells of a row. `\|` is a character of its cell.
fn cells(row: &str) -> impl Iterator<Item = String> {
    // A character of private use stands for it meanwhile.
    let row = row.replace(r"\|", "\u{e000}");
    let cells: Vec<String> =
        row.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{e000}', "|")).collect();
    cells.into_iter()
}

/// The text of a list item.
pub fn item(text: &str) -> Option<&str> {
    let numbered = || {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < text.len()).then(|| rest.strip_prefix(". ")).flatten()
    };
    text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).or_else(numbered)
}

/// Replaces code spans by one word, and removes the targets of links.
pub fn without_code(text: &str) -> String {
    let mut plain = String::new();
    for (index, part) in text.split('`').enumerate() {
        // A span may end on a later line: line numbers stay.
        let code = || format!("code{}", "\n".repeat(part.matches('\n').count()));
        plain.push_str(&if index % 2 == 0 { part.to_string() } else { code() });
    }
    let mut rest = plain.as_str();
    let mut out = String::new();
    while let Some(at) = rest.find("](") {
        out.push_str(&rest[..=at]);
        rest = rest[at + 2..].split_once(')').map_or("", |(_, after)| after);
    }
    out + rest
}

#[test]
fn an_escaped_bar_is_no_border_of_a_cell() {
    let texts: Vec<String> = blocks("| a \\| b | c |\n").into_iter().map(|block| block.text).collect();
    assert_eq!(texts, ["a | b", "c"]);
}

#[test]
fn code_spans_keep_their_lines() {
    assert_eq!(without_code("a `b\nc` d"), "a code\n d");
}

#[test]
fn prose_of_documents_is_joined_and_free_of_code() {
    let found =
        blocks("# A\n\nOne `x y` two\nthree [four](five six).\n\n- item\n  goes on\n\n| a | b |\n```\ncode\n```\n");
    let texts: Vec<(usize, Kind, &str)> = found.iter().map(|b| (b.line, b.kind, b.text.as_str())).collect();
    let expected = [
        (1, Kind::Heading, "A"),
        (3, Kind::Paragraph, "One code two three [four]."),
        (6, Kind::Item, "item goes on"),
        (9, Kind::Cell, "a"),
        (9, Kind::Cell, "b"),
    ];
    assert_eq!(texts, expected);
}
