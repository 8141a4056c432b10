import Foundation
import TestSupport
import Testing

/// The test programs of the C API on PipeWire.
@Suite(.tags(.pipeWire, .program), .serialized) struct PipeWireProgramTests {
  /// The capture client that stands for the sound card.
  enum Card: CaseIterable {
    /// A JACK client of the program, which queues connect to. There is no sink: PipeWire's dummy driver runs
    /// the cycles.
    case client
    /// The monitor of a sink that the program's recording keeps awake.
    case monitor
    /// The monitor of a sink that is idle while the program plays nothing.
    case idleMonitor

    /// The programs that are recorded in this way.
    ///
    /// Left out are the programs that use no server, and `codes.c`, which starts and ends a jackd.
    var programs: [ProgramCase] {
      let names: Set<String> =
        switch self {
        case .client:
          [
            "stopping.c", "buffers.c", "properties.c", "clock.c", "times.c", "seek.c", "record.c",
            "timelines.c", "freewheel.c", "exits.c", "hardware.c", "units.c", "plugins.c",
            "generators.c", "effects.c", "graphs.c", "edits.c", "canonical.c", "strict.c", "midi.c",
          ]
        case .monitor:
          [
            "refill.c", "priming.c", "stopping.c", "dispose.c", "driver.c", "listeners.c",
            "settings.c", "running.c", "offline.c", "schedule.c", "clock.c", "taps.c", "sounds.c",
            "record_aac.c", "play_packets.c", "player.cc", "converted.c", "hardware.c", "units.c",
            "midi.c", "sequences.c",
          ]
        case .idleMonitor: ["seek.c", "clock.c", "schedule.c", "settings.c"]
        }
      // PipeWire waits for no client that is stopped, and its library for a process callback that does not return.
      return ProgramCase.all.filter {
        names.contains($0.program) && !["blocked", "stopped"].contains($0.argument)
      }
    }
  }

  @Test(arguments: Card.client.programs) func aProgramPasses(program: ProgramCase) throws {
    try check(program, .client)
  }

  @Test(arguments: Card.monitor.programs) func aProgramIsHeardOnASink(program: ProgramCase) throws {
    try check(program, .monitor)
  }

  @Test(arguments: Card.idleMonitor.programs)
  func aProgramIsHeardOnAnIdleSink(program: ProgramCase) throws {
    try check(program, .idleMonitor)
  }

  private func check(_ program: ProgramCase, _ card: Card) throws {
    let daemon = try PipeWireDaemon(hasSink: card != .client)
    let binary = try ProgramBuilds.shared.get().build(program.program, isSanitized: false)
    // The programs print the server's name as JACK's library is asked for it: that of the socket.
    var environment = [
      "JACK_DEFAULT_SERVER": "pipewire-0", "JACK_NO_START_SERVER": "1", "CUEJACK_LOG": "info",
    ]
    if card != .client {
      environment["CARD_SOURCES"] = PipeWireDaemon.monitors.joined(separator: ",")
    }
    if card == .idleMonitor { environment["CARD_IS_PASSIVE"] = "1" }
    func attempt() throws -> CommandResult {
      try run(
        binary.path, [program.argument].compactMap { $0 },
        environment: daemon.environment.merging(environment) { $1 }, timeout: 600)
    }
    var result = try attempt()
    // PipeWire leaves out the cycle of a client that a busy machine holds up. The program hears the gap.
    for _ in 1...4 where result.status != 0 {
      let gaps = [": heard frame ", " is 0, not ", ": signal_to_noise("]
      guard gaps.contains(where: { result.output.contains($0) }) else { break }
      print("\(program) again: \(result.output.split(separator: "\n").last ?? "")")
      result = try attempt()
    }
    expectTrue(
      result.status == 0 && result.output == program.output, "\(result.output)\(result.errors)")
  }
}
