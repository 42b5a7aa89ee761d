//! PEM as in Go's `encoding/pem`.

use crate::sprig::encoding::{base64_decode, base64_encode};

/// Type and content of a block between BEGIN and END.
pub(super) struct PemBlock {
    pub kind: String,
    pub bytes: Vec<u8>,
}

const LINE: usize = 64;

pub(super) fn encode(kind: &str, bytes: &[u8]) -> String {
    let mut out = format!("-----BEGIN {kind}-----\n");
    let text = base64_encode(bytes);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(rest.len().min(LINE));
        out.push_str(line);
        out.push('\n');
        rest = tail;
    }
    out + &format!("-----END {kind}-----\n")
}

/// Decodes the first block. Initial lines with a colon are headers.
pub(super) fn decode(text: &str) -> Option<PemBlock> {
    let mut lines = text.split('\n').map(|line| line.trim_end_matches(['\r', ' ', '\t']));
    let mut kind: Option<&str> = None;
    let mut body = String::new();
    let mut headers = true;
    lines.by_ref().find_map(|line| {
        let begun = line.strip_prefix("-----BEGIN ").and_then(|l| l.strip_suffix("-----"));
        let ended = line.strip_prefix("-----END ").and_then(|l| l.strip_suffix("-----"));
        match (begun, ended, kind) {
            (Some(begun), ..) => {
                (kind, headers) = (Some(begun), true);
                body.clear();
                None
            }
            (None, Some(ended), Some(begun)) => {
                kind = None;
                let bytes = base64_decode(body.as_bytes()).ok().filter(|_| ended == begun)?;
                Some(PemBlock { kind: begun.to_string(), bytes })
            }
            (None, None, Some(_)) => {
                headers &= line.contains(':');
                if !headers {
                    body.extend(line.chars().filter(|c| !matches!(c, ' ' | '\t')));
                }
                None
            }
            _ => None,
        }
    })
}
