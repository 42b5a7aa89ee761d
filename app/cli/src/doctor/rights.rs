//! Whether operators may read and write what they declare, asked of the clusters themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_kernel::config::Config;
use switchboard_kernel::operator::{Declared, Operator};
use switchboard_kernel::place::ClusterName;
use switchboard_kernel::resource::Resource;

use super::cluster::deepest;
use super::report::{Check, Report};
use crate::failure::tell;
use crate::guests::{self, Clusters};
use crate::run;

/// What a read takes.
const READ: [&str; 2] = ["list", "watch"];
/// What a write takes: a look, and the write.
const WRITE: [&str; 3] = ["get", "create", "patch"];
/// How many questions are asked; one for each verb of each kind.
const MAX_QUESTIONS: usize = 500;

/// One question to an API server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    cluster: ClusterName,
    /// Whom to ask as; as the kernel itself when empty.
    user: String,
    resource: Resource,
    namespace: String,
    name: String,
    verb: &'static str,
}

/// Asks for every operator of a configuration, and for those that are hosted beside them.
pub async fn check(config: &Config, clusters: &Clusters, beside: Vec<Arc<dyn Operator>>, report: &mut Report) {
    let mut operators: Vec<_> = run::hosted(config).into_iter().map(|(operator, _)| operator).collect();
    // What a program reads and writes, only itself can say.
    if config.clusters.keys().all(|name| clusters.clients.contains_key(name)) {
        let learned = match tempfile::tempdir() {
            Ok(folder) => guests::learn(config, clusters, folder.path()).await.map(|guests| guests.operators()),
            Err(error) => Err(error.into()),
        };
        match learned {
            Ok(guests) => operators.extend(guests),
            Err(error) => report.add(Check::failed("operators", &tell(&*error))),
        }
    }
    let mut answered: BTreeMap<Question, Result<bool, String>> = BTreeMap::new();
    for operator in operators.into_iter().chain(beside) {
        let check = format!("operator {}", operator.name());
        report.add(one(&check, &operator, config, clusters, &mut answered).await);
    }
}

async fn one(
    check: &str,
    operator: &Arc<dyn Operator>,
    config: &Config,
    clusters: &Clusters,
    answered: &mut BTreeMap<Question, Result<bool, String>>,
) -> Check {
    let (mut denied, mut unknown, mut failed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for question in questions(operator, config) {
        let Some(client) = clusters.clients.get(&question.cluster) else {
            unknown.insert(format!("cluster {} does not answer", question.cluster));
            continue;
        };
        if !answered.contains_key(&question) && answered.len() < MAX_QUESTIONS {
            let answer = ask(client, &question).await;
            answered.insert(question.clone(), answer);
        }
        match answered.get(&question) {
            Some(Ok(true)) => {}
            Some(Ok(false)) => drop(denied.insert(question)),
            Some(Err(error)) => drop(failed.insert(error.clone())),
            None => drop(unknown.insert(format!("more than {MAX_QUESTIONS} questions were not asked"))),
        }
    }
    if !denied.is_empty() {
        return told(check, &denied);
    }
    if let Some(why) = failed.first() {
        let hint = "the kernel's own account needs `create` on selfsubjectaccessreviews, and `impersonate` on the service accounts that operators write as";
        return Check::wrong(check, format!("could not ask whether it may do all it declares: {why}"), hint);
    }
    match unknown.first() {
        Some(why) => {
            let found = format!("it is not known whether it may do all it declares: {why}");
            Check::warning(check, found, "see to the clusters first, then look again")
        }
        None => Check::ok(check, "may read and write all it declares"),
    }
}

fn told(check: &str, denied: &BTreeSet<Question>) -> Check {
    let mut lines: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for question in denied {
        let (resource, cluster) = (&question.resource, &question.cluster);
        let kind = if *resource == Resource::EVERY { "every kind".to_string() } else { resource.to_string() };
        let within =
            if question.namespace.is_empty() { String::new() } else { format!(" in namespace {}", question.namespace) };
        let who = if question.user.is_empty() { String::new() } else { format!(", as {}", question.user) };
        lines.entry(format!("{kind}{within} of cluster {cluster}{who}")).or_default().push(question.verb);
    }
    let found: Vec<String> = lines.iter().map(|(what, verbs)| format!("may not {} {what}", verbs.join(", "))).collect();
    let every = denied.iter().all(|question| question.resource == Resource::EVERY);
    if every {
        // Whoever may write kinds that users name is rarely given all kinds.
        let hint = "it can do its work only for kinds that it, or the service accounts it writes as, may write; `why` names the others";
        return Check::warning(check, found.join("\n"), hint);
    }
    let hint = "grant it with a ClusterRole and a binding, or through `rbac.rules` of the Helm chart; `kubectl auth can-i VERB KIND` asks the same";
    Check::wrong(check, found.join("\n"), hint)
}

/// What an operator must be allowed to do.
fn questions(operator: &Arc<dyn Operator>, config: &Config) -> BTreeSet<Question> {
    let declaration = operator.declaration();
    let user = declaration.service_account.as_ref().map(|account| account.user()).unwrap_or_default();
    let mut questions = BTreeSet::new();
    let mut ask = |declared: &Declared, user: &str, verbs: &[&'static str]| {
        let namespaces = config.topology.namespaces(declared.place);
        let namespace = declared.namespace.as_deref().map(|name| namespaces.real(name).into_owned());
        for verb in verbs {
            questions.insert(Question {
                cluster: operator.home().unwrap_or_else(|| config.topology.cluster(declared.place).clone()),
                user: user.to_string(),
                resource: declared.resource.clone(),
                namespace: namespace.clone().unwrap_or_default(),
                name: declared.name.as_deref().filter(|name| !name.ends_with('*')).unwrap_or_default().to_string(),
                verb,
            });
        }
    };
    // The cache is the kernel's own; writes are the operator's.
    declaration.readable().iter().for_each(|declared| ask(declared, "", &READ));
    declaration.outputs.iter().for_each(|declared| ask(declared, &user, &WRITE));
    questions
}

/// A SelfSubjectAccessReview, as whom the operator writes.
async fn ask(client: &kube::Client, question: &Question) -> Result<bool, String> {
    // A list or a watch of one object is asked for without its name.
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
            Err(format!("the kernel may not write as {}: it lacks the right to impersonate it", question.user))
        }
        Err(error) => Err(deepest(&error)),
    }
}
