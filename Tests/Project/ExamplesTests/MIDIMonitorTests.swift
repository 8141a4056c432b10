import Foundation
import TestSupport
import Testing

/// The example that prints MIDI messages.
@Suite(.tags(.server, .program)) struct MIDIMonitorTests {
  @Test func monitorsInARowPrintMessagesWithTheirTimes() throws {
    try withExample("MIDIMonitor", program: "midi-monitor") { program in
      let jack = try JackDaemon(period: 256)
      let keys = try Keys(on: jack)
      let clock = try CaptureClient(on: jack, channels: 1, capacity: 1 << 16)
      let list = try run(
        program, ["-l"], environment: ["JACK_DEFAULT_SERVER": jack.name, "LD_LIBRARY_PATH": ""])
      expectTrue(list.status == 0 && list.output.contains("source: keys out\n"), "\(list)")
      expectTrue(list.output.contains("destination: keys in\n"), "\(list)")
      try withTemporaryFolder { folder in
        let first = try TypedProgram(program, ["-n", "4", "keys"], on: jack, in: folder)
        try wait(for: "the first monitor") { first.output.contains("ready\n") }
        let second = try TypedProgram(program, ["-n", "4", "monitor Out"], on: jack, in: folder)
        try wait(for: "the second monitor") { second.output.contains("ready\n") }
        clock.arm()
        try require(clock.wait(untilFrames: 1))
        let begin = clock.firstFrame &+ 24_000
        let frames: [UInt32] = [0, 1, 100, 4800]
        try keys.play(
          frames.enumerated().map {
            Keys.Message(begin &+ $0.element, [0x90, UInt8($0.offset), 1])
          })
        for (monitor, source) in [(first, "keys out"), (second, "midi-monitor Out")] {
          let result = try monitor.end()
          expectTrue(result.status == 0 && result.errors == "", "\(result)")
          let lines = result.output.split(separator: "\n").map(String.init)
          expectEqual(Array(lines.prefix(2)), ["listening to \(source)", "ready"])
          let messages = lines.dropFirst(2).map { $0.split(separator: " ").map(String.init) }
          expectEqual(
            messages.map { $0.dropFirst().joined(separator: " ") },
            ["90 00 01", "90 01 01", "90 02 01", "90 03 01"])
          let times = messages.map { Double($0[0]) ?? -1 }
          expectTrue(times.first == 0 && times == times.sorted(), "\(times)")
        }
      }
    }
  }

  @Test func aWrongOptionPrintsTheUsage() throws {
    try withExample("MIDIMonitor", program: "midi-monitor") { program in
      for arguments in [["-x"], ["-n", "0"]] {
        let result = try run(program, arguments)
        expectTrue(
          result.status == 64 && result.errors.contains("usage: midi-monitor"), "\(result)")
      }
    }
  }
}
