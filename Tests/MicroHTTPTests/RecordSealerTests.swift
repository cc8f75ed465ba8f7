import CMicroHTTPD
import Dispatch
import Glibc
import Testing

@testable import MicroHTTP

extension MicroHTTPTests {
    @Suite struct EncryptedStreams {
        private static let ciphers =
            ["AES-128-GCM", "AES-256-GCM", "CHACHA20-POLY1305", "AES-128-CCM"].flatMap { ["TLS1.3:-CIPHER-ALL:+\($0)", "TLS1.2:-CIPHER-ALL:+\($0)"] }
            + ["TLS1.2:-CIPHER-ALL:+AES-256-CCM"]

        @Test(arguments: ciphers) func everyCipherCarriesAllInOrderUpToTheEnd(_ cipher: String) async throws {
            try await withEncryptedStream("NORMAL:-VERS-ALL:+VERS-\(cipher)") { client, stream, onLoop in
                let block = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                #expect(onLoop { stream.write("data: 1\n\n") } == 9)
                #expect(client.receive(until: "\n\n") == "data: 1\n\n")
                #expect(onLoop { stream.write(block) } == block.count)
                _ = onLoop {
                    stream.finish()
                    return 0
                }
                var received: [UInt8] = []
                while received.count < block.count, let bytes = client.receive() { received += bytes }
                #expect(received == block)
                #expect(client.end() == 0)
            }
        }

        @Test func aSessionThatTheKernelEncryptsIsNotTakenOver() throws {
            var session: gnutls_session_t?
            try #require(gnutls_init(&session, UInt32(GNUTLS_SERVER.rawValue)) == 0)
            defer { gnutls_deinit(session) }
            let own = try #require(session)
            #expect(!cmhd_uses_kernel_tls(own), "GnuTLS says that it does not, so it can be asked")
            var wasAsked = false
            let sealer = RecordSealer(own) { _ in
                wasAsked = true
                return true
            }
            #expect(sealer == nil && wasAsked)
        }

        @Test func noRecordIsLargerThanTheClientTakes() async throws {
            try await withEncryptedStream("NORMAL", recordLimit: 512) { client, stream, onLoop in
                let block = [UInt8](repeating: 7, count: 5000)
                #expect(onLoop { stream.write(block) } == block.count)
                var received: [UInt8] = []
                while received.count < block.count, let bytes = client.receive() { received += bytes }
                #expect(received == block)
            }
        }

        @Test func anEndWaitsForTheRecordThatAFullSocketCut() async throws {
            try await withEncryptedStream("NORMAL", receiveBuffer: 4096) { client, stream, onLoop in
                let block = [UInt8](repeating: 7, count: 60_000)
                var taken = 0
                while let count = onLoop({ stream.write(block) }), count > 0 { taken += count }
                #expect(
                    onLoop {
                        stream.finish()
                        return stream.write("late")
                    } == -1)
                var received = 0
                while let bytes = client.receive() { received += bytes.count }
                #expect(received == taken)
                #expect(client.end() == 0, "the client is told that this is the end")
            }
        }

        /// Opens one stream over TLS whose head the client has read.
        private func withEncryptedStream(
            _ cipher: String, receiveBuffer: Int32? = nil, recordLimit: Int? = nil,
            _ body: (_ client: RawClient, _ stream: EventStream, _ onLoop: (@escaping @Sendable () -> Int) -> Int?) throws -> Void
        ) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(Wire.encrypted.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let client = try RawClient(port: port, receiveBuffer: receiveBuffer, cipher: cipher, recordLimit: recordLimit)
                client.get("/events")
                let stream = try #require(writer.nextOpened())
                _ = client.receive(until: "\r\n\r\n")
                try body(client, stream) { writer.onLoop(loop, $0) }
            }
        }

        @Test func aLoopThatStopsTakesTheAnswersToItsEnd() async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            try await withServer(Wire.encrypted.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let client = try Wire.encrypted.client(port: port)
                client.get("/events")
                _ = try #require(writer.nextOpened())
                _ = client.receive(until: "\r\n\r\n")
                let stopped = DispatchSemaphore(value: 0)
                DispatchQueue(label: "stop").async {
                    loop.stop()
                    stopped.signal()
                }
                #expect(client.end() == 0)
                #expect(client.sayGoodbye(), "the answer found a closed socket")
                #expect(stopped.wait(timeout: .now() + 5) == .success)
            }
        }

        /// A stream's key may encrypt so much only (RFC 8446 §5.5).
        @Test(arguments: [true, false]) func aKeyThatIsSpentEncryptsTheEndAndNothingElse(_ isTLS13: Bool) throws {
            var half = cmhd_half()
            var secret = [UInt8](repeating: 1, count: 16)
            let made = secret.withUnsafeMutableBufferPointer { secret in
                var key = gnutls_datum_t(data: secret.baseAddress, size: 16)
                return gnutls_aead_cipher_init(&half.cipher, GNUTLS_CIPHER_AES_128_GCM, &key)
            }
            try #require(made == 0)
            defer { gnutls_aead_cipher_deinit(half.cipher) }
            half.is_tls13 = isTLS13
            half.has_explicit_nonce = !isTLS13
            half.room = 10_000
            var bytes = [UInt8](repeating: 7, count: 101)
            var record = [UInt8](repeating: 0, count: 256)
            var records = 0
            while cmhd_seal(&half, UInt8(cmhd_application_data), &bytes, 100, &record) > 0 { records += 1 }
            #expect(records >= 80 && half.room < 10_000 - UInt64(records) * 100)
            #expect(cmhd_seal(&half, UInt8(cmhd_application_data), &bytes, 100, &record) == 0)
            #expect(half.sequence == UInt64(records), "no number is left out")
            #expect(cmhd_seal(&half, UInt8(cmhd_alert), &bytes, 2, &record) > 0)
        }
    }
}
