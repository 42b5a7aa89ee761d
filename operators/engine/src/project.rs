//! What a project allows: repositories, destinations, kinds. In Argo CD's words.

use serde_json::Value;
use switchboard_git::normalise;

use crate::destination::Cluster;
use crate::field::{list, text};
use crate::glob;
use crate::kinds::GROUP;

/// A project, read.
#[derive(Clone, Debug)]
pub struct Project {
    name: String,
    spec: Value,
    /// The namespace of its Argo CD.
    home: String,
}

impl Project {
    /// Of an AppProject.
    pub fn of(object: &Value) -> Self {
        let (name, home) = (text(object, "/metadata/name"), text(object, "/metadata/namespace"));
        Self { name: name.to_string(), spec: object["spec"].clone(), home: home.to_string() }
    }

    /// What Argo CD installs under the name `default`: everything is allowed. It stands in while there is no such object in the
    /// namespace of an Argo CD.
    pub fn default_project(home: &str) -> Self {
        let any = serde_json::json!({
            "sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        });
        Self { name: "default".to_string(), spec: any, home: home.to_string() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a repository may be deployed from: as Argo CD has it, whatever the case of its letters. What a host takes for two
    /// repositories is one here, so that none is reached past a pattern that denies it.
    ///
    /// A pattern that denies permits nothing, as Argo CD's manual has it. Its code takes one for a permission of all others.
    pub fn permits_source(&self, url: &str) -> bool {
        let url = compared(url);
        let mut any = false;
        for pattern in list(&self.spec, "/sourceRepos").filter_map(Value::as_str) {
            match pattern.strip_prefix('!') {
                Some(denied) if denied == "*" || glob::matches_address(&compared(denied), &url) => return false,
                Some(_) => {}
                None => any |= pattern == "*" || glob::matches_address(&compared(pattern), &url),
            }
        }
        any
    }

    /// Whether a namespace of a cluster may be deployed to.
    pub fn permits_destination(&self, cluster: &Cluster, namespace: &str) -> bool {
        let mut any = false;
        for item in list(&self.spec, "/destinations") {
            let (name, server, space) = (text(item, "/name"), text(item, "/server"), text(item, "/namespace"));
            let by_name = !cluster.name.is_empty() && matches(name, &cluster.name);
            let by_server = !cluster.server.is_empty() && matches(server, &cluster.server);
            let within = matches(space, namespace);
            if (by_name || by_server) && within {
                any = true;
            } else if (!by_name && denies(name))
                || (!by_server && denies(server) && within)
                || (!within && denies(space) && by_server)
            {
                return false;
            }
        }
        any
    }

    /// Whether objects of a kind may be deployed.
    pub fn permits_kind(&self, group: &str, kind: &str, name: &str, namespaced: bool) -> bool {
        let among = |field: &str| {
            list(&self.spec, field).any(|item| {
                matches(text(item, "/group"), group)
                    && matches(text(item, "/kind"), kind)
                    && (text(item, "/name").is_empty() || matches(text(item, "/name"), name))
            })
        };
        if namespaced {
            let listed = self.spec["namespaceResourceWhitelist"].is_array();
            return (!listed || among("/namespaceResourceWhitelist")) && !among("/namespaceResourceBlacklist");
        }
        among("/clusterResourceWhitelist") && !among("/clusterResourceBlacklist")
    }

    /// Why an object may not be deployed, in Argo CD's words; nothing when it may.
    pub fn refuses(&self, cluster: &Cluster, group: &str, kind: &str, namespace: &str, name: &str) -> Option<String> {
        let namespaced = !namespace.is_empty();
        // Every namespace with Applications is an Argo CD of its own: one made elsewhere would obey no project but the one beside it.
        let is_elsewhere = group == GROUP && cluster.secret.is_none() && namespace != self.home;
        if is_elsewhere || !self.permits_kind(group, kind, name, namespaced) {
            return Some(format!("resource {group}:{kind} is not permitted in project {}", self.name));
        }
        if namespaced && !self.permits_destination(cluster, namespace) {
            return Some(format!("namespace {namespace} is not permitted in project '{}'", self.name));
        }
        None
    }
}

fn denies(pattern: &str) -> bool {
    pattern.starts_with('!')
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_prefix('!') {
        Some(not) => !glob::matches(not, text),
        None => pattern == "*" || glob::matches(pattern, text),
    }
}

/// The form in which a project's patterns and addresses are compared.
fn compared(url: &str) -> String {
    normalised(&url.to_lowercase())
}

/// The form in which addresses are compared here: a slash at the end makes no other repository.
pub(crate) fn normalised(url: &str) -> String {
    normalise(url).trim_end_matches('/').to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn project(spec: Value) -> Project {
        Project::of(&json!({"metadata": {"name": "team"}, "spec": spec}))
    }

    fn cluster(name: &str, server: &str) -> Cluster {
        Cluster { name: name.into(), server: server.into(), ..Cluster::here() }
    }

    /// What the service writes into a project is the repository in the form in which they are compared.
    #[test]
    fn a_repository_over_ssh_is_permitted_under_each_of_its_names() {
        let names = [
            "ssh://git@127.0.0.1:2222/Org/x.git",
            "ssh://host/x",
            "ssh://Host:2222/x.git",
            "git@host:org/X.git",
            "git@host:22/x",
            "https://Host/x.git",
        ];
        for url in names {
            for row in [url.to_string(), normalise(url)] {
                let one = project(json!({"sourceRepos": [row]}));
                for other in names {
                    assert_eq!(one.permits_source(other), url == other, "{row} permits {other}");
                }
                assert!(one.permits_source(&normalise(url)));
            }
        }
        let both = project(json!({"sourceRepos": ["git@host:org/*"]}));
        assert!(both.permits_source("ssh://git@HOST/org/a.git") && both.permits_source("git@host:org/b"));
        assert!(!both.permits_source("git@host:other/b") && !both.permits_source("https://host/org/a"));
    }

    #[test]
    fn repositories_are_allowed_by_pattern_and_denied_by_exclamation_mark() {
        let team = project(json!({"sourceRepos": ["https://git.example/team/*", "!https://git.example/team/secret"]}));
        assert!(team.permits_source("https://Git.Example/team/app.git"));
        assert!(!team.permits_source("https://git.example/team/secret.git"));
        assert!(!team.permits_source("https://git.example/other/app"));
        assert!(!project(json!({})).permits_source("https://git.example/team/app"));
        assert!(Project::default_project("argocd").permits_source("ssh://any"));
    }

    /// Many hosts take `Secret` and `secret` for one repository.
    #[test]
    fn no_pattern_is_passed_by_capitals() {
        let team = project(json!({"sourceRepos": ["https://git.example/Team/*", "!https://git.example/team/secret"]}));
        assert!(
            team.permits_source("https://git.example/team/App.git")
                && team.permits_source("HTTPS://GIT.EXAMPLE/TEAM/B")
        );
        for url in [
            "https://git.example/team/Secret",
            "https://git.example/TEAM/SECRET.GIT",
            "https://git.example/Team/secret/",
        ] {
            assert!(!team.permits_source(url), "{url}");
        }
        let denied = project(json!({"sourceRepos": ["*", "!git@Host:Org/x"]}));
        assert!(!denied.permits_source("ssh://git@host/ORG/X.git") && denied.permits_source("git@host:org/y"));
    }

    /// Cases of Argo CD's own tests of `IsSourcePermitted`.
    #[test]
    fn repositories_are_permitted_as_argo_cd_permits_them() {
        for (patterns, url, wanted) in [
            (json!(["ssh://git@GITHUB.com:argoproj/test"]), "ssh://git@github.com:argoproj/test", true),
            (json!(["https://github.com/argoproj/*"]), "https://github.com/argoproj/argoproj.git", true),
            (json!(["https://github.com/argoproj/*.git"]), "https://github.com/argoproj1/test2.git", false),
            (json!(["https://github.com/argoproj/foo"]), "https://github.com/argoproj/foo1", false),
            (json!(["https://gitlab.com/group/*"]), "https://gitlab.com/group/repo/owner", false),
            (json!(["https://gitlab.com/group/*/*"]), "https://gitlab.com/group/repo/owner", true),
            (json!(["https://gitlab.com/group/**"]), "https://gitlab.com/group/sub-group/repo/owner", true),
            (json!(["!https://github.com/argoproj/*"]), "https://github.com/argoproj/argoproj.git", false),
            (json!(["!https://gitlab.com/group/**"]), "https://gitlab.com/group/sub-group/repo/owner", false),
            (json!(["!https://github.com/argoproj/*.git", "*"]), "https://github.com/argoproj1/test2.git", true),
            // Otherwise than in Argo CD: its code permits what a pattern does not deny,
            (json!(["!https://github.com/argoproj/*"]), "https://github.com/other/app.git", false),
            // and its star ends at a slash here, too, so that nothing would be denied.
            (json!(["*", "!*"]), "https://github.com/argoproj/test", false),
        ] {
            assert_eq!(project(json!({"sourceRepos": patterns})).permits_source(url), wanted, "{patterns} {url}");
        }
    }

    #[test]
    fn destinations_are_allowed_by_name_or_by_server() {
        let team = project(json!({"destinations": [
            {"name": "managed-env-1", "namespace": "*"}, {"server": "https://kubernetes.default.svc", "namespace": "shop-*"},
        ]}));
        let here = cluster("in-cluster", "https://kubernetes.default.svc");
        assert!(team.permits_destination(&here, "shop-a") && !team.permits_destination(&here, "kube-system"));
        assert!(team.permits_destination(&cluster("managed-env-1", "https://x"), "any"));
        assert!(!team.permits_destination(&cluster("managed-env-2", "https://y"), "any"));
        let denied = project(json!({"destinations": [
            {"server": "*", "namespace": "*"}, {"server": "*", "namespace": "!kube-system"},
        ]}));
        assert!(denied.permits_destination(&here, "shop") && !denied.permits_destination(&here, "kube-system"));
    }

    #[test]
    fn an_argo_cd_is_made_by_nobody_who_deploys() {
        let any = Project::default_project("argocd");
        let here = Cluster::here();
        assert_eq!(
            any.refuses(&here, "argoproj.io", "Application", "argocd", "more"),
            None,
            "applications of applications"
        );
        for kind in ["Application", "AppProject"] {
            let told = any.refuses(&here, "argoproj.io", kind, "shop", "mine");
            assert_eq!(told, Some(format!("resource argoproj.io:{kind} is not permitted in project default")));
        }
        let away = Cluster { secret: Some(("argocd".into(), "far".into())), ..cluster("far", "https://far") };
        assert_eq!(any.refuses(&away, "argoproj.io", "Application", "shop", "mine"), None, "nobody here serves it");
    }

    #[test]
    fn kinds_of_namespaces_are_allowed_unless_said_and_cluster_wide_ones_only_if_said() {
        let plain = project(json!({"destinations": [{"server": "*", "namespace": "*"}]}));
        let here = cluster("in-cluster", "https://kubernetes.default.svc");
        assert_eq!(plain.refuses(&here, "", "ConfigMap", "shop", "a"), None);
        assert_eq!(
            plain.refuses(&here, "", "Namespace", "", "shop").as_deref(),
            Some("resource :Namespace is not permitted in project team")
        );
        let strict = project(json!({
            "namespaceResourceWhitelist": [{"group": "", "kind": "ConfigMap"}], "namespaceResourceBlacklist": [],
            "clusterResourceWhitelist": [{"group": "", "kind": "Namespace", "name": "shop-*"}],
        }));
        assert!(!strict.permits_kind("", "Secret", "a", true) && strict.permits_kind("", "ConfigMap", "a", true));
        assert!(
            strict.permits_kind("", "Namespace", "shop-1", false) && !strict.permits_kind("", "Namespace", "x", false)
        );
        assert_eq!(
            strict.refuses(&here, "", "ConfigMap", "shop", "a").as_deref(),
            Some("namespace shop is not permitted in project 'team'")
        );
    }
}
