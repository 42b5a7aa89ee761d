//! Check that operators may read and write the types they declare, by access reviews of the clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_kernel::config::Config;
use switchboard_kernel::operator::{AccessRule, Operator};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::topology::ClusterName;
use switchboard_object::causes::root_cause;

use super::report::{DoctorCheck, DoctorReport};
use crate::count::counted;
use crate::failure::message;
use crate::hosted::{self, ClusterClients};
use crate::run;

/// Verbs that a read needs.
const READ: [&str; 2] = ["list", "watch"];
/// Verbs that a write needs: the read before it, and the write.
const WRITE: [&str; 3] = ["get", "create", "patch"];
/// Maximum number of access reviews; each verb of each type needs one.
const MAX_QUESTIONS: usize = 500;

/// One access review.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AccessQuery {
    cluster: ClusterName,
    /// User to impersonate; empty for the kernel's own user.
    user: String,
    resource: Resource,
    namespace: String,
    name: String,
    verb: &'static str,
}

/// Checks every operator of a configuration, and the operators of the services hosted with them.
pub async fn check(
    config: &Config,
    clusters: &ClusterClients,
    beside: Vec<Arc<dyn Operator>>,
    report: &mut DoctorReport,
) {
    let mut operators: Vec<_> = run::configured_operators(config).into_iter().map(|(operator, _)| operator).collect();
    // Only the program itself knows the types it reads and writes.
    if config.clusters.keys().all(|name| clusters.clients.contains_key(name)) {
        let learned = match tempfile::tempdir() {
            Ok(folder) => hosted::load(config, clusters, folder.path()).await.map(|programs| programs.operators()),
            Err(error) => Err(error.into()),
        };
        match learned {
            Ok(programs) => operators.extend(programs),
            Err(error) => report.add(DoctorCheck::failed("operators", &message(&*error))),
        }
    }
    let mut answered: BTreeMap<AccessQuery, Result<bool, String>> = BTreeMap::new();
    let mut unchecked: BTreeMap<String, usize> = BTreeMap::new();
    for operator in operators.into_iter().chain(beside) {
        let check = format!("operator {}", operator.name());
        match check_operator(&check, &operator, config, clusters, &mut answered).await {
            Ok(check) => report.add(check),
            Err(why) => *unchecked.entry(why).or_default() += 1,
        }
    }
    for (why, count) in unchecked {
        let found = format!("unknown for {}: {why}", counted(count, "operator"));
        report.add(DoctorCheck::warning("permissions", found, "fix the clusters first, then run the check again"));
    }
}

