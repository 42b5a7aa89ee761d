//! Push events in the formats of GitHub, GitLab and others, and the applications that deploy the pushed revision.

use http::HeaderMap;
use serde_json::Value;
use switchboard_http::problem::{ProblemDetails, ProblemKind};

use crate::deployment::kind::DeploymentSource;
use crate::repository::normalize;

/// Event fields that hold a repository URL, for all event formats.
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

/// Headers that hold the event type.
const EVENTS: [&str; 4] = ["x-github-event", "x-gitlab-event", "x-gitea-event", "x-forgejo-event"];

/// Characters of a version range, which can match a tag.
const RANGE: &[char] = &['*', '>', '<', '^', '~', '='];

/// Push to a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Push {
    /// Normalized keys of the repository's URLs, independent of the protocol.
    repositories: Vec<String>,
    /// Full name of the branch or tag; `None` if the event has none.
    reference: Option<String>,
    /// The repository's default branch.
    default_branch: Option<String>,
}

impl Push {
    /// Reads the push of an event; `None` for other events, such as GitHub's ping.
    pub fn read(headers: &HeaderMap, event: &Value) -> Result<Option<Push>, ProblemDetails> {
        let kind = EVENTS.iter().find_map(|name| headers.get(*name));
        let kind = kind.and_then(|value| value.to_str().ok()).unwrap_or("push").to_ascii_lowercase();
        if !matches!(kind.as_str(), "push" | "push hook" | "tag push hook" | "create") {
            return Ok(None);
        }
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        let mut repositories: Vec<String> = URLS.iter().filter_map(|url| text(url)).map(repository_key).collect();
        // The generic format has a single field for the repository.
        repositories.extend(text("/repository").map(repository_key));
        repositories.sort();
        repositories.dedup();
        if repositories.is_empty() {
            return Err(ProblemDetails::new(ProblemKind::Invalid, "the event has no repository").hint(
                "send an event of GitHub, GitLab or Gitea, or {\"repository\": URL, \"ref\": \"refs/heads/main\"}",
            ));
        }
        let default_branch = ["/repository/default_branch", "/project/default_branch", "/defaultBranch"]
            .iter()
            .find_map(|name| text(name));
        Ok(Some(Push {
            repositories,
            reference: text("/ref").map(str::to_string),
            default_branch: default_branch.map(str::to_string),
        }))
    }

    /// Returns whether the push can change a source. An uncertain match counts as a match: a superfluous refresh is
    /// harmless.
    pub fn matches(&self, source: &DeploymentSource) -> bool {
        self.repositories.contains(&repository_key(&source.repo_url)) && self.includes_revision(&source.target_revision)
    }

    fn includes_revision(&self, revision: &str) -> bool {
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

/// Host and path of a URL, without protocol, user and port, because one repository has several URLs.
fn repository_key(url: &str) -> String {
    let url = normalize(url);
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

    fn source(url: &str, revision: &str) -> DeploymentSource {
        DeploymentSource { repo_url: url.into(), path: "x".into(), target_revision: revision.into() }
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
            assert!(github().matches(&source(url, "")), "{url}");
        }
        for url in
            ["https://github.example/shop/web", "https://github.example/Shop/Webs", "https://evil.example/Shop/Web"]
        {
            assert!(!github().matches(&source(url, "")), "{url}");
        }
    }

    #[test]
    fn a_push_matches_only_sources_that_follow_the_branch() {
        let of = |revision: &str| github().matches(&source("https://github.example/Shop/Web", revision));
        assert!(of("") && of("HEAD") && of("main") && of("refs/heads/main"));
        assert!(!of("stage") && !of("0123456789012345678901234567890123456789") && !of("v1.*"));
        let tag = Push { reference: Some("refs/tags/v1.2".into()), ..github() };
        let of = |revision: &str| tag.matches(&source("https://github.example/Shop/Web", revision));
        assert!(of("v1.2") && of("v1.*") && of("refs/tags/v1.2"));
        assert!(!of("") && !of("main"));
    }

    #[test]
    fn events_of_gitlab_and_generic_senders_are_parsed() {
        let project = json!({ "git_http_url": "https://gitlab.example/shop/web.git", "default_branch": "trunk" });
        let push =
            read(Some(("x-gitlab-event", "Push Hook")), json!({ "ref": "refs/heads/trunk", "project": project }));
        assert!(push.unwrap().matches(&source("https://gitlab.example/shop/web", "")));
        let push = read(None, json!({ "repository": "https://git.example/a", "ref": "refs/heads/main" })).unwrap();
        assert!(
            push.matches(&source("https://git.example/a", "main"))
                && push.matches(&source("https://git.example/a", ""))
        );
        assert_eq!(read(Some(("x-github-event", "ping")), json!({})), None);
    }

    #[test]
    fn an_event_without_a_repository_is_rejected() {
        for event in
            [json!({}), json!([]), json!(null), json!({ "repository": 7 }), json!({ "repository": { "url": 1 } })]
        {
            assert_eq!(Push::read(&HeaderMap::new(), &event).unwrap_err().kind(), ProblemKind::Invalid, "{event}");
        }
    }
}
