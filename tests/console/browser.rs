//! Client for Chromium and its driver over the WebDriver protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// Timeout of conditions in the browser.
pub const TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
/// Key of an element id in WebDriver responses.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Enter key in the WebDriver protocol.
pub const ENTER: &str = "\u{E007}";
/// Tab key.
pub const TAB: &str = "\u{E004}";
/// Escape key.
pub const ESCAPE: &str = "\u{E00C}";

/// Browser window, closed when dropped.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Opens a window.
    pub async fn open() -> Self {
        let program = std::env::var("SWITCHBOARD_CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".to_string());
        let mut driver = Command::new(program)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is there: tests/real/build installs it");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port =
            lines.find_map(|line| line.rsplit_once("successfully on port ")?.1.trim_end_matches('.').parse().ok());
        let port = port.expect("chromedriver says its port");
        std::thread::spawn(move || lines.for_each(drop));
        let mut browser = Self { driver, port, session: String::new() };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1440,960",
            "--force-device-scale-factor=1",
            "--disable-dev-shm-usage",
            "--force-color-profile=srgb",
            "--lang=en-US",
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments}}}});
        let answer = browser.request("POST", "/session", &wanted).await;
        browser.session = answer["sessionId"].as_str().expect("a session").to_string();
        browser
    }

    async fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_request(method, path, body).await.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    async fn try_request(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.map_err(|e| e.to_string())?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
        tokio::spawn(connection);
        let body = if method == "GET" || method == "DELETE" { String::new() } else { body.to_string() };
        let request = http::Request::builder().method(method).uri(path).header("Host", "127.0.0.1");
        let request =
            request.header("Content-Type", "application/json").body(Full::new(bytes::Bytes::from(body))).unwrap();
        let response = sender.send_request(request).await.map_err(|e| e.to_string())?;
        let well = response.status().is_success();
        let bytes = response.into_body().collect().await.map_err(|e| e.to_string())?.to_bytes();
        let mut answer: Value = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
        let value = answer["value"].take();
        if well { Ok(value) } else { Err(value["message"].as_str().unwrap_or("no message").to_string()) }
    }

    async fn session_request(&self, method: &str, path: &str, body: Value) -> Value {
        self.request(method, &format!("/session/{}{path}", self.session), &body).await
    }

    /// Loads a page and waits until it is complete.
    pub async fn load(&self, url: &str) {
        self.session_request("POST", "/url", json!({"url": url})).await;
    }

    /// Returns the current URL.
    pub async fn url(&self) -> String {
        self.session_request("GET", "/url", Value::Null).await.as_str().unwrap().to_string()
    }

    /// Runs a script and returns its result.
    pub async fn script(&self, text: &str) -> Value {
        self.session_request("POST", "/execute/sync", json!({"script": text, "args": []})).await
    }

    /// Runs a script that returns its result through a callback.
    pub async fn async_script(&self, text: &str) -> Value {
        self.session_request("POST", "/execute/async", json!({"script": text, "args": []})).await
    }

    /// Waits until a script returns true.
    pub async fn until(&self, what: &str, script: &str) {
        let end = Instant::now() + TIMEOUT;
        while self.script(script).await != Value::Bool(true) {
            assert!(
                Instant::now() < end,
                "{what} did not come about at {}: {}",
                self.url().await,
                self.text("main").await
            );
            sleep(POLL).await;
        }
    }

    /// Waits until an element contains a text.
    pub async fn until_shows(&self, selector: &str, text: &str) {
        let script = format!(
            "return [...document.querySelectorAll({})].some((one) => one.textContent.includes({}))",
            json!(selector),
            json!(text)
        );
        self.until(&format!("`{text}` in {selector}"), &script).await;
    }

    /// Returns the text of the first matching element.
    pub async fn text(&self, selector: &str) -> String {
        let found = self.script(&format!("return document.querySelector({})?.innerText || ''", json!(selector))).await;
        found.as_str().unwrap_or_default().to_string()
    }

    /// Clicks the first matching element.
    pub async fn click(&self, selector: &str) {
        let found = self.session_request("POST", "/element", json!({"using": "css selector", "value": selector})).await;
        let element = found[ELEMENT].as_str().unwrap().to_string();
        self.session_request("POST", &format!("/element/{element}/click"), json!({})).await;
    }

    /// Types into the focused element.
    pub async fn type_keys(&self, text: &str) {
        let acts: Vec<Value> = text
            .chars()
            .flat_map(|key| {
                [
                    json!({"type": "keyDown", "value": key.to_string()}),
                    json!({"type": "keyUp", "value": key.to_string()}),
                ]
            })
            .collect();
        self.session_request("POST", "/actions", json!({"actions": [{"type": "key", "id": "keys", "actions": acts}]}))
            .await;
    }

    /// Returns a screenshot of the window as PNG.
    pub async fn screenshot(&self) -> Vec<u8> {
        let text = self.session_request("GET", "/screenshot", Value::Null).await;
        base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap()
    }

    /// Returns the messages of the browser console since the last call, without debug messages.
    pub async fn console_messages(&self) -> Vec<String> {
        let all = self.session_request("POST", "/se/log", json!({"type": "browser"})).await;
        let of = all.as_array().cloned().unwrap_or_default();
        let bad = of.iter().filter(|line| line["level"] == "SEVERE" || line["level"] == "WARNING");
        bad.map(|line| line["message"].as_str().unwrap_or_default().to_string()).collect()
    }

    /// Sets the preferred color scheme to `light` or `dark`.
    pub async fn set_color_scheme(&self, theme: &str) {
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": theme}, {"name": "prefers-reduced-motion", "value": "reduce"}]});
        self.devtools("Emulation.setEmulatedMedia", media).await;
    }

    /// Resizes the window.
    pub async fn resize(&self, width: u32, height: u32, phone: bool) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone});
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
    }

    async fn devtools(&self, command: &str, parameters: Value) {
        self.session_request("POST", "/goog/cdp/execute", json!({"cmd": command, "params": parameters})).await;
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Terminated explicitly: a killed driver would leave its browser running, which would slow down later tests.
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let _ = stream.set_read_timeout(Some(TIMEOUT));
            let _ = write!(stream, "DELETE /session/{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", self.session);
            let _ = stream.read(&mut [0; 1]);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
