import Testing

@testable import GatewayAccess

@Suite struct AddressTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("192.168.1.128/25", "192.168.1.129", true),
        ("192.168.1.128/25", "192.168.1.127", false), ("0.0.0.0/0", "1.2.3.4", true), ("0.0.0.0/0", "::1", false),
        ("2001:db8::/32", "2001:db8:1::5", true),
        ("2001:db8::/33", "2001:db8:8000::", false), ("::1", "::1", true), ("1.2.3.4", "1.2.3.4", true), ("1.2.3.4", "::ffff:1.2.3.4", true),
        ("::ffff:1.2.3.4", "1.2.3.4", true), ("fe80::/10", "febf::1", true),
    ])
    func aBlockHoldsTheseAddresses(block: String, address: String, holds: Bool) throws {
        #expect(AddressBlock(block)?.contains(try #require(Address(address))) == holds)
    }

    @Test(arguments: ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "::/129", "a", "10.0.0.0/8/8", "01.2.3.4", "1.2.3.256", "1.2.3.4.5"])
    func whatIsNoBlockIsRefused(text: String) { #expect(AddressBlock(text) == nil) }

    @Test(arguments: [
        "1::2::3", ":::", "12345::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1%eth0", "[::1]", "1.2.3.4:80", "g::", "+1::",
        ":1",
    ])
    func whatIsNoAddressIsRefused(text: String) { #expect(Address(text) == nil) }

    @Test func clientsOfIPv6AreCountedByTheirNetwork() throws {
        #expect(try #require(Address("2001:db8:1:2::1")).client == #require(Address("2001:db8:1:2:ffff::9")).client)
        #expect(try #require(Address("2001:db8:1:2::1")).client != #require(Address("2001:db8:1:3::1")).client)
        #expect(try #require(Address("127.9.9.9")).isLoopback && #require(Address("::1")).isLoopback && !#require(Address("128.0.0.1")).isLoopback)
    }

    @Test(
        arguments: [
            ("10.0.0.1", nil, "6.6.6.6, 1.2.3.4", "1.2.3.4"), ("10.0.0.1", nil, "6.6.6.6, 1.2.3.4, 10.0.0.2", "1.2.3.4"),
            ("10.0.0.1", nil, nil, "10.0.0.1"),
            ("9.9.9.9", nil, "1.2.3.4", "9.9.9.9"), ("10.0.0.1", nil, "10.0.0.3", "10.0.0.3"), ("10.0.0.1", nil, "1.2.3.4, garbage", "10.0.0.1"),
            ("10.0.0.1", nil, "[2001:db8::1]:443", "2001:db8::1"), ("10.0.0.1", nil, "1.2.3.4:5555", "1.2.3.4"), ("10.0.0.1", nil, "", "10.0.0.1"),
            ("10.0.0.1", "for=6.6.6.6", "1.2.3.4", "1.2.3.4"), ("10.0.0.1", "for=1.2.3.4;proto=https", nil, "1.2.3.4"),
            ("10.0.0.1", #"for=6.6.6.6, For="[2001:db8::1]:80""#, nil, "2001:db8::1"),
            ("10.0.0.1", "for=1.2.3.4, proto=https", nil, "10.0.0.1"), ("10.0.0.1", "for=unknown", nil, "10.0.0.1"),
            ("127.0.0.1", nil, nil, "127.0.0.1"), ("127.0.0.1", nil, "1.2.3.4", "1.2.3.4"), ("9.9.9.9", nil, "127.0.0.1", "9.9.9.9"),
            ("127.0.0.1", nil, "127.0.0.1", "0.0.0.0"), ("127.0.0.1", nil, "", "0.0.0.0"), ("127.0.0.1", nil, "garbage", "0.0.0.0"),
            ("127.0.0.1", "for=unknown", nil, "0.0.0.0"), ("10.0.0.1", nil, "::1", "0.0.0.0"), ("10.0.0.1", nil, "127.0.0.9, 10.0.0.2", "0.0.0.0"),
        ] as [(String, String?, String?, String)])
    func onlyTrustedProxiesSayWhereARequestBegan(peer: String, forwarded: String?, forwardedFor: String?, client: String) throws {
        let proxies = try [#require(AddressBlock("10.0.0.0/8")), #require(AddressBlock("127.0.0.0/8"))]
        let found = ForwardedFor.client(peer: try #require(Address(peer)), forwarded: forwarded, forwardedFor: forwardedFor, proxies: proxies)
        #expect(found == Address(client))
    }
}
