import ArgumentParser
import Foundation
import Testing
import Yams

@testable import futures_gateway

/// What the files for deployment say, held against what the program takes and answers.
@Suite struct DeploymentTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    private func text(_ file: String) throws -> String { try String(contentsOf: Self.root.appending(path: file), encoding: .utf8) }

    private func documents(_ file: String) throws -> [Node] { try Yams.compose_all(yaml: try text(file)).compactMap(\.self) }

    /// The paths that the contract has; a test of the gateway holds it against the routes.
    private var paths: Set<String> {
        get throws { Set(try text("openapi.yaml").matches(of: /(?m)^ {2}(\/[^:]*):$/).map { String($0.1) }) }
    }

    @Test func theProbesOfKubernetesAskWhatTheGatewayAnswers() throws {
        let documents = try documents("ops/kubernetes/gateway.yaml")
        #expect(documents.map { $0["kind"]?.string } == ["Deployment", "Service", "PodDisruptionBudget"])
        let pod = try #require(documents[0]["spec"]?["template"]?["spec"])
        let container = try #require(pod["containers"]?.sequence?.first)
        let port = try #require(container["ports"]?.sequence?.first)
        #expect(port["containerPort"]?.int == ServeSettings().port.standard)
        for (probe, path) in [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/servez")] {
            let request = try #require(container[probe]?["httpGet"])
            #expect(request["path"]?.string == path)
            #expect(try paths.contains(path))
            #expect(request["port"]?.string == port["name"]?.string)
        }
        let annotations = try #require(documents[0]["spec"]?["template"]?["metadata"]?["annotations"])
        #expect(annotations["prometheus.io/port"]?.string == "\(ServeSettings().port.standard)")
        #expect(try paths.contains(annotations["prometheus.io/path"]?.string ?? ""))
        #expect(container["args"]?.sequence?.compactMap(\.string) == [ServeCommand.configuration.commandName ?? ""])
        for variable in container["env"]?.sequence ?? [] { #expect(ServeSettings.variables.contains(variable["name"]?.string ?? "")) }
        #expect(pod["enableServiceLinks"]?.bool == false)
        #expect(pod["securityContext"]?["runAsNonRoot"]?.bool == true)
        #expect(container["securityContext"]?["readOnlyRootFilesystem"]?.bool == true)
        #expect(container["securityContext"]?["capabilities"]?["drop"]?.sequence?.compactMap(\.string) == ["ALL"])
        let labels = try #require(documents[0]["spec"]?["template"]?["metadata"]?["labels"])
        for selector in [documents[1]["spec"]?["selector"], documents[2]["spec"]?["selector"]?["matchLabels"]] { #expect(selector == labels) }
        #expect(documents[1]["spec"]?["ports"]?.sequence?.first?["targetPort"]?.string == port["name"]?.string)
    }

    @Test func theImageRunsAsNobodyAndAsksForItsHealthItself() throws {
        let image = try text("Dockerfile")
        let user = try #require(image.firstMatch(of: /(?m)^USER (\d+):(\d+)$/))
        let context = try documents("ops/kubernetes/gateway.yaml")[0]["spec"]?["template"]?["spec"]?["securityContext"]
        #expect(context?["runAsUser"]?.int == Int(user.1) && context?["runAsGroup"]?.int == Int(user.2) && Int(user.1) != 0)
        #expect(image.contains("EXPOSE \(ServeSettings().port.standard)\n"))
        let check = try #require(image.firstMatch(of: /HEALTHCHECK .* CMD \["futures-gateway", "([a-z]+)"\]/))
        #expect(FuturesGatewayCommand.configuration.subcommands.contains { $0.configuration.commandName == String(check.1) })
        for variable in image.matches(of: /ENV (FUTURES_GATEWAY_\w+)/) { #expect(ServeSettings.variables.contains(String(variable.1))) }
    }

    @Test func composeNamesWhatThereIs() throws {
        let compose = try #require(try documents("compose.yaml").first)
        let gateway = try #require(compose["services"]?["gateway"])
        for name in gateway["environment"]?.mapping?.keys.compactMap(\.string) ?? [] { #expect(ServeSettings.variables.contains(name)) }
        #expect(gateway["read_only"]?.bool == true)
        #expect(gateway["ports"]?.sequence?.first?.string?.hasSuffix(":\(ServeSettings().port.standard)") == true)
        for service in ["prometheus", "alertmanager", "grafana"] {
            for volume in compose["services"]?[service]?["volumes"]?.sequence?.compactMap(\.string) ?? [] where volume.hasPrefix("./") {
                let file = try #require(volume.split(separator: ":").first)
                #expect(FileManager.default.fileExists(atPath: Self.root.appending(path: String(file)).path(percentEncoded: false)), "\(file)")
            }
        }
        let prometheus = try documents("ops/prometheus/prometheus.yml")[0]
        let told = prometheus["alerting"]?["alertmanagers"]?.sequence?.first?["static_configs"]?.sequence?.first?["targets"]?.sequence?.first
        #expect(told?.string == "alertmanager:9093" && compose["services"]?["alertmanager"] != nil)
        let scraped = prometheus["scrape_configs"]?.sequence?.first
        #expect(scraped?["static_configs"]?.sequence?.first?["targets"]?.sequence?.first?.string == "gateway:\(ServeSettings().port.standard)")
    }

    @Test func healthAsksBesideTheGatewayWhereverItListens() throws {
        #expect(try HealthCommand.address([:], [:]) == "http://127.0.0.1:8080")
        #expect(try HealthCommand.address(["port": "1"], ["FUTURES_GATEWAY_HOST": "10.0.0.1"]) == "http://10.0.0.1:1")
        #expect(try HealthCommand.address(["host": "::1"], [:]) == "http://[::1]:8080")
        for address in ["http://127.0.0.1:1", "https://127.1.2.3/x", "https://localhost:1", "https://[::1]:1"] {
            #expect(HealthCommand.isLoopback(address), "\(address)")
        }
        for address in ["https://127.0.0.1.example", "https://example.org", "https://10.0.0.1", "nonsense"] {
            #expect(!HealthCommand.isLoopback(address), "\(address)")
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze"), "systemd-analyze is not installed"))
    func systemdUnderstandsTheUnits() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // What it runs has to be there.
        for unit in ["service", "socket"] {
            let text = try text("ops/systemd/futures-gateway.\(unit)").replacing("/usr/local/bin/futures-gateway", with: "/bin/true")
            try text.write(to: folder.appending(path: "futures-gateway.\(unit)"), atomically: true, encoding: .utf8)
        }
        let tool = Process()
        tool.executableURL = URL(filePath: "/usr/bin/systemd-analyze")
        tool.arguments = ["verify"] + ["service", "socket"].map { folder.appending(path: "futures-gateway.\($0)").path(percentEncoded: false) }
        let output = Pipe()
        tool.standardError = output
        try tool.run()
        let words = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        tool.waitUntilExit()
        let ours = words.split(separator: "\n").filter { $0.contains("futures-gateway") }
        #expect(ours.isEmpty, "\(words)")
    }
}
