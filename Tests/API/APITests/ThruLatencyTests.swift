import Foundation
import TestSupport
import Testing

/// The latency of an output unit that plays its own input, measured by `jack_iodelay` in a loop, against that
/// of `jack_thru`.
@Suite(.tags(.server, .program)) struct ThruLatencyTests {
  /// Connects the outputs and inputs of `jack_iodelay` to a loop, and returns the frames that it measures.
  private func latency(
    through client: (input: String, output: String), _ environment: [String: String],
    _ folder: URL
  ) throws -> Double {
    let output = folder.appendingPathComponent("\(client.input).txt")
    // Its lines are wanted while it runs.
    let meter = try Child(
      "stdbuf", ["-oL", "jack_iodelay"],
      environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }, output: output)
    defer { meter.end() }
    func connect(_ from: String, _ to: String) throws {
      let isConnected = soon {
        (try? run("jack_connect", [from, to], environment: environment).status) == 0
      }
      try require(isConnected, "\(from) cannot be connected to \(to)")
    }
    try connect("jack_delay:out", client.input)
    if client.input != "jack_delay:in" { try connect(client.output, "jack_delay:in") }
    // The first lines may tell of the time before the loop was closed: three equal ones are sure.
    var measured: [Double] = []
    _ = soon {
      let text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
      measured = text.matches(of: /([0-9.]+) frames .*total roundtrip/).compactMap {
        Double($0.output.1)
      }
      return measured.count >= 4 && Set(measured.suffix(3)).count == 1
    }
    return try require(measured.last, "jack_iodelay measures nothing")
  }

  /// Returns true once `condition` holds; false if it does not within a minute.
  private func soon(_ condition: () -> Bool) -> Bool {
    let end = Date(timeIntervalSinceNow: 60)
    while !condition() {
      if Date() > end { return false }
      usleep(100_000)
    }
    return true
  }

  @Test func anOutputUnitAddsNoFrame() throws {
    let server = try JackDaemon(period: 256, synchronous: true)
    let environment = [
      "JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1", "LD_LIBRARY_PATH": "",
    ]
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "cuejack-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let binary = try ProgramBuilds.shared.get().build("wire.c", isSanitized: false)
    let log = folder.appendingPathComponent("clients.txt")
    let thru = try Child("jack_thru", ["thru"], environment: all, output: log)
    defer { thru.end() }
    let wire = try Child(binary.path, environment: all, output: log)
    defer { wire.end() }
    let throughThru = try latency(through: ("thru:input_1", "thru:output_1"), environment, folder)
    let throughUnit = try latency(through: ("wire:in_1", "wire:out_1"), environment, folder)
    expectTrue(throughThru > 0)
    expectEqual(
      throughUnit, throughThru, "\(throughUnit) frames, and \(throughThru) through jack_thru")
  }
}
