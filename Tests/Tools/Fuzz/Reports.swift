import Foundation
import Graph
import PluginHost

/// Damaged graph reports of other processes. The reader must refuse them or show them in every form.
struct Reports: Subject {
  private let corpus: Corpus

  init(_ corpus: Corpus) { self.corpus = corpus }

  static func make(in folder: String) throws {
    let graph = Graph(sampleRate: 48000, blockFrames: 64)
    let (a, b) = (
      graph.addSource(named: "a.wav", channels: 2), graph.addMixer(named: "mix", channels: 2)
    )
    let keys = try graph.addInputs(named: "keys", audio: ["in_l"], midi: ["notes"])
    let ports = try graph.addOutputs(named: "ports", audio: ["out_l", "out_r"], midi: ["told"])
    try graph.edit { wiring throws(HostError) in
      try wiring.connect(a, to: b, gain: 0.5)
      try wiring.connect(Wire(from: keys, to: b))
      try wiring.connect(b, to: ports)
      try wiring.connect(Wire(from: keys, to: ports, isEvent: true))
    }
    let control = #"{"symbol":"gain","name":"Gain","value":-6,"unit":"dB","isOutput":false}"#
    let text = String(decoding: try graph.report.json(), as: UTF8.self)
      .replacingOccurrences(of: #""controls":[]"#, with: #""controls":[\#(control)]"#)
    try text.write(toFile: "\(folder)/report.json", atomically: false, encoding: .utf8)
  }

  func input(_ dice: inout Dice) -> Corpus.File {
    if dice.once(in: 3) { return corpus.damaged(&dice) }
    let file = corpus.files[dice.roll(corpus.files.count)]
    var text = String(decoding: file.bytes, as: UTF8.self)
    for _ in 0...dice.roll(3) {
      let values = text.matches(of: #/[:\[,](-?[0-9.]+|true|false|"[^"]*")(?=[,\]}])/#)
        .map(\.output.1)
      if values.isEmpty { break }
      let value = values[dice.roll(values.count)]
      text.replaceSubrange(
        value.startIndex..<value.endIndex, with: Self.odd[dice.roll(Self.odd.count)])
    }
    return Corpus.File(name: file.name, bytes: Array(text.utf8))
  }

  private static let odd = [
    "-1", "0", "1", "2", "3", "4", "7", "1e300", "-1e300", "0.5", "9223372036854775807",
    "-9223372036854775808", "18446744073709551616", "\"nan\"", "\"inf\"", "\"-inf\"", "\"\"",
    "null",
    "true", "false", "[]", "{}", "\"\\u0000\\u001b[2J\"", "\"out_l\"", "\"JACK inputs\"",
    "\"plugin\"",
  ]

  func run(_ input: Corpus.File, scratch: String, _ dice: inout Dice) throws {
    guard let report = try? GraphReport(json: Data(input.bytes)) else { return }
    _ = report.headline
    for withControls in [false, true] {
      _ = report.text(withControls: withControls)
      _ = report.dot(withControls: withControls)
    }
    _ = try report.json()
  }
}
