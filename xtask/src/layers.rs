//! Compares the dependencies that cargo sees with the edges that the architecture allows (docs/architecture.md,
//! "Layers"). Sees crates only; that a file inside a crate names nothing above it is the reader's to judge.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;

use crate::workspace::{Workspace, list};

/// What one crate may name. Names are ours without the `ottla-` prefix.
struct Layer {
    name: &'static str,
    folder: &'static str,
    may_name: &'static [&'static str],
    tokio: Tokio,
}

/// Where tokio may appear below a crate, through however many others.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Tokio {
    Allowed,
    TestsOnly,
    Never,
}

const BROKER: &[&str] = &[
    "model",
    "derive",
    "sasl",
    "protocol",
    "storage",
    "network",
    "peer",
    "security",
    "coordinator",
    "cluster",
];
const TESTKIT: &[&str] = &[
    "broker",
    "model",
    "derive",
    "sasl",
    "protocol",
    "storage",
    "network",
    "peer",
    "security",
    "coordinator",
    "cluster",
];

#[rustfmt::skip]
const LAYERS: &[Layer] = &[
    Layer { name: "model", folder: "protocol/model", may_name: &[], tokio: Tokio::Never },
    Layer { name: "derive", folder: "protocol/derive", may_name: &[], tokio: Tokio::TestsOnly },
    Layer { name: "sasl", folder: "protocol/sasl", may_name: &[], tokio: Tokio::TestsOnly },
    Layer { name: "protocol", folder: "protocol", may_name: &["model", "derive"], tokio: Tokio::Never },
    Layer { name: "index", folder: "index", may_name: &["model"], tokio: Tokio::Never },
    Layer { name: "storage", folder: "storage", may_name: &["model", "index"], tokio: Tokio::Never },
    Layer { name: "network", folder: "network", may_name: &[], tokio: Tokio::Allowed },
    Layer { name: "peer", folder: "network/peer", may_name: &["model", "protocol", "network", "sasl"], tokio: Tokio::Allowed },
    Layer { name: "security", folder: "broker/security", may_name: &["model"], tokio: Tokio::TestsOnly },
    Layer { name: "coordinator", folder: "broker/coordinator", may_name: &["model", "protocol"], tokio: Tokio::TestsOnly },
    Layer { name: "cluster", folder: "broker/cluster", may_name: &["model", "protocol", "storage", "peer"], tokio: Tokio::Allowed },
    Layer { name: "client", folder: "client", may_name: &["model", "protocol", "peer"], tokio: Tokio::Allowed },
    Layer { name: "broker", folder: "broker", may_name: BROKER, tokio: Tokio::Allowed },
    Layer { name: "testkit", folder: "broker/testkit", may_name: TESTKIT, tokio: Tokio::Allowed },
    Layer { name: "tools", folder: "tools", may_name: &["client", "protocol", "storage", "index", "model", "broker"], tokio: Tokio::Allowed },
    Layer { name: "xtask", folder: "xtask", may_name: &[], tokio: Tokio::TestsOnly },
    Layer { name: "bench", folder: "xtask/bench", may_name: &["model", "protocol", "client"], tokio: Tokio::Allowed },
];

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let (edges, findings) = check(&workspace.metadata, &workspace.root);
    for finding in &findings {
        println!("layers: {finding}");
    }
    if findings.is_empty() {
        println!("layers: {edges} edges between our crates, all of them allowed");
        Ok(ExitCode::SUCCESS)
    } else {
        Ok(ExitCode::FAILURE)
    }
}

/// The number of edges between our crates, and a sentence for each that must not be.
pub(crate) fn check(metadata: &Value, root: &Path) -> (usize, Vec<String>) {
    let graph = Graph::new(metadata);
    let mut edges = 0;
    let mut findings = Vec::new();
    for id in list(&metadata["workspace_members"]).iter().filter_map(Value::as_str) {
        let full_name = graph.name(id);
        let Some(layer) = LAYERS.iter().find(|layer| Some(layer.name) == ours(full_name)) else {
            findings.push(format!("{full_name} has no row in the table of layers"));
            continue;
        };
        let folder = graph.folder(id, root);
        if folder != layer.folder {
            findings.push(format!("{full_name} lies in {folder}, its place is {}", layer.folder));
        }
        for below in graph.direct(id, Scope::Shipped) {
            let Some(name) = ours(graph.name(below)) else { continue };
            edges += 1;
            if !layer.may_name.contains(&name) {
                findings
                    .push(format!("{} may not name {name}; it may name {:?}", layer.name, layer.may_name));
            }
        }
        findings.extend(tokio_below(&graph, id, layer));
    }
    (edges, findings)
}

fn tokio_below(graph: &Graph<'_>, id: &str, layer: &Layer) -> Option<String> {
    let scope = match layer.tokio {
        Tokio::Allowed => return None,
        Tokio::TestsOnly => Scope::Shipped,
        Tokio::Never => Scope::WithTests,
    };
    let chain = graph.chain_to(id, "tokio", scope)?;
    Some(format!("{} must not lead to tokio: {}", layer.name, chain.join(" -> ")))
}

/// Our crates' names lose their prefix; other crates are not ours.
fn ours(full_name: &str) -> Option<&str> {
    full_name.strip_prefix("ottla-")
}

/// Which dependencies of a crate count: those that ship, or its tests' and benches' as well.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Shipped,
    WithTests,
}

