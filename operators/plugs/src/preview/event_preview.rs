//! Objects that each event applies and deletes.

use std::cell::RefCell;

use serde_json::Value;

use super::{EventPreview, ObjectAction, PreviewError, compute_error};
use crate::model::{CouplingEvent, ResourceAction, ResourceEntry};
use crate::render::{
    ComputeError, CouplingPair, CouplingSide, PerSide, RenderedObject, TemplateEngine, TemplateRoot, Values, objects,
};

/// A pair with its configs and results.
pub(super) struct EventPreviews<'a> {
    engine: &'a TemplateEngine,
    pair: CouplingPair<'a>,
    config: &'a PerSide<Values>,
    result: Option<&'a PerSide<Values>>,
    /// Whether the configs are incomplete. Objects that cannot be rendered are then omitted.
    is_partial: bool,
    omitted: RefCell<Vec<String>>,
}

impl<'a> EventPreviews<'a> {
    /// Creates the previews of a pair.
    pub fn new(
        engine: &'a TemplateEngine,
        pair: CouplingPair<'a>,
        config: &'a PerSide<Values>,
        result: Option<&'a PerSide<Values>>,
        is_partial: bool,
    ) -> Self {
        Self { engine, pair, config, result, is_partial, omitted: RefCell::default() }
    }

    /// Returns all events in order, and the omitted parts.
    pub fn all(self) -> Result<(Vec<EventPreview>, Vec<String>), PreviewError> {
        let all = self.events()?;
        Ok((all, self.omitted.into_inner()))
    }

    fn events(&self) -> Result<Vec<EventPreview>, PreviewError> {
        let mut all = Vec::new();
        for event in CouplingEvent::ALL {
            for side in CouplingSide::BOTH {
                all.push(EventPreview { event, side, actions: self.actions(event, side)? });
            }
            if matches!(event, CouplingEvent::Coupled | CouplingEvent::Updated) {
                // Result objects of the socket come first.
                for side in [CouplingSide::Socket, CouplingSide::Plug] {
                    let made = self.result_objects(side)?;
                    let place = all.iter_mut().rev().find(|one| one.event == event && one.side == side);
                    place.expect("both sides have every event").actions.extend(made.into_iter().map(object_action));
                }
            }
        }
        Ok(all)
    }

    fn actions(&self, event: CouplingEvent, side: CouplingSide) -> Result<Vec<ObjectAction>, PreviewError> {
        let mut acts: Vec<ObjectAction> = self.objects_at(event, side)?.into_iter().map(object_action).collect();
        match event {
            CouplingEvent::Decoupled => {
                acts.extend(self.removals(side, &[CouplingEvent::Coupled, CouplingEvent::Updated])?)
            }
            CouplingEvent::Deleted => acts.extend(self.removals(side, &[CouplingEvent::Created])?),
            _ => {}
        }
        Ok(acts)
    }

    fn objects_at(&self, event: CouplingEvent, side: CouplingSide) -> Result<Vec<RenderedObject>, PreviewError> {
        let alone = matches!(event, CouplingEvent::Created | CouplingEvent::Deleted);
        let root = match (alone, side) {
            (true, CouplingSide::Plug) => TemplateRoot::alone(side, &self.pair.plug.manifest),
            (true, CouplingSide::Socket) => TemplateRoot::alone(side, &self.pair.socket.manifest),
            (false, _) => TemplateRoot::pair(self.pair).config(self.config),
        };
        let entries = self.pair.side(side).resources.iter().filter(|entry| entry.when.contains(&event));
        self.rendered(side, entries, &root, self.is_partial && !alone).map_err(compute_error(format!(
            "the objects of the {} at {}",
            side.as_str(),
            event.as_str()
        )))
    }

    fn result_objects(&self, side: CouplingSide) -> Result<Vec<RenderedObject>, PreviewError> {
        let Some(result) = self.result else { return Ok(Vec::new()) };
        let root = TemplateRoot::pair(self.pair).config(self.config).result(result, side);
        self.rendered(side, self.pair.side(side).result_resources.iter(), &root, self.is_partial)
            .map_err(compute_error(format!("the resultResources of the {}", side.as_str())))
    }

    fn rendered<'e>(
        &self,
        side: CouplingSide,
        entries: impl Iterator<Item = &'e ResourceEntry>,
        root: &TemplateRoot,
        is_partial: bool,
    ) -> Result<Vec<RenderedObject>, ComputeError> {
        let (root, own) = (root.value(), self.pair.meta(side));
        let mut all = Vec::new();
        for entry in entries {
            match objects(self.engine, own, std::slice::from_ref(entry), |_| true, &root) {
                Ok(made) => all.extend(made),
                Err(error) if is_partial => self.leave_out(format!("an object of the {}: {error}", side.as_str())),
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Adds an omitted part once, because an entry may apply to several events.
    fn leave_out(&self, words: String) {
        let mut all = self.omitted.borrow_mut();
        if !all.contains(&words) {
            all.push(words);
        }
    }

    /// Returns deletions of the objects of these events, in reverse order.
    fn removals(&self, side: CouplingSide, events: &[CouplingEvent]) -> Result<Vec<ObjectAction>, PreviewError> {
        let mut made = Vec::new();
        for event in events {
            made.extend(self.objects_at(*event, side)?);
        }
        if events.contains(&CouplingEvent::Coupled) {
            made.extend(self.result_objects(side)?);
        }
        let mut going: Vec<ObjectAction> = Vec::new();
        for one in made.into_iter().filter(|one| one.removed_when_decoupled) {
            if !going.iter().any(|other| is_same_object(&other.object, &one.object)) {
                going.push(ObjectAction {
                    action: ResourceAction::Delete,
                    object: reference(&one.object),
                    path: one.path,
                });
            }
        }
        going.reverse();
        Ok(going)
    }
}

fn object_action(rendered: RenderedObject) -> ObjectAction {
    ObjectAction { path: rendered.path, action: rendered.action, object: rendered.object }
}

fn is_same_object(one: &Value, other: &Value) -> bool {
    ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"]
        .iter()
        .all(|pointer| one.pointer(pointer) == other.pointer(pointer))
}

/// Returns the name of an object, as needed for a deletion.
fn reference(object: &Value) -> Value {
    let metadata = &object["metadata"];
    serde_json::json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
    })
}
