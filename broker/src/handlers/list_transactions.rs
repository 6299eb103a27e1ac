//! ListTransactions: the transactions of all partitions that are led here.

use std::sync::Arc;

use ottla_coordinator::{
    ListFilter, TransactionEvent, TransactionMachine, TransactionPattern, TransactionReply, TransactionState,
};
use ottla_model::ErrorCode;
use ottla_network::{Outcome, Reply};
use ottla_protocol::messages::list_transactions::{ListTransactionsRequest, ListTransactionsResponse};

use super::{group, transaction};
use crate::dispatch::Call;

pub(crate) async fn handle(call: &mut Call<'_>, request: ListTransactionsRequest) -> Outcome {
    let mut response = ListTransactionsResponse::default();
    let pattern = request.transactional_id_pattern.as_deref().filter(|pattern| !pattern.is_empty());
    let pattern = match pattern.map(TransactionPattern::parse).transpose() {
        Ok(pattern) => pattern,
        Err(error) => {
            tracing::debug!(%error, "transactions were asked for by what is no pattern");
            response.error_code = ErrorCode::INVALID_REGULAR_EXPRESSION;
            return call.reply(&response);
        }
    };
    let mut states = Vec::new();
    for name in &request.state_filters {
        match TransactionState::from_name(name) {
            Some(state) => states.push(state),
            None => response.unknown_state_filters.push(name.clone()),
        }
    }
    let filter = Arc::new(ListFilter {
        states: (!request.state_filters.is_empty()).then_some(states),
        producer_ids: request.producer_id_filters,
        duration_ms: request.duration_filter,
        pattern,
    });
    let transactions = Arc::clone(&call.broker().transactions);
    for index in transactions.partitions() {
        let asked = transactions.ask_partition(index, TransactionEvent::List { filter: Arc::clone(&filter) });
        let timeout = transactions.commit_timeout();
        match group::resolved::<TransactionMachine>(asked, call.waits(), timeout).await {
            Some(TransactionReply::Listed(Ok(listed))) => response.transaction_states.extend(listed),
            // Another broker lists the transactions of a partition that has left.
            Some(TransactionReply::Listed(Err(ErrorCode::NOT_COORDINATOR))) => {}
            Some(TransactionReply::Listed(Err(code))) => {
                let error_code = code;
                return call.reply(&ListTransactionsResponse { error_code, ..Default::default() });
            }
            Some(other) => transaction::mismatched(&other),
            None => return Reply::close().into(),
        }
    }
    call.reply(&response)
}
