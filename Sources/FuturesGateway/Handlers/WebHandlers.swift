import MicroHTTP

/// The live page and its browser module.
enum WebHandlers {
    /// `GET /`
    static let page = file("text/html", PackageResources.index_html)

    /// `GET /client.js`: a short URL for the module.
    static let client = file("text/javascript", Array("export * from './web/client.js';\n".utf8))

    private static let files = [
        "page.js": file("text/javascript", PackageResources.page_js),
        "view.js": file("text/javascript", PackageResources.view_js),
        "access.js": file("text/javascript", PackageResources.access_js),
        "alarm.js": file("text/javascript", PackageResources.alarm_js),
        "alerts.js": file("text/javascript", PackageResources.alerts_js),
        "arrange.js": file("text/javascript", PackageResources.arrange_js),
        "candles.js": file("text/javascript", PackageResources.candles_js),
        "chartoptions.js": file("text/javascript", PackageResources.chartoptions_js),
        "decimal.js": file("text/javascript", PackageResources.decimal_js),
        "depth.js": file("text/javascript", PackageResources.depth_js),
        "dom.js": file("text/javascript", PackageResources.dom_js),
        "format.js": file("text/javascript", PackageResources.format_js),
        "freshness.js": file("text/javascript", PackageResources.freshness_js),
        "header.js": file("text/javascript", PackageResources.header_js),
        "health.js": file("text/javascript", PackageResources.health_js),
        "indicators.js": file("text/javascript", PackageResources.indicators_js),
        "instrument.js": file("text/javascript", PackageResources.instrument_js),
        "keys.js": file("text/javascript", PackageResources.keys_js),
        "ladder.js": file("text/javascript", PackageResources.ladder_js),
        "log.js": file("text/javascript", PackageResources.log_js),
        "marketpoll.js": file("text/javascript", PackageResources.marketpoll_js),
        "marks.js": file("text/javascript", PackageResources.marks_js),
        "orderflow.js": file("text/javascript", PackageResources.orderflow_js),
        "outages.js": file("text/javascript", PackageResources.outages_js),
        "markets.js": file("text/javascript", PackageResources.markets_js),
        "picker.js": file("text/javascript", PackageResources.picker_js),
        "plan.js": file("text/javascript", PackageResources.plan_js),
        "plot.js": file("text/javascript", PackageResources.plot_js),
        "spreads.js": file("text/javascript", PackageResources.spreads_js),
        "stored.js": file("text/javascript", PackageResources.stored_js),
        "streams.js": file("text/javascript", PackageResources.streams_js),
        "studies.js": file("text/javascript", PackageResources.studies_js),
        "trades.js": file("text/javascript", PackageResources.trades_js),
        "values.js": file("text/javascript", PackageResources.values_js),
        "venuerow.js": file("text/javascript", PackageResources.venuerow_js),
        "venues.js": file("text/javascript", PackageResources.venues_js),
        "venuetable.js": file("text/javascript", PackageResources.venuetable_js),
        "watchlist.js": file("text/javascript", PackageResources.watchlist_js),
        "bars.js": file("text/javascript", PackageResources.bars_js),
        "basis.js": file("text/javascript", PackageResources.basis_js),
        "charts.js": file("text/javascript", PackageResources.charts_js),
        "columns.js": file("text/javascript", PackageResources.columns_js),
        "crosshair.js": file("text/javascript", PackageResources.crosshair_js),
        "derivatives.js": file("text/javascript", PackageResources.derivatives_js),
        "drawer.js": file("text/javascript", PackageResources.drawer_js),
        "heat.js": file("text/javascript", PackageResources.heat_js),
        "heatmodel.js": file("text/javascript", PackageResources.heatmodel_js),
        "heatpixels.js": file("text/javascript", PackageResources.heatpixels_js),
        "history.js": file("text/javascript", PackageResources.history_js),
        "ladderrows.js": file("text/javascript", PackageResources.ladderrows_js),
        "lasttag.js": file("text/javascript", PackageResources.lasttag_js),
        "layout.js": file("text/javascript", PackageResources.layout_js),
        "legend.js": file("text/javascript", PackageResources.legend_js),
        "marketrow.js": file("text/javascript", PackageResources.marketrow_js),
        "overlays.js": file("text/javascript", PackageResources.overlays_js),
        "pasts.js": file("text/javascript", PackageResources.pasts_js),
        "prices.js": file("text/javascript", PackageResources.prices_js),
        "prints.js": file("text/javascript", PackageResources.prints_js),
        "reports.js": file("text/javascript", PackageResources.reports_js),
        "rows.js": file("text/javascript", PackageResources.rows_js),
        "series.js": file("text/javascript", PackageResources.series_js),
        "settings.js": file("text/javascript", PackageResources.settings_js),
        "shortcuts.js": file("text/javascript", PackageResources.shortcuts_js),
        "splitter.js": file("text/javascript", PackageResources.splitter_js),
        "start.js": file("text/javascript", PackageResources.start_js),
        "zone.js": file("text/javascript", PackageResources.zone_js),
        "client.js": file("text/javascript", PackageResources.client_js),
        "connection.js": file("text/javascript", PackageResources.connection_js),
        "content.js": file("text/javascript", PackageResources.content_js),
        "link.js": file("text/javascript", PackageResources.link_js),
        "lightweight-charts.js": file("text/javascript", PackageResources.lightweight_charts_js),
        "style.css": file("text/css", PackageResources.style_css),
        "icon.svg": file("image/svg+xml", PackageResources.icon_svg),
    ]

    /// `GET /web/{file}`
    static func file(_ request: HTTPRequest, _ responder: HTTPResponder) {
        guard let answer = files[request.parameters["file"] ?? ""] else {
            return responder.respond(HTTPProblem(status: 404, title: "Not Found", detail: "The page has no such file.").response)
        }
        answer(request, responder)
    }

    /// Everything comes from the gateway and nothing is inline, so that text from a venue can never run as a script.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    private static func file(_ type: String, _ bytes: [UInt8]) -> Router.Handler {
        let tag = "\"\(String(fingerprint(bytes), radix: 36))\""
        let body = SharedBytes(bytes)
        let headers = [
            HTTPHeader(name: "ETag", value: tag), HTTPHeader(name: "Cache-Control", value: "max-age=0, must-revalidate"),
            HTTPHeader(name: "Content-Security-Policy", value: policy), HTTPHeader(name: "Referrer-Policy", value: "no-referrer"),
        ]
        return { request, responder in
            if let noneMatch = request.header("If-None-Match"), noneMatch.matches(entityTag: tag) {
                return responder.respond(HTTPResponse(status: 304, headers: headers, content: body))
            }
            responder.respond(
                HTTPResponse(status: 200, headers: headers + [HTTPHeader(name: "Content-Type", value: type + "; charset=utf-8")], content: body))
        }
    }

    /// FNV-1a with 64 bits: identifies a build; it needs no secrecy.
    private static func fingerprint(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
