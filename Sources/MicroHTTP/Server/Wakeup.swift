import CMicroHTTPD
import Glibc

/// An eventfd on which one thread waits and which others signal.
struct Wakeup: Sendable {
    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    }

    func signal() {
        var one: UInt64 = 1
        _ = Glibc.write(descriptor, &one, 8)
    }

    func drain() {
        var count: UInt64 = 0
        _ = Glibc.read(descriptor, &count, 8)
    }

    /// Waits for a signal, at most this many milliseconds; -1 waits without limit.
    func wait(milliseconds: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&entry, 1, milliseconds) > 0 { drain() }
    }

    func close() {
        _ = Glibc.close(descriptor)
    }
}

/// Starts a joinable thread that runs the `body` of an object and retains it.
func startThread(named name: StaticString, _ object: some ThreadBody) -> pthread_t? {
    let box = Unmanaged.passRetained(ThreadBox(object, name))
    var thread = pthread_t()
    guard pthread_create(&thread, nil, runThread, box.toOpaque()) == 0 else {
        box.release()
        return nil
    }
    return thread
}

protocol ThreadBody: AnyObject, Sendable {
    func runThread()
}

private final class ThreadBox: Sendable {
    let body: any ThreadBody
    let name: StaticString

    init(_ body: any ThreadBody, _ name: StaticString) {
        self.body = body
        self.name = name
    }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let box = Unmanaged<ThreadBox>.fromOpaque(context).takeRetainedValue()
    box.name.withUTF8Buffer { name in
        name.withMemoryRebound(to: CChar.self) { cmhd_name_thread($0.baseAddress) }
    }
    box.body.runThread()
    return nil
}
