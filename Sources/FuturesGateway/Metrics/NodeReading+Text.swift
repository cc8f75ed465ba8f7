import FuturesFeed
import Replication

/// The metrics of a cluster node about the log.
extension NodeReading {
    func write(_ text: inout Exposition) {
        text.metric("futures_gateway_cluster_feeds", .gauge, "1 on the node that feeds the log.", feeds ? 1 : 0)
        text.metric("futures_gateway_cluster_connected", .gauge, "1 while there is a connection to the log's servers.", isConnected ? 1 : 0)
        text.metric(
            "futures_gateway_cluster_following", .gauge, "1 once the whole log has been read; 0 while it is read again.", isFollowing ? 1 : 0
        )
        text.metric("futures_gateway_cluster_away", .gauge, "1 while the log delivers nothing and readers were notified.", isAway ? 1 : 0)
        text.metric(
            "futures_gateway_cluster_lag_seconds", .gauge, "Delay of the newest message from the log, relative to the fastest one.",
            Double(lagMs) / 1000)
        text.metric("futures_gateway_cluster_silence_seconds", .gauge, "Time since the last valid message; NaN before the first one.")
        text.sample([:], silenceMs.map { Double($0) / 1000 } ?? .nan)
        text.metric("futures_gateway_cluster_head", .gauge, "The number of the newest event.", head)
        text.metric("futures_gateway_cluster_place", .gauge, "The newest record read from the log.", place)
        text.metric("futures_gateway_cluster_term", .gauge, "Number of writers the log has had; 0 before anything was read.", term)
        text.metric("futures_gateway_cluster_takeovers_total", .counter, "Writers that took over while this node read.", takeovers)
        text.metric("futures_gateway_cluster_rereads_total", .counter, "Times the log was read again from its beginning.", rereads)
        text.metric("futures_gateway_cluster_void_records_total", .counter, "Records ignored because their writer was not the current one.", voids)
        text.metric("futures_gateway_cluster_resets_total", .counter, "Times readers had to start over, by cause in the log.")
        for cause in FeedMirror.ResetCause.allCases { text.sample(["cause": cause.rawValue], resets[cause] ?? 0) }
        text.metric(
            "futures_gateway_cluster_shadow_streams", .gauge, "Complete streams that this node reads from the venue while it stands by.", shadowed)
        text.metric("futures_gateway_cluster_appends_total", .counter, "Batches that this node has appended while feeding the log.", appended)
        text.metric("futures_gateway_cluster_refusals_total", .counter, "Appends that were refused, or whose answer was lost.", refusals)
        text.metric("futures_gateway_cluster_backlog_bytes", .gauge, "Bytes waiting for the log's servers.", backlog)
        text.metric("futures_gateway_cluster_nodes", .gauge, "Nodes that request streams from this one.", nodes)
    }
}
