//! WriteTxnMarkers: the ends of transactions whose coordinator is another broker, or that a tool ends by force.

use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};

use crate::context::Broker;
use crate::dispatch::Call;
use crate::machine_host::markers::{self, Marker};

/// Since this version of transactions, each end raises the epoch.
const RAISES_EPOCH_SINCE: i8 = 2;

pub(crate) fn handle(call: &mut Call<'_>, request: WriteTxnMarkersRequest) -> Outcome {
    let broker = call.broker();
    let markers = request.markers.into_iter().map(|marker| write(broker, marker)).collect();
    call.reply(&WriteTxnMarkersResponse { markers })
}

fn write(broker: &Broker, wanted: WritableTxnMarker) -> WritableTxnMarkerResult {
    let marker = Marker {
        producer_id: wanted.producer_id,
        producer_epoch: wanted.producer_epoch,
        coordinator_epoch: wanted.coordinator_epoch,
        committed: wanted.transaction_result,
        epoch_raised: wanted.transaction_version >= RAISES_EPOCH_SINCE,
    };
    let topics = wanted.topics.into_iter().map(|topic| {
        let partitions = topic.partition_indexes.iter().map(|index| WritableTxnMarkerPartitionResult {
            partition_index: *index,
            error_code: markers::write(broker, &topic.name, *index, marker).err().unwrap_or(ErrorCode::NONE),
        });
        let partitions = partitions.collect();
        WritableTxnMarkerTopicResult { name: topic.name, partitions }
    });
    WritableTxnMarkerResult { producer_id: wanted.producer_id, topics: topics.collect() }
}
