//! What was pushed, as GitHub, GitLab and others tell it, and which applications deploy it.

use http::HeaderMap;
use serde_json::Value;
use switchboard_gitops::kinds::deployment::Source;
use switchboard_gitops::repository::normalise;

use crate::problem::{Kind, Problem};

/// Fields that name a repository, of all kinds of events.
const URLS: [&str; 10] = [
    "/repository/clone_url",
    "/repository/ssh_url",
    "/repository/git_url",
    "/repository/html_url",
    "/repository/url",
    "/project/git_http_url",
    "/project/git_ssh_url",
    "/project/web_url",
    "/repository/git_http_url",
    "/repository/git_ssh_url",
];

/// Where git servers say what happened.
const EVENTS: [&str; 4] = ["x-github-event", "x-gitlab-event", "x-gitea-event", "x-forgejo-event"];

/// What a range of versions is written with, which a tag may match.
const RANGE: &[char] = &['*', '>', '<', '^', '~', '='];

/// Something was pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Push {
    /// The repository, in the form by which it is recognised, by whatever protocol.
    places: Vec<String>,
    /// The branch or tag, in full; none if the event does not say.
    reference: Option<String>,
    /// The branch that is meant when nobody names one.
    default_branch: Option<String>,
}

impl Push {
    /// The push of an event; none if the event is of another kind, such as GitHub's ping.
    pub fn read(headers: &HeaderMap, event: &Value) -> Result<Option<Push>, Problem> {
        let kind = EVENTS.iter().find_map(|name| headers.get(*name));
        let kind = kind.and_then(|value| value.to_str().ok()).unwrap_or("push").to_ascii_lowercase();
        if !matches!(kind.as_str(), "push" | "push hook" | "tag push hook" | "create") {
            return Ok(None);
        }
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        let mut places: Vec<String> = URLS.iter().filter_map(|url| text(url)).map(place).collect();
        // The generic form names its repository by one text.
        places.extend(text("/repository").map(place));
        places.sort();
        places.dedup();
        if places.is_empty() {
            return Err(Problem::new(Kind::Invalid, "the event names no repository").hint(
                "events are GitHub's, GitLab's, Gitea's, or {\"repository\": URL, \"ref\": \"refs/heads/main\"}",
            ));
        }
        let default_branch = ["/repository/default_branch", "/project/default_branch", "/defaultBranch"]
            .iter()
            .find_map(|name| text(name));
        Ok(Some(Push {
            places,
            reference: text("/ref").map(str::to_string),
            default_branch: default_branch.map(str::to_string),
        }))
    }

    /// Whether a source is what was pushed. In doubt it is: to look once too often does no harm.
    pub fn is_of(&self, source: &Source) -> bool {
        self.places.contains(&place(&source.repo_url)) && self.touches(&source.target_revision)
    }

    fn touches(&self, revision: &str) -> bool {
        let Some(reference) = self.reference.as_deref() else { return true };
        let branch = reference.strip_prefix("refs/heads/");
        let tag = reference.strip_prefix("refs/tags/");
        let short = branch.or(tag).unwrap_or(reference);
        if revision.is_empty() || revision == "HEAD" {
            return self.default_branch.as_deref().is_none_or(|default| default == short);
        }
        let is_range = tag.is_some() && revision.contains(RANGE);
        is_range || revision == reference || revision == short
    }
}

/// Host and path, without protocol, user and port: one repository has several URLs.
fn place(url: &str) -> String {
    let url = normalise(url);
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = host.split(':').next().unwrap_or(host);
    format!("{host}/{}", path.trim_matches('/'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use http::HeaderValue;
    use serde_json::json;

    use super::*;

    fn source(url: &str, revision: &str) -> Source {
        Source { repo_url: url.into(), path: "x".into(), target_revision: revision.into() }
    }

    fn read(header: Option<(&'static str, &'static str)>, event: Value) -> Option<Push> {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Push::read(&headers, &event).unwrap()
    }

    fn github() -> Push {
        let repository = json!({
            "clone_url": "https://GitHub.example/Shop/Web.git", "ssh_url": "git@github.example:Shop/Web.git",
            "html_url": "https://github.example/Shop/Web", "default_branch": "main",
        });
        read(Some(("x-github-event", "push")), json!({ "ref": "refs/heads/main", "repository": repository })).unwrap()
    }

    #[test]
    fn one_repository_has_several_urls() {
        for url in [
            "https://github.example/Shop/Web",
            "https://github.example/Shop/Web.git",
            "https://user@github.example:443/Shop/Web",
            "git@github.example:Shop/Web.git",
            "ssh://git@github.example:22/Shop/Web",
        ] {
            assert!(github().is_of(&source(url, "")), "{url}");
        }
        for url in
            ["https://github.example/shop/web", "https://github.example/Shop/Webs", "https://evil.example/Shop/Web"]
        {
            assert!(!github().is_of(&source(url, "")), "{url}");
        }
    }

    #[test]
    fn only_what_follows_the_branch_is_touched() {
        let of = |revision: &str| github().is_of(&source("https://github.example/Shop/Web", revision));
        assert!(of("") && of("HEAD") && of("main") && of("refs/heads/main"));
        assert!(!of("stage") && !of("0123456789012345678901234567890123456789") && !of("v1.*"));
        let tag = Push { reference: Some("refs/tags/v1.2".into()), ..github() };
        let of = |revision: &str| tag.is_of(&source("https://github.example/Shop/Web", revision));
        assert!(of("v1.2") && of("v1.*") && of("refs/tags/v1.2"));
        assert!(!of("") && !of("main"));
    }

    #[test]
    fn gitlab_and_anybody_else_are_understood() {
        let project = json!({ "git_http_url": "https://gitlab.example/shop/web.git", "default_branch": "trunk" });
        let push =
            read(Some(("x-gitlab-event", "Push Hook")), json!({ "ref": "refs/heads/trunk", "project": project }));
        assert!(push.unwrap().is_of(&source("https://gitlab.example/shop/web", "")));
        let push = read(None, json!({ "repository": "https://git.example/a", "ref": "refs/heads/main" })).unwrap();
        assert!(
            push.is_of(&source("https://git.example/a", "main")) && push.is_of(&source("https://git.example/a", ""))
        );
        assert_eq!(read(Some(("x-github-event", "ping")), json!({})), None);
    }

    #[test]
    fn an_event_without_a_repository_is_refused() {
        for event in
            [json!({}), json!([]), json!(null), json!({ "repository": 7 }), json!({ "repository": { "url": 1 } })]
        {
            assert_eq!(Push::read(&HeaderMap::new(), &event).unwrap_err().kind(), Kind::Invalid, "{event}");
        }
    }
}
