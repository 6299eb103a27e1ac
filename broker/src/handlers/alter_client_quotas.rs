//! AlterClientQuotas: the controller decides; the answer waits until the quotas are in force here. Names of hosts are looked up
//! first, elsewhere, since that may take its time.

use std::collections::HashSet;
use std::net::{IpAddr, ToSocketAddrs as _};

use compact_str::{CompactString, format_compact};
use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::alter_client_quotas::{
    AlterClientQuotasRequest, AlterClientQuotasResponse, RequestEntryData, ResponseEntryData,
};

use crate::dispatch::Call;
use crate::error_map;

/// Names that one request may have looked up.
const LOOKUPS_MAX: usize = 100;

pub(crate) async fn handle(call: &mut Call<'_>, mut request: AlterClientQuotasRequest) -> Outcome {
    let unknown = match unknown_hosts(call, &request).await {
        Ok(unknown) => unknown,
        Err(code) => return call.reply(&refuse_all(&request, code)),
    };
    let is_known = |entry: &mut RequestEntryData| host(entry).is_none_or(|name| !unknown.contains(name));
    let mut refused: Vec<_> = request.entries.extract_if(.., |entry| !is_known(entry)).collect();
    let refused = refused.drain(..).map(|entry| {
        let name = host(&entry).cloned().unwrap_or_default();
        let message = format_compact!("{name} is not a valid IP or resolvable host.");
        answer(entry, ErrorCode::INVALID_REQUEST, Some(message))
    });
    let refused: Vec<_> = refused.collect();
    let all = request.clone();
    let mut response = match call.ask_controller(ControllerRequest::AlterClientQuotas(request)).await {
        Ok(ControllerResponse::AlterClientQuotas(response)) => response,
        other => refuse_all(&all, other.err().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR)),
    };
    response.entries.extend(refused);
    call.reply(&response)
}

/// The name in an entry for an address that is no address but may be a host's.
fn host(entry: &RequestEntryData) -> Option<&CompactString> {
    let [part] = entry.entity.as_slice() else { return None };
    let name = part.entity_name.as_ref().filter(|name| part.entity_type == "ip" && !name.is_empty())?;
    name.parse::<IpAddr>().is_err().then_some(name)
}

/// Those of the named hosts that have no address.
async fn unknown_hosts(
    call: &Call<'_>,
    request: &AlterClientQuotasRequest,
) -> Result<HashSet<CompactString>, ErrorCode> {
    let names: HashSet<CompactString> = request.entries.iter().filter_map(host).cloned().collect();
    if names.is_empty() {
        return Ok(names);
    }
    if names.len() > LOOKUPS_MAX {
        return Err(ErrorCode::POLICY_VIOLATION);
    }
    let has_none = |name: &CompactString| {
        (name.as_str(), 0).to_socket_addrs().is_ok_and(|mut found| found.next().is_some())
    };
    let looked =
        call.broker().pool.run(move || names.into_iter().filter(|name| !has_none(name)).collect()).await;
    looked.map_err(error_map::of_pool)
}

fn refuse_all(request: &AlterClientQuotasRequest, code: ErrorCode) -> AlterClientQuotasResponse {
    let entries = request.entries.iter().cloned().map(|entry| answer(entry, code, None)).collect();
    AlterClientQuotasResponse { entries, ..AlterClientQuotasResponse::default() }
}

fn answer(
    entry: RequestEntryData,
    error_code: ErrorCode,
    error_message: Option<CompactString>,
) -> ResponseEntryData {
    ResponseEntryData { error_code, error_message, entity: entry.entity }
}
