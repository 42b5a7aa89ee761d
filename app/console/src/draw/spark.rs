//! Sparkline of decisions over time.

use maud::{Markup, html};

const HEIGHT: u32 = 48;
const STEP: u32 = 8;

/// Draws a bar for each interval, with failed decisions highlighted.
pub fn spark(spans: &[(u32, u32)], label: &str) -> Markup {
    let most = spans.iter().map(|(all, _)| *all).max().unwrap_or(0).max(1);
    let width = STEP * u32::try_from(spans.len()).unwrap_or(u32::MAX).max(1);
    let height = |count: u32| {
        u32::try_from(u64::from(count) * u64::from(HEIGHT - 2) / u64::from(most))
            .unwrap_or(HEIGHT)
            .max(u32::from(count > 0) * 2)
    };
    html! {
        svg.spark viewBox=(format!("0 0 {width} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-label=(label) {
            line.base x1="0" y1=(HEIGHT) x2=(width) y2=(HEIGHT) {}
            @for (at, (all, failed)) in (0_u32..).zip(spans) {
                @if *all > 0 { rect.bar-n x=(at * STEP + 1) y=(HEIGHT - height(*all)) width=(STEP - 2) height=(height(*all)) {} }
                @if *failed > 0 { rect.bar-f x=(at * STEP + 1) y=(HEIGHT - height(*failed)) width=(STEP - 2) height=(height(*failed)) {} }
            }
        }
    }
}
