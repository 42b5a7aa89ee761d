//! Run of one case: a cluster, its operators, and the processes of pods.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use switchboard_kernel::state::{KernelState, Wait};
use tokio::time::Instant;

use crate::api::{ADMIN, get, send};
use crate::case::{PlugCase, PlugStep, objects};
use crate::expect::{difference, partial_difference};
use crate::kernel::CaseKernel;
use crate::kinds::{list_path, path};
use crate::kubelet::CaseKubelet;
use crate::server::{ApparatusServer, ReceivedCall, TestApparatus};

const POLL: Duration = Duration::from_millis(20);
/// Time without activity after which the operators count as idle.
const SETTLED_AFTER: Duration = Duration::from_millis(300);

pub struct CaseRun {
    client: Client,
    namespace: String,
    timeout: Duration,
    apparatus: TestApparatus,
    server: Option<ApparatusServer>,
    address: std::net::SocketAddr,
    kernel: Option<CaseKernel>,
    folder: tempfile::TempDir,
    saved: BTreeMap<String, Value>,
    _kubelet: CaseKubelet,
}

impl CaseRun {
    /// Starts the operators with the case's namespaces.
    pub async fn start(client: Client, name: &str, case: &PlugCase, patience: Duration) -> Self {
        let namespace = format!("case-{name}");
        let mut namespaces = vec![namespace.clone()];
        namespaces.extend(case.namespaces.iter().map(|ending| format!("{namespace}-{ending}")));
        for namespace in &namespaces {
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            send(&client, "POST", "/api/v1/namespaces", body).await.unwrap();
            if case.grants.as_deref() != Some("none") {
                grant(&client, namespace).await;
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let apparatus = TestApparatus::default();
        let server = ApparatusServer::start(apparatus.clone(), None).await;
        let gate = folder.path().join("gate");
        let kubelet = CaseKubelet::start(client.clone(), namespaces, apparatus.clone(), gate);
        let address = server.address;
        let kernel = Some(CaseKernel::start(&client, folder.path()));
        let (server, saved) = (Some(server), BTreeMap::new());
        Self {
            client,
            namespace,
            timeout: patience,
            apparatus,
            server,
            address,
            kernel,
            folder,
            saved,
            _kubelet: kubelet,
        }
    }

    /// Stops the operators.
    pub async fn stop(&mut self) {
        if let Some(kernel) = self.kernel.take() {
            kernel.stop().await;
        }
    }

    /// Performs a step and returns the unmet expectation, if any.
    pub async fn step(&mut self, step: &PlugStep) -> Result<(), String> {
        self.apply_step(step).await?;
        self.check_step(step).await?;
        let end = Instant::now() + self.timeout;
        loop {
            // Events of a step may be delayed.
            match self.check_events(step).await {
                Err(problem) if Instant::now() > end => return Err(problem),
                Err(_) => tokio::time::sleep(POLL).await,
                Ok(()) => break,
            }
        }
        self.save_fields(step).await;
        Ok(())
    }

    /// Returns the unfinished units with their reasons, for a failed case.
    pub async fn status_summary(&self) -> String {
        let state = self.state().await;
        let units = state.operators.iter().flat_map(|operator| operator.units.iter().map(move |unit| (operator, unit)));
        let lines = units.map(|(operator, unit)| {
            format!("\n    {} {}: {} {:?} {}", operator.name, unit.unit, unit.health, unit.wait, unit.reason)
        });
        lines.collect()
    }

    async fn apply_step(&mut self, step: &PlugStep) -> Result<(), String> {
        for object in &step.apply {
            let given = match object {
                Value::String(file) => objects(file),
                object => vec![object.clone()],
            };
            for object in given {
                self.apply(&object).await.map_err(|error| format!("could not apply {object}: {error}"))?;
            }
        }
        for (target, patch) in &step.patch {
            let patched = send(&self.client, "PATCH", &self.path(target), self.filled(patch)).await;
            match patched {
                Err(message) if !step.or_refused.is_empty() => check_words(&message, &step.or_refused)?,
                patched => drop(patched.map_err(|error| format!("could not patch {target}: {error}"))?),
            }
        }
        for target in &step.delete {
            let deleted = send(&self.client, "DELETE", &self.path(target), Value::Null).await;
            deleted.map_err(|error| format!("could not delete {target}: {error}"))?;
        }
        for target in &step.crash {
            let status = json!({"status": {"phase": "Failed", "reason": "Error"}});
            send(&self.client, "PATCH", &format!("{}/status", self.path(target)), status).await?;
        }
        if let Some(behaviour) = &step.apparatus {
            self.apparatus.set_behavior(behaviour);
            match behaviour.down {
                Some(true) => self.server = None,
                Some(false) => {
                    self.server = Some(ApparatusServer::start(self.apparatus.clone(), Some(self.address)).await)
                }
                None => {}
            }
        }
        if step.open_gate {
            std::fs::write(self.gate(), "").unwrap();
        }
        if step.restart {
            self.stop().await;
            self.kernel = Some(CaseKernel::start(&self.client, self.folder.path()));
        }
        if let Some(refused) = &step.refused {
            match self.apply(&refused.object).await {
                Ok(_) => return Err("was not refused".to_string()),
                Err(message) => check_words(&message, &refused.says)?,
            }
        }
        Ok(())
    }

    async fn check_step(&mut self, step: &PlugStep) -> Result<(), String> {
        let patience = step.within.map_or(self.timeout, Duration::from_secs);
        let end = Instant::now() + patience;
        loop {
            let mut problem = None;
            for (target, wanted) in &step.until {
                let object = get(&self.client, &self.path(target)).await;
                problem =
                    difference(&self.filled(wanted), object.as_ref()).map(|problem| format!("{target}: {problem}"));
                if problem.is_some() {
                    break;
                }
            }
            match problem {
                None => break,
                Some(problem) if Instant::now() > end => return Err(problem),
                Some(_) => tokio::time::sleep(POLL).await,
            }
        }
        if step.settle { self.until_idle().await } else { Ok(()) }
    }

    /// Waits until all units are idle.
    async fn until_idle(&self) -> Result<(), String> {
        let end = Instant::now() + self.timeout;
        let mut quiet_since = Instant::now();
        let mut last = None;
        while quiet_since.elapsed() < SETTLED_AFTER {
            let state = self.state().await;
            let now: Vec<(u64, u64)> = state.operators.iter().map(|one| (one.runs, one.writes)).collect();
            if is_busy(&state) || last.as_ref() != Some(&now) {
                quiet_since = Instant::now();
            }
            last = Some(now);
            if Instant::now() > end {
                return Err(format!("does not settle: {:?}", state.operators));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    async fn check_events(&mut self, step: &PlugStep) -> Result<(), String> {
        let writes: u64 = self.state().await.operators.iter().map(|one| one.writes).sum();
        if step.writes.is_some_and(|wanted| wanted != writes) || step.writes_at_most.is_some_and(|most| writes > most) {
            return Err(format!("{writes} writes"));
        }
        for (target, wanted) in &step.events {
            let (mut found, _) = self.events(target).await;
            let mut wanted = wanted.clone();
            found.sort();
            wanted.sort();
            if found != wanted {
                return Err(format!("the events of {target} are {found:?}, not {wanted:?}"));
            }
        }
        for target in &step.warned {
            if self.events(target).await.1 == 0 {
                return Err(format!("{target} has no warning"));
            }
        }
        self.check_calls(step)?;
        self.check_saved(step).await
    }

    fn check_calls(&mut self, step: &PlugStep) -> Result<(), String> {
        let lines = |calls: &[ReceivedCall]| calls.iter().map(|call| call.line.clone()).collect::<Vec<_>>();
        if let Some(wanted) = &step.calls {
            let news: Vec<ReceivedCall> =
                self.apparatus.new_calls(false).into_iter().filter(|call| !call.line.ends_with("/ping")).collect();
            let wanted: Vec<(String, Value)> = match self.filled(wanted) {
                Value::Array(items) => {
                    items.into_iter().filter_map(|one| one.as_object()?.clone().into_iter().next()).collect()
                }
                _ => news.iter().map(|call| (call.line.clone(), json!({}))).collect(),
            };
            if lines(&news) != wanted.iter().map(|(line, _)| line.clone()).collect::<Vec<_>>() {
                return Err(format!("the calls were {:?}", lines(&news)));
            }
            for (call, (line, body)) in news.iter().zip(&wanted) {
                if let Some(problem) = partial_difference(body, Some(&call.body)) {
                    return Err(format!("the body of {line}: {problem}"));
                }
            }
        }
        let clients = self.apparatus.clients();
        if step.clients.as_ref().is_some_and(|wanted| *wanted != clients) {
            return Err(format!("the clients are {clients:?}"));
        }
        let all = lines(&self.apparatus.calls());
        for (line, wanted) in &step.tally {
            let count = all.iter().filter(|one| *one == line).count() as u64;
            let holds = match wanted {
                Value::String(least) => count >= least.trim_end_matches('+').parse().unwrap(),
                wanted => wanted.as_u64() == Some(count),
            };
            if !holds {
                return Err(format!("{line} came {count} times, not {wanted}: {all:?}"));
            }
        }
        match (&step.last, all.last()) {
            (Some(wanted), last) if last != Some(wanted) => Err(format!("the last call was {last:?}")),
            _ => Ok(()),
        }
    }

    /// Saves fields for later steps.
    async fn save_fields(&mut self, step: &PlugStep) {
        if step.calls.is_some() {
            self.apparatus.new_calls(true);
        }
        for (name, field) in &step.save {
            let value = self.field(field).await;
            self.saved.insert(name.clone(), value);
        }
    }

    async fn check_saved(&mut self, step: &PlugStep) -> Result<(), String> {
        for (fields, wanted) in [(&step.same, true), (&step.differs, false)] {
            for (name, field) in fields {
                let value = self.field(field).await;
                if (self.saved.get(name) == Some(&value)) != wanted {
                    return Err(format!("{field} is {value}"));
                }
            }
        }
        for (kind, wanted) in &step.count {
            let (kind, beginning) = kind.split_once(' ').unwrap_or((kind, ""));
            let list = get(&self.client, &list_path(kind, &self.namespace)).await.unwrap();
            let names =
                list["items"].as_array().into_iter().flatten().filter_map(|one| one["metadata"]["name"].as_str());
            let names: Vec<&str> = names.filter(|name| name.starts_with(beginning)).collect();
            if names.len() != *wanted {
                return Err(format!("there are {} of {kind}: {names:?}", names.len()));
            }
        }
        for (field, wanted) in &step.length {
            let found = self.field(field).await.as_array().map(Vec::len);
            if found != Some(*wanted) {
                return Err(format!("{field} has {found:?} items"));
            }
        }
        Ok(())
    }

    /// Returns a field, specified as `Kind/name path.to.field`.
    async fn field(&self, text: &str) -> Value {
        let (target, field) = text.split_once(' ').unwrap();
        let object = get(&self.client, &self.path(target)).await.unwrap_or_default();
        object.pointer(&format!("/{}", field.replace('.', "/"))).cloned().unwrap_or_default()
    }

    /// Returns the reasons of an object's normal Events, and the number of warnings.
    async fn events(&self, target: &str) -> (Vec<String>, usize) {
        let parts: Vec<&str> = target.split('/').collect();
        let (kind, name) = (parts[0], parts[parts.len() - 1]);
        let namespace = self.fill(if parts.len() == 3 { parts[1] } else { &self.namespace });
        let list = get(&self.client, &list_path("Event", &namespace)).await.unwrap();
        let (mut reasons, mut warnings) = (Vec::new(), 0);
        for event in list["items"].as_array().into_iter().flatten() {
            let about = &event["involvedObject"];
            if about["kind"] != kind || about["name"] != name {
                continue;
            }
            match event["type"].as_str() {
                Some("Warning") => warnings += 1,
                _ => {
                    let count = event["count"].as_u64().unwrap_or(1);
                    (0..count).for_each(|_| reasons.push(event["reason"].as_str().unwrap_or_default().to_string()));
                }
            }
        }
        (reasons, warnings)
    }

    async fn state(&self) -> KernelState {
        self.kernel.as_ref().expect("the operators run").state().await
    }

    async fn apply(&self, object: &Value) -> Result<Value, String> {
        let mut object = self.filled(object);
        let kind = object["kind"].as_str().unwrap_or_default().to_string();
        let own = object["metadata"]["namespace"].as_str().unwrap_or(&self.namespace).to_string();
        object["metadata"]["namespace"] = own.clone().into();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{}/{name}?fieldManager={ADMIN}&force=true&fieldValidation=Strict", list_path(&kind, &own));
        send(&self.client, "APPLY", &path, object).await
    }

    fn path(&self, target: &str) -> String {
        path(&self.fill(target), &self.namespace)
    }

    fn gate(&self) -> PathBuf {
        self.folder.path().join("gate")
    }

    fn fill(&self, text: &str) -> String {
        text.replace("${case}", &self.namespace).replace("${apparatus}", &format!("http://{}", self.address))
    }

    fn filled(&self, value: &Value) -> Value {
        let text = self.fill(&value.to_string());
        serde_json::from_str(&text).expect("names and addresses need no escapes")
    }
}

async fn grant(client: &Client, namespace: &str) {
    let rbac = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}");
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "everything"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]});
    send(client, "POST", &format!("{rbac}/roles"), role).await.unwrap();
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "everything"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "everything"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}]});
    send(client, "POST", &format!("{rbac}/rolebindings"), binding).await.unwrap();
}

fn check_words(message: &str, words: &[String]) -> Result<(), String> {
    match words.iter().find(|word| !message.contains(*word)) {
        Some(word) => Err(format!("the refusal says nothing of `{word}`: {message}")),
        None => Ok(()),
    }
}

/// Whether a unit runs or is about to run. A unit that waits for a retry does not count.
fn is_busy(state: &KernelState) -> bool {
    let waits = state.operators.iter().flat_map(|operator| &operator.units).map(|unit| &unit.wait);
    waits.into_iter().any(|wait| !matches!(wait, Wait::NothingChanged | Wait::BackingOff { .. } | Wait::Paused(_)))
}
