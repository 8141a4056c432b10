import Foundation
import TestSupport
import Testing

/// The example with a mixer and an equaliser, built like its users build it.
@Suite(.tags(.server, .program)) struct MixerEQTests {
  @Test func filesAreMixedAndFiltered() throws {
    let server = try JackDaemon(period: 1024, playbackPorts: 0)
    let card = try CaptureClient(
      on: server, name: "card", capacity: 10 * server.rate, isSoundCard: true)
    let environment = ["JACK_DEFAULT_SERVER": server.name, "LD_LIBRARY_PATH": ""]
    try withTemporaryFolder { folder in
      try withExample("MixerEQ", program: "mixer-eq") { program in
        func write(_ name: String, _ frames: Int) throws -> [[Float]] {
          let file = folder.appendingPathComponent(name)
          let made = try run(
            "sox",
            [
              "-D", "-n", "-r", "48000", "-b", "16", "-c", "2", file.path, "synth", "\(frames)s",
              "pinknoise", "sine", "500", "gain", "-12",
            ])
          try require(made.status == 0, "\(made.errors)")
          // Behind a head of 44 bytes.
          let values = try Data(contentsOf: file).dropFirst(44).withUnsafeBytes {
            Array($0.bindMemory(to: Int16.self))
          }
          return (0..<2).map { channel in
            stride(from: channel, to: values.count, by: 2).map { Float(values[$0]) / 32768 }
          }
        }
        let sounds = [try write("a.wav", 9000), try write("b.wav", 7001)]
        let files = ["a.wav=0.5", "b.wav=0.25"].map { folder.appendingPathComponent($0).path }

        /// Returns what was heard, from the first frame with sound.
        func heard(_ arguments: [String]) throws -> [[Float]] {
          card.arm()
          let result = try run(program, arguments + files, environment: environment)
          card.disarm()
          expectTrue(result.status == 0 && result.errors == "", "\(result.errors)")
          let channels = (0..<2).map { card.samples(channel: $0) }
          let first = channels[0].indices.first { i in channels.contains { $0[i] != 0 } } ?? 0
          return channels.map { Array($0[first...]) }
        }
        let wrong = try unlessBusy(patience: 0.01) { () -> String? in
          let flat = try heard(["-s", "1"])
          guard flat[0].count > 30_000 else { return "\(flat[0].count) frames" }
          func expected(_ channel: Int, _ frame: Int) -> Float {
            sounds[0][channel][frame % 9000] / 2 + sounds[1][channel][frame % 7001] / 4
          }
          // The first frames of the files may be silent.
          let first = (0..<9000).first { expected(0, $0) != 0 || expected(1, $0) != 0 } ?? 0
          for channel in 0..<2 {
            for i in 0..<30_000
            where abs(flat[channel][i] - expected(channel, first + i)) > 1e-6 {
              return "frame \(i)"
            }
          }
          return nil
        }
        expectNil(wrong, "\(wrong ?? "")")
        // A preset changes the sound.
        let rock = try heard(["-s", "0.5", "-p", "Rock"])
        try require(rock[0].count > 10_000)
        expectTrue(abs(rock[0][5000] - sounds[0][0][5000] / 2 - sounds[1][0][5000] / 4) > 1e-4)

        let presets = try run(program, ["-l"], environment: environment)
        expectEqual(presets.output.split(separator: "\n").count, 22, "\(presets)")
        let unknown = try run(program, ["-p", "Loud", files[0]], environment: environment)
        expectTrue(unknown.status == 1 && unknown.errors.contains("Loud"), "\(unknown)")
        let missing = try run(program, ["/nowhere.wav"], environment: environment)
        expectTrue(missing.status == 1 && missing.errors.contains("/nowhere.wav"), "\(missing)")
        try expectEqual(run(program, [], environment: environment).status, 64)
      }
    }
  }
}
