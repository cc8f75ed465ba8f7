import NIOCore

/// One event of a symbol, for either wire format.
struct StockMessage {
    let symbol: String
    let side: StockServer.Side
    let price: StockVenue.Price
    let volume: UInt32

    /// A frame with one message; all numbers are little-endian.
    var binary: ByteBuffer {
        let name = Array(symbol.utf8)
        var message = ByteBuffer()
        message.writeInteger(UInt8(1))
        message.writeInteger(UInt8(side.rawValue))
        message.writeInteger(UInt8((side == .trade ? 28 : 23) + name.count))
        message.writeInteger(UInt8(name.count))
        message.writeBytes(name)
        message.writeInteger(UInt8(6))
        message.writeInteger(UInt16(0x56), endianness: .little)
        message.writeInteger((Float(price.hundredths) / 100).bitPattern, endianness: .little)
        message.writeInteger(price.size, endianness: .little)
        message.writeInteger(price.time, endianness: .little)
        if side == .trade {
            message.writeInteger(volume, endianness: .little)
            message.writeInteger(UInt8(1))
            message.writeString("@")
        } else {
            message.writeInteger(UInt8(0))
        }
        return message
    }

    func text(topic: String) -> String {
        let seconds = decimal(Int64(price.time / 1_000), 6)
        let type = ["last", "ask", "bid"][side.rawValue]
        return #"{"topic":\#(JSONValue.quoted(topic)),"event":"quote","ref":null,"payload":{"type":"\#(type)","timestamp":\#(seconds),"#
            + #""ticker":\#(JSONValue.quoted(symbol)),"size":\#(price.size),"price":\#(decimal(price.hundredths, 2))}}"#
    }
}
