//! Runs the steps of a case against one server.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};

use crate::case::{CaseAnswer, CaseStep, ConformanceCase};
use crate::compare;
use crate::mask::AnswerMask;
use crate::target::TestTarget;

/// Timeout for watch events.
const EVENT_WAIT: Duration = Duration::from_secs(10);
/// Interval between requests of an `until`.
const POLL_PAUSE: Duration = Duration::from_millis(50);

/// Error of a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The server did not answer.
    #[error("step {step} got no answer: {cause}")]
    NoAnswer {
        /// Step.
        step: String,
        /// Error of the transport.
        cause: String,
    },
    /// The step is invalid.
    #[error("step {0} is not understood")]
    Step(String),
    /// An `until` condition was not met in time.
    #[error("step {step} waited in vain, last answer: {last}")]
    UntilTimedOut {
        /// Step.
        step: String,
        /// Last answer.
        last: String,
    },
    /// The pointer of a `save` has no value.
    #[error("step {step} has no {pointer} to save in {body}")]
    Save {
        /// Step.
        step: String,
        /// JSON pointer.
        pointer: String,
        /// Body of the answer.
        body: String,
    },
}

struct OpenWatch {
    body: Body,
    rest: Vec<u8>,
}

struct ConformanceRun<'a> {
    target: &'a TestTarget,
    variables: BTreeMap<String, String>,
    watches: BTreeMap<String, OpenWatch>,
    mask: AnswerMask,
}

