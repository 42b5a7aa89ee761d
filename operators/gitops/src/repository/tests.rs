#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn urls_of_one_repository_are_normalized() {
    // Same as managed-gitops, except for upper case behind the host, and for `ssh://`, which is kept.
    for (url, normal) in [
        ("https://github.com/org/repo.git", "https://github.com/org/repo"),
        ("https://GitHub.com/Org/Repo", "https://github.com/Org/Repo"),
        (" https://github.com/org/repo ", "https://github.com/org/repo"),
        ("git@github.com:org/repo.git", "ssh://git@github.com/org/repo"),
        ("git@GitHub.com:Org/repo", "ssh://git@github.com/Org/repo"),
        ("ssh://git@github.com/org/repo.git", "ssh://git@github.com/org/repo"),
        // Form of rows of an earlier version.
        ("git@github.com/org/repo", "ssh://git@github.com/org/repo"),
        ("ssh://git@host:2222/org/repo", "ssh://git@host:2222/org/repo"),
        ("git@host:2222/org/repo", "ssh://git@host/2222/org/repo"),
        ("ssh://Host/Org/repo.git", "ssh://host/Org/repo"),
        ("Host:Org/repo", "host:Org/repo"),
        ("https://h/x.git.git", "https://h/x.git.git"),
        ("SSH://git@host/org/repo", "ssh://git@host/org/repo"),
        ("https://user@host:8443/a/b.git", "https://user@host:8443/a/b"),
        ("", ""),
    ] {
        assert_eq!(normalize(url), normal, "{url}");
    }
}

#[test]
fn case_of_path_and_user_is_kept() {
    assert_ne!(normalize("https://host/Shop"), normalize("https://host/shop"));
    assert_eq!(normalize("https://Me@Host/Shop"), "https://Me@host/Shop");
}

#[test]
fn a_credential_fits_its_repository() {
    assert!(matches!(login("https://h/r", "u", "p", ""), Some(RepositoryLogin::Password { .. })));
    // A token needs no user name.
    assert!(matches!(login("https://h/r", "", "p", ""), Some(RepositoryLogin::Password { .. })));
    assert!(matches!(login("git@h:r", "", "", "KEY"), Some(RepositoryLogin::Key(_))));
    assert!(matches!(login("ssh://git@h/r", "u", "p", "KEY"), Some(RepositoryLogin::Key(_))));
    assert_eq!(login("https://h/r", "u", "", "KEY"), None);
    assert_eq!(login("git@h:r", "u", "p", " \n"), None);
}

proptest::proptest! {
    #[test]
    fn normalization_is_idempotent(url in "(https://([a-z]{1,4}@)?[A-Za-z.]{1,8}(:[0-9]{2})?|ssh://([a-z]{1,4}@)?[A-Za-z0-9.]{1,8}(:[0-9]{2,4})?|([a-z]{1,4}@)?[A-Za-z.]{1,8}:[0-9]{0,4})/[A-Za-z/]{1,8}(\\.git){0,2}") {
        let once = normalize(&url);
        proptest::prop_assert_eq!(normalize(&once), once);
    }
}

#[test]
fn a_url_is_shown_without_its_login() {
    for (url, shown) in [
        ("https://robot:secret@host:8443/a/b.git", "https://host:8443/a/b.git"),
        ("https://ghp_token@host/a", "https://host/a"),
        ("https://u:p@ss@host/a@b", "https://host/a@b"),
        ("https://host/a@b", "https://host/a@b"),
        ("ssh://git@host/a", "ssh://git@host/a"),
        ("ssh://git:secret@host/a", "ssh://host/a"),
        ("git@host:a", "git@host:a"),
        ("", ""),
    ] {
        assert_eq!(without_login(url), shown);
        assert_eq!(has_login(url), url != shown, "{url}");
        assert_eq!(has_login(&normalize(url)), url != shown, "{url}");
    }
}
