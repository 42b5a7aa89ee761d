#![allow(clippy::unwrap_used)]

use super::*;

fn letters(digit: char) -> String {
    digit.to_string().repeat(SHA_LENGTH)
}

fn refs() -> Refs {
    let text = format!(
        "ref: refs/heads/main\tHEAD\n{a}\tHEAD\n{b}\trefs/heads/feature/x\n{a}\trefs/heads/main\n{c}\trefs/tags/v1\n{d}\trefs/tags/v1^{{}}\n",
        a = letters('a'),
        b = letters('b'),
        c = letters('c'),
        d = letters('d')
    );
    Refs::parse(&text).unwrap()
}

#[test]
fn names_resolve_to_commits() {
    for (name, digit) in [
        ("", 'a'),
        ("HEAD", 'a'),
        ("main", 'a'),
        ("refs/heads/main", 'a'),
        ("heads/main", 'a'),
        ("feature/x", 'b'),
        ("v1", 'd'),
        ("refs/tags/v1", 'd'),
    ] {
        assert_eq!(refs().resolve(name).unwrap().to_string(), letters(digit), "{name}");
    }
    assert_eq!(refs().resolve(&letters('9')).unwrap().to_string(), letters('9'));
    assert_eq!(refs().resolve("ABC1234").unwrap(), Revision::Abbreviated("abc1234".into()));
}

#[test]
fn an_unknown_revision_is_rejected() {
    for name in ["master", "abc123", "v1^{}", "x", "-x"] {
        assert_eq!(
            refs().resolve(name).unwrap_err().to_string(),
            format!("unable to resolve '{name}' to a commit SHA")
        );
    }
    assert!(Refs::default().resolve("HEAD").is_err());
}
