#![allow(clippy::unwrap_used)]

use super::*;

const ALL: [Scheme; 4] = [Scheme::Https, Scheme::Http, Scheme::Ssh, Scheme::File];

#[test]
fn common_addresses_are_parsed() {
    for (text, scheme) in [
        ("https://git.example/team/app.git", Scheme::Https),
        ("HTTPS://Git.example/Team/App", Scheme::Https),
        ("http://127.0.0.1:8080/app.git", Scheme::Http),
        ("ssh://git@git.example:2222/team/app.git", Scheme::Ssh),
        ("git@git.example:team/app.git", Scheme::Ssh),
        ("file:///srv/git/app.git", Scheme::File),
    ] {
        let address = RepositoryAddress::parse(text, &ALL).unwrap();
        assert_eq!((address.scheme(), address.as_str()), (scheme, text));
    }
}

#[test]
fn options_programs_and_paths_are_rejected_as_addresses() {
    for text in [
        "",
        " ",
        "-oProxyCommand=touch x",
        "--upload-pack=touch x",
        "ext::sh -c touch% x",
        "fd::17",
        "/srv/git/app.git",
        "../app.git",
        "ssh://-oProxyCommand=touch/x",
        "ssh://git@-oProxyCommand=x/y",
        "git@-oProxyCommand:x",
        "https://",
        "https:///etc/passwd",
        "git://git.example/app",
        "ftp://git.example/app",
        "https://a b/c",
        "https://a/\nb",
    ] {
        let refused = RepositoryAddress::parse(text, &ALL);
        assert!(matches!(refused, Err(GitError::Address(_))), "{text:?}: {refused:?}");
    }
    assert!(RepositoryAddress::parse("file:///srv/git/app.git", &[Scheme::Https]).is_err());
}

#[test]
fn a_password_is_removed_from_an_address() {
    let address = RepositoryAddress::parse("https://bob:p%40ss@git.example/app.git", &ALL).unwrap();
    assert_eq!(address.as_str(), "https://git.example/app.git");
    let login = Login::Password { username: "bob".into(), password: "p@ss".into() };
    assert_eq!(address.login(), Some(&login));
    assert!(!format!("{address:?} {address} {login:?}").contains("p@ss"));
    let named = RepositoryAddress::parse("https://bob@git.example:8443/app.git", &ALL).unwrap();
    assert_eq!((named.as_str(), named.login()), ("https://bob@git.example:8443/app.git", None));
    assert_eq!(named.http_origin().as_deref(), Some("https://git.example:8443"));
}
