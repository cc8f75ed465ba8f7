import FuturesFeed
import GatewayAccess
import MicroHTTP
import Rings
import Tape

/// The content of `/metrics`, read at one moment.
struct GatewayReading: Sendable {
    let feed: FeedReading
    let streams: StatusTable
    /// Nil if nothing is recorded.
    let tape: TapeReading?
    let frames: FrameTapeReading?
    /// The futures venues.
    let venues: [VenueMirrorReading]
    let agents: [AgentTally.Count]
    let fanOut: FanOutTally
    let rings: EventRings.Reading
    let http: HTTPServerReading
    let process: ProcessReading
    let memory: MemoryWatch.Reading
    let log: LogCounts

    /// The metrics in the Prometheus text format.
    var text: String {
        var text = Exposition()
        writeFeed(&text)
        writeUpstreams(&text)
        feed.node?.write(&text)
        tape?.write(&text)
        frames?.write(&text)
        VenueMirrorReading.write(venues, &text, http)
        writeEvents(&text)
        writeAgents(&text)
        writeHTTP(&text)
        writeAccess(&text)
        writeProcess(&text)
        return text.text
    }

    /// Writes a sample for every state, so that no series disappears together with its streams.
    private func writeFeed(_ text: inout Exposition) {
        let byKind = streams.kinds(feed.tally.kinds.count, now: Instant.current)
        let kinds = zip(feed.tally.kinds, byKind).map { ($0, $1, feed.tally.upstreams[$0.upstream], $0.channel.rawValue) }
        text.metric("futures_gateway_feed_streams", .gauge, "Streams in use, by state.")
        for (_, kind, upstream, channel) in kinds {
            for state in FeedState.allCases {
                text.sample(["upstream": upstream, "kind": channel, "state": state.rawValue], kind.states[state] ?? 0)
            }
        }
        text.metric("futures_gateway_feed_newest_age_seconds", .gauge, "Time since content of this kind was last received.")
        for (_, kind, upstream, channel) in kinds {
            if let age = kind.newestAge { text.sample(["upstream": upstream, "kind": channel], Double(age) / 1000) }
        }
        text.metric("futures_gateway_feed_oldest_age_seconds", .gauge, "The longest time since content was received, over all streams of this kind.")
        for (_, kind, upstream, channel) in kinds {
            if let age = kind.oldestAge { text.sample(["upstream": upstream, "kind": channel], Double(age) / 1000) }
        }
        text.metric("futures_gateway_feed_readers", .gauge, "Subscriptions of readers, pinned streams and waiting requests.")
        for (_, kind, upstream, channel) in kinds { text.sample(["upstream": upstream, "kind": channel], kind.readers) }
        text.metric("futures_gateway_feed_events_total", .counter, "Events of streams, each counted once regardless of its readers.")
        for (tally, _, upstream, channel) in kinds {
            for (event, count) in zip(FeedTally.events, tally.events) {
                text.sample(["upstream": upstream, "kind": channel, "event": event], count)
            }
        }
        text.histogram(
            "futures_gateway_feed_venue_delay_seconds", "Delay from the upstream's time of an update to its receipt, by the two clocks.", "upstream",
            Array(zip(feed.tally.upstreams, feed.tally.delays)))
        text.histogram(
            "futures_gateway_feed_outage_seconds", "Duration of outages that ended in a recovery.", "upstream",
            Array(zip(feed.tally.upstreams, feed.tally.outages)))
        let counters = feed.counters
        for (name, help, count) in [
            ("disconnects", "Upstream connections that were lost.", counters.disconnects),
            ("rotations", "Upstream connections replaced before the venue closed them.", counters.rotations),
            ("recoveries", "Streams that recovered from an outage.", counters.recoveries),
            ("failed_recoveries", "Streams whose recovery failed.", counters.failedRecoveries),
            ("missed_messages", "Messages that never arrived, as far as ids show it.", counters.missedMessages),
            ("backfilled_messages", "Missed messages fetched over REST.", counters.backfilledMessages),
            ("lines_replaced", "Lines to an upstream replaced while other lines continued.", counters.linesReplaced),
            ("line_fills", "Gaps on one line that another line filled.", counters.holesFilledByLines),
            ("malformed_frames", "Frames that could not be read.", counters.malformedFrames),
            ("ignored_events", "Events without a subscription.", counters.ignoredEvents),
            ("book_resyncs", "Order books rebuilt from a snapshot.", counters.bookResyncs),
            ("book_audits", "Order books compared with REST at one update id.", counters.bookAudits),
            ("book_divergences", "Order books that differed from REST.", counters.bookDivergences),
        ] {
            text.metric("futures_gateway_feed_\(name)_total", .counter, help, count)
        }
        text.metric("futures_gateway_feed_bars_closed_total", .counter, "Bars of streams of early bars, by what closed them.")
        let closed = counters.earlyBars
        for (cause, count) in [("trade", closed.byTrade), ("clock", closed.byClock), ("venue", closed.byVenue)] {
            text.sample(["by": cause], count)
        }
        text.metric("futures_gateway_feed_bars_checked_total", .counter, "Bars closed early, by whether the venue closed them with the same values.")
        for (outcome, count) in [("confirmed", closed.confirmed), ("corrected", closed.corrected)] { text.sample(["outcome": outcome], count) }
    }

