// The addresses that every session has: docs/remote.md lists them.

extension RemoteNode {
  /// What concerns the whole session: the keys of its terminal, its position and its health.
  package static let session: [RemoteNode] = [
    RemoteNode("start", .action, summary: "start all armed tracks on one frame"),
    RemoteNode("stop", .action, summary: "stop all tracks"),
    RemoteNode("pause", .action, summary: "pause all tracks, or go on"),
    RemoteNode("next", .action, summary: "go on to the next cue"),
    RemoteNode(
      "locate", .action, types: "d", range: 0...1e9, unit: "s", summary: "move the position"),
    RemoteNode("save", .action, summary: "save the session"),
    RemoteNode("running", .state, types: "T", summary: "whether the session plays"),
    RemoteNode("dirty", .state, types: "T", summary: "whether there are unsaved changes"),
    RemoteNode("position", .meter, types: "d", unit: "s", summary: "the position"),
    RemoteNode("load", .meter, types: "f", unit: "%", summary: "the server's load"),
    RemoteNode("xruns", .state, types: "i", summary: "xruns since the session was opened"),
  ]

  /// What concerns one track, counted from 1.
  ///
  /// - Parameters:
  ///   - channels: The number of peaks of its meter.
  ///   - gains: The range of its gain in dB.
  ///   - records: True if the track records.
  package static func track(
    _ number: Int, channels: Int, gains: ClosedRange<Double> = -90...12, records: Bool = false
  ) -> [RemoteNode] {
    let path = "tracks/\(number)"
    let nodes = [
      RemoteNode("\(path)/name", .state, types: "s", summary: "the name of track \(number)"),
      RemoteNode(
        "\(path)/gain", .parameter, types: "f", range: gains, unit: "dB",
        summary: "the gain of track \(number)"),
      RemoteNode(
        "\(path)/mute", .parameter, types: "T", summary: "whether track \(number) is silent"),
      RemoteNode(
        "\(path)/solo", .parameter, types: "T", summary: "whether only track \(number) is heard"),
      RemoteNode(
        "\(path)/peak", .meter, types: String(repeating: "f", count: channels), unit: "dB",
        summary: "the peaks of track \(number) since the last reading"),
    ]
    let record = RemoteNode(
      "\(path)/record", .parameter, types: "T", summary: "whether track \(number) records")
    return records ? nodes + [record] : nodes
  }

  /// A control of a plugin in a track, both counted from 1.
  ///
  /// - Parameter symbol: The symbol of the control, of which characters that OSC addresses cannot have are
  ///   replaced with underscores.
  package static func control(
    _ symbol: String, ofPlugin plugin: Int, inTrack track: Int, range: ClosedRange<Double>?,
    unit: String?, name: String
  ) -> RemoteNode {
    let part = String(
      symbol.map { character in
        let isPlain = character.isASCII && (character.isLetter || character.isNumber)
        return isPlain || character == "-" ? character : "_"
      })
    return RemoteNode(
      "tracks/\(track)/plugins/\(plugin)/\(part)", .parameter, types: "f", range: range, unit: unit,
      summary: name)
  }
}