/// Checks one operator. An error is the reason why its permissions are unknown.
async fn check_operator(
    check: &str,
    operator: &Arc<dyn Operator>,
    config: &Config,
    clusters: &ClusterClients,
    answered: &mut BTreeMap<AccessQuery, Result<bool, String>>,
) -> Result<DoctorCheck, String> {
    let (mut denied, mut unknown, mut failed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for question in required_access(operator, config) {
        let Some(client) = clusters.clients.get(&question.cluster) else {
            unknown.insert(format!("cluster {} does not answer", question.cluster));
            continue;
        };
        if !answered.contains_key(&question) && answered.len() < MAX_QUESTIONS {
            let answer = review(client, &question).await;
            answered.insert(question.clone(), answer);
        }
        match answered.get(&question) {
            Some(Ok(true)) => {}
            Some(Ok(false)) => drop(denied.insert(question)),
            Some(Err(error)) => drop(failed.insert(error.clone())),
            None => drop(unknown.insert(format!("more than {MAX_QUESTIONS} access reviews are needed"))),
        }
    }
    if !denied.is_empty() {
        return Ok(denied_check(check, &denied));
    }
    if let Some(why) = failed.first() {
        let hint = "grant the kernel's user `create` on selfsubjectaccessreviews, and `impersonate` on the service accounts of operators";
        return Ok(DoctorCheck::error(check, format!("could not review its permissions: {why}"), hint));
    }
    match unknown.pop_first() {
        Some(why) => Err(why),
        None => Ok(DoctorCheck::ok(check, "may read and write all declared types")),
    }
}

fn denied_check(check: &str, denied: &BTreeSet<AccessQuery>) -> DoctorCheck {
    let mut lines: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for question in denied {
        let (resource, cluster) = (&question.resource, &question.cluster);
        let kind = if *resource == Resource::ANY { "every kind".to_string() } else { resource.to_string() };
        let within =
            if question.namespace.is_empty() { String::new() } else { format!(" in namespace {}", question.namespace) };
        let identity = if question.user.is_empty() { String::new() } else { format!(", as {}", question.user) };
        lines.entry(format!("{kind}{within} of cluster {cluster}{identity}")).or_default().push(question.verb);
    }
    let found: Vec<String> = lines.iter().map(|(what, verbs)| format!("may not {} {what}", verbs.join(", "))).collect();
    let every = denied.iter().all(|question| question.resource == Resource::ANY);
    if every {
        // An operator that writes kinds chosen by users is rarely granted all kinds.
        let hint = "it works only for kinds that its user or service accounts may write; `why` shows the others";
        return DoctorCheck::warning(check, found.join("\n"), hint);
    }
    let hint = "grant the permission with a ClusterRole and a binding, or with `rbac.rules` of the Helm chart; check it with `kubectl auth can-i VERB KIND`";
    DoctorCheck::error(check, found.join("\n"), hint)
}

/// Returns the access reviews for the declared inputs and outputs of an operator.
fn required_access(operator: &Arc<dyn Operator>, config: &Config) -> BTreeSet<AccessQuery> {
    let declaration = operator.declaration();
    let user = declaration.service_account.as_ref().map(|account| account.user()).unwrap_or_default();
    let mut questions = BTreeSet::new();
    let mut require = |declared: &AccessRule, user: &str, verbs: &[&'static str]| {
        let namespaces = config.topology.namespaces(declared.cluster_type);
        let namespace = declared.namespace.as_deref().map(|name| namespaces.to_cluster(name).into_owned());
        for verb in verbs {
            questions.insert(AccessQuery {
                cluster: operator
                    .home_cluster()
                    .unwrap_or_else(|| config.topology.cluster(declared.cluster_type).clone()),
                user: user.to_string(),
                resource: declared.resource.clone(),
                namespace: namespace.clone().unwrap_or_default(),
                name: declared.name.as_deref().filter(|name| !name.ends_with('*')).unwrap_or_default().to_string(),
                verb,
            });
        }
    };
    // Reads use the kernel's user, since the kernel fills the cache. Writes use the operator's user.
    declaration.readable().iter().for_each(|declared| require(declared, "", &READ));
    declaration.outputs.iter().for_each(|declared| require(declared, &user, &WRITE));
    questions
}

/// Creates a SelfSubjectAccessReview as the user that the operator writes as.
async fn review(client: &kube::Client, question: &AccessQuery) -> Result<bool, String> {
    // A list or watch of one object carries no name in its review.
    let name = if READ.contains(&question.verb) || question.verb == "create" { "" } else { &question.name };
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "group": question.resource.group, "version": question.resource.version,
            "resource": question.resource.plural, "namespace": question.namespace,
            "name": name, "verb": question.verb,
        }},
    });
    let mut request = http::Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
        .header("Content-Type", "application/json");
    if !question.user.is_empty() {
        request = request.header("Impersonate-User", &question.user);
    }
    let request = request.body(body.to_string().into_bytes()).map_err(|error| error.to_string())?;
    match client.request::<Value>(request).await {
        Ok(answer) => Ok(answer["status"]["allowed"] == true),
        Err(kube::Error::Api(status)) if status.code == 403 && !question.user.is_empty() => {
            Err(format!("the kernel may not write as {}: it lacks the permission to impersonate", question.user))
        }
        Err(error) => Err(root_cause(&error)),
    }
}
