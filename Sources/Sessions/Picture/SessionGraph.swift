package import Pictures
import System

/// The signal flow of a session: tracks, plugins, buses, recordings and ports, and what feeds what.
package struct SessionGraph: Sendable, Equatable {
  /// Kind of a node.
  package enum Kind: String, Sendable {
    case track, plugin, bus, recording, port
  }
  /// A part of the session that sound passes.
  package struct Node: Sendable, Equatable {
    package let kind: Kind
    package let name: String
    /// A second line, such as the file.
    package let detail: String
    /// Column of the drawing, from 0 at the left.
    package fileprivate(set) var column = 0
  }
  /// A path of sound between two nodes, by their indices.
  package struct Edge: Sendable, Hashable {
    package let from, to: Int
  }
  package private(set) var nodes: [Node] = []
  package private(set) var edges: [Edge] = []
  private var ports: [Name: Int] = [:]

  package init(_ document: SessionDocument) {
    var buses: [Name: (entrance: Int, exit: Int)] = [:]
    for bus in document.buses where buses[Name(bus.name)] == nil {
      let node = add(.bus, bus.name, Self.decibels(bus.gain))
      buses[Name(bus.name)] = (node, chain(bus.chain, after: node))
    }
    var exits: [Name: Int] = buses.mapValues(\.exit)
    for track in document.tracks {
      let file = printable(track.files.first.map(fileName) ?? "")
      let more = track.files.count > 1 ? " +\(track.files.count - 1)" : ""
      let node = add(.track, track.name, file + more)
      let exit = chain(track.chain, after: node)
      exits[Name(track.name)] = exit
      if let bus = track.bus.flatMap({ buses[Name($0)] }) {
        edges.append(Edge(from: exit, to: bus.entrance))
      }
      for name in track.ports ?? [] { edges.append(Edge(from: exit, to: port(name))) }
    }
    for bus in document.buses {
      guard let own = buses[Name(bus.name)] else { continue }
      if let next = bus.bus.flatMap({ buses[Name($0)] }) {
        edges.append(Edge(from: own.exit, to: next.entrance))
      }
      for name in bus.ports ?? [] { edges.append(Edge(from: own.exit, to: port(name))) }
    }
    for send in document.sends {
      guard let bus = buses[Name(send.bus)] else { continue }
      edges.append(Edge(from: bus.exit, to: add(.port, send.to, "send \(send.name)")))
    }
    for recording in document.recordings {
      let file = printable(fileName(recording.file))
      let node = add(.recording, recording.name, file)
      for name in recording.ports { edges.append(Edge(from: port(name), to: node)) }
    }
    for connection in document.connections {
      // A port whose client is a track or bus of the session belongs to that.
      let client = String(connection.from.prefix { $0 != ":" })
      let from = exits[Name(client)] ?? port(connection.from)
      edges.append(Edge(from: from, to: port(connection.to)))
    }
    var seen: Set<Edge> = []
    edges = edges.filter { $0.from != $0.to && seen.insert($0).inserted }
    assignColumns()
  }

  private static func decibels(_ gain: Double) -> String { gain == 0 ? "" : "\(plain(gain)) dB" }

  private mutating func add(_ kind: Kind, _ name: String, _ detail: String) -> Int {
    nodes.append(Node(kind: kind, name: name, detail: detail))
    return nodes.count - 1
  }

  private mutating func port(_ name: String) -> Int {
    if let node = ports[Name(name)] { return node }
    let node = add(.port, name, "")
    ports[Name(name)] = node
    return node
  }

  /// Adds the plugins of a chain, and returns its last node.
  private mutating func chain(_ plugins: [SessionPlugin], after node: Int) -> Int {
    var last = node
    for plugin in plugins {
      let name = plugin.uri.split { $0 == "/" || $0 == ":" || $0 == "#" }.last.map(String.init)
      let next = add(
        .plugin, plugin.id, (name ?? plugin.uri) + (plugin.bypass ? " (bypassed)" : ""))
      edges.append(Edge(from: last, to: next))
      last = next
    }
    return last
  }

  /// Puts each node one column after the last of those that feed it. Nodes in cycles, which are
  /// faults, stay in the first column.
  private mutating func assignColumns() {
    var outputs: [[Int]] = Array(repeating: [], count: nodes.count)
    var waiting = [Int](repeating: 0, count: nodes.count)
    for edge in edges {
      outputs[edge.from].append(edge.to)
      waiting[edge.to] += 1
    }
    var ready = nodes.indices.filter { waiting[$0] == 0 }
    while let node = ready.popLast() {
      for next in outputs[node] {
        nodes[next].column = max(nodes[next].column, nodes[node].column + 1)
        waiting[next] -= 1
        if waiting[next] == 0 { ready.append(next) }
      }
    }
    // Ports that only receive stand together at the right.
    let feeding = Set(edges.map(\.from))
    let fed = Set(edges.map(\.to))
    let last = nodes.indices.map { nodes[$0].column }.max() ?? 0
    for index in nodes.indices where nodes[index].kind == .port {
      if fed.contains(index), !feeding.contains(index) { nodes[index].column = last }
    }
  }

  // MARK: DOT

  /// The graph in the language of Graphviz.
  package var dot: String {
    func quoted(_ text: String) -> String {
      var result = ""
      for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": result += "\\\(scalar)"
        default: result.unicodeScalars.append(scalar.value < 0x20 ? "?" : scalar)
        }
      }
      return result
    }
    var lines = ["digraph session {", "  rankdir=LR;", "  node [fontname=\"sans-serif\"];"]
    for (index, node) in nodes.enumerated() {
      let shape =
        switch node.kind {
        case .track, .recording: "box"
        case .plugin: "component"
        case .bus: "hexagon"
        case .port: "ellipse"
        }
      let label = quoted(node.name) + (node.detail.isEmpty ? "" : "\\n" + quoted(node.detail))
      lines.append(
        "  n\(index) [label=\"\(label)\", shape=\(shape), style=filled, fillcolor=\"\(Self.color(of: node.kind).css)\"];"
      )
    }
    for edge in edges { lines.append("  n\(edge.from) -> n\(edge.to);") }
    return (lines + ["}", ""]).joined(separator: "\n")
  }

  static func color(of kind: Kind) -> PictureColor {
    switch kind {
    case .track: PictureColor(0xD6E8FA)
    case .plugin: PictureColor(0xE9DDF7)
    case .bus: PictureColor(0xD8F0DE)
    case .recording: PictureColor(0xFADBD8)
    case .port: PictureColor(0xECEFF2)
    }
  }

  // MARK: Drawing

  /// The graph in columns: the sound goes from left to right.
  package var picture: Picture { GraphLayout(self).picture }
}

