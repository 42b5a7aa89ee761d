//! Page of an error.

use maud::{Markup, html};

use crate::problem::ConsoleProblem;

/// Renders an error.
pub fn error_page(problem: &ConsoleProblem) -> Markup {
    let title = match problem {
        ConsoleProblem::NotFound(_) => "Not found",
        ConsoleProblem::BadRequest(_) | ConsoleProblem::Rejected(..) => "Invalid request",
        ConsoleProblem::TooMany(_) => "Too many requests",
        ConsoleProblem::TokenRequired | ConsoleProblem::InvalidToken(_) => "Sign-in required",
        ConsoleProblem::Forbidden(_) | ConsoleProblem::ForeignSite(_) => "Not allowed",
        ConsoleProblem::Cluster(_) => "Cluster unavailable",
        ConsoleProblem::Fleet(_) => "Action failed",
        ConsoleProblem::Stopped(_) => "Switchboard has stopped",
    };
    html! {
        div.head { div { p.crumbs { (problem.status().as_u16()) } h1 { (title) } } }
        p.note.bad { (problem.to_string()) }
        p { span.faint { "hint: " } (problem.hint()) }
    }
}
