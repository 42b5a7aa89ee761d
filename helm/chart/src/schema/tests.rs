#![allow(clippy::unwrap_used)]

use super::*;

/// Returns a schema with patterns that take some tens of thousands of bytes each.
fn patterns(count: usize) -> Vec<u8> {
    let all = (0..count).map(|n| (format!("p{n}"), serde_json::json!({"pattern": format!("^[a-z]{{200}}{n}$")})));
    serde_json::json!({"properties": all.collect::<serde_json::Map<_, _>>()}).to_string().into_bytes()
}

#[test]
fn patterns_of_all_schemas_of_a_chart_share_a_limit() {
    let mut left = 1 << 20;
    ValuesSchema::read_within(&patterns(1), &mut left).unwrap();
    let of_one = (1 << 20) - left;
    assert!(of_one > 0);
    // Schemas read later share what earlier ones left.
    let mut left = 4 * of_one;
    ValuesSchema::read_within(&patterns(3), &mut left).unwrap();
    let refused = ValuesSchema::read_within(&patterns(3), &mut left).unwrap_err().to_string();
    assert!(refused.contains("expression too large"), "{refused}");
    ValuesSchema::read(&patterns(20)).unwrap();
}
