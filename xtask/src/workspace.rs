//! Where the sources lie, where builds go, and which packages there are, as cargo tells it. Changes nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;

/// The repository as cargo describes it.
pub(crate) struct Workspace {
    /// The folder of the workspace's Cargo.toml.
    pub(crate) root: PathBuf,
    /// Where cargo builds, `CARGO_TARGET_DIR` respected.
    pub(crate) target: PathBuf,
    /// The whole of `cargo metadata`, dependencies resolved.
    pub(crate) metadata: Value,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        let own_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = cargo();
        command.args(["metadata", "--format-version", "1", "--locked"]).current_dir(own_folder);
        let output = command.output().context("cargo metadata does not start")?;
        if !output.status.success() {
            bail!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        let metadata: Value =
            serde_json::from_slice(&output.stdout).context("cargo metadata wrote no JSON")?;
        let path = |key: &str| {
            metadata[key].as_str().map(PathBuf::from).with_context(|| format!("cargo metadata has no {key}"))
        };
        Ok(Self { root: path("workspace_root")?, target: path("target_directory")?, metadata })
    }

    /// The packages of this workspace.
    pub(crate) fn packages(&self) -> impl Iterator<Item = &Value> {
        let members = list(&self.metadata["workspace_members"]);
        list(&self.metadata["packages"]).iter().filter(move |package| members.contains(&package["id"]))
    }

    /// The folders of this workspace's packages, relative to it.
    pub(crate) fn package_folders(&self) -> BTreeSet<PathBuf> {
        let manifests =
            self.packages().filter_map(|package| package["manifest_path"].as_str().map(Path::new));
        let folders = manifests.filter_map(|manifest| manifest.parent()?.strip_prefix(&self.root).ok());
        folders.map(Path::to_path_buf).collect()
    }

    /// The entry files of all targets (libraries, binaries, tests, …) of this workspace.
    pub(crate) fn target_roots(&self) -> Vec<PathBuf> {
        let targets = self.packages().flat_map(|package| list(&package["targets"]));
        targets.filter_map(|target| target["src_path"].as_str().map(PathBuf::from)).collect()
    }

    /// Every file that is part of the repository or would be with the next commit: tracked, or new and not ignored.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut git = Command::new("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(&self.root);
        let done = process::capture(&mut git)?;
        if !done.success() {
            bail!("git ls-files failed: {}", done.stderr);
        }
        let names = done.stdout.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
        // A file that was deleted but not yet committed is still listed.
        let mut files: Vec<PathBuf> = names.filter(|file| self.root.join(file).exists()).collect();
        files.sort();
        files.dedup();
        Ok(files)
    }
}

/// The cargo that runs us, so that its toolchain is the one all steps use.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A JSON array's items; none for anything else.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
