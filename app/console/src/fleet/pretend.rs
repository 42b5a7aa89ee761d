//! A fleet that tests make up: `shop` is on `argocd`, and `argocd-2` is there to move to.

use std::sync::{Mutex, PoisonError};

use futures::FutureExt;

use super::*;

/// Remembers which moves were begun.
#[derive(Default)]
pub(crate) struct Pretended {
    pub(crate) begun: Mutex<Vec<(UnitName, String)>>,
    pub(crate) broken: bool,
}

impl Pretended {
    pub(crate) fn begun(&self) -> Vec<(UnitName, String)> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(crate) fn shop() -> UnitName {
    UnitName { tenant: "shop".to_string(), environment: Some("prod".to_string()) }
}

fn a_move(unit: &UnitName, to: &str) -> Move {
    Move {
        unit: unit.clone(),
        from: "argocd".to_string(),
        to: to.to_string(),
        step: "freeze".to_string(),
        message: "an Operation is under way".to_string(),
        ..Move::default()
    }
}

impl Fleet for Pretended {
    fn look(&self) -> BoxFuture<'_, Result<Standing, Refused>> {
        let member = |namespace: &str, units| Member {
            namespace: namespace.to_string(),
            state: "active".to_string(),
            max_applications: Some(1000),
            max_units: Some(10),
            units,
            ..Member::default()
        };
        let begun = self.begun();
        let unit = Unit {
            name: shop(),
            instance: "argocd".to_string(),
            moving: begun.iter().any(|(unit, _)| *unit == shop()),
        };
        let standing = Standing {
            instances: vec![member("argocd", 1), member("argocd-2", 0)],
            units: vec![unit],
            moves: begun.iter().map(|(unit, to)| a_move(unit, to)).collect(),
        };
        let broken = || Refused {
            why: Why::Failed,
            what: "could not connect to PostgreSQL".to_string(),
            hint: "is the server running?".to_string(),
        };
        let looked = if self.broken { Err(broken()) } else { Ok(standing) };
        async move { looked }.boxed()
    }

    fn begin<'a>(&'a self, unit: &'a UnitName, to: &'a str) -> BoxFuture<'a, Result<Move, Refused>> {
        let found = if to == "argocd-2" {
            self.begun.lock().unwrap_or_else(PoisonError::into_inner).push((unit.clone(), to.to_string()));
            Ok(a_move(unit, to))
        } else {
            let what = format!("could not find an Argo CD instance in namespace `{to}`");
            Err(Refused { why: Why::Missing, what, hint: "`switchboard gitops fleet list` names them".to_string() })
        };
        async move { found }.boxed()
    }
}
