#![allow(clippy::unwrap_used)]
use super::*;

fn parse(text: &str) -> Quantity {
    Quantity::parse(text).unwrap()
}

/// Line format: the text, then Go's canonical form, Value() and MilliValue(), or its error.
#[test]
fn reads_and_prints_as_go_does() {
    for line in include_str!("go.txt").lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let text = columns[0];
        match (Quantity::parse(text), columns[1].strip_prefix("ERR ")) {
            (Err(error), Some(expected)) => assert_eq!(error.to_string(), expected, "{text:?}"),
            (Ok(quantity), None) => {
                assert_eq!(quantity.to_string(), columns[1], "{text:?}");
                // Go's integers wrap around beyond 64 bits; the ones here are clamped.
                let fits = (0.0..9e15).contains(&quantity.to_f64());
                if fits {
                    assert_eq!(quantity.value().to_string(), columns[2], "{text:?}");
                    assert_eq!(quantity.milli_value().to_string(), columns[3], "{text:?}");
                }
            }
            (ours, _) => panic!("{text:?}: {ours:?}, Go: {line}"),
        }
    }
}

#[test]
fn compares_amounts_not_texts() {
    for (a, b) in [("1", "1000m"), ("1Ki", "1024"), ("1e3", "1k"), ("0.5", "500m"), ("0", "0Mi"), ("1.0", "1")] {
        assert_eq!(parse(a), parse(b));
    }
    for (a, b) in [("1", "1001m"), ("1k", "1Ki"), ("-1", "0"), ("-2", "-1"), ("9", "10"), ("1e18", "1e19")] {
        assert!(parse(a) < parse(b), "{a} < {b}");
    }
}

#[test]
fn adds_and_subtracts() {
    assert_eq!(parse("1").plus(&parse("500m")).to_string(), "1500m");
    assert_eq!(parse("1Gi").minus(&parse("512Mi")).to_string(), "512Mi");
    assert_eq!(parse("1").minus(&parse("3")).to_string(), "-2");
    assert_eq!(parse("0").plus(&parse("1Ki")).to_string(), "1Ki");
    assert!(parse("5").minus(&parse("5")).is_zero());
    assert_eq!(parse("1.5").as_integer(), None);
    assert_eq!(parse("2k").as_integer(), Some(2000));
}

#[test]
fn huge_exponents_cost_nothing() {
    for text in ["1e2147483647", "1e-2147483648", "1234567890123456789012e2147483647", "-1e2000000000"] {
        let quantity = parse(text);
        let _ = (quantity.to_string(), quantity.value(), quantity.plus(&parse("1")).to_string());
    }
}

#[test]
fn reads_json() {
    assert_eq!(Quantity::from_value(&serde_json::json!(100)).unwrap().to_string(), "100");
    assert_eq!(Quantity::from_value(&serde_json::json!(" 1.5 ")).unwrap().to_string(), "1500m");
    assert!(Quantity::from_value(&serde_json::json!(true)).is_err());
}
