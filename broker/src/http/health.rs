//! Whether the broker is well: what has to hold for it to be sent clients, each as one line. `/livez` asks nothing of this:
//! a process that answers is alive, and to restart it would only begin its recovery anew.

use std::fmt::Write as _;

use super::sight::{Sight, Stage};
use crate::context::Broker;

/// What was looked at.
pub(super) struct Report {
    checks: Vec<Check>,
}

struct Check {
    name: &'static str,
    /// What is wrong; nothing if it is well.
    fault: Option<String>,
    /// Whether clients are better not sent here while it is wrong.
    is_needed: bool,
}

impl Report {
    /// Whether everything is well.
    pub(super) fn is_well(&self) -> bool {
        self.checks.iter().all(|check| check.fault.is_none())
    }

    /// The same without what is wrong and leaves the broker of use.
    pub(super) fn needed(mut self) -> Self {
        self.checks.retain(|check| check.is_needed);
        self
    }

    /// The answer: what is wrong, and with `verbose` what is well too.
    pub(super) fn text(&self, verbose: bool) -> String {
        let mut text = String::new();
        for Check { name, fault, .. } in &self.checks {
            // Writing to a string cannot fail.
            let _ = match fault {
                Some(fault) => writeln!(text, "[-] {name}: {fault}"),
                None if verbose => writeln!(text, "[+] {name}: ok"),
                None => Ok(()),
            };
        }
        text.push_str(if self.is_well() { "ok\n" } else { "not well\n" });
        text
    }
}

/// Looks at everything.
pub(super) fn look(sight: &Sight) -> Report {
    let (broker, fault) = match sight.stage() {
        Stage::Starting => (None, Some("the broker is starting: logs are opened and recovered".to_owned())),
        Stage::Serving(broker) => (Some(broker), None),
        Stage::Stopping(broker) => (Some(broker), Some("the broker is stopping".to_owned())),
    };
    let mut checks = vec![Check { name: "serving", fault, is_needed: true }];
    if let Some(broker) = broker {
        let needed = |name, fault| Check { name, fault, is_needed: true };
        checks.push(needed("registered", registered(broker)));
        checks.push(needed("a log directory", any_directory(broker)));
        let whole = |name, fault| Check { name, fault, is_needed: false };
        checks.push(whole("all log directories", directories(broker)));
        checks.push(whole("all partitions", partitions(broker)));
    }
    Report { checks }
}

fn registered(broker: &Broker) -> Option<String> {
    let node = broker.node_id;
    broker.own_registration().is_none().then(|| format!("the metadata does not know node {node}"))
}

/// One directory that is offline leaves the others serving; none left is a broker for nobody.
fn any_directory(broker: &Broker) -> Option<String> {
    let serves = broker.log_dirs.iter().any(|held| held.dir.failure().is_none());
    (!serves).then(|| "every log directory is offline".to_owned())
}

fn directories(broker: &Broker) -> Option<String> {
    let failed = broker.log_dirs.states().filter(|state| state.held.is_none());
    let failed: Vec<String> = failed.map(|state| state.path.display().to_string()).collect();
    (!failed.is_empty()).then(|| format!("offline, as the log says why: {}", failed.join(", ")))
}

/// Partitions that the metadata has here and that nobody can read or write.
fn partitions(broker: &Broker) -> Option<String> {
    let offline = crate::metrics::export::offline_partitions(broker);
    let first = offline.first()?;
    Some(format!("{} partitions have no leader or no log here, the first is {first}", offline.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_what_is_wrong_and_on_demand_what_is_well() {
        let checks = vec![
            Check { name: "serving", fault: None, is_needed: true },
            Check { name: "partitions", fault: Some("3 offline".to_owned()), is_needed: false },
        ];
        let report = Report { checks };
        assert!(!report.is_well());
        assert_eq!(report.text(false), "[-] partitions: 3 offline\nnot well\n");
        assert_eq!(report.text(true), "[+] serving: ok\n[-] partitions: 3 offline\nnot well\n");
        let needed = report.needed();
        assert!(needed.is_well() && needed.text(false) == "ok\n");
    }

    #[test]
    fn a_broker_that_starts_is_not_ready_and_says_so() {
        let report = look(&Sight::default());
        assert!(!report.is_well() && report.text(false).contains("starting"), "{}", report.text(false));
    }
}
