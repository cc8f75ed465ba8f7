import FuturesFeed

extension LogReading {
    /// In the text format of Prometheus; a gateway that stands alone has none of it.
    func write(_ text: inout Exposition) {
        text.metric("futures_gateway_cluster_connected", .gauge, "1 while a server of the log is connected.", isConnected ? 1 : 0)
        text.metric("futures_gateway_cluster_following", .gauge, "1 while all that the log had was read.", isFollowing ? 1 : 0)
        text.metric("futures_gateway_cluster_feeds", .gauge, "1 while this node feeds the log.", feeds ? 1 : 0)
        text.metric("futures_gateway_cluster_silence_seconds", .gauge, "Time since a record of the log; one comes twice a second.")
        if let silence { text.sample([:], Double(silence.components.seconds) + Double(silence.components.attoseconds) / 1e18) }
        text.metric("futures_gateway_cluster_takeovers_total", .counter, "How often this node began to feed the log.", takeovers)
        text.metric("futures_gateway_cluster_depositions_total", .counter, "How often this node stopped feeding the log, by reason.")
        for reason in Self.reasons { text.sample(["reason": reason], depositions[reason] ?? 0) }
        text.metric("futures_gateway_cluster_appends_total", .counter, "Records that this node appended to the log.", appended)
        text.metric("futures_gateway_cluster_refusals_total", .counter, "Appends that were refused or lost.", refusals)
        text.metric("futures_gateway_cluster_backlog_bytes", .gauge, "Bytes that wait to be appended or acknowledged.", backlog)
        text.metric("futures_gateway_cluster_rereads_total", .counter, "How often the log was read again from its beginning.", rereads)
        text.metric("futures_gateway_cluster_resets_total", .counter, "How often the log had lost events that readers had.", resets)
        text.metric("futures_gateway_cluster_void_records_total", .counter, "Records of the log that did not count.", voids)
    }
}