/// Positions of a graph's nodes, and of the bends of edges that pass columns.
private struct GraphLayout {
  private static let boxWidth = 170.0
  private static let boxHeight = 40.0
  private static let columnGap = 60.0
  private static let rowGap = 14.0
  private static let bendHeight = 6.0
  private static let margin = 24.0
  /// More bends than these are left out: the edges then go straight.
  private static let mostBends = 20_000

  private let graph: SessionGraph
  /// The items of each column from top to bottom. An item is a node, or a bend with a number from
  /// the count of nodes on.
  private var columns: [[Int]]
  /// Items from left to right, for each edge.
  private var routes: [[Int]] = []
  /// Top left corner of each item.
  private var positions: [PicturePoint]
  private var size = PicturePoint(0, 0)

  init(_ graph: SessionGraph) {
    self.graph = graph
    let nodes = graph.nodes
    // Columns that stand empty are left out.
    let used = Set(nodes.map(\.column)).sorted()
    let position = Dictionary(uniqueKeysWithValues: used.enumerated().map { ($1, $0) })
    let column = nodes.map { position[$0.column] ?? 0 }
    columns = Array(repeating: [], count: used.count)
    for (index, _) in nodes.enumerated() { columns[column[index]].append(index) }
    var count = nodes.count
    let passed = graph.edges.reduce(0) { $0 + max(0, column[$1.to] - column[$1.from] - 1) }
    for edge in graph.edges {
      var route = [edge.from]
      if passed <= Self.mostBends, column[edge.to] > column[edge.from] + 1 {
        for between in column[edge.from] + 1..<column[edge.to] {
          columns[between].append(count)
          route.append(count)
          count += 1
        }
      }
      routes.append(route + [edge.to])
    }
    positions = Array(repeating: PicturePoint(0, 0), count: count)
    order(count)
    positionNodes()
  }

