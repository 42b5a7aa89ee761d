//! List body in chunks that are produced while it is sent, so that a list of any length is never in memory as a whole.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::wire;

/// Chunk size: large enough to make the cost per chunk negligible, small enough to stay in the processor's cache.
const PIECE_BYTES: usize = 64 << 10;
const END: &[u8] = b"]}";

/// Iterator over `<head><item head><item>,<item head><item>...]}`.
pub(super) struct ListChunks {
    head: String,
    item_head: String,
    items: std::vec::IntoIter<Bytes>,
    first: bool,
    done: bool,
    bytes: u64,
}

impl ListChunks {
    /// Creates the chunks. `item_head` replaces the envelope of each item.
    pub fn new(head: String, item_head: String, mut items: Vec<Bytes>) -> Self {
        for item in &mut items {
            item.advance(wire::envelope_bytes(item));
        }
        let commas = items.len().saturating_sub(1);
        let content: usize = items.iter().map(|item| item_head.len() + item.len()).sum();
        let bytes = (head.len() + content + commas + END.len()) as u64;
        Self { head, item_head, items: items.into_iter(), first: true, done: false, bytes }
    }

    /// Returns the total length of all chunks.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Iterator for ListChunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.done {
            return None;
        }
        let mut piece = BytesMut::with_capacity((PIECE_BYTES + PIECE_BYTES / 4).min(self.bytes as usize));
        piece.put_slice(std::mem::take(&mut self.head).as_bytes());
        while piece.len() < PIECE_BYTES {
            let Some(item) = self.items.next() else {
                piece.put_slice(END);
                self.done = true;
                break;
            };
            if !std::mem::take(&mut self.first) {
                piece.put_u8(b',');
            }
            piece.put_slice(self.item_head.as_bytes());
            piece.put_slice(&item);
        }
        Some(piece.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_one_list_of_the_stated_length() {
        for count in [0, 1, 2, 5_000] {
            let item =
                |n: usize| format!("{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"p{n}\"}}}}");
            let items = (0..count).map(|n| item(n).into()).collect();
            let pieces = ListChunks::new("{\"items\":[".into(), "{".into(), items);
            let stated = pieces.bytes();
            let made: Vec<Bytes> = pieces.collect();
            assert!(made.iter().all(|piece| !piece.is_empty() && piece.len() < 2 * PIECE_BYTES));
            let whole = made.concat();
            assert_eq!(whole.len() as u64, stated);
            let list: serde_json::Value = serde_json::from_slice(&whole).expect("a list is JSON");
            let names: Vec<_> = list["items"].as_array().into_iter().flatten().collect();
            assert_eq!(names.len(), count);
            assert!(names.iter().enumerate().all(|(n, item)| item["metadata"]["name"] == format!("p{n}")));
        }
    }
}
