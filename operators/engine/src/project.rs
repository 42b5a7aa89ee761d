//! Permissions of a project for repositories, destinations and kinds, with Argo CD's messages.

use serde_json::Value;
use switchboard_git::normalize;

use crate::destination::DestinationCluster;
use crate::glob;
use crate::kinds::GROUP;
use crate::object_fields::{list, text};

/// Parsed AppProject.
#[derive(Clone, Debug)]
pub struct Project {
    name: String,
    spec: Value,
    /// Namespace of the project's Argo CD.
    home: String,
}

impl Project {
    /// Reads an AppProject.
    pub fn from_object(object: &Value) -> Self {
        let (name, home) = (text(object, "/metadata/name"), text(object, "/metadata/namespace"));
        Self { name: name.to_string(), spec: object["spec"].clone(), home: home.to_string() }
    }

    /// Returns the project `default` that Argo CD installs, which allows everything. It is used if the namespace has no
    /// such object.
    pub fn default_project(home: &str) -> Self {
        let any = serde_json::json!({
            "sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        });
        Self { name: "default".to_string(), spec: any, home: home.to_string() }
    }

    /// Name of the project.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the project permits a repository. The comparison ignores case, as in Argo CD: addresses that a host may
    /// treat as one repository are one here, so that no spelling bypasses a denying pattern.
    ///
    /// A denying pattern permits nothing by itself, as documented by Argo CD. Argo CD's code treats it as permission
    /// for all others.
    pub fn permits_source(&self, url: &str) -> bool {
        let url = comparable(url);
        let mut any = false;
        for pattern in list(&self.spec, "/sourceRepos").filter_map(Value::as_str) {
            match pattern.strip_prefix('!') {
                Some(denied) if denied == "*" || glob::matches_address(&comparable(denied), &url) => return false,
                Some(_) => {}
                None => any |= pattern == "*" || glob::matches_address(&comparable(pattern), &url),
            }
        }
        any
    }

    /// Whether the project permits a namespace of a cluster as destination.
    pub fn permits_destination(&self, cluster: &DestinationCluster, namespace: &str) -> bool {
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

    /// Whether the project permits objects of a kind.
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

    /// Returns Argo CD's message why an object is denied, or `None` if it is permitted.
    pub fn denial_reason(
        &self,
        cluster: &DestinationCluster,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Option<String> {
        let namespaced = !namespace.is_empty();
        // Every namespace with Applications is an Argo CD of its own. An Application created in another namespace would
        // only be restricted by a project in that namespace.
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

/// Normalizes addresses and patterns for comparison.
fn comparable(url: &str) -> String {
    normalized(&url.to_lowercase())
}

/// Normalizes an address and removes trailing slashes.
pub(crate) fn normalized(url: &str) -> String {
    normalize(url).trim_end_matches('/').to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn project(spec: Value) -> Project {
        Project::from_object(&json!({"metadata": {"name": "team"}, "spec": spec}))
    }

    fn cluster(name: &str, server: &str) -> DestinationCluster {
        DestinationCluster { name: name.into(), server: server.into(), ..DestinationCluster::in_cluster() }
    }

    /// The GitOps Service writes repositories into projects in the normalized form.
    #[test]
    fn a_repository_over_ssh_is_permitted_in_each_of_its_forms() {
        let names = [
            "ssh://git@127.0.0.1:2222/Org/x.git",
            "ssh://host/x",
            "ssh://Host:2222/x.git",
            "git@host:org/X.git",
            "git@host:22/x",
            "https://Host/x.git",
        ];
        for url in names {
            for row in [url.to_string(), normalize(url)] {
                let one = project(json!({"sourceRepos": [row]}));
                for other in names {
                    assert_eq!(one.permits_source(other), url == other, "{row} permits {other}");
                }
                assert!(one.permits_source(&normalize(url)));
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

    /// Many hosts treat `Secret` and `secret` as one repository.
    #[test]
    fn no_pattern_is_bypassed_by_case() {
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
    fn repositories_are_permitted_like_in_argo_cd() {
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
            // Differs from Argo CD, whose code permits everything that a pattern does not deny.
            (json!(["!https://github.com/argoproj/*"]), "https://github.com/other/app.git", false),
            // Differs from Argo CD, where this `*` stops at a slash and would deny nothing.
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
    fn argo_cd_objects_are_denied_outside_of_their_namespace() {
        let any = Project::default_project("argocd");
        let here = DestinationCluster::in_cluster();
        assert_eq!(
            any.denial_reason(&here, "argoproj.io", "Application", "argocd", "more"),
            None,
            "applications of applications"
        );
        for kind in ["Application", "AppProject"] {
            let told = any.denial_reason(&here, "argoproj.io", kind, "shop", "mine");
            assert_eq!(told, Some(format!("resource argoproj.io:{kind} is not permitted in project default")));
        }
        let away =
            DestinationCluster { secret: Some(("argocd".into(), "far".into())), ..cluster("far", "https://far") };
        assert_eq!(
            any.denial_reason(&away, "argoproj.io", "Application", "shop", "mine"),
            None,
            "no cluster serves it"
        );
    }

    #[test]
    fn namespaced_kinds_are_allowed_by_default_and_cluster_scoped_ones_are_not() {
        let plain = project(json!({"destinations": [{"server": "*", "namespace": "*"}]}));
        let here = cluster("in-cluster", "https://kubernetes.default.svc");
        assert_eq!(plain.denial_reason(&here, "", "ConfigMap", "shop", "a"), None);
        assert_eq!(
            plain.denial_reason(&here, "", "Namespace", "", "shop").as_deref(),
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
            strict.denial_reason(&here, "", "ConfigMap", "shop", "a").as_deref(),
            Some("namespace shop is not permitted in project 'team'")
        );
    }
}