  private func height(of item: Int) -> Double {
    item < graph.nodes.count ? Self.boxHeight : Self.bendHeight
  }

  /// Orders each column by the mean position of what feeds its items, so that few edges cross.
  private mutating func order(_ count: Int) {
    var inputs: [[Int]] = Array(repeating: [], count: count)
    for route in routes {
      for (from, to) in zip(route, route.dropFirst()) { inputs[to].append(from) }
    }
    var height = [Double](repeating: 0, count: count)
    var isPlaced = [Bool](repeating: false, count: count)
    for (number, column) in columns.enumerated() {
      let keys = column.enumerated().map { offset, item in
        let known = inputs[item].filter { isPlaced[$0] }
        return known.isEmpty
          ? Double(offset) / Double(column.count)
          : known.reduce(0) { $0 + height[$1] } / Double(known.count)
      }
      let sorted = column.indices.sorted { keys[$0] == keys[$1] ? $0 < $1 : keys[$0] < keys[$1] }
      columns[number] = sorted.map { column[$0] }
      for (row, item) in columns[number].enumerated() {
        height[item] = (Double(row) + 0.5) / Double(column.count)
        isPlaced[item] = true
      }
    }
  }

  private mutating func positionNodes() {
    let heights = columns.map { $0.reduce(0) { $0 + height(of: $1) + Self.rowGap } - Self.rowGap }
    let tallest = max(0, heights.max() ?? 0)
    for (number, column) in columns.enumerated() {
      // Short columns stand in the middle.
      var y = Self.margin + (tallest - heights[number]) / 2
      for item in column {
        let x = Self.margin + Double(number) * (Self.boxWidth + Self.columnGap)
        positions[item] = PicturePoint(x, y)
        y += height(of: item) + Self.rowGap
      }
    }
    let count = Double(columns.count)
    size = PicturePoint(
      2 * Self.margin + count * Self.boxWidth + max(0, count - 1) * Self.columnGap,
      2 * Self.margin + tallest)
  }

  var picture: Picture {
    var picture = Picture(width: size.x, height: size.y)
    for route in routes {
      for (from, to) in zip(route, route.dropFirst()) { draw(from, to, &picture) }
    }
    for (index, node) in graph.nodes.enumerated() {
      let position = positions[index]
      picture.rectangle(
        position.x, position.y, Self.boxWidth, Self.boxHeight,
        fill: SessionGraph.color(of: node.kind),
        border: .faint)
      let line = node.detail.isEmpty ? 25.0 : 17
      let width = Self.boxWidth - 18
      picture.text(node.name, position.x + 9, position.y + line, size: 13, .ink, upTo: width)
      picture.text(node.detail, position.x + 9, position.y + 32, size: 10.5, .faint, upTo: width)
    }
    return picture
  }

  /// Draws an edge from one item to the next, and through a bend.
  private func draw(_ from: Int, _ to: Int, _ picture: inout Picture) {
    let start = PicturePoint(
      positions[from].x + Self.boxWidth, positions[from].y + height(of: from) / 2)
    let end = PicturePoint(positions[to].x, positions[to].y + height(of: to) / 2)
    let bend = max(Self.columnGap / 2, abs(end.x - start.x) / 2)
    picture.marks.append(
      .curve(
        start, PicturePoint(start.x + bend, start.y), PicturePoint(end.x - bend, end.y), end,
        .faint, width: 1.5))
    if to < graph.nodes.count {
      let tip = [end, PicturePoint(end.x - 7, end.y - 4), PicturePoint(end.x - 7, end.y + 4)]
      picture.marks.append(.polygon(tip, fill: .faint))
    } else {
      let far = PicturePoint(end.x + Self.boxWidth, end.y)
      picture.marks.append(.line([end, far], .faint, width: 1.5))
    }
  }
}
