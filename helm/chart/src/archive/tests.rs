//! Archives: reading, and rejection of hostile ones before they do harm.
#![allow(clippy::unwrap_used)]

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

/// Creates an archive of these files. Names are written unchanged, even hostile ones.
fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, data) in files {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, *data).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

fn refused(files: &[(&str, &[u8])]) -> String {
    read_archive(&packed(files), &mut ArchiveBudget::default()).unwrap_err().to_string()
}

#[test]
fn names_are_relative_to_the_chart() {
    let bytes = packed(&[
        ("shop/Chart.yaml", b"\xEF\xBB\xBFname: shop"),
        ("shop/a/./b/../c.txt", b"c"),
        ("shop\\w\\x.txt", b"w"),
    ]);
    let files = read_archive(&bytes, &mut ArchiveBudget::default()).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["Chart.yaml", "a/c.txt", "w/x.txt"]);
    assert_eq!(&*files[0].data, b"name: shop", "without its byte order mark");
}

#[test]
fn names_that_lead_elsewhere_are_rejected() {
    assert_eq!(refused(&[("shop/../../etc/passwd", b"x")]), "chart illegally references parent directory");
    assert_eq!(refused(&[("shop//etc/passwd", b"x")]), "chart illegally contains absolute paths");
    assert_eq!(refused(&[("shop\\..\\..\\x", b"x")]), "chart illegally references parent directory");
    assert_eq!(refused(&[("shop/c:/windows", b"x")]), "chart contains illegally named files");
    assert_eq!(refused(&[("Chart.yaml/x", b"x")]), "chart yaml not in base directory");
    assert!(refused(&[("alone", b"x")]).starts_with("chart illegally contains content outside the base directory"));
}

#[test]
fn links_are_rejected() {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder.append_link(&mut header, "shop/values.yaml", "/etc/passwd").unwrap();
    let bytes = builder.into_inner().unwrap().finish().unwrap();
    let error = read_archive(&bytes, &mut ArchiveBudget::default()).unwrap_err().to_string();
    assert_eq!(error, "chart archive contains \"shop/values.yaml\", which is a link or device, not a file");
}

#[test]
fn bombs_are_rejected_before_unpacking() {
    let zeros = vec![0; MAX_FILE_BYTES as usize + 1];
    assert!(refused(&[("shop/big", &zeros)]).contains("is larger than the maximum file size"));
    let zeros = vec![0; MAX_FILE_BYTES as usize];
    let names: Vec<String> = (0..21).map(|n| format!("shop/{n}")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), zeros.as_slice())).collect();
    let bytes = packed(&files);
    assert!(bytes.len() < 1_000_000, "the bomb is small: {}", bytes.len());
    let error = read_archive(&bytes, &mut ArchiveBudget::default()).unwrap_err().to_string();
    assert_eq!(error, "decompressed chart is larger than the maximum size 104857600");
}

#[test]
fn nested_archives_share_one_budget() {
    let zeros = vec![0; MAX_FILE_BYTES as usize];
    let bytes = packed(&[("shop/a", &zeros), ("shop/b", &zeros)]);
    let mut budget = ArchiveBudget::default();
    for _ in 0..10 {
        read_archive(&bytes, &mut budget).unwrap();
    }
    assert!(matches!(read_archive(&bytes, &mut budget), Err(ArchiveError::TooLarge)));
}

#[test]
fn folders_of_nested_archives_count_for_the_budget() {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_size(0);
    for _ in 0..1_000 {
        builder.append_data(&mut header, "shop/folder", std::io::empty()).unwrap();
    }
    let bytes = builder.into_inner().unwrap().finish().unwrap();
    let mut budget = ArchiveBudget { unpacked: 1_300_000, ..ArchiveBudget::default() };
    // Each nested archive alone is within the budget.
    assert!(matches!(read_archive(&bytes, &mut budget), Err(ArchiveError::Empty)));
    assert!(matches!(read_archive(&bytes, &mut budget), Err(ArchiveError::Empty)));
    assert!(matches!(read_archive(&bytes, &mut budget), Err(ArchiveError::TooLarge)));
}

#[test]
fn too_many_files_are_rejected() {
    let mut budget = ArchiveBudget { bytes: 100, files: 1, ..ArchiveBudget::default() };
    let bytes = packed(&[("shop/a", b""), ("shop/b", b"")]);
    assert!(matches!(read_archive(&bytes, &mut budget), Err(ArchiveError::TooManyFiles)));
}

#[test]
fn damaged_archives_are_errors() {
    let read = |bytes: &[u8]| read_archive(bytes, &mut ArchiveBudget::default()).unwrap_err().to_string();
    assert_eq!(read(b"no archive at all"), "gzip: invalid header");
    assert_eq!(read(&packed(&[])), "no files in chart archive");
    let whole = packed(&[("shop/a", &[7; 2000])]);
    assert!(!read(&whole[..whole.len() / 2]).is_empty());
    let mut text = GzEncoder::new(Vec::new(), Compression::fast());
    text.write_all(&[b'x'; 600]).unwrap();
    assert!(!read(&text.finish().unwrap()).is_empty());
}

#[test]
fn paths_are_cleaned_as_in_go() {
    for (path, clean_path) in
        [("", "."), ("a//b", "a/b"), ("./a/..", "."), ("../a", "../a"), ("/../a", "/a"), ("a/../../b", "../b")]
    {
        assert_eq!(clean(path), clean_path, "{path:?}");
    }
}
