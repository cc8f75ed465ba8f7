import Foundation
#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif
struct Markets: Decodable {
    struct Row: Decodable { let venue: String, state: String, fundingPerHour: String? }
    let rows: [Row]
}
guard let url = URL(string: "http://127.0.0.1:8080/markets/BTC") else { exit(1) }
let rows = try JSONDecoder().decode(Markets.self, from: try await URLSession.shared.data(from: url).0).rows
for row in rows { print(row.venue, row.fundingPerHour ?? "–", row.state) }
let rates = rows.filter { $0.state == "live" }.compactMap { row in Decimal(string: row.fundingPerHour ?? "").map { (venue: row.venue, rate: $0) } }
guard let low = rates.min(by: { $0.rate < $1.rate }), let high = rates.max(by: { $0.rate < $1.rate }) else { exit(1) }
print("spread \((high.rate - low.rate) * 100) % per hour, from \(low.venue) to \(high.venue)")