/// The resolved dependency graph of `cargo metadata`.
struct Graph<'a> {
    packages: BTreeMap<&'a str, &'a Value>,
    nodes: BTreeMap<&'a str, &'a Value>,
}

impl<'a> Graph<'a> {
    fn new(metadata: &'a Value) -> Self {
        let by_id = |values: &'a Value| -> BTreeMap<&'a str, &'a Value> {
            list(values).iter().filter_map(|value| Some((value["id"].as_str()?, value))).collect()
        };
        Self { packages: by_id(&metadata["packages"]), nodes: by_id(&metadata["resolve"]["nodes"]) }
    }

    fn name(&self, id: &str) -> &'a str {
        self.packages.get(id).and_then(|package| package["name"].as_str()).unwrap_or("?")
    }

    /// The package's folder, relative to the workspace.
    fn folder(&self, id: &str, root: &Path) -> String {
        let manifest =
            self.packages.get(id).and_then(|package| package["manifest_path"].as_str()).unwrap_or("");
        let folder = Path::new(manifest).parent().unwrap_or(Path::new(""));
        folder.strip_prefix(root).unwrap_or(folder).to_string_lossy().into_owned()
    }

    fn direct(&self, id: &str, scope: Scope) -> Vec<&'a str> {
        let Some(node) = self.nodes.get(id) else { return Vec::new() };
        let counts = |dependency: &&Value| {
            list(&dependency["dep_kinds"])
                .iter()
                .any(|kind| kind["kind"].as_str() != Some("dev") || scope == Scope::WithTests)
        };
        list(&node["deps"])
            .iter()
            .filter(counts)
            .filter_map(|dependency| dependency["pkg"].as_str())
            .collect()
    }

    /// The names from `id` down to a crate called `wanted`, if one is reached. Only the first step may be a
    /// dependency of tests: those of other crates are not built.
    fn chain_to(&self, id: &'a str, wanted: &str, scope: Scope) -> Option<Vec<&'a str>> {
        let mut seen = BTreeSet::from([id]);
        let mut paths = vec![vec![id]];
        while let Some(path) = paths.pop() {
            let last = *path.last()?;
            let scope = if path.len() == 1 { scope } else { Scope::Shipped };
            for below in self.direct(last, scope) {
                if !seen.insert(below) {
                    continue;
                }
                let mut longer = path.clone();
                longer.push(below);
                if self.name(below) == wanted {
                    return Some(longer.into_iter().map(|id| self.name(id)).collect());
                }
                paths.push(longer);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, folder: &str) -> Value {
        json!({ "id": name, "name": name, "manifest_path": format!("/w/{folder}/Cargo.toml") })
    }

    fn edge(to: &str, kind: Option<&str>) -> Value {
        json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] })
    }

    /// A small workspace: model, storage and broker of ours, and tokio and a crate that leads to it.
    fn metadata(storage: Vec<Value>, broker: Vec<Value>) -> Value {
        json!({
            "workspace_members": ["ottla-model", "ottla-storage", "ottla-broker"],
            "packages": [
                package("ottla-model", "protocol/model"),
                package("ottla-storage", "storage"),
                package("ottla-broker", "broker"),
                package("ottla-client", "client"),
                package("tokio", "elsewhere"),
                package("hyper", "elsewhere"),
            ],
            "resolve": { "nodes": [
                { "id": "ottla-model", "deps": [] },
                { "id": "ottla-storage", "deps": storage },
                { "id": "ottla-broker", "deps": broker },
                { "id": "hyper", "deps": [edge("tokio", None)] },
                { "id": "tokio", "deps": [] },
            ]},
        })
    }

    fn findings(storage: Vec<Value>, broker: Vec<Value>) -> Vec<String> {
        check(&metadata(storage, broker), Path::new("/w")).1
    }

    #[test]
    fn edges_that_go_down_pass() {
        let broker =
            vec![edge("ottla-storage", None), edge("tokio", None), edge("ottla-client", Some("dev"))];
        let (edges, findings) = check(&metadata(vec![edge("ottla-model", None)], broker), Path::new("/w"));
        assert_eq!((edges, findings), (2, Vec::new()));
    }

    #[test]
    fn an_edge_that_goes_up_is_found() {
        let found = findings(vec![edge("ottla-broker", None)], vec![]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("storage may not name broker"), "{found:?}");
    }

    #[test]
    fn the_broker_names_the_client_in_tests_only() {
        assert!(
            findings(vec![], vec![edge("ottla-client", None)])[0].starts_with("broker may not name client")
        );
        assert!(findings(vec![], vec![edge("ottla-client", Some("dev"))]).is_empty());
    }

    #[test]
    fn tokio_is_found_below_storage_also_through_another_crate_and_in_its_tests() {
        for kind in [None, Some("dev")] {
            let found = findings(vec![edge("hyper", kind)], vec![]);
            assert_eq!(found, ["storage must not lead to tokio: ottla-storage -> hyper -> tokio"]);
        }
    }

    #[test]
    fn a_crate_without_a_row_and_one_in_the_wrong_folder_are_found() {
        let metadata = json!({
            "workspace_members": ["ottla-magic", "ottla-model"],
            "packages": [package("ottla-magic", "magic"), package("ottla-model", "model")],
            "resolve": { "nodes": [] },
        });
        let found = check(&metadata, Path::new("/w")).1;
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
