//! Chart that is built into the binary.

use switchboard_chart::file::ChartFile;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("../../chart/", $name)))),*]
    };
}

const FILES: &[(&str, &[u8])] = files![
    "Chart.yaml",
    "values.yaml",
    "templates/_env.tpl",
    "templates/_fluent.tpl",
    "templates/_job.tpl",
    "templates/_parameters.tpl",
    "templates/_resources.tpl",
    "templates/_workload.tpl",
    "templates/template.yaml",
];

/// Returns the files of the chart.
pub fn files() -> Vec<ChartFile> {
    FILES.iter().map(|(name, bytes)| ChartFile::new(*name, bytes)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_chart_is_in_the_binary() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("chart");
        let names = |folder: &str| {
            let entries = fs::read_dir(root.join(folder)).unwrap().map(Result::unwrap);
            let files = entries.filter(|entry| entry.path().is_file());
            files.map(|entry| format!("{folder}{}", entry.file_name().to_str().unwrap())).collect::<Vec<_>>()
        };
        let mut on_disk = [names(""), names("templates/")].concat();
        on_disk.sort();
        let mut built_in: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        built_in.sort_unstable();
        assert_eq!(on_disk, built_in);
    }
}