    private func writeUpstreams(_ text: inout Exposition) {
        let upstreams = feed.tally.upstreams
        text.metric("futures_gateway_simulated", .gauge, "1 for each upstream whose data is simulated.")
        for upstream in feed.upstreams { text.sample(["upstream": upstream.name], upstream.isSimulated ? 1 : 0) }
        text.metric("futures_gateway_upstream_connections", .gauge, "Upstream connections, by state; a waiting one will be retried.")
        for (upstream, phases) in zip(upstreams, feed.connections) {
            for phase in ConnectionStatus.Phase.allCases { text.sample(["upstream": upstream, "state": phase.rawValue], phases[phase] ?? 0) }
        }
        writeLines(&text)
        text.metric("futures_gateway_upstream_connects_total", .counter, "Attempts to connect.")
        for (upstream, traffic) in zip(upstreams, feed.traffic) {
            text.sample(["upstream": upstream, "outcome": "success"], traffic.connects)
            text.sample(["upstream": upstream, "outcome": "failure"], traffic.failedConnects)
        }
        text.metric("futures_gateway_upstream_messages_total", .counter, "Messages received over sockets, without control frames.")
        for (upstream, traffic) in zip(upstreams, feed.traffic) { text.sample(["upstream": upstream], traffic.messages) }
        text.metric("futures_gateway_upstream_received_bytes_total", .counter, "Bytes of these messages.")
        for (upstream, traffic) in zip(upstreams, feed.traffic) { text.sample(["upstream": upstream], traffic.bytes) }
        text.metric("futures_gateway_upstream_fetches_total", .counter, "Requests for snapshots over REST.")
        for (upstream, traffic) in zip(upstreams, feed.traffic) {
            text.sample(["upstream": upstream, "outcome": "success"], traffic.fetches)
            text.sample(["upstream": upstream, "outcome": "failure"], traffic.failedFetches)
        }
        let venues = zip(feed.upstreams, feed.budgets).filter { $0.0.venue != nil }.map { ($0.0.name, $0.1) }
        text.metric("futures_gateway_upstream_request_weight_used", .gauge, "Request weight used at the venue in the current minute.")
        for (upstream, budget) in venues { text.sample(["upstream": upstream], budget.weight.used) }
        text.metric("futures_gateway_upstream_request_weight_limit", .gauge, "Request weight the venue allows per minute.")
        for (upstream, budget) in venues { text.sample(["upstream": upstream], budget.weight.limit) }
        text.metric("futures_gateway_upstream_request_weight_total", .counter, "Request weight spent at all venues, by purpose.")
        let spent = feed.counters.weight
        for (purpose, weight) in [
            ("content", spent.content), ("refill", spent.refills), ("audit", spent.audits), ("silence", spent.silences), ("mirror", spent.relays),
        ] {
            text.sample(["purpose": purpose], weight)
        }
        text.metric("futures_gateway_upstream_rest_pause_seconds", .gauge, "How much longer the venue asked clients not to use REST.")
        for (upstream, budget) in venues { text.sample(["upstream": upstream], Double(budget.pause.components.seconds)) }
    }

