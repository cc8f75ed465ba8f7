package import FeedCore

/// The ring of one stream in one format, as one fan-out thread knows it, with that thread's readers.
package struct FollowedRing: ~Copyable {
    package let name: FuturesServiceStreamName
    /// The set of this stream only.
    package let streams: StreamSet
    package var view: RingView
    /// The slots of its readers, and the compression groups that read it.
    package var readers: [Int32] = []
    package var groups: [Int] = []
    package var isDirty = false

    package init(name: FuturesServiceStreamName, view: RingView) {
        self.name = name
        streams = StreamSet(name)
        self.view = view
    }
}
