import NIOCore
import Testing

@testable import NATS

@Suite struct JetStreamTests {
    @Test(arguments: [(#"{"stream":"FG","seq":7}"#, 7), (#"{"stream":"FG","seq":18446744073709551615}"#, UInt64.max)] as [(String, UInt64)])
    func thePlainAnswerToAnAppendIsReadAtOnce(answer: String, sequence: UInt64) {
        #expect(JetStream.plainSequence(ByteBuffer(string: answer), of: "FG") == sequence)
    }

    @Test(arguments: [
        "", "{", #"{"stream":"FG"}"#, #"{"stream":"FG","seq":}"#, #"{"stream":"FG","seq":7"#, #"{"stream":"FG","seq":-7}"#,
        #"{"stream":"FG","seq":7.5}"#,
        #"{"stream":"FG","seq":18446744073709551616}"#, #"{"stream":"FG2","seq":7}"#, #"{"stream":"F","seq":7}"#, #"{"stream":"FG","seq":7} "#,
        #"{"stream":"FG","seq":7,"domain":"hub"}"#, #"{"error":{"code":400,"err_code":10071},"stream":"FG","seq":7}"#, #"{"stream": "FG", "seq": 7}"#,
    ])
    func everyOtherAnswerIsLeftToTheDecoder(answer: String) {
        #expect(JetStream.plainSequence(ByteBuffer(string: answer), of: "FG") == nil)
    }
}
