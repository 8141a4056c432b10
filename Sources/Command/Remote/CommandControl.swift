import Control
import Server

/// An OSC address of a command that runs: how it is read, and what a message to it does. Main thread.
struct CommandControl {
  /// Reads the present value; nil if there is none.
  typealias Reading = () -> RemoteDesk.Reading?
  /// Sets a parameter or performs an action. The values fit the node.
  typealias Action = ([OSCValue]) throws -> Void

  let node: RemoteNode
  let read: Reading
  let act: Action

  /// Creates an action. `path` is an address without the root.
  static func action(
    _ path: String, types: String = "", range: ClosedRange<Double>? = nil, unit: String? = nil,
    _ summary: String, _ act: @escaping Action
  ) -> CommandControl {
    CommandControl(
      node: RemoteNode(path, .action, types: types, range: range, unit: unit, summary: summary),
      read: { nil }, act: act)
  }

  /// Creates a state.
  static func state(
    _ path: String, types: String, _ summary: String, _ read: @escaping () -> OSCValue
  ) -> CommandControl {
    CommandControl(
      node: RemoteNode(path, .state, types: types, summary: summary),
      read: { .values([read()]) }, act: { _ in })
  }

  /// Creates a meter.
  static func meter(
    _ path: String, types: String, unit: String, _ summary: String, _ read: @escaping Reading
  ) -> CommandControl {
    CommandControl(
      node: RemoteNode(path, .meter, types: types, unit: unit, summary: summary), read: read,
      act: { _ in })
  }

  /// Creates a parameter that is a number, or a text if `types` is `s`.
  static func parameter(
    _ path: String, types: String = "f", range: ClosedRange<Double>? = nil, unit: String? = nil,
    _ summary: String, _ read: @escaping () -> OSCValue, _ set: @escaping (OSCValue) throws -> Void
  ) -> CommandControl {
    CommandControl(
      node: RemoteNode(path, .parameter, types: types, range: range, unit: unit, summary: summary),
      read: { .values([read()]) }, act: { try set($0[0]) })
  }

  /// Creates a parameter that is a switch.
  static func flag(
    _ path: String, _ summary: String, _ read: @escaping () -> Bool,
    _ set: @escaping (Bool) throws -> Void
  ) -> CommandControl {
    parameter(path, types: "T", summary, { .bool(read()) }, { try set($0 == .bool(true)) })
  }
}

extension CommandControl {
  /// The range of gains, in decibels, as that of a session's tracks.
  static let gains = -120.0...24.0

  /// Returns what all commands have of their client: its name, JACK's time and the server's health.
  static func client(_ device: Device, quit: @escaping () -> Void) -> [CommandControl] {
    [
      .action("quit", "end the command") { _ in quit() },
      .state("name", types: "s", "the name of the JACK client") { .string(device.client.name) },
      .meter("frame", types: "h", unit: "frames", "JACK's frame time") {
        .live { [.long(device.now)] }
      },
      .meter("load", types: "f", unit: "%", "the server's load") {
        .live { [.float(device.client.load)] }
      },
      .state("xruns", types: "i", "xruns since the command started") {
        .int(Int32(clamping: device.xruns))
      },
    ]
  }
}