    private func writeLines(_ text: inout Exposition) {
        // In a cluster, another node reports these lines, and it may have other upstreams.
        let lines = feed.lines.filter { feed.tally.upstreams.indices.contains($0.upstream) }.map {
            ($0, feed.tally.upstreams[$0.upstream], "\($0.line + 1)")
        }
        text.metric(
            "futures_gateway_upstream_line_connections", .gauge, "Connections of a line, open or not; each line carries all streams.")
        for (line, upstream, number) in lines {
            text.sample(["upstream": upstream, "line": number, "state": "open"], line.open)
            text.sample(["upstream": upstream, "line": number, "state": "lost"], line.connections - line.open)
        }
        text.metric("futures_gateway_upstream_line_wins_total", .counter, "Messages that a line delivered first.")
        for (line, upstream, number) in lines { text.sample(["upstream": upstream, "line": number], line.wins) }
        text.metric("futures_gateway_upstream_line_lag_seconds", .gauge, "How far a line's copies have recently arrived after the first copies.")
        for (line, upstream, number) in lines {
            for (quantile, lag) in [("0.5", line.lagP50), ("0.99", line.lagP99)] {
                if let lag { text.sample(["upstream": upstream, "line": number, "quantile": quantile], Double(lag) / 1e9) }
            }
        }
    }

    private func writeEvents(_ text: inout Exposition) {
        let tally = fanOut
        text.metric("futures_gateway_event_readers", .gauge, "Open event streams.")
        for (format, name) in [(EventFormat.events, "events"), (.byStream, "byStream"), (.lines, "lines")] {
            text.sample(["format": name, "encoding": "identity"], tally.readers[format.rawValue][0])
            text.sample(["format": name, "encoding": "gzip"], tally.readers[format.rawValue][1])
        }
        text.metric("futures_gateway_socket_connections", .gauge, "Open sockets with the venue's own messages.")
        text.sample(["form": "raw"], tally.readers[EventFormat.frames.rawValue][0])
        text.sample(["form": "combined"], tally.readers[EventFormat.combinedFrames.rawValue][0])
        text.metric("futures_gateway_socket_received_total", .counter, "Messages from the clients of sockets.", tally.socketMessages)
        text.metric("futures_gateway_socket_closes_total", .counter, "Sockets closed by the gateway, by the reason.")
        for (code, count) in tally.socketCloses.sorted(by: { $0.key < $1.key }) { text.sample(["reason": code], count) }
        text.metric("futures_gateway_event_thread_readers", .gauge, "Open and opening event streams of each sending thread.")
        for (thread, readers) in rings.readers.enumerated() { text.sample(["thread": "\(thread + 1)"], readers) }
        text.metric("futures_gateway_event_readers_paused", .gauge, "Event streams that have paused at least one stream.", feed.pausedClients)
        text.metric("futures_gateway_event_readers_blocked", .gauge, "Event streams whose socket was full when last checked.", tally.blocked)
        text.metric("futures_gateway_event_backlog_bytes", .gauge, "Bytes not yet sent to the blocked event streams.", tally.backlog)
        text.metric("futures_gateway_event_connections_total", .counter, "Event streams opened.", tally.opened)
        text.metric("futures_gateway_event_resumes_total", .counter, "Event streams opened, by how they resumed; none is a new reader.")
        for (kind, count) in tally.resumes.sorted(by: { $0.key < $1.key }) { text.sample(["kind": kind], count) }
        text.metric("futures_gateway_event_farewells_total", .counter, "Event streams ended by the gateway, by the code of bye.")
        for (code, count) in tally.farewells.sorted(by: { $0.key < $1.key }) { text.sample(["code": code], count) }
        text.metric(
            "futures_gateway_event_cuts_total", .counter, "Event streams cut because the reader accepted nothing, not even the farewell.", tally.cut)
        text.metric(
            "futures_gateway_event_relieved_total", .counter, "Event streams ended because the reader accepted nothing while memory was short.",
            tally.relieved)
        text.metric("futures_gateway_event_deliveries_total", .counter, "Events sent, once for each reader.", tally.deliveries)
        text.metric(
            "futures_gateway_event_conflations_total", .counter, "Events not sent to a reader because a newer value took their place.",
            tally.conflations)
        text.metric(
            "futures_gateway_event_gaps_total", .counter, "Gaps reported to readers that were too slow for a stream in which every message counts.",
            tally.gaps)
        text.metric("futures_gateway_event_gap_events_total", .counter, "Events in these gaps.", tally.gapEvents)
        text.metric("futures_gateway_event_writes_total", .counter, "Writes to event streams that transferred bytes.", tally.writes)
        text.metric("futures_gateway_event_sent_bytes_total", .counter, "Bytes written to event streams.")
        text.sample(["encoding": "identity"], tally.bytes[0])
        text.sample(["encoding": "gzip"], tally.bytes[1])
        text.histogram(
            "futures_gateway_event_write_delay_seconds",
            "Delay from the receipt of events to their write to the first and the last due reader, without gzip.",
            "reader", [("first", tally.firstWrites), ("last", tally.lastWrites)])
        text.metric("futures_gateway_event_rings", .gauge, "In-memory event rings that serve readers.", rings.rings)
        text.metric("futures_gateway_event_ring_events", .gauge, "Events held in the rings.", rings.events)
        text.metric("futures_gateway_event_ring_bytes", .gauge, "Bytes of these events.", rings.bytes)
        text.metric("futures_gateway_event_ring_memory_bytes", .gauge, "Bytes of memory allocated for the rings.", rings.memory)
        text.metric("futures_gateway_event_ring_limit_bytes", .gauge, "Maximum bytes for all rings together.", rings.budget)
    }

