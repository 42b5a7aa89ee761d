//! Lets a process take so many steps, and none after them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use switchboard_service::store::{Gate, When};

use crate::stage::Clients;

/// Lets so many steps pass, and nothing after them. A step is a commit, or a write on any cluster.
#[derive(Clone)]
pub struct Fuse(Arc<AtomicI64>);

impl Fuse {
    pub fn of(steps: i64) -> Fuse {
        Fuse(Arc::new(AtomicI64::new(steps)))
    }

    pub fn is_burnt(&self) -> bool {
        self.0.load(Ordering::SeqCst) <= 0
    }

    fn step(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    pub fn gate(&self) -> Gate {
        let fuse = self.clone();
        Arc::new(move |when| match when {
            When::Before => !fuse.is_burnt(),
            When::After => {
                fuse.step();
                // Nothing is told of what was committed last.
                !fuse.is_burnt()
            }
        })
    }

    pub fn clients(&self, clients: &Clients) -> Clients {
        Clients {
            tenants: self.client(&clients.tenants),
            engine: self.client(&clients.engine),
            target: self.client(&clients.target),
        }
    }

    /// A client that can write no more when the fuse is burnt, and hears no answer to its last write.
    fn client(&self, client: &Client) -> Client {
        let (fuse, client) = (self.clone(), client.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (fuse, client) = (fuse.clone(), client.clone());
            async move {
                let is_write = request.method() != Method::GET;
                if is_write && fuse.is_burnt() {
                    return std::future::pending::<Result<Response<Body>, tower::BoxError>>().await;
                }
                let answer = client.send(request).await?;
                if is_write {
                    fuse.step();
                    if fuse.is_burnt() {
                        return std::future::pending().await;
                    }
                }
                Ok(answer)
            }
        });
        Client::new(service, "default")
    }
}
