import FuturesFeed
import Replication

/// The metrics of a cluster node about the log.
extension NodeReading {
    func write(_ text: inout Exposition) {
        text.metric("futures_gateway_cluster_feeds", .gauge, "1 on the node that feeds the log.", feeds ? 1 : 0)
        text.metric("futures_gateway_cluster_connected", .gauge, "1 while there is a connection to the log's servers.", isConnected ? 1 : 0)
        text.metric(
            "futures_gateway_cluster_following", .gauge, "1 once everything that the log had was read; 0 while it is read again.", isFollowing ? 1 : 0
        )
        text.metric("futures_gateway_cluster_away", .gauge, "1 while the log gives nothing, and readers were told so.", isAway ? 1 : 0)
        text.metric(
            "futures_gateway_cluster_lag_seconds", .gauge, "How old the newest message was when it came, by the fastest one.", Double(lagMs) / 1000)
        text.metric("futures_gateway_cluster_silence_seconds", .gauge, "Time since a message came that counts; NaN before the first one.")
        text.sample([:], silenceMs.map { Double($0) / 1000 } ?? .nan)
        text.metric("futures_gateway_cluster_head", .gauge, "The number of the newest event.", head)
        text.metric("futures_gateway_cluster_place", .gauge, "The newest record of the log that was read.", place)
        text.metric("futures_gateway_cluster_term", .gauge, "How many writers the log has had; 0 before anything was read.", term)
        text.metric("futures_gateway_cluster_takeovers_total", .counter, "Writers that took over while this node read.", takeovers)
        text.metric("futures_gateway_cluster_rereads_total", .counter, "How often the log was read again from its beginning.", rereads)
        text.metric("futures_gateway_cluster_void_records_total", .counter, "Records of writers that had no say.", voids)
        text.metric("futures_gateway_cluster_resets_total", .counter, "How often readers had to begin anew, by what the log had done.")
        for cause in FeedMirror.ResetCause.allCases { text.sample(["cause": cause.rawValue], resets[cause] ?? 0) }
        text.metric("futures_gateway_cluster_shadow_streams", .gauge, "Streams that this node holds itself, whole, while it stands by.", shadowed)
        text.metric("futures_gateway_cluster_appends_total", .counter, "Batches that this node has appended as the one that feeds the log.", appended)
        text.metric("futures_gateway_cluster_refusals_total", .counter, "Appends of these that were refused, or whose answer was lost.", refusals)
        text.metric("futures_gateway_cluster_backlog_bytes", .gauge, "Bytes that wait for the log's servers.", backlog)
        text.metric("futures_gateway_cluster_nodes", .gauge, "Nodes that want streams of this one.", nodes)
    }
}
