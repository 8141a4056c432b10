// The graph report as text and as a Graphviz graph.

extension Graph: CustomStringConvertible {
  package var description: String { report.text() }
}

extension GraphReport {
  /// One line that names the client, server, process, rate, period and latency.
  package var headline: String {
    let rate = sampleRate == sampleRate.rounded() ? "\(Int(sampleRate))" : "\(sampleRate)"
    return
      "“\(client)” on the JACK server “\(server)”: process \(process) (\(command)), \(rate) Hz"
      + (periodFrames > 0 ? ", periods of \(periodFrames) frames" : "")
      + (latencyFrames > 0 ? ", \(latencyFrames) frames of latency" : "")
      + (isServerGone ? "; the server is gone, and waited for" : "")
  }

  /// Returns one line for each node, in running order. Below each node follows a line for each wire
  /// to it, for each connection of its JACK ports and, with `withControls`, for each control.
  package func text(withControls: Bool = false) -> String {
    let byNumber = Dictionary(uniqueKeysWithValues: nodes.map { ($0.number, $0) })
    var lines: [String] = []
    for node in nodes {
      lines.append("\(node.number) \(node.name): \(node.words)")
      for wire in wires where wire.to == node.number {
        guard let from = byNumber[wire.from] else { continue }
        let input = node.inputNames(areEvents: wire.isEvent)[wire.input - 1]
        let output = (wire.isEvent ? from.eventOutputs : from.outputs)[wire.output - 1]
        var line = "    \(input) ← \(from.name) (\(from.number)) \(output)"
        if wire.isEvent { line += ", events" } else if wire.gain != 1 { line += " × \(wire.gain)" }
        if wire.delayFrames > 0 { line += ", held back \(wire.delayFrames) frames" }
        lines.append(line)
      }
      for (port, others) in node.jackPorts {
        let arrow = node.kind == .jackInputs ? "←" : "→"
        lines += others.map { "    \(port) \(arrow) \($0)" }
      }
      if !withControls { continue }
      for control in node.controls {
        let unit = control.unit.map { " \($0)" } ?? ""
        lines.append(
          "    \(control.symbol) \(control.isOutput ? "→" : "=") \(control.value)\(unit)")
      }
    }
    return lines.joined(separator: "\n")
  }

  /// Returns the graph in Graphviz's DOT language.
  package func dot(withControls: Bool = false) -> String {
    var lines = ["digraph {", "  rankdir=LR;", "  node [shape=box];"]
    if !client.isEmpty { lines.append("  label=\(Self.quoted(headline));") }
    var others: [String: Int] = [:]
    var connections: [String] = []
    for node in nodes {
      var label = ["\(node.number) \(node.name)"]
      if node.latencyFrames > 0 { label.append("\(node.latencyFrames) frames") }
      if withControls {
        label += node.controls.map { "\($0.symbol) = \($0.value)\($0.unit.map { " \($0)" } ?? "")" }
      }
      var attributes = ["label=\(Self.quoted(label.joined(separator: "\n")))"]
      if let uri = node.uri { attributes.append("tooltip=\(Self.quoted(uri))") }
      if node.isBypassed || node.isUnready { attributes.append("style=dashed") }
      lines.append("  n\(node.number) [\(attributes.joined(separator: ", "))];")
      for (port, names) in node.jackPorts {
        for name in names {
          let other = others[name] ?? others.count + 1
          others[name] = other
          let ends =
            node.kind == .jackInputs
            ? "p\(other) -> n\(node.number)" : "n\(node.number) -> p\(other)"
          connections.append("  \(ends) [label=\(Self.quoted(port))];")
        }
      }
    }
    for (name, number) in others.sorted(by: { $0.value < $1.value }) {
      lines.append("  p\(number) [label=\(Self.quoted(name)), shape=ellipse];")
    }
    for wire in wires {
      var label = "\(wire.output) → \(wire.input)"
      if !wire.isEvent, wire.gain != 1 { label += " × \(wire.gain)" }
      if wire.delayFrames > 0 { label += "\n+ \(wire.delayFrames) frames" }
      let style = wire.isEvent ? "style=dotted, " : ""
      lines.append("  n\(wire.from) -> n\(wire.to) [\(style)label=\(Self.quoted(label))];")
    }
    return (lines + connections + ["}"]).joined(separator: "\n")
  }

  private static func quoted(_ text: String) -> String {
    let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
      .replacing("\n", with: "\\n")
    return "\"\(escaped)\""
  }
}

extension GraphReport.Node {
  /// Its JACK ports, in order, with the ports connected to each.
  fileprivate var jackPorts: [(port: String, others: [String])] {
    (kind == .jackInputs ? outputs + eventOutputs : inputs + eventInputs).compactMap { port in
      connections[port].map { (port, $0) }
    }
  }

  /// The node's kind, ports and condition in words.
  fileprivate var words: String {
    var words = [kind.rawValue + (uri.map { " <\($0)>" } ?? "")]
    for (names, direction, what) in [
      (inputs, "in", ""), (outputs, "out", ""), (eventInputs, "in", " for events"),
      (eventOutputs, "out", " for events"),
    ] where !names.isEmpty {
      words.append("\(names.count) \(direction)\(what)")
    }
    if latencyFrames > 0 { words.append("takes \(latencyFrames) frames") }
    if kind == .jackOutputs, arrivalFrames > 0 { words.append("\(arrivalFrames) frames late") }
    if isUnready {
      words.append("led around: it does not run at this rate or block length")
    } else if isBypassed {
      words.append("bypassed")
    }
    if badSamples > 0 { words.append("\(badSamples) samples were no numbers") }
    if lostEvents > 0 { words.append("\(lostEvents) events were lost") }
    return words.joined(separator: ", ")
  }
}
