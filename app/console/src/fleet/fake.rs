//! Fake fleet for tests: `shop` is placed on `argocd`, and `argocd-2` can be a target.

use std::sync::{Mutex, PoisonError};

use futures::FutureExt;

use super::*;

/// Fake that records started moves.
#[derive(Default)]
pub(crate) struct FakeFleet {
    pub(crate) requested: Mutex<Vec<(PlacementName, String)>>,
    pub(crate) broken: bool,
}

impl FakeFleet {
    pub(crate) fn requested(&self) -> Vec<(PlacementName, String)> {
        self.requested.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(crate) fn shop() -> PlacementName {
    PlacementName { tenant: "shop".to_string(), environment: Some("prod".to_string()) }
}

fn a_move(unit: &PlacementName, to: &str) -> PlacementMove {
    PlacementMove {
        name: unit.clone(),
        from: "argocd".to_string(),
        to: to.to_string(),
        step: "freeze".to_string(),
        message: "an Operation is under way".to_string(),
        ..PlacementMove::default()
    }
}

impl FleetProvider for FakeFleet {
    fn status(&self) -> BoxFuture<'_, Result<FleetStatus, FleetRefusal>> {
        let member = |namespace: &str, placements| FleetInstanceSummary {
            namespace: namespace.to_string(),
            state: "active".to_string(),
            max_applications: Some(1000),
            max_placements: Some(10),
            placements,
            ..FleetInstanceSummary::default()
        };
        let requested = self.requested();
        let unit = FleetPlacement {
            name: shop(),
            instance: "argocd".to_string(),
            moving: requested.iter().any(|(unit, _)| *unit == shop()),
        };
        let standing = FleetStatus {
            instances: vec![member("argocd", 1), member("argocd-2", 0)],
            placements: vec![unit],
            moves: requested.iter().map(|(unit, to)| a_move(unit, to)).collect(),
        };
        let broken = || FleetRefusal {
            kind: RefusalKind::Failed,
            message: "could not connect to PostgreSQL".to_string(),
            hint: "is the server running?".to_string(),
        };
        let looked = if self.broken { Err(broken()) } else { Ok(standing) };
        async move { looked }.boxed()
    }

    fn begin<'a>(&'a self, unit: &'a PlacementName, to: &'a str) -> BoxFuture<'a, Result<PlacementMove, FleetRefusal>> {
        let found = if to == "argocd-2" {
            self.requested.lock().unwrap_or_else(PoisonError::into_inner).push((unit.clone(), to.to_string()));
            Ok(a_move(unit, to))
        } else {
            let what = format!("could not find an Argo CD instance in namespace `{to}`");
            Err(FleetRefusal {
                kind: RefusalKind::Missing,
                message: what,
                hint: "list the instances with `switchboard gitops fleet list`".to_string(),
            })
        };
        async move { found }.boxed()
    }
}