/// Runs `case` with the unique name part `id`.
///
/// If the case uses a namespace, it is created before the run, and deleted afterwards without waiting.
pub async fn run(
    case: &ConformanceCase,
    target: &TestTarget,
    id: &str,
) -> Result<Vec<CaseAnswer>, (Vec<CaseAnswer>, RunError)> {
    let mut variables = BTreeMap::new();
    variables.insert("id".to_string(), id.to_string());
    variables.insert("ns".to_string(), format!("ns-{id}"));
    let mut run = ConformanceRun { target, variables, watches: BTreeMap::new(), mask: AnswerMask::new(case, id) };
    if case.needs_namespace() {
        run.make_namespace().await.map_err(|e| (Vec::new(), e))?;
    }
    let mut answers = Vec::new();
    let mut failure = None;
    for step in &case.steps {
        match run.step(step).await {
            Ok(answer) => answers.push(answer),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    if case.needs_namespace() {
        let _ = run.send_plain("DELETE /api/v1/namespaces/${ns}", None).await;
    }
    match failure {
        None => Ok(answers),
        Some(error) => Err((answers, error)),
    }
}

impl ConformanceRun<'_> {
    async fn make_namespace(&mut self) -> Result<(), RunError> {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "${ns}"}});
        self.send_plain("POST /api/v1/namespaces", Some(body)).await?;
        // Wait for the objects that controllers create in every namespace.
        for path in ["serviceaccounts/default", "configmaps/kube-root-ca.crt"] {
            let act = format!("GET /api/v1/namespaces/${{ns}}/{path}");
            let step = plain_step(&act, None);
            match self.until(&step, &BTreeMap::from([("code".to_string(), json!(200))])).await {
                // Continue: the answers of the case will show the missing objects.
                Ok(_) | Err(RunError::UntilTimedOut { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn send_plain(&mut self, act: &str, body: Option<Value>) -> Result<RawAnswer, RunError> {
        let response = self.send(&plain_step(act, body)).await?;
        RawAnswer::read(response, self.target.timeout).await
    }

    async fn step(&mut self, step: &CaseStep) -> Result<CaseAnswer, RunError> {
        if let Some(name) = step.act.strip_prefix("READ ") {
            let mut watch = self.watches.remove(name).ok_or_else(|| RunError::Step(step.act.clone()))?;
            let events = self.read_events(step, &mut watch).await;
            self.watches.insert(name.to_string(), watch);
            return Ok(CaseAnswer {
                code: 200,
                content_type: None,
                warnings: Vec::new(),
                body: Value::Null,
                events: Some(events?),
            });
        }
        if step.open.is_some() || step.events.is_some() {
            return match self.ready_response(step).await? {
                StepResponse::Stream(response) => self.watch(step, response).await,
                StepResponse::Whole(raw) => self.finish(step, raw),
            };
        }
        let raw = if step.until.is_empty() {
            match self.ready_response(step).await? {
                StepResponse::Stream(response) => RawAnswer::read(response, self.target.timeout).await?,
                StepResponse::Whole(raw) => raw,
            }
        } else {
            self.until(step, &step.until).await?
        };
        self.finish(step, raw)
    }

    /// Returns the response, retried while the server reports that the resource is not ready.
    async fn ready_response(&mut self, step: &CaseStep) -> Result<StepResponse, RunError> {
        let start = Instant::now();
        loop {
            let response = self.send(step).await?;
            if response.status() == 200 {
                return Ok(StepResponse::Stream(response));
            }
            let raw = RawAnswer::read(response, self.target.timeout).await?;
            if !raw.is_storage_restarting() || start.elapsed() > self.target.timeout {
                return Ok(StepResponse::Whole(raw));
            }
            tokio::time::sleep(POLL_PAUSE).await;
        }
    }

    fn finish(&mut self, step: &CaseStep, raw: RawAnswer) -> Result<CaseAnswer, RunError> {
        for (name, pointer) in &step.save {
            let found = raw.body.pointer(pointer).filter(|v| !v.is_null());
            let text = match found {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => {
                    return Err(RunError::Save {
                        step: step.act.clone(),
                        pointer: pointer.clone(),
                        body: raw.body.to_string(),
                    });
                }
            };
            self.variables.insert(name.clone(), text);
        }
        let mut body = self.mask.body(&raw.body);
        if !step.keep.is_empty() {
            let kept = step.keep.iter().map(|p| (p.clone(), body.pointer(p).cloned().unwrap_or(Value::Null)));
            body = Value::Object(kept.collect());
        }
        for pointer in &step.ignore {
            compare::remove(&mut body, pointer);
        }
        if step.quiet {
            return Ok(CaseAnswer {
                code: raw.code,
                content_type: None,
                warnings: Vec::new(),
                body: if raw.code < 300 { Value::Null } else { body },
                events: None,
            });
        }
        let warnings = raw.warnings.iter().map(|w| self.mask.text(w)).collect();
        Ok(CaseAnswer { code: raw.code, content_type: raw.content_type, warnings, body, events: None })
    }

    async fn until(&mut self, step: &CaseStep, wanted: &BTreeMap<String, Value>) -> Result<RawAnswer, RunError> {
        let start = Instant::now();
        loop {
            let response = self.send(step).await?;
            let raw = RawAnswer::read(response, self.target.timeout).await?;
            let met = wanted.iter().all(|(pointer, value)| {
                let found = if pointer == "code" {
                    json!(raw.code)
                } else {
                    raw.body.pointer(pointer).cloned().unwrap_or_default()
                };
                found == *value
            });
            if met {
                return Ok(raw);
            }
            if start.elapsed() > self.target.timeout {
                return Err(RunError::UntilTimedOut { step: step.act.clone(), last: raw.body.to_string() });
            }
            tokio::time::sleep(POLL_PAUSE).await;
        }
    }

    async fn watch(&mut self, step: &CaseStep, response: Response<Body>) -> Result<CaseAnswer, RunError> {
        let (content_type, warnings) = response_headers(&response);
        let mut watch = OpenWatch { body: response.into_body(), rest: Vec::new() };
        let events = match step.events {
            Some(_) => Some(self.read_events(step, &mut watch).await?),
            None => None,
        };
        if let Some(name) = &step.open {
            self.watches.insert(name.clone(), watch);
        }
        Ok(CaseAnswer { code: 200, content_type, warnings, body: Value::Null, events })
    }

    async fn read_events(&mut self, step: &CaseStep, watch: &mut OpenWatch) -> Result<Vec<Value>, RunError> {
        let wanted = step.events.unwrap_or(1);
        let end = tokio::time::Instant::now() + EVENT_WAIT.min(self.target.timeout);
        let mut events = Vec::new();
        while events.len() < wanted {
            let Ok(Some(line)) = tokio::time::timeout_at(end, watch.line()).await else { break };
            let event: Value = serde_json::from_slice(&line).unwrap_or_else(|_| json!(String::from_utf8_lossy(&line)));
            let last_initial = event.pointer("/object/metadata/annotations/k8s.io~1initial-events-end").is_some();
            if event["type"] == "BOOKMARK" && !last_initial && !step.bookmarks {
                continue;
            }
            let mut masked = self.mask.body(&event);
            for pointer in &step.ignore {
                compare::remove(&mut masked, pointer);
            }
            events.push(masked);
        }
        Ok(events)
    }

    async fn send(&mut self, step: &CaseStep) -> Result<Response<Body>, RunError> {
        let (method, path) = step.act.split_once(' ').ok_or_else(|| RunError::Step(step.act.clone()))?;
        let mut request = Request::builder().method(method).uri(self.fill(path)).header("User-Agent", "suite/1");
        request = request.header("Accept", self.fill(step.accept.as_deref().unwrap_or("application/json")));
        for (name, value) in &step.headers {
            request = request.header(name, self.fill(value));
        }
        let body = match (&step.text, &step.body) {
            (Some(text), _) => Some(self.fill(text)),
            (None, Some(value)) => Some(self.fill(&value.to_string())),
            (None, None) => None,
        };
        if body.is_some() {
            request = request.header("Content-Type", step.content_type.as_deref().unwrap_or("application/json"));
        }
        let mut client = &self.target.admin;
        if let Some(token) = &step.token {
            client = &self.target.anonymous;
            request = request.header("Authorization", format!("Bearer {}", self.fill(token)));
        }
        match step.user.as_deref() {
            Some("anonymous") => client = &self.target.anonymous,
            Some(user) => {
                let user = self.fill(user);
                let mut parts = user.split(',');
                request = request.header("Impersonate-User", parts.next().unwrap_or_default());
                for group in parts {
                    request = request.header("Impersonate-Group", group);
                }
            }
            None => {}
        }
        let request = request
            .body(Body::from(body.unwrap_or_default().into_bytes()))
            .map_err(|_| RunError::Step(step.act.clone()))?;
        let failed = |cause: String| RunError::NoAnswer { step: step.act.clone(), cause };
        match tokio::time::timeout(self.target.timeout, client.send(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(failed(format!("{error:?}"))),
            Err(_) => Err(failed("timeout".to_string())),
        }
    }

    fn fill(&self, text: &str) -> String {
        let mut out = text.to_string();
        // `ns` before `id`: variables do not nest, but the order must be the same in every run.
        for (name, value) in &self.variables {
            out = out.replace(&format!("${{{name}}}"), value);
        }
        out
    }
}

impl OpenWatch {
    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.rest.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(line);
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
    }
}

enum StepResponse {
    /// Status 200 with an unread body: an object, a list, or a watch.
    Stream(Response<Body>),
    Whole(RawAnswer),
}

struct RawAnswer {
    code: u16,
    content_type: Option<String>,
    warnings: Vec<String>,
    body: Value,
}

impl RawAnswer {
    /// Whether kube-apiserver is replacing the storage of a custom resource, and did not execute the request.
    ///
    /// After a definition has changed, kube-apiserver destroys the storage and creates a new one; requests in between
    /// are refused.
    fn is_storage_restarting(&self) -> bool {
        let message = self.body["message"].as_str().unwrap_or_default();
        match self.code {
            429 => message == "storage is (re)initializing",
            503 => message == "apiserver is shutting down",
            _ => false,
        }
    }

    async fn read(response: Response<Body>, patience: Duration) -> Result<RawAnswer, RunError> {
        let code = response.status().as_u16();
        let (content_type, warnings) = response_headers(&response);
        let bytes: Bytes = match tokio::time::timeout(patience, response.into_body().collect()).await {
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(error)) => return Err(RunError::NoAnswer { step: "body".into(), cause: error.to_string() }),
            Err(_) => return Err(RunError::NoAnswer { step: "body".into(), cause: "timeout".into() }),
        };
        let json = content_type.as_deref().is_some_and(|kind| kind.contains("json"));
        let body = if bytes.is_empty() {
            Value::Null
        } else if json {
            serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)))
        } else {
            json!(String::from_utf8_lossy(&bytes))
        };
        Ok(RawAnswer { code, content_type, warnings, body })
    }
}

fn response_headers(response: &Response<Body>) -> (Option<String>, Vec<String>) {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let content_type = response.headers().get("content-type").map(text);
    (content_type, response.headers().get_all("warning").iter().map(text).collect())
}

fn plain_step(act: &str, body: Option<Value>) -> CaseStep {
    let mut value = json!({"do": act});
    if let Some(body) = body {
        value["body"] = body;
    }
    serde_json::from_value(value).expect("a step needs no more than an act")
}
