import AudioUnits
import CAudioToolbox
import Glibc
import Synchronization

// The functions that print objects. The header documents each function.

/// Prints a graph or a unit to the standard output.
@c @implementation
public func CAShow(_ inObject: UnsafeMutableRawPointer?) {
  print(unsafe text(of: inObject), terminator: "")
}

/// Prints a graph or a unit to a file.
@c @implementation
public func CAShowFile(
  _ inObject: UnsafeMutableRawPointer?, _ inFile: UnsafeMutablePointer<FILE>
) {
  if UInt(bitPattern: inFile) != 0 { _ = unsafe fputs(text(of: inObject), inFile) }
}

/// Returns lines about an object.
private func text(of object: UnsafeMutableRawPointer?) -> String {
  let handle = UInt(bitPattern: object)
  let address = "0x" + String(handle, radix: 16)
  if let graph = graphs.object(handle) { return "AudioUnitGraph \(address):\n\(text(of: graph))" }
  if let unit = try? unsafe UnitHandles.shared.unit(OpaquePointer(object)) {
    return "AudioUnit \(address): \(codes(unit.component)) \(unit.component.name)"
      + "\(unit.unit.isInitialized ? ", initialized" : "")\n\(buses(of: unit.unit))"
  }
  return "\(address) is neither a graph nor an audio unit\n"
}

private func codes(_ component: UnitComponent) -> String {
  let description = component.description
  return [description.type, description.subtype, description.manufacturer].map {
    "'\(fourCharacters($0))'"
  }.joined(separator: " ")
}

private func buses(of unit: Unit) -> String {
  [(Unit.Side.input, "input"), (.output, "output")].map { side, name in
    (0..<UInt32(unit.busCount(side))).map { bus in
      "  \(name) \(bus): [\(format(unit, side, bus))]\n"
    }.joined()
  }.joined()
}

private func format(_ unit: Unit?, _ side: Unit.Side, _ bus: UInt32) -> String {
  guard let format = try? unit?.bus(side, bus).format else { return "no unit" }
  return format.streamDescription.name
}

private func text(of graph: UnitGraph) -> String {
  var lines = ["  Member Nodes:"]
  for number in graph.nodes {
    guard let (component, unit) = try? graph.node(number) else { continue }
    let states = (unit == nil ? "" : " O") + (unit?.isInitialized == true ? " I" : "")
    let instance = String(unit?.handle.load(ordering: .relaxed) ?? 0, radix: 16)
    lines.append("    node \(number): \(codes(component)), instance 0x\(instance)\(states)")
  }
  var connections: [String] = []
  var callbacks: [String] = []
  for (input, supply) in graph.supplies {
    let unit = (try? graph.node(input.node))?.unit
    let end = "node \(input.node) bus \(input.bus)  [\(format(unit, .input, input.bus))]"
    switch supply {
    case .node(let source, let output):
      connections.append("    node \(source) bus \(output) => \(end)")
    case .callback(let proc, let data):
      let (function, argument) = unsafe (
        unsafeBitCast(proc, to: UInt.self), UInt(bitPattern: data)
      )
      callbacks.append(
        "    {0x\(String(function, radix: 16)), 0x\(String(argument, radix: 16))} => \(end)")
    }
  }
  lines += ["  Connections:"] + connections + ["  Input Callbacks:"] + callbacks
  lines.append("  CurrentState:")
  lines.append(
    "    isOpen=\(graph.isOpen ? "T" : "F"), isInitialized=\(graph.isInitialized ? "T" : "F"), "
      + "isRunning=\(graph.isRunning ? "T" : "F")")
  return lines.joined(separator: "\n") + "\n"
}
