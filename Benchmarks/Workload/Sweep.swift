import FeedCore
import Rings

/// Simulated readers of the streams' rings, without sockets. It measures the cost of appending an event and of finding each reader's next events.
package final class Sweep {
    private var rings = Slab<Ring>()
    private var followed = Slab<FollowedRing>()
    private var readers: [ReaderCursors] = []
    private let list = GatherList()
    private let text: [UInt8]
    private let bodyCount: Int
    private var sequence: UInt64 = 0

    /// - Parameter each: how many of the streams each reader has, one after the other from a place of its own.
    package init(streams: Int, readers count: Int, each: Int) {
        let ticker =
            #"{"stream":"btcusdt@bookTicker","id":"k3f9a.1z4","type":"bookTicker","kind":"full","state":"live","source":"websocket","eventTime":1763679600000,"#
            + #""receivedAt":1763679600123,"content":{"symbol":"BTCUSDT","bidPrice":"86123.40","bidQty":"1.204","askPrice":"86123.50","#
            + #""askQty":"0.310","time":1763679600000}}"#
        let body = EventFormat.events.body("update", of: nil, Array(ticker.utf8))
        bodyCount = body.count
        text = body + EventFormat.events.idStart(EventID(epoch: .max, sequence: 1_000_000))
        for number in 0..<streams {
            guard let name = FuturesServiceStreamName("s\(number)usdt@bookTicker") else { continue }
            let ring = Ring(floor: 0, maximumBytes: 8 << 20, maximumEvents: 100_000, maximumAge: .max)
            followed.insert(FollowedRing(name: name, view: ring.view), at: number)
            rings.insert(ring, at: number)
        }
        for number in 0..<count {
            var reader = ReaderCursors(format: .events)
            for place in 0..<each {
                let ring = (number * 7 + place) % streams
                reader.subscriptions.append(ReaderCursors.Subscription(ring: ring, cursor: 0))
                reader.streams.insert(followed[ring].streams)
            }
            readers.append(reader)
        }
    }

    /// Appends an event to every stream.
    package func append() {
        for ring in followed.indices {
            sequence += 1
            rings[ring].append(sequence: sequence, text: text, idStart: bodyCount, carriesData: true, now: 0)
            followed[ring].view = rings[ring].view
        }
    }

    /// Finds what every reader lacks and moves its cursors on. Returns the number of events found.
    package func sweep() -> Int {
        var found = 0
        for place in readers.indices {
            repeat {
                list.gather(&readers[place], followed)
                _ = list.advance(&readers[place], followed, by: .max)
                found += Int(list.advanced)
            } while list.count > 0
        }
        return found
    }
}