    private func writeAgents(_ text: inout Exposition) {
        text.metric(
            "futures_gateway_agent_listeners", .gauge, "Open event streams that notify agents of changes.", feed.listeners)
        text.metric("futures_gateway_agent_calls_total", .counter, "Requests of agents over /mcp, by outcome.")
        for count in agents { text.sample(["call": count.call, "outcome": count.outcome.rawValue], count.count) }
    }

    private func writeHTTP(_ text: inout Exposition) {
        text.metric("futures_gateway_http_connections", .gauge, "Open connections, by use.")
        for state in HTTPServerReading.ConnectionState.allCases { text.sample(["state": state.rawValue], http.connections[state] ?? 0) }
        text.metric("futures_gateway_http_connections_limit", .gauge, "Maximum number of simultaneous connections.", http.connectionLimit)
        text.metric(
            "futures_gateway_http_late_requests_total", .counter, "Connections cut because a request took too long to arrive.", http.lateRequests)
        text.metric("futures_gateway_http_requests_total", .counter, "Requests, by route and status class of the response.")
        for requests in http.requests.sorted(by: { ($0.route, $0.method) < ($1.route, $1.method) }) {
            for (status, count) in zip(["2xx", "3xx", "4xx", "5xx"], requests.counts) where count > 0 || status == "2xx" {
                text.sample(["method": requests.method, "route": requests.route, "status": status], count)
            }
        }
    }

    private func writeAccess(_ text: inout Exposition) {
        text.metric("futures_gateway_access_refusals_total", .counter, "Refused requests, by reason; a limit has the name of its setting.")
        for reason in RefusalReason.allCases { text.sample(["reason": reason.label], feed.refusals[reason] ?? 0) }
    }

    private func writeProcess(_ text: inout Exposition) {
        text.metric("futures_gateway_log_lines_total", .counter, "Lines written to the program log.", log.written)
        text.metric(
            "futures_gateway_log_lines_dropped_total", .counter,
            "Log lines dropped because the log's reader was too slow or a message repeated too often.")
        text.sample(["reason": "full"], log.full)
        text.sample(["reason": "repeated"], log.repeated)
        text.metric("futures_gateway_build_info", .gauge, "Always 1; the labels identify the build.")
        text.sample(["commit": GatewayService.commit, "version": GatewayService.version], 1)
        text.metric("process_cpu_seconds_total", .counter, "Processor time used, user and system.", process.processorSeconds)
        text.metric("process_resident_memory_bytes", .gauge, "Memory in use.", process.residentBytes)
        text.metric(
            "futures_gateway_allocated_bytes", .gauge, "Memory allocated and in use, without memory that the allocator caches.",
            process.allocatedBytes)
        text.metric(
            "futures_gateway_memory_limit_bytes", .gauge, "Memory limit of the control group or the machine.", memory.limit)
        text.metric("futures_gateway_memory_used_bytes", .gauge, "Memory that the control group counts, if it has a limit.")
        if let used = memory.used { text.sample([:], used) }
        text.metric(
            "futures_gateway_memory_short", .gauge, "1 while memory is short: new readers and streams are refused.", memory.isShort ? 1 : 0)
        text.metric("process_open_fds", .gauge, "Open descriptors.", process.openDescriptors)
        text.metric("process_max_fds", .gauge, "Maximum number of open file descriptors.", process.descriptorLimit)
        text.metric("process_threads", .gauge, "Threads.", process.threads)
        text.metric("process_start_time_seconds", .gauge, "Start time of the process, seconds since 1970 UTC.", process.startedAt)
    }
}
