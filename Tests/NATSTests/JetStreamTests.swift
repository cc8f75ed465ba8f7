import Foundation
import NIOCore
import Testing

@testable import NATS

@Suite struct JetStreamTests {
    @Test(arguments: [(#"{"stream":"FG","seq":7}"#, 7), (#"{"stream":"FG","seq":4611686018427387903}"#, (1 << 62) - 1)] as [(String, UInt64)])
    func thePlainAnswerToAnAppendIsReadAtOnce(answer: String, sequence: UInt64) {
        #expect(JetStream.plainSequence(ByteBuffer(string: answer), of: "FG") == sequence)
    }

    @Test(arguments: [
        "", "{", #"{"stream":"FG"}"#, #"{"stream":"FG","seq":}"#, #"{"stream":"FG","seq":7"#, #"{"stream":"FG","seq":-7}"#,
        #"{"stream":"FG","seq":7.5}"#,
        #"{"stream":"FG","seq":4611686018427387904}"#,
        #"{"stream":"FG","seq":18446744073709551616}"#, #"{"stream":"FG2","seq":7}"#, #"{"stream":"F","seq":7}"#, #"{"stream":"FG","seq":7} "#,
        #"{"stream":"FG","seq":7,"domain":"hub"}"#, #"{"error":{"code":400,"err_code":10071},"stream":"FG","seq":7}"#, #"{"stream": "FG", "seq": 7}"#,
    ])
    func everyOtherAnswerIsLeftToTheDecoder(answer: String) {
        #expect(JetStream.plainSequence(ByteBuffer(string: answer), of: "FG") == nil)
    }

    /// A server that answers so cannot make an addition overflow.
    @Test(arguments: [4_611_686_018_427_387_904, UInt64.max]) func aStateWithAnAbsurdSequenceIsRefused(sequence: UInt64) throws {
        func state(_ last: UInt64) throws -> JetStreamState {
            try JSONDecoder().decode(JetStreamState.self, from: Data(#"{"messages":1,"bytes":1,"first_seq":1,"last_seq":\#(last)}"#.utf8))
        }
        #expect(try state(sequence >> 3).last == sequence >> 3)
        #expect(throws: DecodingError.self) { try state(sequence) }
    }
}
