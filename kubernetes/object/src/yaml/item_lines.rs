//! Line numbers of list items. They are computed when an item is invalid, instead of being kept for all items.

use saphyr_parser::{Event, Parser};

/// Lines of a document's list: the document's first line, and the line of each item of its top-level `items`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemLines {
    /// First line of the document, as [`YamlDocument::line`](super::YamlDocument::line) counts.
    pub document: usize,
    /// Line of each item.
    pub items: Vec<usize>,
}

/// Returns the lines of the items of all documents, as far as the text can be parsed.
pub fn item_lines(text: &str) -> Vec<ItemLines> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut found: Vec<ItemLines> = Vec::new();
    let mut at = ItemCursor::default();
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { break };
        if let Event::DocumentStart(_) = event {
            at = ItemCursor::default();
            found.push(ItemLines { document: span.start.line(), items: Vec::new() });
        } else if let Some(document) = found.last_mut() {
            at.step(&event, span.start.line(), document);
        }
    }
    found
}

/// Position of the walk: depth, and the current key of the outermost map.
#[derive(Default)]
struct ItemCursor {
    depth: usize,
    /// Whether the next node of the outermost map is a value.
    value_next: bool,
    /// Whether that value belongs to `items`.
    of_items: bool,
    is_map: bool,
}

impl ItemCursor {
    fn step(&mut self, event: &Event<'_>, line: usize, document: &mut ItemLines) {
        let begins =
            matches!(event, Event::Scalar(..) | Event::Alias(_) | Event::SequenceStart(..) | Event::MappingStart(..));
        if begins && self.depth == 2 && self.is_map && self.value_next && self.of_items {
            document.items.push(line);
        }
        match event {
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if self.depth == 0 {
                    self.is_map = matches!(event, Event::MappingStart(..));
                } else if self.depth == 1 && self.value_next {
                    // For duplicate keys the last one counts, as in reading.
                    self.of_items &= matches!(event, Event::SequenceStart(..));
                    if self.of_items {
                        document.items.clear();
                    }
                }
                self.depth += 1;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.depth = self.depth.saturating_sub(1);
                self.turn(false);
            }
            Event::Scalar(text, ..) => self.turn(text == "items"),
            Event::Alias(_) => self.turn(false),
            _ => {}
        }
    }

    /// Advances after a complete node of the outermost map: after a key comes its value, after a value a key.
    fn turn(&mut self, is_items: bool) {
        if self.depth == 1 {
            self.value_next = !self.value_next;
            self.of_items = self.value_next && is_items;
        }
    }
}
